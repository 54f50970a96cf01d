"""Events that programs send each other by name."""

import pytest

from jxkernel import monitoring


@pytest.fixture(autouse=True)
def _without_listeners():
    yield
    monitoring.clear_event_listeners()


@pytest.mark.parametrize(
    ("register", "unregister", "record", "values"),
    [
        (
            monitoring.register_event_listener,
            monitoring.unregister_event_listener,
            monitoring.record_event,
            (),
        ),
        (
            monitoring.register_event_duration_secs_listener,
            monitoring.unregister_event_duration_listener,
            monitoring.record_event_duration_secs,
            (1.5,),
        ),
        (
            monitoring.register_event_time_span_listener,
            monitoring.unregister_event_time_span_listener,
            monitoring.record_event_time_span,
            (1.0, 2.5),
        ),
        (
            monitoring.register_scalar_listener,
            monitoring.unregister_scalar_listener,
            monitoring.record_scalar,
            (7,),
        ),
    ],
)
def test_what_is_recorded_comes_to_listeners_of_its_kind(register, unregister, record, values):
    heard = []

    def listener(event, *given, **metadata):
        heard.append((event, given, metadata))

    register(listener)
    record("/mine/saved", *values, step=3)
    unregister(listener)
    record("/mine/saved", *values)
    assert heard == [("/mine/saved", values, {"step": 3})]
    with pytest.raises(ValueError, match="is not registered"):
        unregister(listener)


def test_clearing_forgets_all_listeners():
    heard = []
    monitoring.register_event_listener(heard.append)
    monitoring.register_scalar_listener(lambda event, value: heard.append(event))
    monitoring.clear_event_listeners()
    monitoring.record_event("/a")
    monitoring.record_scalar("/a", 1)
    assert heard == []
