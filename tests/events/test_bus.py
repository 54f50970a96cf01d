"""The bus delivers what is emitted, nests spans, and never breaks the program it reports on."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import warnings
import weakref
from collections.abc import Iterator

import pytest

from jxkernel.events import (
    CellFinished,
    CellStarted,
    Compiled,
    Event,
    Executed,
    Leak,
    Lowered,
    Traced,
    TraceTimeEffect,
    current_span,
    emit,
    listen,
    listening,
    listening_to,
    on_interest_change,
    open_spans,
    private,
    span,
)


@pytest.fixture
def events() -> Iterator[list[Event]]:
    received: list[Event] = []
    with listen(received.append):
        yield received


def test_span_without_listeners_is_one_shared_object_that_does_nothing() -> None:
    assert not listening()
    first, second = span(Traced, fun="f"), span(Compiled, fun="g")
    assert first is second
    with first as handle:
        handle.set(eqns=3, no_such_field=1)
        assert current_span() is None
    handle.start()
    handle.finish()
    assert open_spans() == ()


def test_span_reports_fields_given_before_and_during_the_work(events: list[Event]) -> None:
    with span(Traced, fun="f", function_id=7) as traced:
        traced.set(eqns=12)
    (event,) = events
    assert isinstance(event, Traced)
    assert (event.fun, event.function_id, event.eqns, event.error) == ("f", 7, 12, None)
    assert event.duration_ns >= 0
    assert event.start_ns > 0


def test_later_value_of_a_field_replaces_the_earlier(events: list[Event]) -> None:
    with span(Traced, fun="f", eqns=1) as traced:
        traced.set(eqns=2)
        traced.set(eqns=3)
    assert [event.eqns for event in events if isinstance(event, Traced)] == [3]


def test_spans_nest_and_end_in_order(events: list[Event]) -> None:
    with span(CellFinished, cell="c"):
        with span(Traced, fun="f"):
            emit(TraceTimeEffect, fun="f", effect="print(x)")
        with span(Lowered, fun="f"):
            pass
    effect, traced, lowered, cell = events
    assert [type(event) for event in events] == [TraceTimeEffect, Traced, Lowered, CellFinished]
    assert effect.parent == traced.span
    assert traced.parent == lowered.parent == cell.span
    assert cell.parent is None
    assert len({event.span for event in events}) == 4
    assert cell.start_ns <= traced.start_ns <= effect.start_ns
    assert traced.start_ns + traced.duration_ns <= lowered.start_ns
    assert cell.duration_ns >= traced.duration_ns + lowered.duration_ns


def test_cell_started_points_to_the_span_of_cell_finished(events: list[Event]) -> None:
    with span(CellFinished, cell="c"):
        emit(CellStarted, cell="c")
    started, finished = events
    assert started.parent == finished.span
    assert started.duration_ns == 0


def test_failed_span_is_reported_with_its_error_and_the_error_goes_on(events: list[Event]) -> None:
    with (
        pytest.raises(ValueError, match="bad shape"),
        span(CellFinished, cell="c"),
        span(Traced, fun="f"),
    ):
        raise ValueError("bad shape")
    assert [event.error for event in events] == ["ValueError: bad shape"] * 2
    assert current_span() is None


def test_interrupted_span_is_reported(events: list[Event]) -> None:
    with pytest.raises(KeyboardInterrupt), span(Compiled, fun="f"):
        raise KeyboardInterrupt
    assert [event.error for event in events] == ["KeyboardInterrupt"]


class _Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (_Unreadable(), "_Unreadable: (its message could not be read)"),
        (ValueError(), "ValueError"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 487 + "…"),
    ],
)
def test_error_text_is_bounded_and_never_raises(
    events: list[Event], error: Exception, text: str
) -> None:
    with pytest.raises(type(error)), span(Traced, fun="f"):
        raise error
    assert [event.error for event in events] == [text]


def test_listener_may_be_told_of_chosen_kinds_and_their_subclasses_only() -> None:
    received: list[Event] = []
    with listen(received.append, kinds=(Compiled, Leak)):
        assert listening_to(Compiled)
        assert not listening_to(Traced)
        with span(Traced, fun="f"), span(Compiled, fun="f"):
            pass
        emit(Leak, fun="f", tracer="t", holder="h")
        emit(TraceTimeEffect, fun="f", effect="e")
    assert [type(event) for event in received] == [Compiled, Leak]
    assert received[0].parent is None


def test_event_base_as_kind_means_every_kind() -> None:
    received: list[Event] = []
    with listen(received.append, kinds=(Event,)):
        emit(Leak, fun="f", tracer="t", holder="h")
    assert len(received) == 1


def test_every_listener_gets_each_event_until_its_handle_is_closed() -> None:
    first: list[Event] = []
    second: list[Event] = []
    handle = listen(first.append)
    with listen(second.append):
        emit(Leak, fun="f", tracer="t", holder="h")
        handle.close()
        handle.close()
        emit(Leak, fun="g", tracer="t", holder="h")
    assert not listening()
    assert len(first) == 1
    assert len(second) == 2


def test_same_function_may_listen_twice_and_each_handle_ends_one() -> None:
    received: list[Event] = []
    one, two = listen(received.append), listen(received.append)
    emit(Leak, fun="f", tracer="t", holder="h")
    one.close()
    emit(Leak, fun="f", tracer="t", holder="h")
    two.close()
    assert len(received) == 3


def test_raising_listener_is_dropped_with_one_warning_and_others_go_on(
    events: list[Event],
) -> None:
    calls: list[Event] = []

    def broken(event: Event) -> None:
        calls.append(event)
        raise ZeroDivisionError("listener's own mistake")

    def work() -> None:
        with span(Traced, fun="f") as traced:
            traced.set(eqns=1)
        emit(Leak, fun="f", tracer="t", holder="h")

    listen(broken)
    with pytest.warns(RuntimeWarning, match=r"broken.*raised ZeroDivisionError") as caught:
        work()
    assert len(caught) == 1
    assert len(calls) == 1
    assert [type(event) for event in events] == [Traced, Leak]


def test_raising_listener_does_not_replace_the_users_own_error() -> None:
    def broken(event: Event) -> None:
        raise ZeroDivisionError

    listen(broken)
    with pytest.warns(RuntimeWarning), pytest.raises(KeyError), span(Traced, fun="f"):
        raise KeyError("the user's")


def test_dropped_listener_breaks_nothing_when_warnings_are_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(event: Event) -> None:
        raise ZeroDivisionError

    listen(broken)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        emit(Leak, fun="f", tracer="t", holder="h")
    assert "broken" in capsys.readouterr().err
    assert not listening()


def test_what_a_listener_causes_is_not_reported() -> None:
    received: list[Event] = []

    def computing(event: Event) -> None:
        received.append(event)
        with span(Traced, fun="inside the listener"):
            emit(Leak, fun="f", tracer="t", holder="h")

    with listen(computing):
        emit(Leak, fun="f", tracer="t", holder="h")
        emit(Leak, fun="g", tracer="t", holder="h")
    assert [event.fun for event in received if isinstance(event, Leak)] == ["f", "g"]


def test_listener_may_close_itself_while_being_called() -> None:
    received: list[Event] = []

    def once(event: Event) -> None:
        received.append(event)
        handle.close()

    handle = listen(once)
    emit(Leak, fun="f", tracer="t", holder="h")
    emit(Leak, fun="f", tracer="t", holder="h")
    assert len(received) == 1


def test_closing_during_a_span_loses_the_event_but_restores_the_context() -> None:
    handle = listen(lambda event: None)
    with span(Traced, fun="f"):
        handle.close()
    assert current_span() is None
    assert open_spans() == ()


def test_listening_that_begins_during_a_span_hears_of_later_work_only() -> None:
    received: list[Event] = []
    with span(Traced, fun="f"):
        handle = listen(received.append)
        emit(Leak, fun="f", tracer="t", holder="h")
    handle.close()
    assert [type(event) for event in received] == [Leak]


def test_interest_is_told_now_and_at_every_change() -> None:
    told: list[bool] = []
    watch = on_interest_change(Executed, told.append)
    with listen(lambda event: None, kinds=(Traced,)):
        assert told == [False]
        one = listen(lambda event: None, kinds=(Executed,))
        two = listen(lambda event: None)
        assert told == [False, True]
        one.close()
        assert told == [False, True]
        two.close()
        assert told == [False, True, False]
    watch.close()
    with listen(lambda event: None):
        assert told == [False, True, False]


def test_interest_ends_when_the_only_listener_is_dropped_for_raising() -> None:
    told: list[bool] = []

    def broken(event: Event) -> None:
        raise ZeroDivisionError

    with on_interest_change(Executed, told.append):
        listen(broken)
        with pytest.warns(RuntimeWarning):
            emit(Executed, fun="f")
    assert told == [False, True, False]


def test_open_spans_show_work_under_way_in_all_threads(events: list[Event]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with span(Compiled, fun="g"):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with span(Traced, fun="f") as traced:
        traced.set(eqns=2)
        thread.start()
        inside.wait()
        seen = [(one.kind, one.fields["fun"]) for one in open_spans()]
        leave.set()
        thread.join()
    assert seen == [(Traced, "f"), (Compiled, "g")]
    assert open_spans() == ()


def test_new_thread_starts_with_no_parent_and_a_copied_context_with_one(
    events: list[Event],
) -> None:
    def work(name: str) -> None:
        emit(Leak, fun=name, tracer="t", holder="h")

    with span(CellFinished, cell="c"):
        plain = threading.Thread(target=work, args=("plain",))
        context = contextvars.copy_context()
        copied = threading.Thread(target=lambda: context.run(work, "copied"))
        for thread in (plain, copied):
            thread.start()
            thread.join()
    cell = events[-1]
    parents = {event.fun: event.parent for event in events if isinstance(event, Leak)}
    assert parents == {"plain": None, "copied": cell.span}


def test_interleaved_tasks_keep_their_own_parents(events: list[Event]) -> None:
    async def work(name: str) -> None:
        with span(CellFinished, cell=name):
            await asyncio.sleep(0)
            emit(Leak, fun=name, tracer="t", holder="h")
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    cells = {event.cell: event.span for event in events if isinstance(event, CellFinished)}
    parents = {event.fun: event.parent for event in events if isinstance(event, Leak)}
    assert parents == cells


def test_span_started_and_finished_in_different_contexts(events: list[Event]) -> None:
    # As a notebook's hooks before and after an asynchronous cell do.
    cell = span(CellFinished, cell="c")
    contextvars.copy_context().run(cell.start)
    contextvars.copy_context().run(cell.finish)
    cell.finish()
    assert [type(event) for event in events] == [CellFinished]
    assert open_spans() == ()


def test_finish_outside_the_starting_context_ends_the_parenthood(events: list[Event]) -> None:
    cell = span(CellFinished, cell="c")

    def start_and_copy() -> contextvars.Context:
        cell.start()
        return contextvars.copy_context()

    after = contextvars.copy_context().run(start_and_copy)
    after.run(cell.finish)
    after.run(emit, Leak, fun="f", tracer="t", holder="h")
    assert events[-1].parent is None


def test_threads_emitting_and_listening_at_once_lose_nothing(events: list[Event]) -> None:
    count, threads = 200, 4
    barrier = threading.Barrier(threads * 2)

    def emitter(name: str) -> None:
        barrier.wait()
        for _ in range(count):
            with span(Traced, fun=name):
                emit(Leak, fun=name, tracer="t", holder="h")

    def churner() -> None:
        barrier.wait()
        for _ in range(count):
            listen(lambda event: None, kinds=(Compiled,)).close()

    workers = [threading.Thread(target=emitter, args=(f"f{i}",)) for i in range(threads)]
    workers += [threading.Thread(target=churner) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(events) == 2 * count * threads
    assert len({event.span for event in events}) == len(events)
    traced = {event.span: event for event in events if isinstance(event, Traced)}
    for event in events:
        if isinstance(event, Leak):
            assert event.parent is not None
            assert traced[event.parent].fun == event.fun


def test_closed_handle_lets_its_listener_be_collected() -> None:
    class Holder:
        def hear(self, event: Event) -> None:
            pass

    holder = Holder()
    alive = weakref.ref(holder)
    handle = listen(holder.hear)
    handle.close()
    del holder
    gc.collect()
    assert alive() is None


def test_listener_hears_nothing_once_its_owner_is_gone() -> None:
    class Owner:
        pass

    heard: list[Event] = []
    told: list[bool] = []
    owner = Owner()
    listen(heard.append, (Executed,), owner=owner)
    with on_interest_change(Executed, told.append):
        emit(Executed, fun="f")
        assert len(heard) == 1
        del owner
        gc.collect()
        assert not listening_to(Executed)
        emit(Executed, fun="f")
        with listen(heard.append, (Leak,)):
            assert told == [True, False]
    assert len(heard) == 1
    assert not listening()


def test_what_happens_in_private_is_heard_by_private_listeners_alone() -> None:
    own: list[Event] = []
    others: list[Event] = []
    with listen(own.append, private=True), listen(others.append):
        emit(Traced, fun="f")
        with private(), span(Traced, fun="g"):
            emit(Traced, fun="h")
        emit(Traced, fun="i")
    assert [event.fun for event in own] == ["h", "g"]  # type: ignore[attr-defined]  # all Traced
    assert [event.fun for event in others] == ["f", "i"]  # type: ignore[attr-defined]
