"""Constants that are made while something is traced are arrays of their dtype."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import errors, lax

MAKERS = {
    "full": lambda: jnp.full((), -8.0),
    "full_like": lambda: jnp.full_like(1.0, -8.0),
    "broadcast_to": lambda: jnp.broadcast_to(-8.0, ()),
    "broadcast_arrays": lambda: jnp.broadcast_arrays(-8.0, 1.0)[0],
    "zeros_like": lambda: jnp.zeros_like(1.0) - 8.0,
    "ones_like": lambda: jnp.ones_like(1.0) * -8.0,
    "empty_like": lambda: jnp.empty_like(1.0) * 0.0 - 8.0,
    "asarray": lambda: jnp.asarray(-8.0),
    "clip": lambda: jnp.clip(-8.0),
    "positive": lambda: jnp.positive(-8.0),
    "real": lambda: jnp.real(-8.0),
    "conj": lambda: jnp.conj(-8.0),
    "round": lambda: jnp.round(-8.0),
    "nan_to_num": lambda: jnp.nan_to_num(-8.0),
    "stage": lambda: lax.stage(-8.0),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("traced", [False, True])
def test_rank_0_constants_compute_as_arrays(make, traced):
    def run(f):
        return (jx.jit(f) if traced else f)()

    assert np.isnan(run(lambda: make() ** 0.5))
    assert np.isneginf(run(lambda: make() * 1e30 * 1e30))
    assert np.isneginf(run(lambda: make() / 0))
    assert run(lambda: make().astype(int)).dtype == jnp.int32
    assert run(lambda: make()[None]).shape == (1,)
    assert run(lambda: make().at[()].set(2.0)) == 2.0
    assert run(lambda: make().shape) == ()
    assert isinstance(run(make), jx.Array)


def test_constants_have_no_known_value_while_traced():
    with pytest.raises(errors.TracerBoolConversionError):
        jx.jit(lambda q: 5 if jnp.ones_like(q) else 3)(1.0)


def test_constants_under_grad_and_vmap():
    assert np.isnan(jx.grad(lambda q: q * jnp.full((), -8.0) ** 0.5)(1.0))
    assert np.isposinf(jx.vmap(lambda q: q * jnp.full((), 1e30) * 1e30)(jnp.ones(2))).all()


def test_complex_constants_become_real_by_their_real_part():
    for dtype in (jnp.int32, jnp.float32, jnp.uint8, jnp.bfloat16):
        with pytest.warns(np.exceptions.ComplexWarning):
            y = jx.jit(lambda d=dtype: jnp.full((2,), 3 + 2j).astype(d))()
        assert y.dtype == dtype
        assert (y == 3).all()
    with pytest.raises(TypeError, match="does not fit the real dtype"):
        lax.convert_element_type(2j, jnp.float32)


TRUE, FALSE = np.ones(3, bool), np.zeros(3, bool)
BOOLEAN = {
    "add": (lambda a, b: a + b, np.logical_or),
    "multiply": (lambda a, b: a * b, np.logical_and),
    "maximum": (jnp.maximum, np.maximum),
    "minimum": (jnp.minimum, np.minimum),
    "dot": (lambda a, b: a @ b, np.matmul),
    "einsum": (lambda a, b: jnp.einsum("i,i", a, b), np.matmul),
    "sum": (lambda a, b: jnp.sum(a), lambda a, b: np.sum(a)),
    "sum to bool": (lambda a, b: jnp.sum(a, dtype=bool), lambda a, b: np.any(a)),
    "prod": (lambda a, b: jnp.prod(a), lambda a, b: np.prod(a)),
    "cumsum": (lambda a, b: jnp.cumsum(a), lambda a, b: np.cumsum(a)),
    "mean": (lambda a, b: jnp.mean(a), lambda a, b: np.mean(a)),
    "convolve": (lambda a, b: jnp.convolve(a, b), lambda a, b: np.convolve(1.0 * a, 1.0 * b)),
    "any": (lambda a, b: jnp.any(a), lambda a, b: np.any(a)),
    "divide": (lambda a, b: a / (b + TRUE), lambda a, b: a / np.logical_or(b, TRUE)),
    "power": (lambda a, b: a**b, lambda a, b: a.astype(np.int32) ** b),
    "set": (lambda a, b: a.at[0].set(b[1]), lambda a, b: np.r_[b[1], a[1:]]),
}


@pytest.mark.parametrize(("function", "reference"), BOOLEAN.values(), ids=BOOLEAN)
@pytest.mark.parametrize("a", [TRUE, FALSE], ids=["true", "false"])
@pytest.mark.parametrize("b", [TRUE, FALSE], ids=["true", "false"])
def test_arithmetic_of_booleans_is_the_same_for_constants(function, reference, a, b):
    expected = reference(a, b)
    constant = jx.jit(lambda: function(jnp.full(3, a[0]), jnp.full(3, b[0])))()
    np.testing.assert_array_equal(constant, expected)
    np.testing.assert_array_equal(jx.jit(function)(a, b), expected)
    np.testing.assert_array_equal(function(jnp.asarray(a), jnp.asarray(b)), expected)
