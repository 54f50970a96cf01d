"""Reading parts of arrays: what ``x[...]`` becomes.

Slices and single positions become slicing operations, arrays of positions one gather.  A
negative position counts from the end; what then is out of bounds is clamped, unless
``.at[...].get(mode=...)`` asks for something else.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.trace import evaluating
from jxkernel.errors import InconclusiveDimensionOperation
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.index_parsing import Spec, parse
from jxkernel.numpy.promotion import cast, dtype_of, scalar_of
from jxkernel.primitives.elementwise.arithmetic import add, min
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice
from jxkernel.primitives.indexing.gather import GatherDimensionNumbers, gather
from jxkernel.primitives.indexing.slicing import slice as sliced
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import broadcast_shapes, expand_dims, rev, squeeze
from jxkernel.records import record

__all__ = ["Addresses", "addresses", "getitem", "new_axes", "read", "within", "wrapped"]

_INT32 = np.dtype(np.int32)


def getitem(
    x: Any,
    index: Any,
    mode: Any = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Any:
    """Return the part of an array that an index selects.

    Args:
      x: an array.
      index: integers, slices, ``None``, ``...``, integer or boolean arrays, or a tuple of these.
      mode: what happens out of bounds: None clamps; ``"clip"``, ``"fill"``,
        ``"promise_in_bounds"``.
      fill_value: what ``"fill"`` reads there; NaN, or the extreme integer, where not given.
      indices_are_sorted: the caller's promise about index arrays.
      unique_indices: the caller's promise about index arrays.

    Raises:
      IndexError: there are too many indices, or a mask does not fit.
      NonConcreteBooleanIndexError: a mask is traced.
      TypeError: an index is none.

    Linear in ``x``: cotangents are added where the values were read.
    """
    eager = evaluating()
    parsed = parse(x.shape, index, staged=not eager, clamp=mode is None, chosen=mode is not None)
    if parsed.expand:
        x = expand_dims(x, parsed.expand)
    read_now = read if eager else read.__wrapped__
    return read_now(
        x,
        parsed.leaves,
        spec=parsed.spec,
        mode=mode,
        fill_value=None if fill_value is None else static_fill(fill_value),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )


def static_fill(value: Any) -> Any:
    """Return a fill value as a Python number; None, which stands for NaN, for NaN itself.

    Raises:
      TracerArrayConversionError: it is traced: it is part of the program.
      ValueError: it is no single number.
    """
    if not isinstance(value, (int, float, complex)):
        if np.size(value) != 1:
            raise ValueError(f"fill_value is one number, got shape {np.shape(value)}")
        value = np.asarray(value).item()
    return value if value == value else None


@fused(
    static=("spec", "mode", "fill_value", "indices_are_sorted", "unique_indices"), name="getitem"
)
def read(
    x: Any,
    leaves: Sequence[Any],
    *,
    spec: Spec,
    mode: Any,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    """Return the part of an array that a parsed index selects; see ``getitem``."""
    clamps = mode is None or (mode == "clip" and any(entry[0] == "run" for entry in spec))
    if clamps and not any(entry[0] == "array" or _strided(entry) for entry in spec):
        return _sliced(x, leaves, spec)
    found = addresses(np.shape(x), leaves, spec)
    if found.indices is None:
        return _sliced(x, leaves, spec)
    if any(np.shape(x)[axis] == 0 for axis in found.addressed):
        return _nothing(x, found)
    window_axes = tuple(i for i, kind in enumerate(found.layout) if kind == "window")
    result = gather(
        x,
        found.indices,
        GatherDimensionNumbers(window_axes, found.collapsed, found.addressed),
        found.window_sizes,
        mode="promise_in_bounds" if mode is None else mode,
        fill_value=fill_value,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )
    return expand_dims(result, found.new) if found.new else result


def _strided(entry: tuple[Any, ...]) -> bool:
    """Whether an entry is elements from a position on that is data, with gaps between them."""
    return entry[0] == "run" and entry[2] != 1


def _nothing(x: Any, found: "Addresses") -> Any:
    """Return an empty array: what no positions along an axis of size 0 give.

    Raises:
      IndexError: there is a position.
    """
    if 0 not in found.shape:
        raise IndexError(f"index is out of bounds for an axis of size 0 of shape {np.shape(x)}")
    shape = list(found.shape)
    for place in found.new:
        shape.insert(place, 1)
    made = broadcast_in_dim(scalar_of(dtype_of(x), 0), tuple(shape), ())
    return cast(made, dtype_of(x), dtypes.is_weakly_typed(x))


# ---------------------------------------------------------------- slices and single positions


def _sliced(x: Any, leaves: Sequence[Any], spec: Spec) -> Any:
    """Read slices and single positions: slice, reverse, drop axes, add axes."""
    shape = np.shape(x)
    data = iter(leaves)
    starts: list[Any] = []
    stops: list[int] = []
    strides: list[int] = []
    moving: dict[int, tuple[Any, int]] = {}
    reversed_axes: list[int] = []
    dropped: list[int] = []
    for axis, entry in enumerate(_axis_entries(spec)):
        kind = entry[0]
        start, stop, stride = 0, shape[axis], 1
        if kind == "slice":
            start, stop, stride = _ascending(entry)
            if entry[3] < 0:
                reversed_axes.append(axis)
        elif kind in ("window", "run"):
            moving[axis] = (next(data), entry[1])
        else:
            dropped.append(axis)
            if kind == "fixed":
                start, stop = entry[1], entry[1] + 1
            else:
                moving[axis] = (next(data), 1)
        starts.append(start)
        stops.append(stop)
        strides.append(stride)
    if moving:
        x = _moved(x, starts, stops, strides, moving)
    elif starts != [0] * len(starts) or tuple(stops) != shape or any(s != 1 for s in strides):
        x = sliced(x, starts, stops, strides if any(s != 1 for s in strides) else None)
    if reversed_axes:
        x = rev(x, reversed_axes)
    if dropped:
        x = squeeze(x, dropped)
    added = new_axes(spec)
    return expand_dims(x, added) if added else x


def _moved(
    x: Any,
    starts: list[Any],
    stops: list[int],
    strides: list[int],
    moving: dict[int, tuple[Any, int]],
) -> Any:
    """Read slices of which some start at positions that are data."""
    if any(stride != 1 for stride in strides):
        x = sliced(x, starts, stops, strides)
        starts, stops = [0] * len(starts), list(np.shape(x))
    sizes = [stop - start for start, stop in zip(starts, stops, strict=True)]
    for axis, (start, size) in moving.items():
        starts[axis], sizes[axis] = start, size
    return dynamic_slice(x, starts, sizes)


def _axis_entries(spec: Spec) -> list[tuple[Any, ...]]:
    """Return the entries that stand for axes of the array."""
    return [entry for entry in spec if entry[0] != "new"]


def _ascending(entry: tuple[Any, ...]) -> tuple[int, int, int]:
    """Return start, stop and stride of the same elements in ascending order."""
    _, start, count, step = entry
    if count == 0:
        return 0, 0, 1
    last = start + (count - 1) * step
    low, high = (start, last) if step > 0 else (last, start)
    stride = abs(step)
    return low, high + 1, stride if stride == 1 or is_symbolic(count) or count > 1 else 1


def new_axes(spec: Spec) -> tuple[int, ...]:
    """Return where the new axes stand in the result of an index without arrays."""
    places: list[int] = []
    position = 0
    for entry in spec:
        if entry[0] == "new":
            places.append(position)
        position += entry[0] in ("new", "slice", "window", "run")
    return tuple(places)


# ---------------------------------------------------------------- arrays of positions


@record()
class Addresses:
    """How an index addresses an array, for a gather or a scatter.

    Attributes:
      indices: index vectors along the last axis; None where the index is whole slices only.
      addressed: the axis that each component addresses.
      collapsed: the axes of which windows have one position, which is dropped.
      window_sizes: the window's size along each axis.
      layout: for each axis of the result (new axes aside), ``"window"`` or ``"batch"``.
      shape: the result's shape, new axes aside.
      new: where new axes stand in the result.
    """

    indices: Any
    addressed: tuple[int, ...]
    collapsed: tuple[int, ...]
    window_sizes: tuple[int, ...]
    layout: tuple[str, ...]
    shape: tuple[int, ...]
    new: tuple[int, ...]


@record()
class _Component:
    """Positions along one axis, and the batch axes theirs are: by name until all are counted.

    Attributes:
      axis: the axis they address.
      positions: an array of them.
      owner: ``"block"`` for an index array, the place in the layout for a stride, None for one
        position.
    """

    axis: int
    positions: Any
    owner: Any


class _Addressing:
    """Collects the layout and the components of an index, entry by entry."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.sizes = list(shape)
        self.collapsed: list[int] = []
        self.components: list[_Component] = []
        self.order: list[tuple[str, int]] = []
        self.axis = 0

    def slice(self, start: int, count: int, step: int) -> None:
        """Add a slice: a window, or with a step a batch axis of its own."""
        if step == 1:
            if (start, count) != (0, self.shape[self.axis]):
                self.components.append(_Component(self.axis, np.int32(start), None))
            self.window(count)
        else:
            positions = np.arange(start, start + count * step, step, dtype=_INT32)[:count]
            self.components.append(_Component(self.axis, positions, len(self.order)))
            self.order.append(("batch", count))
            self.collapse()

    def window(self, count: int, start: Any = None) -> None:
        """Add a slice of step 1, perhaps at a position that is data."""
        if start is not None:
            self.components.append(_Component(self.axis, cast(start, _INT32), None))
        self.sizes[self.axis] = count
        self.order.append(("window", count))
        self.axis += 1

    def run(self, start: Any, count: int, step: int) -> None:
        """Add elements from a position on that is data: a window, or a batch axis of its own."""
        if step == 1:
            self.components.append(_Component(self.axis, _as_positions(start), None))
            self.window(count)
        else:
            start = _as_positions(start)
            positions = add(start, np.arange(count, dtype=dtype_of(start)) * step)
            self.components.append(_Component(self.axis, positions, len(self.order)))
            self.order.append(("batch", count))
            self.collapse()

    def position(self, leaf: Any, owner: Any) -> None:
        """Add one position, or an array of them."""
        positions = wrapped(leaf, self.shape[self.axis])
        self.components.append(_Component(self.axis, positions, owner))
        self.collapse()

    def collapse(self) -> None:
        """Make the window along this axis one position, and go on to the next axis."""
        self.collapsed.append(self.axis)
        self.sizes[self.axis] = 1
        self.axis += 1


