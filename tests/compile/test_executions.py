"""Executions are reported from Python and from C++, while someone listens and not otherwise."""

import numpy as np

import jxkernel as jx
from jxkernel import events
from jxkernel.config import post_hook
from jxkernel.lax import sin

X = np.arange(3, dtype=np.float32)


def test_misses_and_hits_are_reported_alike():
    def double_sine(x):
        return sin(sin(x))

    jitted = jx.jit(double_sine)
    seen = []
    with events.listen(seen.append, (events.Executed,)):
        jitted(X)
        jitted(X)
        sin(jitted(X))
    assert [event.fun for event in seen] == ["double_sine"] * 3 + ["sin"]
    assert {event.platform for event in seen} == {"cpu"}


def test_calls_of_what_was_compiled_ahead_are_reported_by_name():
    def double_sine(x):
        return sin(sin(x))

    compiled = jx.jit(double_sine).lower(X).compile()
    seen = []
    with events.listen(seen.append, (events.Executed,)):
        compiled(X)
        compiled(X)
    assert [event.fun for event in seen] == ["double_sine"] * 2


def test_the_hook_is_gone_when_nobody_listens():
    assert post_hook.value is None
    with events.listen(lambda event: None, (events.Compiled,)):
        assert post_hook.value is None
    with events.listen(lambda event: None, (events.Executed,)):
        assert post_hook.value is not None
    assert post_hook.value is None


def test_programs_with_effects_report_once_that_every_call_enters_python():
    looking = jx.jit(lambda x: jx.debug.callback(lambda v: None, x))
    lost = []
    with events.listen(lost.append, (events.FastPathLost,)):
        jx.jit(lambda x: x + 1)(X)
        looking(X)
        looking(X)
        jx.jit(lambda x: jx.pure_callback(np.sin, jx.ShapeDtypeStruct(x.shape, x.dtype), x))(X)
    assert [event.reason for event in lost] == ["callbacks with effects (Debug)", "callbacks"]
