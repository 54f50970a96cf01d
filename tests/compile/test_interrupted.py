"""An interrupted compilation: the next call waits for it and compiles nothing anew."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import events
from jxkernel import numpy as jnp
from jxkernel.compile.executable import Executables
from jxkernel.config import compile_runner
from jxkernel.observe import Recorder

Work = Callable[[], Any]


@pytest.fixture
def leaving() -> Any:
    """A runner that is interrupted as soon as the work has begun elsewhere."""
    threads: list[threading.Thread] = []

    def run(work: Work) -> Any:
        threads.append(threading.Thread(target=lambda: _quietly(work)))
        threads[-1].start()
        raise KeyboardInterrupt

    before = compile_runner.value
    compile_runner.set_global(run)
    yield threads
    compile_runner.set_global(before)
    for thread in threads:
        thread.join()


def _quietly(work: Work) -> None:
    try:
        work()
    except Exception:
        return


@pytest.mark.parametrize("again", [None, lambda work: work()], ids=["in place", "by a runner"])
def test_the_next_call_takes_it_up(leaving: list[threading.Thread], again: Any) -> None:
    traces = []

    @jx.jit
    def f(x: Any) -> Any:
        traces.append(x)
        return jnp.sin(x) * 3

    with Recorder() as steps:
        with pytest.raises(KeyboardInterrupt):
            f(2.0)
        compile_runner.set_global(again)
        assert float(f(2.0)) == pytest.approx(2.7278922)
        assert float(f(1.0)) == pytest.approx(2.5244129)
    assert len(traces) == 1
    assert len(leaving) == 1
    assert len(steps.records(events.Lowered, fun="f")) == 1
    assert [record.event.error for record in steps.records(events.Compiled, fun="f")][1:] == [None]


def test_one_that_fails_is_made_anew(leaving: list[threading.Thread]) -> None:
    f = jx.jit(lambda x: x + 1, compiler_options={"xla_no_such_option": True})
    with pytest.raises(KeyboardInterrupt):
        f(1.0)
    compile_runner.set_global(None)
    for _ in range(2):
        with pytest.raises(jx.errors.JaxRuntimeError, match="xla_no_such_option"):
            f(1.0)


def test_the_first_of_two_threads_that_ends_forgets_the_compilation() -> None:
    known: Any = Executables(jx.make_jaxpr(jnp.sin)(1.0))
    with known.following("key", None):
        with known.following("key", None):
            assert known.under_way == {"key": None}
        assert known.under_way == {}


def test_of_two_threads_that_fail_both_say_why() -> None:
    known: Any = Executables(jx.make_jaxpr(jnp.sin)(1.0))

    def fail() -> None:
        with known.following("key", None):
            known.under_way.clear()  # as the other thread did
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()
