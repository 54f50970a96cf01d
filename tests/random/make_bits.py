"""Write ``bits.json``: the random numbers that the reference implementation draws.

Run by hand, with an interpreter that has the real ``jax`` package (never the one that runs the
tests), from the top of the checkout:

    python -m tests.random.make_bits

The file holds facts only: dtype, shape and the numbers as decimal text that reads back exactly.
"""

import json
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.random.bit_rows import CALLS, PAIRED, WIDE, WIDE_PAIRED


def record(name: str, calls: Any = CALLS) -> dict[str, Any]:
    """Return what one call draws."""
    drawn = calls[name](jax.random, jnp)
    exact = np.asarray(drawn, np.complex128 if drawn.dtype.kind == "c" else None)
    wide = exact.astype(np.float64) if drawn.dtype.name == "bfloat16" else exact
    numbers = [str(number) for number in wide.ravel().tolist()]
    return {"dtype": drawn.dtype.name, "shape": list(drawn.shape), "numbers": numbers}


def main() -> None:
    """Write the table."""
    table = {name: record(name) for name in CALLS}
    jax.config.update("jax_enable_x64", True)
    table.update({f"{name} x64": record(name) for name in WIDE})
    jax.config.update("jax_threefry_partitionable", False)
    table.update({f"{name} paired x64": record(name, WIDE_PAIRED) for name in WIDE_PAIRED})
    jax.config.update("jax_enable_x64", False)
    table.update({f"{name} paired": record(name, PAIRED) for name in PAIRED})
    lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()]
    path = pathlib.Path(__file__).with_name("bits.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
