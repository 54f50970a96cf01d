"""Data and dtypes of 64 bits where these are off, and complex numbers made real: what is told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from jxkernel.nn import initializers
from jxkernel.scipy import stats

X = np.array([0.25, 0.5, 0.75])
K = np.array([2, 0, 1])
Z = X + 1j


@pytest.mark.parametrize(
    ("call", "dtype", "weak"),
    [
        (lambda: jnp.power(2, 3), "int32", True),
        (lambda: jnp.setdiff1d(K, X), "int32", False),
        (lambda: jnp.gradient(jnp.ones(3, "bfloat16"), K), "bfloat16", False),
        (lambda: jnp.trapezoid(jnp.ones(3, "bfloat16"), K), "bfloat16", False),
        (lambda: jnp.einsum("i->", jnp.ones(3, "bfloat16"), preferred_element_type="float32"),
         "float32", False),
        (lambda: stats.cauchy.logpdf(0.5), "float32", True),
        (lambda: stats.bernoulli.pmf(1, 0.5), "float32", True),
        (lambda: stats.norm.pdf(0.5), "float32", True),
        (lambda: stats.norm.cdf(0.5), "float32", False),
        (lambda: stats.norm.pdf(X), "float32", False),
    ],
)  # fmt: skip
def test_results_have_the_dtype_of_what_was_given(
    call: Callable[[], Any], dtype: str, weak: bool
) -> None:
    result = call()
    assert (result.dtype.name, result.weak_type) == (dtype, weak)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: jnp.zeros_like(d),
        lambda d: jnp.ones_like(d),
        lambda d: jnp.full_like(d, 2),
        lambda d: jnp.stack([d, d]),
        lambda d: jnp.concatenate([d, d]),
        lambda d: jnp.where(d > 0, d, d),
        lambda d: d @ d,
        lambda d: jnp.einsum("i,i", d, d),
    ],
)
def test_arrays_of_64_bits_keep_them_among_themselves(call: Callable[[Any], Any]) -> None:
    with enable_x64(True):
        double = jnp.arange(3.0)
    assert call(double).dtype == np.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.cov(X, dtype="float64"),
        lambda: jnp.corrcoef(X[None], dtype="float64"),
        lambda: initializers.zeros(jx.random.key(0), (2,), "float64"),
        lambda: initializers.ones(jx.random.key(0), (2,), np.int64),
        lambda: jx.random.normal(jx.random.key(0), (2,), "float64"),
        lambda: jnp.sum(X, dtype="float64"),
        lambda: jnp.concatenate([X, X], dtype="float64"),
    ],
)
def test_a_dtype_of_64_bits_is_narrowed_with_a_warning(call: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match="64 asked for in .* is narrowed to") as seen:
        result = call()
    assert result.dtype.itemsize == 4
    assert {warning.filename for warning in seen} == {__file__}


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sum", lambda: jnp.sum(Z, dtype="float32")),
        ("prod", lambda: jnp.prod(Z, dtype="float32")),
        ("nansum", lambda: jnp.nansum(Z, dtype=int)),
        ("mean", lambda: jnp.mean(Z, dtype=float)),
        ("trace", lambda: jnp.trace(np.diag(Z), dtype=float)),
        ("cumsum", lambda: jnp.cumsum(Z, dtype=float)),
        ("nancumprod", lambda: jnp.nancumprod(Z, dtype=float)),
        ("cumulative_sum", lambda: jnp.cumulative_sum(Z, dtype=float)),
        ("concatenate", lambda: jnp.concatenate([X, Z], None, float)),
        ("stack", lambda: jnp.stack([X, Z], dtype=int)),
        ("full", lambda: jnp.full(2, Z[0], "float32")),
        ("full_like", lambda: jnp.full_like(X, Z)),
        ("linspace", lambda: jnp.linspace(0, 1j, 3, dtype="float32")),
        ("astype", lambda: jnp.asarray(Z).astype(float)),
        ("astype", lambda: jnp.asarray(Z).astype("int32")),
    ],
)  # fmt: skip
def test_an_imaginary_part_is_dropped_with_a_warning(name: str, call: Callable[[], Any]) -> None:
    for _ in range(2):
        with pytest.warns(np.exceptions.ComplexWarning, match=f"{name} converts complex64 to"):
            assert not jnp.iscomplexobj(call())