def addresses(shape: tuple[int, ...], leaves: Sequence[Any], spec: Spec) -> Addresses:
    """Return the index vectors and the layout of what they address.

    The axes of index arrays stand where the first of them is, if they are adjacent, else first;
    slices with a step are index vectors too, with an axis of their own.
    """
    data = iter(leaves)
    adding = _Addressing(shape)
    block = _block_place(spec)
    if block == -1:
        adding.order.append(("block", 0))
    for place, entry in enumerate(spec):
        kind = entry[0]
        if kind == "new":
            adding.order.append(("new", 1))
        elif kind == "slice":
            adding.slice(*entry[1:])
        elif kind == "window":
            adding.window(entry[1], next(data))
        elif kind == "run":
            adding.run(next(data), *entry[1:])
        elif kind == "array":
            if place == block:
                adding.order.append(("block", 0))
            adding.position(next(data), "block")
        elif kind != "gap":
            adding.position(np.int32(entry[1]) if kind == "fixed" else next(data), None)
    return _assembled(adding)


def _joint_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except InconclusiveDimensionOperation:  # a size is symbolic
        return broadcast_shapes(*shapes)


def _assembled(adding: _Addressing) -> Addresses:
    """Count the axes of the result and join the components to index vectors."""
    arrays = [c.positions for c in adding.components if c.owner == "block"]
    joint = _joint_shape([np.shape(positions) for positions in arrays])
    layout: list[str] = []
    shape: list[int] = []
    new: list[int] = []
    batch: list[int] = []
    first: dict[Any, int] = {}
    for place, (kind, count) in enumerate(adding.order):
        counts = joint if kind == "block" else (count,)
        if kind == "new":
            new.append(len(shape) + len(new))
            continue
        layout += ["window" if kind == "window" else "batch"] * len(counts)
        shape += counts
        if kind != "window":
            first["block" if kind == "block" else place] = len(batch)
            batch += counts
    return Addresses(
        _index_vectors(adding.components, tuple(batch), first, len(joint)),
        tuple([component.axis for component in adding.components]),
        tuple(adding.collapsed),
        tuple(adding.sizes),
        tuple(layout),
        tuple(shape),
        tuple(new),
    )


