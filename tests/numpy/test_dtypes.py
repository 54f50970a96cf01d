"""The NumPy API over dtypes and shapes: every function of ``dtype_rows``, in 64-bit mode.

Values are compared with NumPy's in 64 bits, result dtypes with the recorded table.  One program
holds all calls of a function.  Some dtypes are run always, all of them by ``slow``.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from tests.numpy.dtype_rows import CALLS, DTYPES, SHAPES, call
from tests.primitives.checking import quickly
from tests.tolerances import tolerance, widened

TABLE: dict[str, str] = json.loads(Path(__file__).with_name("dtypes.json").read_text())
SAMPLE = (
    *[(dtype, (2, 3)) for dtype in ("bool", "int8", "bfloat16", "complex64")],
    *[("float32", shape) for shape in ((), (2, 0), "special")],
)
EVERY = [
    *[(dtype, shape) for dtype in DTYPES for shape in SHAPES],
    *[(dtype, "special") for dtype in ("float16", "bfloat16", "float32", "float64")],
]
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -2.5)

_EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2")
_SAME = {dtype: dtype for dtype in DTYPES if "complex" not in dtype}
_NO_COMPLEX = dict.fromkeys(("complex64", "complex128"), "!")

DIFFERENT: dict[str, tuple[dict[str, str], str]] = {
    **dict.fromkeys(("round", "around"), ({"bool": "bool"}, "nothing is to be rounded")),
    "kron": ({"bool": "bool"}, "as multiply"),
    "fix": (_SAME, "the reference has it no more, NumPy has"),
    "signbit": (dict.fromkeys(_EIGHT_BITS, "bool"), "8 bits have a sign too"),
    **dict.fromkeys(
        ("spacing", "copysign"),
        ({dtype: dtype for dtype in _EIGHT_BITS}, "as for other floats"),
    ),
    **dict.fromkeys(
        ("argmax", "argmin", "nanargmax", "nanargmin"),
        (_NO_COMPLEX, "the reference refuses too, when it compiles"),
    ),
}
"""Function -> (dtype -> our word), and why it is another than the reference's."""

SPECIAL_DIFFERENT: dict[str, str] = {
    **dict.fromkeys(("convolve", "correlate"), "padding takes part: 0 times infinity is NaN"),
    "sinc": "its limits at both infinities are 0 (their slopes: test_slopes)",
    "nan_to_num": "infinities become the greatest numbers of the dtype",
}
"""Functions whose results for NaN and infinities are not NumPy's, and why."""


UNANSWERED = {
    "positive": "NumPy refuses booleans",
    **dict.fromkeys(("deg2rad", "rad2deg", "radians", "degrees"), "NumPy refuses complex numbers"),
    **dict.fromkeys(("logaddexp", "logaddexp2"), "NumPy refuses complex numbers"),
    **dict.fromkeys(("arctan2", "atan2"), "NumPy refuses complex numbers"),
    **dict.fromkeys(("nextafter", "spacing"), "NumPy has neighbours of its own dtypes only"),
}
"""Functions whose reference refuses some dtypes: only dtypes and shapes are compared there."""


def words(name: str) -> dict[str, str]:
    found = dict(zip(DTYPES, TABLE[name].split(), strict=True))
    return {**found, **DIFFERENT.get(name, ({}, ""))[0]}


def traced_answer(name: str, dtype: str) -> str:
    shape = jx.ShapeDtypeStruct((2, 3), dtype)
    try:
        results = jx.eval_shape(lambda *xs: call(jnp, name, *xs), *[shape] * CALLS[name].operands)
    except (TypeError, ValueError, NotImplementedError):
        return "!"
    return ",".join(result.dtype.name for result in jx.tree.leaves(results))


@pytest.mark.parametrize("name", CALLS)
def test_result_dtypes_are_those_of_the_table(name: str) -> None:
    expected = words(name)
    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {dtype: traced_answer(name, dtype) for dtype in DTYPES}
    assert {k: (found[k], expected[k]) for k in found if found[k] != expected[k]} == {}


def numbers(name: str, dtype: str, shape: Any, place: int) -> Any:
    """Return an operand: numbers that the function is defined for, rounded to the dtype."""
    if shape == "special":
        grid = np.meshgrid(*[np.array(SPECIAL)] * min(CALLS[name].operands, 2), indexing="ij")
        return grid[place % 2].ravel().astype(dtype)
    random = np.random.default_rng(place + 10)
    kind = "f" if dtype == "bfloat16" or dtype.startswith("float") else np.dtype(dtype).kind
    low, high = {"any": (-3, 4), "unit": (0, 2), "positive": (1, 6)}[CALLS[name].data]
    if kind in "iub":
        least = {"i": low, "u": max(low, 0), "b": low if low == 1 else 0}[kind]
        return random.integers(least, 2 if kind == "b" else high, shape).astype(dtype)
    low, high = {"any": (-3, 3), "unit": (-0.9, 0.9), "positive": (0.5, 3)}[CALLS[name].data]
    x = random.uniform(low, high, shape)
    return (x + 1j * random.uniform(-2, 2, shape) if kind == "c" else x).astype(dtype)


def is_called(name: str, dtype: str, shape: Any) -> bool:
    case = CALLS[name]
    if words(name)[dtype] == "!":
        return False
    if shape == "special":
        return name not in SPECIAL_DIFFERENT and case.least < 2 and case.operands < 3
    return len(shape) >= case.least and not (case.filled and 0 in shape)


def expected(name: str, arrays: list[Any], results: list[Any]) -> list[Any]:
    """Return what NumPy gives for operands of 64 bits, or of their own where integers count."""
    inexact = jnp.issubdtype(results[0].dtype, jnp.inexact)
    args = [
        widened(x.astype(np.float64) if inexact and x.dtype.kind in "iub" else x) for x in arrays
    ]
    if name in ("nextafter", "spacing"):
        args = [x.astype(results[0].dtype) for x in arrays]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = call(np, name, *args)
    return list(map(np.asarray, found if isinstance(found, (tuple, list)) else [found]))


def assert_answers(name: str, dtype: str, arrays: list[Any], results: list[Any]) -> None:
    assert ",".join(x.dtype.name for x in results) == words(name)[dtype]
    try:
        wanted = expected(name, arrays, results)
    except TypeError:
        assert name in UNANSWERED
        return
    assert [x.shape for x in results] == [x.shape for x in wanted]
    for result, value in zip(results, wanted, strict=True):
        allowed = CALLS[name].factor * max(tolerance(result.dtype), tolerance(dtype))
        if not allowed or not jnp.issubdtype(result.dtype, jnp.inexact):
            np.testing.assert_array_equal(result, value.astype(result.dtype))
        else:
            np.testing.assert_allclose(
                widened(result), value, rtol=allowed, atol=allowed, err_msg=f"{dtype}"
            )


def check(name: str, cases: list[tuple[str, Any]]) -> None:
    cases = [case for case in cases if is_called(name, *case)]
    given = [
        [numbers(name, dtype, shape, place) for place in range(CALLS[name].operands)]
        for dtype, shape in cases
    ]

    def program(given: Any) -> Any:
        return [jx.tree.leaves(call(jnp, name, *arrays)) for arrays in given]

    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = quickly(program)(given)
        for (dtype, _), arrays, results in zip(cases, given, found, strict=True):
            assert_answers(name, dtype, arrays, list(map(np.asarray, results)))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CALLS)
def test_values_over_a_sample_of_dtypes_and_shapes(name: str) -> None:
    check(name, list(SAMPLE))


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_values_over_every_dtype_and_shape(name: str) -> None:
    check(name, EVERY)
