"""Cases of the primitives that move, join, cut and reduce arrays: each with its parameters."""

from typing import Any

import numpy as np

from tests.table.rows import Case, Operand

REAL = (np.integer, np.floating)
LOGICAL = (np.integer, np.bool_)
INDEX = np.dtype(np.int32)


def whole(shape: tuple[int, ...], **rest: Any) -> Operand:
    """Return an operand of a shape."""
    return Operand(shape=shape, **rest)


def place(low: int = -1, high: int = 3) -> Operand:
    """Return a scalar index, which may lie outside the array."""
    return Operand(shape=(), dtype=INDEX, integers=(low, high))


def _broadcast(x: Any, *, shape: Any, broadcast_dimensions: Any) -> Any:
    return np.broadcast_to(x, shape)


def _reshape(x: Any, *, new_sizes: Any, dimensions: None) -> Any:
    return np.reshape(x, new_sizes)


def _split(x: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def _pad(x: Any, value: Any, *, padding_config: tuple[tuple[int, int, int], ...]) -> Any:
    """Pad one axis after the other: interior first, then edges, which negative amounts cut."""
    for axis, (low, high, interior) in enumerate(padding_config):
        size = x.shape[axis]
        spread = np.full_like(x, value, shape=_sized(x, axis, size + max(size - 1, 0) * interior))
        spread[_along(axis, slice(None, None, interior + 1))] = x
        shape = _sized(x, axis, spread.shape[axis] + low + high)
        padded = np.full_like(x, value, shape=shape)
        kept = spread[_along(axis, slice(max(-low, 0), spread.shape[axis] - max(-high, 0)))]
        start = max(low, 0)
        padded[_along(axis, slice(start, start + kept.shape[axis]))] = kept
        x = padded
    return x


def _sized(x: Any, axis: int, size: int) -> tuple[int, ...]:
    return (*x.shape[:axis], size, *x.shape[axis + 1 :])


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, part)


