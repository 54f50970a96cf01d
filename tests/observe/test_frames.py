"""The calls and lines that are told of, by each of Python's hooks."""

from __future__ import annotations

import gc
import json
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest

from jxkernel.observe import frames

MONITORING: Any = getattr(sys, "monitoring", None)
FEEDS: list[Any] = [frames._Traced]
if sys.version_info >= (3, 12):
    FEEDS.append(frames._Monitored)


def _own(code: CodeType) -> bool:
    return code.co_filename == __file__


class _Heard:
    """Writes down what it hears, with lines counted from the function's first."""

    def __init__(self, name: str, told: list[Any]) -> None:
        self.name = name
        self.told = told

    def on_line(self, frame: FrameType) -> None:
        self.told.append((self.name, frame.f_lineno - frame.f_code.co_firstlineno))

    def on_leave(self, frame: FrameType, raised: bool) -> None:
        self.told.append((self.name, "raised" if raised else "left"))


@pytest.fixture(params=FEEDS, ids=lambda feed: feed.__name__)
def follow(request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
    def following(run: Callable[[], Any], most_calls: int = 1000) -> list[Any]:
        told: list[Any] = []
        feed = request.param(
            lambda code: _own(code) and not code.co_name.startswith("_"),
            lambda frame: _Heard(frame.f_code.co_name, told),
            most_calls,
        )
        feed.start()
        try:
            run()
        finally:
            feed.stop()
        return told

    return following


@pytest.mark.parametrize("feed", FEEDS)
def test_what_was_heard_lives_no_longer_than_its_feed(feed: Any) -> None:
    def heard() -> Callable[[], Any]:
        told = _Heard("helper", [])
        following = feed(_own, lambda frame: told, 1000)
        following.start()
        helper(1)
        following.stop()
        assert told.told
        return weakref.ref(told)

    gc.disable()
    try:
        known = heard()
        assert known() is None
    finally:
        gc.enable()


def helper(n: int) -> int:
    if n < 0:
        raise ValueError(n)
    return n


def entry() -> int:
    total = 0
    for n in (1, -1):
        try:
            total += helper(n)
        except ValueError:
            json.dumps(n)
    return total


def generated() -> Iterator[int]:
    yield 1
    yield 2


def consumer() -> int:
    return sum(generated())


def test_lines_and_ends_of_calls_are_told_in_order(follow: Callable[..., list[Any]]) -> None:
    assert follow(entry) == [
        *[("entry", line) for line in (1, 2, 3, 4)],
        *[("helper", 1), ("helper", 3), ("helper", "left")],
        *[("entry", line) for line in (2, 3, 4)],
        *[("helper", 1), ("helper", 2), ("helper", "raised")],
        *[("entry", line) for line in (5, 6, 2, 7)],
        ("entry", "left"),
    ]


def test_generators_are_left_as_often_as_they_wait(follow: Callable[..., list[Any]]) -> None:
    assert [event for event in follow(consumer) if event[0] == "generated"] == [
        *[("generated", 1), ("generated", "left"), ("generated", 2), ("generated", "left")],
        ("generated", "left"),
    ]


def test_nothing_is_told_after_so_many_calls(follow: Callable[..., list[Any]]) -> None:
    def many() -> None:
        for _ in range(50):
            helper(1)
        helper(2)

    told = follow(many, most_calls=20)
    assert 0 < sum(event == ("helper", "left") for event in told) <= 20
    assert told[-1] != ("many", "left")


def test_other_threads_are_not_told_of(follow: Callable[..., list[Any]]) -> None:
    def both() -> None:
        thread = threading.Thread(target=helper, args=(1,))
        thread.start()
        thread.join()

    assert {name for name, _ in follow(both)} == {"both"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 has no sys.monitoring")
class TestToolsOfOthers:
    """Tools of Python's monitoring beside a feed, and after it."""

    @pytest.mark.parametrize("tool", [0, 4])
    def test_a_tool_that_is_there_hears_on(self, tool: int) -> None:
        heard: list[str] = []
        monitoring = MONITORING
        monitoring.use_tool_id(tool, "other")
        try:
            monitoring.register_callback(
                tool, monitoring.events.PY_START, lambda code, _: heard.append(code.co_name)
            )
            monitoring.set_events(tool, monitoring.events.PY_START)
            feed = frames.followed_calls(_own, lambda frame: None, 10)
            feed.start()
            helper(1)
            feed.stop()
            json.dumps([1])
            assert "helper" in heard
            assert "dumps" in heard
            assert monitoring.get_tool(tool) == "other"
        finally:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)

    def test_a_tool_that_comes_after_hears_all(self) -> None:
        before = [MONITORING.get_tool(tool) for tool in range(6)]
        feed = frames.followed_calls(_own, lambda frame: None, 10)
        feed.start()
        json.dumps([1])
        feed.stop()
        assert [MONITORING.get_tool(tool) for tool in range(6)] == before
        self.test_a_tool_that_is_there_hears_on(4)

    def test_a_debugger_and_a_feed_hear_both(self) -> None:
        told: list[Any] = []
        traced: list[str] = []
        feed = frames.followed_calls(_own, lambda frame: _Heard(frame.f_code.co_name, told), 10)
        before = sys.gettrace()
        sys.settrace(lambda frame, *_: traced.append(frame.f_code.co_name))
        try:
            feed.start()
            helper(1)
            feed.stop()
        finally:
            sys.settrace(before)
        assert "helper" in traced
        assert ("helper", 3) in told
