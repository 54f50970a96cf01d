"""Write ``promotion.json``: what the reference implementation answers for every pair of dtypes.

Run by hand, with an interpreter that has the real ``jax`` package (never the one that runs the
tests), when the promotion semantics of the reference change:

    python tests/dtypes/make_promotion_table.py

The file holds facts only.  ``nodes`` names the operands: a dtype name, or ``int*``, ``float*``,
``complex*`` for a Python scalar (a weak type).  ``pairs[mode]`` has one row per node, each row one
word per node up to and including itself: the name of the result, ``*`` appended when it is weakly
typed, ``!`` when the pair is refused.  ``conversions`` holds the one-argument functions.
"""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import dtypes

NAMES = [
    *("bool",),
    *("int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("bfloat16", "float16", "float32", "float64"),
    *("complex64", "complex128"),
]
SCALARS = {"int*": 0, "float*": 0.0, "complex*": 0j}
NODES = [*NAMES, *SCALARS]


def operand(node: str) -> Any:
    """Return an object whose dtype and weakness are those of ``node``."""
    return SCALARS[node] if node in SCALARS else jnp.dtype(node)


def answer(first: str, second: str) -> str:
    """Return the word for one pair under the current settings."""
    try:
        dtype, weak = dtypes.result_type(
            operand(first), operand(second), return_weak_type_flag=True
        )
    except (dtypes.TypePromotionError, jax.errors.JaxRuntimeError):
        return "!"
    return dtype.name + "*" * weak


def table() -> list[str]:
    """Return one row per node, the lower triangle of the symmetric matrix of answers."""
    return [
        " ".join(answer(node, other) for other in NODES[: index + 1])
        for index, node in enumerate(NODES)
    ]


def row(function: Callable[[Any], Any]) -> str:
    """Return the word that ``function`` gives for each dtype name."""
    words = []
    for name in NAMES:
        try:
            words.append(jnp.dtype(function(jnp.dtype(name))).name)
        except (TypeError, ValueError, KeyError):
            words.append("!")
    return " ".join(words)


def main() -> None:
    """Collect the answers in each mode and write the golden file beside this one."""
    facts: dict[str, Any] = {"nodes": " ".join(NODES), "pairs": {}, "conversions": {}}
    internal = jax._src.dtypes
    for bits, x64 in (("x32", False), ("x64", True)):
        with jax.enable_x64(x64):
            for promotion in ("standard", "strict"):
                with jax.numpy_dtype_promotion(promotion):
                    facts["pairs"][f"{bits} {promotion}"] = table()
            facts["conversions"][bits] = {
                "canonicalize_dtype": row(dtypes.canonicalize_dtype),
                "to_inexact_dtype": row(internal.to_inexact_dtype),
                "to_complex_dtype": row(internal.to_complex_dtype),
                "to_numeric_dtype": row(internal.to_numeric_dtype),
                "to_floating_dtype": row(internal.to_floating_dtype),
            }
    facts["short_names"] = " ".join(internal.short_dtype_name(jnp.dtype(n)) for n in NAMES)
    path = pathlib.Path(__file__).with_name("promotion.json")
    path.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
