"""Statements of every kind: what the public API computes, whatever the dtype and however smooth.

A row is a template and, where NumPy has no function of that name, an expression of NumPy's that
gives a result of the same shape and kind of dtype. NumPy tells both, for operands of ones.
"""

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from tests.compose.rows import ROWS
from tests.compose.writing import LARGEST_SIZE, Kind, Shape, Value, Writer

KINDS = {"b": np.bool_, "i": np.int32, "u": np.uint32, "f": np.float32, "c": np.complex64}
SMALL = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32")
DTYPES = (*SMALL, "bool", "complex64", "int64", "float64", "uint64", "complex128")
OPERANDS = re.compile(r"\{([abd])\}")


@cache
def _stand_in(shape: Shape, kind: str) -> Any:
    return np.ones(shape, KINDS[kind])


def _axes(w: Writer, rank: int) -> str:
    choice = w.random.randint(0, 3)
    if choice == 0 or not rank:
        return "None"
    if choice == 1:
        return str(tuple(w.random.sample(range(rank), w.random.randint(0, rank))))
    return _axis(w, rank)


def _axis(w: Writer, rank: int) -> str:
    return str(w.random.randint(-rank, max(0, rank - 1)))


def _sizes(w: Writer, a: Value) -> str:
    """Return a shape with as many elements."""
    size = int(np.prod(a.shape))
    ways = [(-1,), (size,), (1, size), a.shape[::-1], (*a.shape, 1), (-1, *a.shape[-1:])]
    return str(w.random.choice(ways))


def _literal(w: Writer) -> str:
    common = ["2", "0", "-1", "3", "0.5", "2.0", "-1.5", "True", "1j", "1e10", "300", "-0.0"]
    typed = ["np.float32(1.5)", "np.int8(-3)", "np.array(2.5)", "np.float16(2)", "jnp.inf"]
    return w.random.choice([*common, *typed, f"jnp.{w.random.choice(SMALL)}(3)"])


BLANKS: dict[str, Callable[[Writer, Value], str]] = {
    "axis": lambda w, a: _axis(w, len(a.shape)),
    "axes": lambda w, a: _axes(w, len(a.shape)),
    "n": lambda w, a: str(w.random.randint(-2, 3)),
    "k": lambda w, a: str(w.random.randint(1, 3)),
    "q": lambda w, a: w.random.choice(["0.5", "0.25", "1.0", "0.", "np.array([0.1, 0.75])"]),
    "yes": lambda w, a: str(w.coin()),
    "dtype": lambda w, a: f"'{w.random.choice(DTYPES)}'",
    "sizes": _sizes,
    "order": lambda w, a: str(tuple(w.random.sample(range(len(a.shape)), len(a.shape)))),
    "value": lambda w, a: _literal(w),
}
BLANK = re.compile(r"\{(\w+)\}")


def evaluated(expression: str, operands: dict[str, Value]) -> Any:
    """Return what NumPy makes of an expression of operands of ones, or None."""
    scope: dict[str, Any] = {n: _stand_in(v.shape, v.kind) for n, v in operands.items()}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(eval(expression, {"np": np, "jnp": np}, scope))
    except Exception:
        return None


def _operand(w: Writer, a: Value) -> Value:
    """Return a second operand: a variable that may broadcast with the first, or a number."""
    if w.random.randint(0, 3) == 0:
        text = _literal(w)
        kind = np.asarray(evaluated(text, {})).dtype.kind
        return Value(
            f"({text})" if text[0] == "-" else text, (), 1.0, kind if kind in KINDS else "f"
        )
    return w.pick(lambda v: v.shape in (a.shape, ()) or a.shape == ()) or a


def statement(template: str, like: str, takes: str, w: Writer) -> Value | None:
    """Write the expression of a row, for operands of the kinds that it takes."""
    a = w.pick(lambda v: v.kind in takes)
    if a is None:
        return None
    operands = {"a": a, "b": _operand(w, a), "d": w.pick() or a}
    filled: dict[str, str] = {}

    def blank(found: re.Match[str]) -> str:
        name = found[1]
        if name in operands:
            return "{" + name + "}"
        if name not in filled:
            filled[name] = BLANKS[name](w, a)
        return filled[name]

    text = BLANK.sub(blank, template)
    if filled.get("dtype") == "'bfloat16'":
        filled["dtype"] = "'float16'"
    result = evaluated(BLANK.sub(blank, like).format(a="a", b="b", d="d"), operands)
    return _value(w, text.format(**{n: v.text for n, v in operands.items()}), result, a)


