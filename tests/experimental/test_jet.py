"""Taylor series of functions along paths."""

from math import factorial

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.experimental.jet import jet


def _along(function, x, terms, order):
    """Return the derivatives of a function along a path, by derivatives of a number."""

    def path(t):
        return function(x + sum(term * t**k / factorial(k) for k, term in enumerate(terms, 1)))

    found = [path]
    for _ in range(order):
        found.append(jx.jacfwd(found[-1]))
    return [one(0.0) for one in found]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "function",
    [
        jnp.sin,
        lambda x: x**3 / (1 + x**2),
        lambda x: jnp.sum(jnp.exp(x)) * x,
        lambda x: jnp.linalg.norm(x) * jnp.cumsum(x),
        lambda x: lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * x, x),
        lambda x: lax.scan(lambda c, y: (c * y, c + y), 1.0, x)[1],
        lambda x: lax.cond(x[0] > 0, jnp.tanh, jnp.cos, x),
        jnp.sort,
        jx.nn.softplus,
    ],
)
def test_series_are_the_derivatives_along_the_path(function):
    x = jnp.array([0.7, -0.4])
    terms = [jnp.array([1.0, 0.5]), jnp.array([-2.0, 0.3]), jnp.array([0.1, 3.0])]
    value, found = jet(function, (x,), (terms,))
    wanted = _along(function, x, terms, 3)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-5)
    for one, other in zip(found, wanted[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_coefficients_are_derivatives_divided_by_factorials():
    _, derivatives = jet(jnp.exp, (0.5,), ((1.0, 0.4, 3.0),))
    _, coefficients = jet(jnp.exp, (0.5,), ((1.0, 0.2, 0.5),), factorial_scaled=False)
    for k, (one, other) in enumerate(zip(derivatives, coefficients, strict=True), 1):
        np.testing.assert_allclose(one, other * factorial(k), rtol=1e-6)


def test_several_arguments_are_trees_and_orders_are_counted_by_the_series():
    def function(tree, y):
        return {"product": tree["a"] * y, "kept": tree["b"]}

    value, terms = jet(
        function,
        ({"a": 2.0, "b": 5.0}, 3.0),
        ([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 7.0}], [1.0, 0.0]),
    )
    assert value == {"product": 6.0, "kept": 5.0}
    assert [float(term["product"]) for term in terms] == [5.0, 2.0]
    assert [float(term["kept"]) for term in terms] == [0.0, 7.0]
    assert jet(jnp.sin, (0.0,), ((),)) == (0.0, [])


def test_a_series_stands_under_other_transforms():
    def third(x):
        return jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]

    x = jnp.array([0.3, 1.1])
    np.testing.assert_allclose(jx.vmap(third)(x), -jnp.cos(x), rtol=1e-5)
    np.testing.assert_allclose(jx.vmap(jx.grad(third))(x), jnp.sin(x), rtol=1e-5)
    np.testing.assert_allclose(jx.jit(third)(0.3), -jnp.cos(0.3), rtol=1e-5)


def test_infinite_derivatives_do_not_spoil_values():
    value, (first,) = jet(lambda x: x, (2.0,), ((jnp.inf,),))
    assert (float(value), float(first)) == (2.0, np.inf)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_series_keep_the_dtype_of_the_argument(dtype):
    x = jnp.ones(2, dtype)
    value, terms = jet(lambda x: x * x, (x,), ((x, 0 * x),))
    assert {value.dtype.name, *[term.dtype.name for term in terms]} == {dtype}
    assert [complex(term[0]) for term in terms] == [2, 2]


@pytest.mark.parametrize(
    ("primals", "series", "words"),
    [
        ((1.0,), ((1.0,), (1.0,)), "a list of derivatives per argument, got 2 for 1"),
        ((1.0, 1.0), ((1.0,), (1.0, 2.0)), r"as many derivatives of each argument, got \[1, 2\]"),
        ((1.0,), ((np.ones(3),),), "argument 0 has not the argument's structure and shapes"),
        ((1.0,), (({"a": 1.0},),), "argument 0 has not the argument's structure and shapes"),
    ],
)
def test_series_that_do_not_fit_are_refused(primals, series, words):
    with pytest.raises(ValueError, match=words):
        jet(lambda *x: x[0], primals, series)
