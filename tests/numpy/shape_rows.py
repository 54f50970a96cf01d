"""Rows of functions that make, move, join, search and compare; see ``rows``."""

from functools import partial
from typing import Any

import numpy as np

from tests.numpy.rows import (
    EMPTY,
    B,
    I,
    N,
    Row,
    V,
    W,
    X,
    Y,
    changed,
    each,
    known,
    normal,
    row,
)

CUBE = normal(2, 3, 4)

SHAPES = (
    *each("ravel transpose flip fliplr flipud rot90 squeeze matrix_transpose copy", X),
    *each("atleast_1d atleast_2d atleast_3d vstack hstack dstack column_stack", W),
    *each("concatenate stack unstack", CUBE),
    *each("ravel squeeze atleast_2d", EMPTY),
    row("reshape", X, (2, 6)),
    row("reshape", X, (2, -1), order="F"),
    row("ravel", X, order="F"),
    row("transpose", CUBE, (1, 2, 0)),
    row("permute_dims", CUBE, (1, 2, 0)),
    row("moveaxis", CUBE, 0, -1),
    row("moveaxis", CUBE, (0, 1), (2, 0)),
    row("rollaxis", CUBE, 2),
    row("swapaxes", CUBE, 0, 2),
    row("expand_dims", X, (0, 2)),
    row("squeeze", normal(1, 3, 1), 0),
    row("flip", CUBE, (0, 2)),
    row("rot90", X, 3),
    row("rot90", CUBE, 1, (1, 2)),
    row("broadcast_to", W, (2, 3)),
    row("broadcast_arrays", W, normal(2, 1)),
    row("concatenate", [X, X], axis=1),
    row("concatenate", [X, X], axis=None),
    row("concat", [X, I], axis=0),
    row("stack", [W, W], axis=1),
    row("vstack", [W, W]),
    row("hstack", [X, X]),
    row("dstack", [X, X]),
    row("column_stack", [W, Y[:3]]),
    row("block", [[X, X], [X, X]]),
    row("append", X, X, 0),
    row("append", X, W),
    row("split", X, 2, 1),
    row("split", X, [1, 3], 1),
    row("array_split", X, 3, 1),
    row("vsplit", X, 3),
    row("hsplit", X, 2),
    row("dsplit", CUBE, 2),
    row("tile", X, (2, 1, 2)),
    row("tile", W, 2),
    row("resize", W, (2, 4)),
    row("repeat", X, 2),
    row("repeat", X, 2, axis=1),
    known("repeat", X, np.array([1, 0, 2]), axis=0),
    row("roll", X, 3),
    row("roll", X, -1, 1),
    row("roll", X, (1, 2), (0, 1)),
    row("delete", X, 1, axis=0),
    known("delete", X, np.array([0, 2]), axis=1),
    row("delete", X, slice(1, 3), axis=1),
    row("insert", X, 1, 5.0, axis=0),
    known("insert", X, np.array([1, 2]), 5.0, axis=1),
    row("insert", X, 1, np.arange(3, dtype=np.float32), axis=1),
    row("insert", X, 2, np.arange(3, dtype=np.float32)),
    row("pad", X, 1),
    row("pad", X, ((1, 2), (0, 1)), constant_values=3),
    row("pad", X, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4))),
    *[
        row("pad", X, ((1, 5), (2, 1)), mode)
        for mode in (
            "edge",
            "reflect",
            "symmetric",
            "wrap",
            "linear_ramp",
            "maximum",
            "minimum",
            "mean",
            "median",
        )
    ],
    row("pad", X, ((2, 5), (2, 1)), "reflect", reflect_type="odd"),
    row("pad", X, ((2, 5), (2, 1)), "symmetric", reflect_type="odd"),
    row("pad", X, 2, "mean", stat_length=2),
    row("pad", I, 2, "mean"),
)


def _arange(*args: Any, dtype: Any = None) -> Any:
    found = np.arange(*args, dtype=dtype)
    return found.astype(np.int32 if found.dtype.kind == "i" else np.float32)


CREATION = (
    *[Row("arange", args, reference=_arange) for args in ((4,), (1, 5), (1, 5, 0.5), (5, 1, -2))],
    Row("arange", (3, 3), reference=_arange),
    row("linspace", 0, 1, 5),
    row("linspace", 0, 1, 5, False),
    row("linspace", W, W * 2, 3, axis=1),
    row("linspace", 0, 10, 4, dtype=np.int32),
    row("linspace", 0, 1, 1),
    row("linspace", 0, 1, 5, retstep=True),
    row("logspace", 0, 2, 5),
    row("geomspace", 1, 100, 5),
    row("geomspace", -1, -100, 5),
    row("full", (2, 3), np.float32(7)),
    row("full", (2, 3), W),
    *each("zeros_like ones_like", X),
    *each("zeros_like ones_like", I),
    row("full_like", I, 2),
    row("zeros", (2, 3), np.float32),
    row("ones", 3, np.int32),
    row("eye", 3, 4, 1, np.float32),
    row("identity", 3, np.float32),
    row("tri", 3, 4, 1, np.float32),
    *each("tril triu", X),
    *each("tril triu", CUBE, 1),
    row("tril_indices", 3),
    row("triu_indices", 3, 1, 4),
    row("diag_indices", 3),
    row("diag", W, -1),
    row("diag", W, 1),
    row("diag", X, 1),
    row("diagflat", X, 1),
    row("diagonal", CUBE, 1, 1, 2),
    row("trace", CUBE, 1, 1, 2),
    row("trace", X),
    row("vander", W),
    row("vander", W, 4, True),
    Row("fill_diagonal", (X, 9.0), {"inplace": False}, changed(np.fill_diagonal)),
    row("meshgrid", W, V),
    row("meshgrid", W, V, indexing="ij", sparse=True),
    row("indices", (2, 3)),
    row("ix_", np.array([0, 1]), np.array([2, 3])),
    row("fromfunction", lambda i, j: i + j, (2, 3)),
    *[
        row(name, count)
        for name in ("bartlett", "blackman", "hamming", "hanning")
        for count in (7, 1, 0)
    ],
    row("kaiser", 7, 3.0),
)

