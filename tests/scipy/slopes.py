"""Slopes of functions at points, compiled as one program."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import jxkernel as jx

Rows = Mapping[str, tuple[Callable[..., Any], list[tuple[float, float]]]]
"""By name a function, and its points with the slope at each."""


def check_slopes(table: Rows) -> None:
    """Assert that functions have the slopes of a table."""
    points = {name: np.float32([x for x, _ in rows]) for name, (_, rows) in table.items()}
    found = jx.jit(lambda points: {k: jx.vmap(jx.grad(table[k][0]))(x) for k, x in points.items()})(
        points
    )
    for name, (_, rows) in table.items():
        wanted = [slope for _, slope in rows]
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5, atol=1e-6, err_msg=name)
