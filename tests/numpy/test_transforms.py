"""The NumPy API under transforms: every row of the tables, batched and differentiated.

One program holds all checks of a row: ``vmap`` against a loop, the pushforward against central
differences in 64 bits, the pullback against the pushforward by the dot-product identity.  The
first row of each function that has something to check is run always, all rows by ``slow``.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from tests.numpy import linalg_rows, surface_rows
from tests.numpy.rows import Row
from tests.numpy.test_values import ROWS
from tests.primitives.checking import quickly

STEP = 1e-5

CONSTANT = {
    "unique": "how many values there are depends on them",
    "trim_zeros": "how many values there are depends on them",
    "roots": "leading zeros are counted; differentiated in test_polynomials",
}
"""Functions whose floating operands must be known, and why."""

WITHOUT_SLOPE = {
    "nextafter": "a step between neighbours is not a function of reals; see test_slopes",
    "spacing": "a step between neighbours is not a function of reals; see test_slopes",
    "nanstd": "one of the rows has one number left: sqrt at 0; see test_slopes",
    "frexp": "the mantissa is a residue, and its derivative is not defined",
}
"""Functions with floating results that have no derivative, and why."""


def is_floating(x: Any) -> bool:
    return x.dtype.kind in "fc"


def wide(x: Any, place: int) -> Any:
    """Return an operand in 64 bits, apart from the others: where two are equal may be a kink."""
    if not isinstance(x, np.ndarray) or not is_floating(x):
        return x
    return x.astype({"f": np.float64, "c": np.complex128}[x.dtype.kind]) * (1 + 0.01 * place)


def split(row: Row) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Return the arrays of a row that are operands, and its function of them."""
    leaves, structure = jx.tree.flatten(row.args)
    leaves = [wide(leaf, place) for place, leaf in enumerate(leaves)]
    places = [
        place
        for place, leaf in enumerate(leaves)
        if isinstance(leaf, np.ndarray)
        and (row.jit or (is_floating(leaf) and row.name not in CONSTANT))
    ]

    def function(*arrays: Any) -> list[Any]:
        full = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            full[place] = array
        args = jx.tree.unflatten(structure, full)
        args = [getattr(jnp, a.__name__) if a is np.sum else a for a in args]
        return jx.tree.leaves(getattr(jnp, row.name)(*args, **row.kwargs))

    return [leaves[place] for place in places], function


def shuffled(x: Any, random: np.random.Generator) -> Any:
    return random.permutation(x.ravel()).reshape(x.shape)


def direction(x: Any, random: np.random.Generator) -> Any:
    """Return a tangent of an operand: zeros for integers."""
    if not is_floating(x):
        return np.zeros_like(x)
    t = random.standard_normal(x.shape)
    return t + 1j * random.standard_normal(x.shape) if x.dtype.kind == "c" else t


def cotangent(y: Any) -> Any:
    """Return numbers of many sizes, of the shape and dtype of a result; 0 where it is NaN."""
    numbers = jnp.cos(jnp.arange(y.size, dtype=jnp.float64)).reshape(y.shape)
    numbers = numbers * (1 + 0.5j if jnp.iscomplexobj(y) else 1)
    return jnp.where(jnp.isnan(y), 0, numbers).astype(y.dtype)


def floating_only(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    return lambda *xs: [y for y in function(*xs) if jnp.issubdtype(y.dtype, jnp.inexact)]


def slopes_of(function: Callable[..., list[Any]], arrays: Sequence[Any], ts: Sequence[Any]) -> Any:
    """Return the pushforward of tangents, cotangents and their pullback."""
    smooth = [place for place, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.inexact)]

    def of_smooth(*xs: Any) -> list[Any]:
        full = list(arrays)
        for place, x in zip(smooth, xs, strict=True):
            full[place] = x
        return floating_only(function)(*full)

    primals = [arrays[place] for place in smooth]
    outs, pushed = jx.jvp(of_smooth, tuple(primals), tuple(ts[place] for place in smooth))
    cts = [cotangent(y) for y in outs]
    pulled = jx.vjp(of_smooth, *primals)[1](cts)
    return pushed, cts, list(zip(pulled, [ts[place] for place in smooth], strict=True))


