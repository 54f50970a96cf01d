"""Variables and outputs that hold arrays, by name."""

from __future__ import annotations

from typing import Any

from jxkernel import numpy as jnp
from jxkernel.observe import Holding, holdings, live


def test_holdings_are_variables_and_outputs_the_largest_first() -> None:
    x = jnp.ones(4)
    names: dict[str, Any] = {"x": x, "params": {"w": jnp.ones((8, 8)), "x": x}, "Out": {3: x}}
    assert holdings(live(names, holders=False)) == (
        Holding("params", 2, 272),
        Holding("Out[3]", 1, 16),
        Holding("x", 1, 16),
    )


def test_holders_of_named_arrays_are_not_looked_for() -> None:
    kept = [jnp.ones(1 << 20)]  # only the largest arrays of the process are looked for
    x = jnp.ones((1, 5, 1, 3))  # of a shape that no other array of the process has
    found = {one.type: one for one in live({"x": x}, unnamed_only=True).arrays}
    assert found["f32[1,5,1,3]"].holders == ()
    assert found["f32[1048576]"].holders
    del kept
