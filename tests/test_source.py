"""Source locations: the user's frames, and only these."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import source
from jxkernel.lax import add, sin


def eqn_frame(closed, index=0):
    return source.user_frame(closed.eqns[index].source)


def test_an_equation_knows_line_and_columns():
    def f(x):
        return add(sin(x), 1.0)

    first, second = (eqn_frame(jx.make_jaxpr(f)(1.0), i) for i in (0, 1))
    line = f.__code__.co_firstlineno + 1
    assert (first.line, second.line) == (line, line)
    assert first.function == "f"
    text = "        return add(sin(x), 1.0)"
    assert text[first.column : first.end_column] == "sin(x)"
    assert text[second.column : second.end_column] == "add(sin(x), 1.0)"


def test_helpers_of_the_user_are_in_the_stack():
    def helper(x):
        return sin(x)

    frames = source.user_frames(jx.make_jaxpr(lambda x: helper(x))(1.0).eqns[0].source)
    assert [frame.function for frame in frames[:2]] == ["helper", "<lambda>"]


def test_equations_replayed_by_transforms_keep_their_line():
    def f(x):
        return sin(x)

    closed = jx.make_jaxpr(jx.grad(jx.jit(f)))(1.0)
    lines = {
        source.user_frame(eqn.source).line
        for outer in closed.eqns
        for eqn in outer.params["jaxpr"].eqns
    }
    assert lines == {f.__code__.co_firstlineno + 1}


def test_numpy_and_this_package_are_not_the_users_code():
    with pytest.raises(TypeError) as caught:
        jx.jit(lambda x: np.ones_like(x))(1.0)
    assert "test_source.py" in str(caught.value)
    assert "numeric.py" not in str(caught.value)


def test_cells_are_user_code():
    namespace = {"sin": sin}
    code = compile("def f(x):\n    return sin(x)\n", "<ipython-input-3-abc>", "exec")
    exec(code, namespace)
    frame = eqn_frame(jx.make_jaxpr(namespace["f"])(1.0))
    assert (frame.file, frame.line) == ("<ipython-input-3-abc>", 2)
