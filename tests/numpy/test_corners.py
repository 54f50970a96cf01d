"""Corners of the NumPy API beyond the tables: traced options, sizes of 0, weak operands."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "option",
    [
        lambda v: {"constant_values": ((v, 2.0), (3.0, v))},
        lambda v: {"constant_values": (v, 2.0)},
        lambda v: {"mode": "linear_ramp", "end_values": ((v, 2.0), (3.0, v))},
    ],
)
def test_values_around_an_array_may_be_traced(option):
    padded = jx.jit(lambda x, v: jnp.pad(x, ((1, 2), (2, 0)), **option(v)))
    wanted = np.pad(X, ((1, 2), (2, 0)), **option(7.0))
    np.testing.assert_allclose(padded(X, 7.0), wanted, rtol=1e-6)


def test_an_array_without_elements_resizes_to_zeros():
    found = jnp.resize(np.zeros((0, 3), np.int32), (2, 2))
    np.testing.assert_array_equal(found, np.zeros((2, 2), np.int32))
    assert found.dtype == np.int32


def test_places_of_the_least_are_of_32_bits():
    with jx.enable_x64(True):
        assert jnp.top_k(X, 2, mode="smallest")[1].dtype == np.int32
        assert jnp.top_k(X, 2)[1].dtype == np.int32


@pytest.mark.parametrize(
    ("function", "weak"),
    [
        (lambda x: jnp.pad(x[None], 1), True),
        (lambda x: jnp.pad(x[None], 1, constant_values=(1, 2)), True),
        (lambda x: jnp.tril(x[None, None]), True),
        (jnp.unwrap, False),
    ],
)
def test_weakness_of_results(function, weak):
    operand = jnp.asarray(1.0) if weak else np.arange(3)
    assert function(operand).weak_type is weak


def test_sinc_takes_its_limits_at_infinities() -> None:
    infinities = np.float32([-np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(jnp.sinc(infinities), np.float32([0, 0, np.nan]))


def test_transforms_over_no_axes_change_the_dtype_alone() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for transform, dtype in (("rfftn", "float32"), ("irfftn", "complex64"), ("fftn", "complex64")):
        found = getattr(jnp.fft, transform)(x, axes=())
        assert found.dtype == dtype, transform
        np.testing.assert_array_equal(found, x)


def test_numbers_known_while_tracing_choose_by_default() -> None:
    choices = np.float32([[0, 1, 2], [3, 4, 5]])
    assert jx.jit(lambda c: jnp.choose(np.array([0, 1, 0]), c))(choices).tolist() == [0, 4, 2]
    with pytest.raises(ValueError, match="out of range for 2 choices"):
        jx.jit(lambda c: jnp.choose(np.array([0, 2, 0]), c))(choices)
