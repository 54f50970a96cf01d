"""``debug.print`` and ``debug.log``: formats, values, and what is refused at once."""

import logging

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax


@pytest.fixture(params=["eager", "jit"])
def run(request):
    return (lambda f: f) if request.param == "eager" else jx.jit


def printed(capsys, f, *args) -> list[str]:
    f(*args)
    jx.effects_barrier()
    return capsys.readouterr().out.splitlines()


VALUES = {
    "places": (("{} {}", np.float32(1.5), 2), "1.5 2"),
    "numbers": (("{1} {0}", np.float32(1.5), 2), "2 1.5"),
    "format": (("{:.2f}|{:>4}", np.float32(1.234), 3), "1.23|   3"),
    "representation": (("{!r}", np.float32(1.5)), "Array(1.5, dtype=float32)"),
    "array": (("{}", np.arange(3)), "[0 1 2]"),
    "element": (("{0[1]}", np.arange(3)), "1"),
    "attribute": (("{0.shape}", np.zeros((2, 3))), "(2, 3)"),
    "tree": (("{}", {"a": None, "b": (1, "s")}), "{'a': None, 'b': (Array(1, dtype=int32), 's')}"),
    "text": (("{} {}", "x", True), "x True"),
    "braces": (("{{}} {}", 1), "{} 1"),
    "nothing": (("done",), "done"),
}


@pytest.mark.parametrize("case", VALUES)
def test_print_formats_values(run, capsys, case):
    (fmt, *args), expected = VALUES[case]
    dynamic = [isinstance(arg, np.ndarray | np.generic) for arg in args]

    def f(*arrays):
        given = iter(arrays)
        jx.debug.print(
            fmt, *[next(given) if flag else x for x, flag in zip(args, dynamic, strict=True)]
        )

    arrays = [x for x, flag in zip(args, dynamic, strict=True) if flag]
    lines = printed(capsys, run(f), *arrays)
    assert [line.replace(", weak_type=True", "") for line in lines] == [expected]


def test_print_takes_keywords_and_keys(run, capsys):
    key = jx.random.key(0)
    lines = printed(capsys, run(lambda x, k: jx.debug.print("{x} {k.dtype}", k=k, x=x)), 1, key)
    assert lines == ["1 key<fry>"]


BAD = {
    "no value": (("{}",), {}, IndexError, r"a field \{0\} and 0 values"),
    "no name": (("{x}",), {"y": 1}, KeyError, "no value x="),
    "no field": (("x", 1), {}, ValueError, "shows no 1: write {} or {name}"),
    "no named field": (("x",), {"y": 1}, ValueError, "shows no y="),
    "no format": ((1.0, 1), {}, TypeError, "the first argument is a string"),
}


@pytest.mark.parametrize("function", [jx.debug.print, jx.debug.log])
@pytest.mark.parametrize("case", BAD)
def test_formats_are_checked_when_the_program_is_traced(run, case, function):
    args, kwargs, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        run(lambda: function(*args, **kwargs))()


def test_format_check_may_be_skipped(capsys):
    assert printed(capsys, lambda: jx.debug.print("x", 1, skip_format_check=True)) == ["x"]


def test_print_under_transforms(capsys):
    def f(x):
        jx.debug.print("x = {}", x, ordered=True)
        return jx.numpy.sin(x)

    x = np.arange(2, dtype=np.float32)
    every = ["x = 0.0", "x = 1.0"]
    for way in (jx.vmap(f), jx.jit(jx.vmap(jx.grad(f))), jx.vmap(jx.value_and_grad(jx.jit(f)))):
        assert printed(capsys, way, x) == every
    loop = lambda x: lax.scan(lambda c, _: (f(c) * 0 + 1, None), x, None, length=2)[0]  # noqa: E731
    assert printed(capsys, jx.grad(loop), np.float32(0)) == every
    turns = lambda x: lax.while_loop(lambda c: c < 2, lambda c: f(c) * 0 + c + 1, x)  # noqa: E731
    assert printed(capsys, jx.jit(turns), np.float32(0)) == every
    chosen = lambda x: lax.cond(x > 0, f, lambda x: x, x)  # noqa: E731
    assert printed(capsys, jx.jit(chosen), np.float32(1)) == ["x = 1.0"]
    assert printed(capsys, jx.jit(chosen), np.float32(0)) == []


def test_print_keeps_the_print_options_of_where_it_was_traced(capsys):
    with np.printoptions(precision=2):
        f = jx.jit(lambda x: jx.debug.print("{}", x))
        assert printed(capsys, f, np.array([1 / 3], np.float32)) == ["[0.33]"]
    assert printed(capsys, f, np.array([1 / 3], np.float32)) == ["[0.33]"]


def test_print_that_fails_while_the_program_runs_says_so():
    with pytest.raises(jx.errors.JaxRuntimeError, match="unsupported format string") as failed:
        jx.jit(lambda x: jx.debug.print("{:.2f}", x))(np.ones(2))
    assert isinstance(failed.value.__cause__, TypeError)


def test_log_goes_to_the_logger(run, caplog):
    with caplog.at_level(logging.INFO, "jxkernel.debug"):
        run(lambda x: jx.debug.log("loss {:.1f}", x))(np.float32(0.5))
        jx.effects_barrier()
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("INFO", "loss 0.5")]
