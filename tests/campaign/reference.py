"""NumPy as a reference: programs that mean the same in both, in double precision."""

import re
import warnings
from random import Random
from typing import Any

import numpy as np

from tests.campaign.answers import Answer
from tests.campaign.compare import array
from tests.compose.arguments import arguments
from tests.compose.rows import ROWS
from tests.compose.wide import row_kind
from tests.compose.writing import Writer

DTYPES = {"f": ("float64",), "i": ("int64",), "c": ("complex128",)}
OWN = (
    *("astype", "dtype", "lax.", "jax.", ".at[", "jnp.array", "inplace", "descending", "view"),
    *("empty", "total_repeat", "include_initial", "size=", "result_type", "partition", "sort_c"),
    # Integers divided by zero, deviations of too few numbers, and a range to infinity.
    *("//", "%", "divmod", "mod(", "remainder", "floor_divide", "ddof", "space("),
    # Booleans as numbers, zero to complex powers, and what NumPy rounds or repeats unasked.
    *("poly", "power", "**", "arange", "insert", "full(", "convolve", "correlate", "shift"),
)
TOLERANCE = 2e-3
"""Wide enough for float16, in which NumPy computes with booleans."""


LENIENT = re.compile(
    r"of rank 0|vectors|a triangle is|on 0d arrays|no order|have no sign|integer dtypes|no elements"
    r"|not does not accept dtype float|takes integers, got float"
)
"""What is said where NumPy takes scalars for vectors, and vectors for matrices; counts of bins and
quantiles of integers, which are floats here, have no bits to invert and no common multiple."""


def _in_both(row: tuple[str, ...]) -> bool:
    """Say whether NumPy runs the template itself."""
    same = len(row) < 2 or not row[1]
    return same and not any(word in row[0] for word in OWN)


PLAIN = tuple(row_kind(row) for row in ROWS if _in_both(row))


def generate(seed: str) -> str:
    """Return the source of a program that NumPy runs as well."""
    random = Random(f"{seed}:numpy")
    args = [arguments(random, False, "ffffic", DTYPES)[0] for _ in range(random.randint(1, 2))]
    names = ["x", "y"][: len(args)]
    scope = [a.called(n) for n, a in zip(names, args, strict=True)]
    writer = Writer(random, PLAIN, (), scope, 0.0)
    for _ in range(random.randint(1, 3)):
        writer.statement()
    lines = [f"{n} = jnp.asarray({a.text})\n" for n, a in zip(names, args, strict=True)]
    function = f"def f({', '.join(names)}):\n{writer.finish()}\n"
    x64 = "jax.config.update('jax_enable_x64', True)\n"
    return f"{x64}{''.join(lines)}{function}result = f({', '.join(names)})"


def expected(source: str) -> Any:
    """Return what NumPy makes of a program: None where it refuses it."""
    program = source.split("\n", 1)[1]
    scope: dict[str, Any] = {"np": np, "jnp": np}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(program, "<numpy>", "exec"), scope)
            result = np.asarray(scope["result"])
        except Exception:
            return None
    return result if result.dtype.kind in "biufc" else None


def unlike(source: str, ours: Answer) -> str:
    """Return in what an answer differs from NumPy's: empty where it does not."""
    wanted = expected(source)
    if wanted is None:
        return ""
    if ours.error:
        return "" if LENIENT.search(ours.message) else f"refused: {ours.message[:200]}"
    (leaf,) = ours.leaves
    if leaf.data is None or leaf.shape != wanted.shape:
        return f"shape {leaf.shape} for {wanted.shape}"
    with np.errstate(all="ignore"):
        same = np.allclose(array(leaf), wanted, TOLERANCE, TOLERANCE, equal_nan=True)
    return "" if same else f"{array(leaf).tolist()} for {wanted.tolist()}"
