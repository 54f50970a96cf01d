"""Tracebacks show the user's lines, in the way that is configured."""

import subprocess
import sys
import traceback

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import traceback_filtering
from jxkernel.core.filtering import UnfilteredStackTrace


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
