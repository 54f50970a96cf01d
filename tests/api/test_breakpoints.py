"""``debug.breakpoint``: ``pdb`` with the values of the line's variables, in compiled code too."""

import gc
import io
import sys

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


@pytest.fixture
def typed(monkeypatch):
    """Type lines at the debugger's prompt."""

    def type_lines(*lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))

    return type_lines


def function(x):
    y = {"a": jnp.sin(x) * 0.0 + 3.0}
    name = "n"
    jx.debug.breakpoint()
    return x + y["a"] + len(name)


@pytest.mark.parametrize("transform", [lambda f: f, jx.jit, jx.value_and_grad])
def test_the_debugger_shows_the_values_of_the_line(transform, typed, capsys):
    typed("p float(x)", "p float(y['a'])", "p name", "c")
    transform(function)(2.0)
    jx.effects_barrier()
    shown = capsys.readouterr().out
    line = function.__code__.co_firstlineno + 3
    assert f"breakpoint at {__file__}:{line}, in function" in shown
    assert "variables: name, x, y" in shown
    assert [part.strip() for part in shown.split("(jxdb)")[1:4]] == ["2.0", "3.0", "'n'"]


def test_quitting_ends_the_program(typed):
    def run():
        jx.block_until_ready(jx.jit(function)(2.0))
        jx.effects_barrier()

    typed("q")
    with pytest.raises(Exception, match="left at the breakpoint"):
        run()


@pytest.fixture
def collecting():
    """Have Python run a function of its own, as the collector's callbacks are, all the time."""

    def callback(phase, info):
        del phase, info

    threshold = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(1)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(callback)


def test_the_debugger_stays_at_the_line_whatever_else_python_runs(typed, capsys, collecting):
    for _ in range(5):
        typed("p float(x)", "q")
        with pytest.raises(Exception, match="left at the breakpoint"):
            function(2.0)
        shown = capsys.readouterr().out
        assert "(jxdb) 2.0\n" in shown
        assert "callback()" not in shown


def test_further_values_may_be_named(typed, capsys):
    typed("p int(more)", "c")

    @jx.jit
    def f(x):
        jx.debug.breakpoint(more=x * 2, ordered=True)
        return x

    f(4)
    jx.effects_barrier()
    assert "(jxdb) 8" in capsys.readouterr().out
