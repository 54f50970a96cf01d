"""How close results must be to their references, by dtype: the one table that tests read.

A tolerance is relative to the larger of the expected magnitude and one, so that results near
zero, which came from operands near one, are not asked for digits that the operands never had.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes

TOLERANCES = {
    "float8_e3m4": 2**-4,
    "float8_e4m3": 2**-3,
    "float8_e4m3b11fnuz": 2**-3,
    "float8_e4m3fn": 2**-3,
    "float8_e4m3fnuz": 2**-3,
    "float8_e5m2": 2**-2,
    "float8_e5m2fnuz": 2**-2,
    "bfloat16": 2**-7,
    "float16": 2**-10,
    "float32": 1e-5,
    "float64": 1e-12,
    "complex64": 1e-5,
    "complex128": 1e-12,
}


def tolerance(dtype: Any) -> float:
    """Return the tolerance of a dtype: 0 for booleans and integers."""
    return TOLERANCES.get(np.dtype(dtype).name, 0.0)


def widened(x: Any) -> Any:
    """Return inexact numbers in float64 or complex128, others as they are."""
    x = np.asarray(x)
    if x.dtype in dtypes.FLOATING:
        return x.astype(np.float64)
    return x.astype(np.complex128) if x.dtype in dtypes.COMPLEX else x


def assert_close(actual: Any, expected: Any, factor: float = 1.0, dtype: Any = None) -> None:
    """Assert that two arrays agree in shape, dtype and, within the dtype's tolerance, value.

    NaN equals NaN, and infinities their like.

    Args:
      actual: what was computed.
      expected: what should have been.
      factor: how many tolerances apart they may be.
      dtype: the dtype whose tolerance counts, if not that of ``actual``.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    allowed = factor * tolerance(dtype or actual.dtype)
    np.testing.assert_allclose(widened(actual), widened(expected), rtol=allowed, atol=allowed)
