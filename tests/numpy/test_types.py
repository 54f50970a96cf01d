"""Result types of the NumPy API: dtype and weakness of every call in the recorded table.

Where the reference refuses a call and we answer, or the other way round, a row of ``DIFFERENT``
says why.
"""

import json
import warnings
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from tests.numpy.type_rows import calls

TABLE: dict[str, str] = json.loads(Path(__file__).with_name("types.json").read_text())
CALLS = {
    name: [kinds for _, kinds in rows] for name, rows in groupby(calls(), lambda call: call[0])
}
_SCALARS = {"int*": 1, "float*": 1.0, "complex*": 1j}

DIFFERENT: dict[str, tuple[dict[tuple[str, ...], str], str]] = {
    "round": ({("bool",): "bool"}, "nothing is to be rounded"),
    "dot": ({("int8", "int*"): "int8", ("uint8", "int*"): "uint8"}, "a Python integer is weak"),
    "matmul": ({("int8", "int*"): "int8", ("uint8", "int*"): "uint8"}, "a Python integer is weak"),
}
"""Function -> (operands -> our word), and why it is another than the reference's."""


def operand(kind: str) -> Any:
    if kind in _SCALARS:
        return jnp.broadcast_to(jnp.asarray(_SCALARS[kind]), (2,))
    return jnp.ones(2, kind)


def where_first(x: Any, y: Any) -> Any:
    return jnp.where(jnp.array([True, False]), x, y)


def word(aval: Any) -> str:
    # The weakness of a boolean means nothing: every dtype outranks bool.
    return aval.dtype.name + "*" * (aval.weak_type and aval.dtype != bool)


def traced_answer(name: str, kinds: tuple[str, ...]) -> str:
    """Return the word for a call by its program, without compiling it."""
    args = [operand(kind) for kind in kinds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return word(jx.make_jaxpr(getattr(jnp, name, where_first))(*args).out_avals[0])
        except (TypeError, ValueError, NotImplementedError):
            return "!"


@pytest.mark.parametrize("name", CALLS)
def test_result_types_are_those_of_the_table(name: str) -> None:
    words = TABLE[name].replace("bool*", "bool").split()
    expected = dict(zip(CALLS[name], words, strict=True))
    expected.update(DIFFERENT.get(name, ({}, ""))[0])
    found = {kinds: traced_answer(name, kinds) for kinds in CALLS[name]}
    different = {k: (found[k], expected[k]) for k in found if found[k] != expected[k]}
    assert different == {}


@pytest.mark.parametrize("kinds", [("int*", "float*"), ("bool", "int*"), ("int8", "float16")])
@pytest.mark.parametrize("name", ["add", "power", "where_first", "divide"])
def test_eager_result_types_are_the_traced_ones(name: str, kinds: tuple[str, ...]) -> None:
    result = getattr(jnp, name, where_first)(*map(operand, kinds))
    assert word(result.aval) == traced_answer(name, kinds)