def _value(w: Writer, text: str, result: Any, a: Value) -> Value | None:
    """Return an expression; one that NumPy refuses is written now and then."""
    if result is None or result.dtype.kind not in KINDS:
        return Value(text, a.shape, 1.0, a.kind) if w.random.randint(0, 7) == 0 else None
    if result.size > 2 * LARGEST_SIZE or result.ndim > 4:
        return None
    return Value(text, result.shape, 1.0, result.dtype.kind)


# ---------------------------------------------------------------- indexing


def _index(w: Writer, size: int) -> str:
    """Return an index of one axis, in or out of bounds."""
    random = w.random
    low, high = -size - (random.randint(0, 9) == 0), size + (random.randint(0, 9) == 0)
    ways: list[Callable[[], str]] = [
        lambda: str(random.randint(low, max(low, high - 1))),
        lambda: (
            f"{random.choice(['', random.randint(low, high)])}:"
            f"{random.choice(['', random.randint(low, high)])}"
            f":{random.choice(['', -1, 2, -2, 1])}"
        ),
        lambda: (
            f"{random.choice(['np', 'jnp'])}.array("
            f"{[random.randint(low, max(low, high - 1)) for _ in range(random.randint(1, 3))]}"
            f"{random.choice(['', ', np.int8', ', np.uint8', ', np.int16', ', np.int64'])})"
        ),
        lambda: f"np.array({[random.random() < 0.5 for _ in range(size)]}, bool)",
        lambda: f"np.array([[{random.randint(low, max(low, high - 1))}], [0]])",
        lambda: "None",
        lambda: "...",
        lambda: "np.array([], int)",
        lambda: ":",
        lambda: str(w.coin()),
    ]
    return random.choices(ways, [4, 5, 5, 2, 1, 2, 2, 0.5, 2, 0.3])[0]()


def _indices(w: Writer, shape: Shape) -> str:
    """Return what stands between the brackets."""
    count = w.random.randint(min(1, len(shape)), max(1, len(shape)))
    parts = [_index(w, size) for size in (*shape, 1)[:count]]
    while parts.count("...") > 1:
        parts.remove("...")
    if len(parts) == len(shape) and w.random.randint(0, 3) == 0:
        parts.insert(w.random.randint(0, len(parts)), w.random.choice(["None", "..."]))
    return ", ".join(parts) or "..."


def _clipped(text: str) -> str:
    """Return the index with its numbers in bounds for NumPy, which has no modes."""
    return re.sub(r"-?\d+(?=[\],])", "0", text)


def _taken(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    where = _indices(w, a.shape)
    result = evaluated(f"a[{where}]", {"a": a})
    if result is None:
        result = evaluated(f"a[{_clipped(where)}]", {"a": a})
    if w.random.randint(0, 3):
        return _value(w, f"{a.text}[{where}]", result, a)
    options = w.random.choice(
        [
            "",
            "mode='clip'",
            "mode='fill'",
            "mode='fill', fill_value=7",
            "mode='wrap'",
            "mode='drop'",
            "mode='promise_in_bounds'",
            "indices_are_sorted=True",
            "wrap_negative_indices=False",
        ]
    )
    return _value(w, f"{a.text}.at[{where}].get({options})", result, a)


UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


def _placed(w: Writer) -> Value | None:
    a = w.pick(lambda v: bool(v.shape))
    if a is None:
        return None
    where = _indices(w, a.shape)
    result = evaluated(f"a[{where}]", {"a": a})
    method = w.random.choice(UPDATES)
    shape = () if result is None else result.shape
    value = w.pick(lambda v: v.shape in (shape, ())) if w.coin() else None
    update = value.text if value else _literal(w)
    mode = w.random.choice(
        ["", "", ", mode='drop'", ", mode='clip'", ", mode='fill'", ", mode='wrap'"]
    )
    if method == "set" and "array([" in where and "True" not in where:
        update = _literal(w)
    return a.called(f"jnp.asarray({a.text}).at[{where}].{method}({update}{mode})")


def row_kind(row: tuple[str, ...]) -> Kind:
    """Return a row as a kind of statement."""
    template, like, takes = (*row, "", "")[:3]
    return partial(statement, template, like or template, takes or "biufc")


PLAIN: tuple[Kind, ...] = (*map(row_kind, ROWS), *[_taken] * 30, *[_placed] * 20)
