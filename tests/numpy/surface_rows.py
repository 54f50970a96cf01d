"""Rows of what the other tables leave: second names, partitions, axes, questions about types."""

from typing import Any

import numpy as np

from tests.numpy.rows import EMPTY, B, I, N, Row, V, W, X, Y, Z, each, known, normal, row

_AXES = (0, 2)


def _apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    return np.apply_over_axes(np.sum, a, axes)


def _sorted_parts(name: str) -> Any:
    """Return a partition of NumPy's as we promise it and more: everything is sorted."""
    return lambda a, kth, axis=-1: getattr(np, name)(a, axis, kind="stable")


def _sort_complex(x: Any) -> Any:
    return np.sort_complex(x).astype(np.complex64)


def _histogramdd(sample: Any, bins: Any) -> Any:
    counts, edges = np.histogramdd(sample, bins)
    return counts.astype(np.int32), *[edge.astype(np.float32) for edge in edges]


ROWS: tuple[Row, ...] = (
    row("amin", X, 1),
    row("asinh", X),
    row("bitwise_invert", I),
    row("bitwise_right_shift", I, np.abs(I)),
    *[
        Row(f"{arg}partition", (x, 1), {}, _sorted_parts(f"{arg}sort"))
        for arg in ("", "arg")
        for x in (X, N)
    ],
    Row("partition", (X, -2), {"axis": 0}, _sorted_parts("sort")),
    *[Row("sort_complex", (x,), reference=_sort_complex) for x in (X, Z, I)],
    Row("apply_over_axes", (np.sum, normal(2, 3, 4), _AXES), reference=_apply_over_axes),
    row("array", X),
    row("asarray", I),
    row("array", [1.5, 2.5], np.float32),
    row("astype", X, np.int32),
    row("astype", I, np.float32),
    row("astype", X, np.float16),
    row("astype", B, np.complex64),
    Row("empty", ((2, 3), np.int32), reference=np.zeros),
    Row("empty_like", (X,), reference=np.zeros_like),
    row("diag_indices_from", np.zeros((3, 3), np.float32)),
    *each("tril_indices_from triu_indices_from", X, 1),
    row("histogram_bin_edges", X, 4),
    row("histogram_bin_edges", X, 4, (-1.0, 2.0)),
    Row("histogramdd", (normal(6, 2), 3), reference=_histogramdd),
    Row("unique_values", (I,), {}, np.unique, jit=False),
    known("unique_counts", I),
    known("unique_inverse", I),
    known("unique_all", I),
    row("frombuffer", b"\x01\x02\x03", np.uint8),
    row("frombuffer", b"\x01\x02\x03\x04", np.int16, 1, 2),
    row("fromstring", "1 2 3", np.float32, sep=" "),
    # Extremes of axes, places and where, that rows of the other tables have none of.
    *each("sum prod max min mean var std all any ptp median", normal(2, 3, 2), axis=(-1, 0)),
    *each("nansum nanmean nanmax nanvar nanmedian", normal(2, 3, 2), axis=(-1, 0), keepdims=True),
    *each("sum prod mean var std all any max min ptp median nansum", np.float32(2.5) * np.ones(())),
    *each("nansum nanprod nanmean nanvar nanstd", N, where=B),
    *each("nanmax nanmin", N, where=B, initial=0.5),
    *each("sum prod nansum nanprod", X, axis=-2, initial=2.0, where=B, keepdims=True),
    *each("all any count_nonzero", I, axis=(-2, -1), keepdims=True),
    *each("cumsum cumprod", EMPTY, axis=-2),
    *each("sort argsort flip", EMPTY, axis=-2),
    *each("sum mean max", Y, axis=-2, keepdims=True),
    row("trapezoid", X, dx=0.5, axis=-2),
    row("take", W, -1),
    row("roll", EMPTY, 1, -2),
    row("concatenate", [EMPTY, Y], axis=-2),
    row("diff", V, 3),
)

ANSWERS: tuple[Row, ...] = (
    row("broadcast_shapes", (3, 1), (4,), ()),
    *each("ndim size shape iterable", X),
    *each("ndim size shape", EMPTY),
    row("ndim", 3.0),
    row("size", X, -1),
    *[item for x in (X, Z, I) for item in each("iscomplexobj isrealobj", x)],
    *[row("isscalar", x) for x in (3, 2.5, 1j, [1])],
    *[row("iterable", x) for x in (3, [1], "text")],
    row("can_cast", np.int8, np.float32),
    row("can_cast", np.float32, np.int8, "same_kind"),
    row("can_cast", np.float32, np.int8, "unsafe"),
    row("isdtype", np.dtype("int8"), "integral"),
    row("isdtype", np.dtype("float32"), ("bool", "complex floating")),
    row("issubdtype", np.float32, np.floating),
    row("issubdtype", np.int32, np.inexact),
    row("promote_types", np.int8, np.int32),
    row("promote_types", np.float16, np.complex64),
    row("result_type", I, np.int8),
    row("result_type", X, Z),
)  # what they give is no array
