"""Values of the NumPy API: every row of the tables, eagerly and traced, against NumPy."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import dtypes
from tests.executables import jit_as
from tests.numpy import rows, shape_rows, surface_rows
from tests.numpy.rows import Row
from tests.tolerances import tolerance, widened

ROWS: list[Row] = [
    *rows.UNARY,
    *rows.BINARY,
    *rows.REDUCTIONS,
    *rows.STATISTICS,
    *rows.CONTRACTIONS,
    *shape_rows.SHAPES,
    *shape_rows.CREATION,
    *shape_rows.SEARCHING,
    *surface_rows.ROWS,
]


def expected(row: Row) -> list[Any]:
    reference = row.reference or getattr(np, row.name)
    with warnings.catch_warnings():
        # NumPy warns of what the rows ask for on purpose: NaN, division by zero, means of nothing.
        warnings.simplefilter("ignore")
        found = reference(*row.args, **row.kwargs)
    return [np.asarray(x) for x in (found if isinstance(found, (tuple, list)) else (found,))]


def ours(value: Any) -> Any:
    """Return an argument with arrays of ours in place of NumPy's."""
    if isinstance(value, np.ndarray):
        return jnp.asarray(value)
    if isinstance(value, (list, tuple)) and any(isinstance(x, (np.ndarray, list)) for x in value):
        return type(value)(ours(item) for item in value)
    return value


def function_of(row: Row) -> Any:
    """Return our function; where a row hands over a function of NumPy's, ours of that name."""
    return getattr(jnp, row.name)


def assert_results(found: Any, wanted: Sequence[Any], factor: float) -> None:
    results = jx.tree.leaves(found)
    assert len(results) == len(wanted)
    for result, value in zip(results, wanted, strict=True):
        assert result.shape == value.shape
        kind = dtypes.scalar_type_of(result)
        assert kind is dtypes.scalar_type_of(dtypes.canonicalize_dtype(value.dtype))
        allowed = factor * max(tolerance(result.dtype), 0 if kind in (int, bool) else 1e-5)
        np.testing.assert_allclose(widened(result), widened(value), rtol=allowed, atol=allowed)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_eager_call_gives_what_numpy_gives(row: Row) -> None:
    args = [getattr(jnp, a.__name__) if a is np.sum else ours(a) for a in row.args]
    kwargs = {name: ours(value) for name, value in row.kwargs.items()}
    assert_results(function_of(row)(*args, **kwargs), expected(row), row.factor)


@pytest.mark.parametrize("row", surface_rows.ANSWERS, ids=str)
def test_answers_are_those_of_numpy(row: Row) -> None:
    found = getattr(jnp, row.name)(*map(ours, row.args), **row.kwargs)
    assert found == getattr(np, row.name)(*row.args, **row.kwargs)


@pytest.mark.parametrize("row", [row for row in ROWS if row.jit], ids=str)
def test_traced_call_gives_what_numpy_gives(row: Row) -> None:
    places = [i for i, arg in enumerate(row.args) if isinstance(arg, np.ndarray)]

    def call(*arrays: Any) -> Any:
        args = [getattr(jnp, a.__name__) if a is np.sum else ours(a) for a in row.args]
        for place, array in zip(places, arrays, strict=True):
            args[place] = array
        kwargs = {name: ours(value) for name, value in row.kwargs.items()}
        return function_of(row)(*args, **kwargs)

    found = jit_as(row.name, call)(*[row.args[place] for place in places])
    assert_results(found, expected(row), row.factor)
