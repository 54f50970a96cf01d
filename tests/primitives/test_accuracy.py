"""Accuracies: they reach the module, survive transforms, and are checked."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.lax import AccuracyMode, Tolerance

X = np.float32([0.25, 0.5])
FUNCTIONS = (
    *(lax.exp, lax.exp2, lax.expm1, lax.log, lax.log1p, lax.log2, lax.logistic),
    *(lax.sqrt, lax.rsqrt, lax.cbrt, lax.sin, lax.cos, lax.tan, lax.tanh),
)


def module(function: Any, accuracy: Any) -> str:
    return jx.jit(lambda x: function(x, accuracy=accuracy)).lower(X).as_text()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_accuracy_reaches_the_module(function: Any) -> None:
    tight = module(function, Tolerance(atol=1e-6, ulps=2))
    assert "ulps = 2" in tight
    assert "TOLERANCE" in tight
    assert "HIGHEST" in module(function, AccuracyMode.HIGHEST)
    assert "result_accuracy" not in module(function, None)


@pytest.mark.parametrize("function", [*FUNCTIONS, lax.erfc])
def test_accuracy_changes_neither_values_nor_derivatives_here(function: Any) -> None:
    def exact(x: Any) -> Any:
        return function(x, accuracy=AccuracyMode.HIGHEST)

    np.testing.assert_allclose(exact(X), function(X), rtol=1e-6)
    np.testing.assert_allclose(jx.vmap(jx.grad(exact))(X), jx.vmap(jx.grad(function))(X), rtol=1e-6)


@pytest.mark.parametrize("bounds", [{}, {"atol": -1.0, "ulps": 2}])
def test_tolerances_bound_something(bounds: Any) -> None:
    with pytest.raises(ValueError, match="at least one positive bound and no negative one"):
        Tolerance(**bounds)


def test_an_accuracy_is_one_of_two_types() -> None:
    with pytest.raises(TypeError, match=r"exp got accuracy 1e-06: give a lax\.Tolerance"):
        lax.exp(X, accuracy=1e-6)
