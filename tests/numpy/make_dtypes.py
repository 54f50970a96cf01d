"""Write ``dtypes.json``: the dtypes that the reference implementation gives, in 64 bits.

Run by hand, with an interpreter that has the real ``jax`` package (never the one that runs the
tests), from the top of the checkout, when the semantics of the reference change:

    python -m tests.numpy.make_dtypes

The file holds facts only: for each function, the dtypes of its results for operands of each of
``DTYPES`` in order, joined by ``,``; ``!`` when the call is refused.
"""

import json
import pathlib
import warnings

import jax
import jax.numpy as jnp

from tests.numpy.dtype_rows import CALLS, DTYPES, call


def answer(name: str, dtype: str) -> str:
    """Return the word for one call."""
    shapes = [jax.ShapeDtypeStruct((2, 3), dtype) for _ in range(CALLS[name].operands)]
    try:
        results = jax.tree.leaves(jax.eval_shape(lambda *xs: call(jnp, name, *xs), *shapes))
    except Exception:
        return "!"
    return ",".join(result.dtype.name for result in results)


def main() -> None:
    """Write the table."""
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    table = {name: " ".join(answer(name, dtype) for dtype in DTYPES) for name in CALLS}
    path = pathlib.Path(__file__).with_name("dtypes.json")
    path.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
