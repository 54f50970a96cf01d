"""Lowering: parameters, literals, donation, nested programs, locations."""

import re

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.core.primitive import Primitive
from jxkernel.errors import UndefinedRuleError
from jxkernel.lax import add, mul, sin
from jxkernel.lowering import lower_program

X = np.arange(3, dtype=np.float32)


def lower(fun, *args, **options):
    return lower_program(jx.make_jaxpr(fun)(*args), name="f", platform="cpu", **options)


def test_main_takes_only_what_is_read():
    program = lower(lambda x, y: sin(y), X, X)
    assert program.kept == (1,)
    assert program.text().count("%arg") == 2  # declared once, used once
    assert lower(lambda x, y: sin(y), X, X, keep_unused=True).kept == (0, 1)


def test_an_equal_literal_is_written_once_and_signs_and_nans_are_kept_apart():
    text = lower(lambda x: mul(add(mul(x, 0.0), mul(x, -0.0)), 0.0), X).text()
    assert text.count("dense<0.000000e+00>") == 1
    assert text.count("dense<-0.000000e+00>") == 1


def test_a_number_is_spread_once_over_each_shape():
    def f(x):
        return add(mul(x, 2.0), sin(mul(x[:2], 2.0)).sum()), mul(mul(x, 2.0), 2.0)

    assert lower(f, X).text().count("broadcast_in_dim") == 3  # over 3, over 2, and the sum
    step = jx.lax.scan(lambda c, x: (mul(c, 2.0), mul(x, 2.0)), X, np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(step[0], 4 * X)  # a loop has its own


def test_added_axes_are_spread_at_once():
    def f(x):
        rows = jx.lax.broadcast_in_dim(x, (3, 1), (0,))
        return jx.lax.broadcast_in_dim(rows, (4, 3, 2), (1, 2))

    assert re.search(r"broadcast_in_dim %arg0, dims = \[1\].*4x3x2", lower(f, X).text())
    expected = np.broadcast_to(X[:, None], (4, 3, 2))
    np.testing.assert_array_equal(jx.jit(f)(X), expected)
    moved = jx.jit(lambda x: jx.lax.broadcast_in_dim(f(x), (5, 4, 3, 2), (1, 2, 3)))
    np.testing.assert_array_equal(moved(X), np.broadcast_to(expected, (5, 4, 3, 2)))


def test_donated_arguments_alias_results_of_their_type():
    text = lower(lambda x, y: (add(x, 1.0), mul(y, 2.0)), X, X, donated=(True, False)).text()
    assert "tf.aliasing_output = 0" in text
    assert "jax.buffer_donor" not in text


def test_a_donated_argument_without_a_result_of_its_type_is_marked_a_donor():
    text = lower(lambda x, y: add(y, 1.0), X[:2], X, donated=(True, False), keep_unused=True).text()
    assert "jax.buffer_donor = true" in text


@pytest.mark.parametrize(
    ("fun", "donated", "unusable"),
    [
        (lambda x, y: add(x, y), (True, False), ()),
        (lambda x, y: add(x, y), (True, True), (1,)),
        (lambda x, y: jx.lax.reshape(add(x, y), (3, 1)), (True, False), ()),
        (lambda x, y: jx.lax.convert_element_type(mul(x, y), "int32"), (False, True), ()),
        (lambda x, y: jx.lax.convert_element_type(mul(x, y), "int8"), (True, True), (0, 1)),
        (lambda x, y: sin(y)[:2], (True, True), (1,)),
    ],
)
def test_donated_arguments_whose_bytes_no_result_has_are_unusable(fun, donated, unusable):
    assert lower(fun, X, X, donated=donated).unusable == unusable


def test_each_equation_keeps_the_users_line():
    text = lower(lambda x: sin(add(x, 1.0)), X).text(locations=True)
    assert '"sin"' in text
    assert '"add"' in text
    assert "test_lower.py" in text


def test_derivatives_keep_the_users_line():
    def f(x):
        return sin(x)  # the line

    line = f.__code__.co_firstlineno + 1
    text = jx.jit(jx.grad(jx.jit(f))).lower(1.0).as_text(debug_info=True)
    assert f'test_lower.py":{line}:' in text
    assert '"cos"' in text


def test_module_and_function_names_are_safe():
    def f(x):
        return jx.jit(lambda y: sin(y))(x)

    f.__name__ = "f<&é>"
    assert "module @jit_f____" in jx.jit(f).lower(X).as_text()


def test_a_primitive_without_lowering_is_named():
    primitive = Primitive("test_no_lowering")
    primitive.define(abstract_eval=lambda x: x)
    try:
        with pytest.raises(UndefinedRuleError, match="'test_no_lowering' has no lower rule"):
            jx.jit(lambda x: primitive.bind(x)).lower(X)
    finally:
        del Primitive.registry["test_no_lowering"]