_PLACES = np.array([[0, 2], [1, -1]])
_COLUMN = np.array([[0], [1], [2]])


def _stable(name: str) -> Any:
    """Return a sort of NumPy's that keeps the order of equal elements."""
    return lambda a, axis: getattr(np, name)(a, axis, kind="stable")


SEARCHING = (
    *[
        Row(name, args, {"axis": axis}, _stable(name))
        for name in ("sort", "argsort")
        for args, axis in (((X,), -1), ((N,), 0), ((I,), None))
    ],
    known("unique", I),
    known("unique", I, return_index=True, return_inverse=True, return_counts=True),
    known("unique", np.array([[1, 2], [1, 2], [0, 1]]), axis=0, return_counts=True),
    known("unique", np.float32([np.nan, 1, np.nan])),
    known("unique", np.float32([])),
    *[known(name, I, I[0]) for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")],
    known("intersect1d", I[0], I[1], return_indices=True),
    row("isin", I, I[0]),
    row("isin", I, I[0], invert=True),
    row("lexsort", (I[0], I[1])),
    row("searchsorted", np.sort(V), X),
    row("searchsorted", np.sort(V), np.float32([np.nan, 0.1]), "right"),
    row("searchsorted", np.append(np.sort(V), np.float32(np.nan)), np.float32([np.nan, 9.0])),
    *[known(name, B) for name in ("nonzero", "argwhere", "flatnonzero")],
    known("where", B),
    row("where", B, X, np.float32(0)),
    row("where", B, X, X[0]),
    known("compress", np.array([True, False, True]), X, axis=0),
    known("extract", B, X),
    row("take", X, _PLACES, axis=1),
    row("take", X, _PLACES),
    row("take", X, _PLACES * 5, mode="wrap"),
    row("take", X, _PLACES * 9, mode="clip"),
    row("take_along_axis", X, np.argsort(X, 1), 1),
    row("take_along_axis", X, np.array([[0, 1, 2, 0]]), 0),
    Row(
        "put_along_axis",
        (X, _COLUMN, 9.0, 1),
        {"inplace": False},
        changed(lambda a, i, v, axis: np.put_along_axis(a, i, v, axis)),
    ),
    Row("place", (X, B, W), {"inplace": False}, changed(np.place)),
    Row("place", (I, B, np.arange(20, dtype=np.int32)), {"inplace": False}, changed(np.place)),
    *[
        Row(
            "put",
            (X, _PLACES * 5, np.float32([7, 8, 9])),
            {"mode": mode, "inplace": False},
            lambda a, ind, v, mode, inplace: changed(partial(np.put, mode=mode))(
                a, ind, v, inplace=inplace
            ),
        )
        for mode in ("clip", "wrap")
    ],
    *[known("trim_zeros", np.array([0, 0, 3, 0, 4, 0]), trim) for trim in ("fb", "f", "b")],
    known("trim_zeros", np.zeros(3, np.float32)),
    row("select", [X > 0, X < -1], [X, -X], np.float32(9)),
    known("choose", np.array([0, 1, 0, 1]), [X[0], X[1]]),
    row("choose", np.array([0, 1, 5, -1]), [X[0], X[1]], mode="wrap"),
    row("piecewise", X, [X > 0, X < -1], [1.0, lambda x: x * 2, 5.0]),
    row("unravel_index", np.array([3, 7]), (3, 4)),
    known("ravel_multi_index", (np.array([0, 2]), np.array([1, 3])), (3, 4)),
    row("cumsum", X),
    row("cumsum", X, 1),
    row("cumprod", X, 0),
    row("nancumsum", N, 1),
    row("nancumprod", N),
    row("cumulative_sum", X, axis=1, include_initial=True),
    row("cumulative_prod", V),
    row("diff", X, 2, 0),
    row("diff", X, prepend=np.float32(0), append=X),
    row("diff", B),
    row("ediff1d", X, np.float32([1]), np.float32([2, 3])),
    row("gradient", X),
    row("gradient", X, 2.0, axis=0),
    row("gradient", V, np.sort(normal(5))),
    row("trapezoid", X),
    row("trapezoid", X, np.sort(normal(4))),
    row("unwrap", X * 5),
    row("unwrap", X * 5, axis=0, discont=4.0),
    row("unwrap", np.array([0, 4, 8, 3, 0, 10]), period=7),
    row("unwrap", np.array([0, 4, 8, 3, 0, 10]), period=8, discont=2),
    row("packbits", I, axis=1),
    row("unpackbits", np.abs(I).astype(np.uint8), axis=1, count=13, bitorder="little"),
    row("apply_along_axis", np.sum, 1, X),
)