def _window(starts: Any, sizes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the window that starts nearest to where asked and lies inside the array."""
    firsts = [
        int(np.clip(start, 0, whole_size - size))
        for start, size, whole_size in zip(starts, sizes, shape, strict=True)
    ]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def _dynamic_slice(x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
    return x[_window(starts, slice_sizes, x.shape)]


def _dynamic_update_slice(x: Any, update: Any, *starts: Any) -> Any:
    y = np.array(x)
    y[_window(starts, update.shape, x.shape)] = update
    return y


def _iota(*, dtype: Any, shape: tuple[int, ...], dimension: int) -> Any:
    counts = np.arange(shape[dimension]).astype(dtype)
    return np.moveaxis(np.broadcast_to(counts, (shape[1], shape[0])), -1, 0)


def _reductions(name: str, accepts: tuple[type, ...], **rest: Any) -> list[Case]:
    return [
        Case((whole((2, 3, 4)),), {"axes": (0, 2)}, accepts, label="two", **rest),
        Case((whole((3, 0)),), {"axes": (1,)}, accepts, label="empty", **rest),
    ]


def _cumulations(accepts: tuple[type, ...], **rest: Any) -> list[Case]:
    return [
        Case((whole((3, 4)),), {"axis": axis, "reverse": reverse}, accepts, label=label, **rest)
        for axis, reverse, label in ((0, False, "forward"), (1, True, "reverse"))
    ]


POSITION = {"axes": (1,), "index_dtype": INDEX}

STRUCTURAL: dict[str, list[Case]] = {
    "argmax": [Case((whole((3, 4)),), POSITION, (*REAL, np.bool_))],
    "argmin": [Case((whole((3, 4)),), POSITION, (*REAL, np.bool_))],
    "broadcast_in_dim": [
        Case(
            (whole((3, 1)),),
            {"shape": (2, 3, 4), "broadcast_dimensions": (1, 2)},
            reference=_broadcast,
        ),
        Case(
            (whole(()),),
            {"shape": (2, 0), "broadcast_dimensions": ()},
            reference=_broadcast,
            label="scalar",
        ),
    ],
    "concatenate": [
        Case(
            (whole((2, 3)), whole((2, 0)), whole((2, 1))),
            {"dimension": 1},
            reference=lambda *xs, dimension: np.concatenate(xs, dimension),
        )
    ],
    "cumlogsumexp": _cumulations((np.floating,)),
    "cummax": _cumulations(REAL),
    "cummin": _cumulations(REAL),
    "cumprod": _cumulations((np.number,)),
    "cumsum": _cumulations((np.number,)),
    "dynamic_slice": [
        Case(
            (whole((3, 4)), place(), place()),
            {"slice_sizes": (2, 3)},
            reference=_dynamic_slice,
        )
    ],
    "dynamic_update_slice": [
        Case(
            (whole((3, 4)), whole((2, 3)), place(), place()),
            reference=_dynamic_update_slice,
        )
    ],
    "iota": [
        Case((), {"dtype": np.dtype(np.int32), "shape": (3, 2), "dimension": 0}, reference=_iota)
    ],
    "pad": [
        Case(
            (whole((3, 4)), whole(())),
            {"padding_config": ((1, 2, 1), (-1, 0, 0))},
            reference=_pad,
        )
    ],
    "reduce_and": _reductions("reduce_and", LOGICAL),
    "reduce_max": _reductions("reduce_max", REAL)[:1],
    "reduce_min": _reductions("reduce_min", REAL)[:1],
    "reduce_or": _reductions("reduce_or", LOGICAL),
    "reduce_prod": _reductions("reduce_prod", (np.number,)),
    "reduce_sum": _reductions(
        "reduce_sum",
        (np.number,),
        reference=lambda x, *, axes: np.sum(x, axes, dtype=x.dtype),
    ),
    "reduce_xor": _reductions("reduce_xor", LOGICAL),
    "reshape": [
        Case((whole((3, 4)),), {"new_sizes": (2, 6), "dimensions": None}, reference=_reshape),
        Case(
            (whole((0, 3)),),
            {"new_sizes": (3, 0, 2), "dimensions": None},
            reference=_reshape,
            label="empty",
        ),
    ],
    "rev": [
        Case(
            (whole((3, 4)),),
            {"dimensions": (1,)},
            reference=lambda x, *, dimensions: np.flip(x, dimensions),
        )
    ],
    "slice": [
        Case(
            (whole((5, 4)),),
            {"start_indices": (0, 1), "limit_indices": (5, 3), "strides": (2, 1)},
            reference=_slice,
        )
    ],
    "sort": [
        Case((whole((3, 4)),), {"dimension": 1, "is_stable": True, "num_keys": 1}),
        Case(
            (whole((3, 4)), whole((3, 4))),
            {"dimension": 0, "is_stable": True, "num_keys": 1},
            label="values",
        ),
    ],
    "partition": [Case((whole((3, 4)),), {"rank": 2, "dimension": 1}, REAL)],
    "argpartition": [Case((whole((3, 4)),), {"rank": 1, "dimension": 0}, REAL)],
    "ranked": [
        Case((whole((3, 8)), Operand(shape=(3, 2), dtype=INDEX, integers=(0, 7))), {}, REAL),
    ],
    "split": [Case((whole((5, 2)),), {"sizes": (2, 0, 3), "axis": 0}, reference=_split)],
    "squeeze": [
        Case(
            (whole((1, 3, 1)),),
            {"dimensions": (0, 2)},
            reference=lambda x, *, dimensions: np.squeeze(x, dimensions),
        )
    ],
    "stack": [
        Case(
            (whole((2, 3)), whole((2, 3))),
            {"axis": 1},
            reference=lambda *xs, axis: np.stack(xs, axis),
        )
    ],
    "top_k": [
        Case((whole((3, 8)),), {"k": 2, "least": least}, REAL, label="least" if least else "")
        for least in (False, True)
    ],
    "transpose": [
        Case(
            (whole((2, 3, 4)),),
            {"permutation": (2, 0, 1)},
            reference=lambda x, *, permutation: np.transpose(x, permutation),
        )
    ],
}
"""Cases of structural primitives, by name."""