def _index_vectors(
    components: Sequence[_Component], batch: tuple[int, ...], first: dict[Any, int], rank: int
) -> Any:
    """Return the positions, each repeated over the batch axes, side by side on a last axis."""
    if not components:
        return None
    wide = any(dtype_of(component.positions) == np.int64 for component in components)
    dtype = np.dtype(np.int64) if wide else _INT32
    columns: list[Any] = []
    for component in components:
        own = np.ndim(component.positions)
        start = 0 if component.owner is None else first[component.owner]
        if component.owner == "block":
            start += rank - own
        places = tuple(range(start, start + own))
        columns.append(broadcast_in_dim(cast(component.positions, dtype), (*batch, 1), places))
    return columns[0] if len(columns) == 1 else concatenate(columns, len(batch))


def _block_place(spec: Spec) -> int:
    """Return which entry the axes of index arrays stand at; -1 for before all, -2 for none."""
    places = [i for i, entry in enumerate(spec) if entry[0] == "array"]
    if not places:
        return -2
    adjacent = places == list(range(places[0], places[-1] + 1))
    return places[0] if adjacent else -1


def _wrapped_known(positions: Any, size: int, dtype: Any) -> Any:
    return np.asarray(np.where(positions < 0, positions + size, positions), dtype)


def wrapped(positions: Any, size: int) -> Any:
    """Return positions in an index dtype, negative ones counted from the end."""
    dtype = dtype_of(positions)
    if isinstance(positions, (np.ndarray, np.generic, int)):
        return _wrapped_known(positions, size, _index_dtype(dtype))
    positions = _as_positions(positions)
    if dtype in dtypes.UNSIGNED:
        return positions
    return select(lt(positions, 0), add(positions, size), positions)


def _as_positions(positions: Any) -> Any:
    """Return positions in an index dtype; unsigned ones beyond it are its greatest."""
    dtype = dtype_of(positions)
    if dtype in dtypes.UNSIGNED:
        if dtypes.itemsize_bits(dtype) >= 32:
            positions = min(positions, dtype.type(2**31 - 1))
        return cast(positions, _INT32)
    return cast(positions, _index_dtype(dtype))


def within(positions: Any, size: int, mode: str) -> Any:
    """Return positions moved into an axis: to the nearest (``"clip"``) or around (``"wrap"``).

    They are in a dtype that can hold all positions of the axis.
    """
    dtype = dtype_of(positions)
    if dtypes.itemsize_bits(dtype) < 32:
        positions = cast(positions, _INT32)
    positions = asarray(positions)
    return positions % size if mode == "wrap" else positions.clip(0, size - 1)


def _index_dtype(dtype: Any) -> Any:
    return dtype if dtype == np.int64 else _INT32
