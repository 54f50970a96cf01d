"""Tracebacks show the user's lines, in the way that is configured."""

import subprocess
import sys
import traceback

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export, lax
from jxkernel.ad_checkpoint import print_saved_residuals
from jxkernel.config import traceback_filtering
from jxkernel.core.filtering import UnfilteredStackTrace
from jxkernel.experimental import checkify
from jxkernel.runtime.failures import CallbackError
from jxkernel.scipy import optimize
from jxkernel.scipy.sparse import linalg
from jxkernel.test_util import check_grads


def user_line(x):
    return jnp.dot(x, jnp.ones(3))


CALLS = {
    "eager": lambda: user_line(jnp.ones(2)),
    "jit": lambda: jx.jit(user_line)(jnp.ones(2)),
    "grad": lambda: jx.grad(user_line)(jnp.ones(2)),
    "vmap": lambda: jx.vmap(user_line)(jnp.ones((2, 2))),
    "scan": lambda: jx.lax.scan(lambda c, x: (user_line(c), x), jnp.ones(2), None, length=2),
    "checkpoint": lambda: jx.checkpoint(user_line)(jnp.ones(2)),
}


def failing(*args):
    raise ValueError("mine")


def with_a_rule(f):
    """Return a function with a rule that its call does not need."""
    function = jx.custom_vjp(f)
    function.defvjp(failing, failing)
    return function


def with_rules(*, fwd=lambda x: (x, None), bwd=lambda _, ct: (ct,)):
    function = jx.custom_vjp(lambda x: x)
    function.defvjp(fwd, bwd)
    return function


ONE, THREE = np.float32(1), np.ones(3, np.float32)

RUN_USER_CODE = {
    "apply_along_axis": lambda: jnp.apply_along_axis(failing, 0, THREE),
    "apply_over_axes": lambda: jnp.apply_over_axes(failing, THREE, 0),
    "associative_scan": lambda: lax.associative_scan(failing, THREE),
    "backward rule": lambda: jx.vjp(with_rules(bwd=failing), ONE)[1](ONE),
    "bicgstab": lambda: linalg.bicgstab(failing, THREE),
    "cg": lambda: linalg.cg(failing, THREE),
    "check_grads": lambda: check_grads(failing, (ONE,), 1),
    "checkify": lambda: checkify.checkify(failing)(ONE),
    "closure_convert": lambda: jx.closure_convert(failing, ONE),
    "eval_shape": lambda: jx.eval_shape(failing, ONE),
    "function with a rule": lambda: with_a_rule(failing)(ONE),
    "export": lambda: export.export(jx.jit(failing))(ONE),
    "forward rule": lambda: jx.grad(with_rules(fwd=failing))(ONE),
    "fromfunction": lambda: jnp.fromfunction(failing, (3,)),
    "frompyfunc": lambda: jnp.frompyfunc(failing, 2, 1)(THREE, THREE),
    "gmres": lambda: linalg.gmres(failing, THREE),
    "jit.eval_shape": lambda: jx.jit(failing).eval_shape(ONE),
    "jit.lower": lambda: jx.jit(failing).lower(ONE),
    "jit.trace": lambda: jx.jit(failing).trace(ONE),
    "jvp": lambda: jx.jvp(failing, (ONE,), (ONE,)),
    "linear_transpose": lambda: jx.linear_transpose(failing, ONE),
    "linearize": lambda: jx.linearize(failing, ONE),
    "make_jaxpr": lambda: jx.make_jaxpr(failing)(ONE),
    "minimize": lambda: optimize.minimize(failing, THREE, method="BFGS"),
    "piecewise": lambda: jnp.piecewise(THREE, [THREE > 0], [failing, 1]),
    "print_saved_residuals": lambda: print_saved_residuals(failing, ONE),
    "pure_callback": lambda: jx.pure_callback(failing, jx.ShapeDtypeStruct((), "f4"), ONE),
    "reduce": lambda: lax.reduce(THREE, ONE, failing, (0,)),
    "reduce_window": lambda: lax.reduce_window(THREE, ONE, failing, (2,), (1,), "SAME"),
    "vectorize": lambda: jnp.vectorize(failing, signature="(n)->()")(THREE),
    "vjp": lambda: jx.vjp(failing, ONE),
}


@pytest.mark.parametrize("call", RUN_USER_CODE)
def test_only_the_user_s_lines_are_left_of_what_their_functions_raise(call):
    error = _raised(RUN_USER_CODE[call], "auto")
    # What a callback raised is the cause of another error, with its text.
    assert str(error.__cause__ if isinstance(error, CallbackError) else error) == "mine"
    assert _files(error) == {__file__}


def _raised(call, mode):
    with traceback_filtering(mode):
        try:
            call()
        except Exception as error:
            return error
    raise AssertionError("it raises")


def _files(error):
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mode", ["auto", "quiet_remove_frames", "remove_frames"])
def test_only_the_user_s_lines_are_left(call, mode):
    assert _files(_raised(CALLS[call], mode)) == {__file__}


def test_off_leaves_everything():
    error = _raised(CALLS["jit"], "off")
    assert any("jxkernel" in file.replace(__file__, "") for file in _files(error))
    assert error.__cause__ is None


def test_remove_frames_keeps_the_whole_traceback_as_the_cause():
    cause = _raised(CALLS["jit"], "remove_frames").__cause__
    assert isinstance(cause, UnfilteredStackTrace)
    assert "cache_miss" in str(cause)


def test_quiet_removal_says_so_once():
    (note,) = _raised(CALLS["jit"], "quiet_remove_frames").__notes__
    assert "config.update('jax_traceback_filtering', 'off')" in note
    assert not hasattr(_raised(CALLS["jit"], "auto"), "__notes__")


def test_frames_may_be_marked_for_tools_that_hide_them():
    entry = _raised(CALLS["jit"], "tracebackhide").__traceback__
    marks = {}
    while entry is not None:
        marks[entry.tb_frame.f_code.co_filename] = "__tracebackhide__" in entry.tb_frame.f_locals
        entry = entry.tb_next
    assert marks.pop(__file__) is False
    assert marks
    assert any(marks.values())


def test_a_plain_script_shows_its_own_lines():
    script = (
        "import jxkernel as jx, jxkernel.numpy as jnp\n"
        "jx.jit(lambda x: jnp.dot(x, jnp.ones(3)))(jnp.ones(2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    shown = [line for line in done.stderr.splitlines() if line.lstrip().startswith("File ")]
    assert shown
    assert [line for line in shown if "jxkernel" in line] == []
