"""Write ``types.json``: the dtype and weakness that the reference implementation gives each call.

Run by hand, with an interpreter that has the real ``jax`` package (never the one that runs the
tests), from the top of the checkout, when the semantics of the reference change:

    python -m tests.numpy.make_types

The file holds facts only: for each function, the answers for its operands in order, a word each:
the dtype, ``*`` appended when it is weakly typed, ``!`` when the call is refused.
"""

import json
import pathlib
from typing import Any

import jax
import jax.numpy as jnp

from tests.numpy.type_rows import calls

_SCALARS = {"int*": 1, "float*": 1.0, "complex*": 1j}


def operand(kind: str) -> Any:
    """Return an array of shape (2,) of a dtype, weakly typed for a starred kind."""
    if kind in _SCALARS:
        return jnp.broadcast_to(jnp.asarray(_SCALARS[kind]), (2,))
    return jnp.ones(2, kind)


def answer(name: str, kinds: tuple[str, ...]) -> str:
    """Return the word for one call."""
    args = [operand(kind) for kind in kinds]
    function = getattr(jnp, name, None) or (lambda x, y: jnp.where(jnp.array([True, False]), x, y))
    try:
        result = jax.tree.leaves(function(*args))[0]
    except Exception:
        return "!"
    return result.dtype.name + "*" * result.weak_type


def main() -> None:
    """Write the table."""
    table: dict[str, list[str]] = {}
    for name, kinds in calls():
        table.setdefault(name, []).append(answer(name, kinds))
    lines = [f"  {json.dumps(name)}: {json.dumps(' '.join(row))}" for name, row in table.items()]
    path = pathlib.Path(__file__).with_name("types.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