def assert_near(found: Any, wanted: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def check(row: Row) -> None:
    arrays, function = split(row)
    random = np.random.default_rng(5)
    ts = [direction(x, random) for x in arrays]
    others = [shuffled(x, random) for x in arrays]
    differentiable = any(map(is_floating, arrays)) and row.name not in WITHOUT_SLOPE
    batched = bool(arrays) and row.jit

    def program(xs: Any, ts: Any, others: Any) -> Any:
        above = [x + STEP * t if is_floating(t) else x for x, t in zip(xs, ts, strict=True)]
        below = [x - STEP * t if is_floating(t) else x for x, t in zip(xs, ts, strict=True)]
        calls = [xs, others, above, below] if differentiable else [xs, others]
        one_by_one = [function(*call) for call in calls]
        stacked = [jnp.stack(column) for column in zip(*calls, strict=True)]
        together = jx.vmap(function)(*stacked) if batched else []
        slopes = slopes_of(function, xs, ts) if differentiable else ()
        return one_by_one, together, slopes

    run = quickly(program) if row.jit else program
    one_by_one, together, slopes = run(arrays, ts, others)
    for place, result in enumerate(together):
        for index, alone in enumerate(one_by_one):
            assert result[index].dtype == alone[place].dtype
            assert_near(result[index], alone[place], 1e-9)
    if slopes:
        check_slopes(one_by_one, *slopes)


def check_slopes(one_by_one: Any, pushed: Any, cts: Any, pulled: Any) -> None:
    _, _, above, below = [[y for y in ys if is_floating(np.asarray(y))] for ys in one_by_one]
    assert len(pushed) == len(above)
    if any(np.asarray(y).dtype.itemsize < 4 for y in above):
        return  # a small step changes numbers of 16 bits by their rounding alone
    for t, a, b in zip(pushed, above, below, strict=True):
        with np.errstate(invalid="ignore"):
            numeric = (np.asarray(a) - np.asarray(b)) / (2 * STEP)
        known = np.isfinite(numeric)
        assert_near(np.asarray(t)[known], numeric[known], 1e-4)
    left = sum(
        np.nansum(np.asarray(c) * np.asarray(t)).real for c, t in zip(cts, pushed, strict=True)
    )
    right = sum(np.sum(np.asarray(c) * np.asarray(t)).real for c, t in pulled)
    assert_near(right, left, 1e-7)


def check_in_64_bits(row: Row) -> None:
    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(row)


def has_operands(row: Row) -> bool:
    return bool(split(row)[0])


CHECKED = [row for row in ROWS if has_operands(row)]
FIRST = list({row.name: row for row in reversed(CHECKED)}.values())[::-1]
FURTHER = [row for row in CHECKED if all(row is not first for first in FIRST)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", FIRST, ids=str)
def test_batching_and_derivatives_of_each_function(row: Row) -> None:
    check_in_64_bits(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", FURTHER, ids=str)
def test_batching_and_derivatives_of_every_row(row: Row) -> None:
    check_in_64_bits(row)


# ---------------------------------------------------------------- completeness

LINALG = {"eig", "eigh", "eigvals", "qr", "svd", *(row.name for row in linalg_rows.LINALG)}
FFT = {row.name for row in linalg_rows.FFT}
TESTED = {row.name for row in (*ROWS, *surface_rows.ANSWERS)}

ELSEWHERE = {
    **dict.fromkeys(("array_repr", "array_str"), "text: test_host"),
    **dict.fromkeys(("get_printoptions", "printoptions", "set_printoptions"), "text: test_host"),
    **dict.fromkeys(("load", "save", "savez"), "files: test_host"),
    **dict.fromkeys(("fromfile", "fromiter"), "refused: test_host"),
    "from_dlpack": "other libraries' memory: tests/runtime",
    "frompyfunc": "takes a function: test_universal",
    "vectorize": "takes a function: test_functional",
    "einsum_path": "gives a plan: test_functional",
    "mask_indices": "takes a function: test_functional",
    "iinfo": "a class: tests/dtypes",
    "finfo": "a class: tests/dtypes",
}
"""Public functions that no table calls, and why."""


def functions_of(module: Any) -> set[str]:
    """Return the names of a module that are functions: no dtypes, classes, grids, constants."""
    return {
        name
        for name in module.__all__
        if callable(getattr(module, name))
        and not isinstance(getattr(module, name), type)
        and not hasattr(getattr(module, name), "dtype")
    }


@pytest.mark.parametrize(
    ("module", "tested"), [(jnp, TESTED), (jnp.linalg, LINALG), (jnp.fft, FFT)]
)
def test_tables_call_every_public_function(module: Any, tested: set[str]) -> None:
    assert sorted(functions_of(module) - tested - set(ELSEWHERE)) == []


def test_exceptions_are_needed() -> None:
    assert sorted(set(ELSEWHERE) & TESTED) == []
    assert (
        sorted(name for name in {*ELSEWHERE, *WITHOUT_SLOPE, *CONSTANT} if not hasattr(jnp, name))
        == []
    )
