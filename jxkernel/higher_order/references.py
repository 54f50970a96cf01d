"""References: boxes that hold an array, which reading gives and writing replaces.

No reference is ever part of a program.  While a function is staged, a reference that was made in
that trace is a Python object whose value is a tracer; one that was made outside must be *bound* to
a value of the trace first.  Reading or writing one that is not bound is noted, and when the trace
ends ``CapturedReferences`` is raised: what staged the function stages it again with the values as
further arguments and results, or lets the error through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jxkernel._lazy import late_function
from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier
from jxkernel.core.jaxpr import Value
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Trace, Tracer, base_trace, place_in_source, state
from jxkernel.dtypes import DType, canonicalize_dtype, itemsize_bits
from jxkernel.errors import RefError
from jxkernel.primitives.elementwise.convert import bitcast_convert_type, convert_element_type
from jxkernel.tree import physical

__all__ = [
    "AbstractRef",
    "Binding",
    "CapturedReferences",
    "Carried",
    "Lent",
    "Rearranged",
    "Ref",
    "Taken",
    "View",
    "bind",
    "check_distinct",
    "held",
    "part",
    "replace",
    "staging",
]

placed_slices = late_function("jxkernel.higher_order.slices_of_references", "placed_slices")


class AbstractRef:
    """The type of a reference: that of the arrays it holds.

    Args:
      inner_aval: the type of the arrays.
      leaf_avals: the types of what one is made of, where that is another: of a key its key data.
    """

    vma: frozenset[Any] = frozenset()
    explicit_sharding = None
    weak_type = False

    def __init__(
        self, inner_aval: ShapedArray, leaf_avals: Sequence[ShapedArray] | None = None
    ) -> None:
        self.inner_aval = inner_aval
        self.leaf_avals = [inner_aval] if leaf_avals is None else list(leaf_avals)
        self.shape, self.dtype = inner_aval.shape, inner_aval.dtype
        self.ndim, self.size = inner_aval.ndim, inner_aval.size

    def short(self, weak: bool = False) -> str:
        """Return the type as jaxprs print it, such as ``Ref{f32[3]}``."""
        return f"Ref{{{self.inner_aval.short(weak)}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __repr__(self) -> str:
        return self.short()


class CapturedReferences(RefError):
    """A staged function uses references that were made outside of it.

    Args:
      name: the function.
      refs: the references.
      written: for each, whether it is written.
      outside: the trace of the function around it, if that is staged too.
    """

    def __init__(
        self,
        name: str,
        refs: Sequence[Any],
        written: Sequence[bool],
        outside: Trace | None,
        **parts: Any,
    ) -> None:
        super().__init__(
            f"{name or 'a function'} uses a reference of type {refs[0].aval} that was made outside "
            "of it, where none is taken along.",
            **{
                "instead": (
                    "read it before, pass the value in and the new one out, and write it after",
                    "make the reference inside, with new_ref",
                ),
                **parts,
            },
        )
        self.refs = list(refs)
        self.written = list(written)
        self.outside = outside

    def join(self, other: CapturedReferences) -> None:
        """Add the references of another function that is staged beside this one."""
        used = dict(zip(map(id, self.refs), self.written, strict=True))
        for ref, is_written in zip(other.refs, other.written, strict=True):
            if id(ref) not in used:
                self.refs.append(ref)
            used[id(ref)] = is_written or used.get(id(ref), False)
        self.written = list(used.values())


class Binding:
    """The value of a reference in one trace.

    Attributes:
      value: the array or tracer.
      trace: the trace that was current when the reference was made or bound there.
      is_written: whether the value was replaced since.
    """

    __slots__ = ("is_written", "trace", "value")

    recorder: Any = None
    """Of one whose reading and writing are equations: what records those of parts."""

    def __init__(self, value: object) -> None:
        self.value = value
        self.trace = state.trace
        self.is_written = False

    def end(self) -> Any:
        """Return the value for the last time."""
        return self.value


class References:
    """The references of outside that a staged function uses.

    Attributes:
      bound: the reference and its binding, by the reference's ``id``.
      captured: the ids of those that were used before anything was bound to them.
    """

    __slots__ = ("bound", "captured")

    def __init__(self) -> None:
        self.bound: dict[int, tuple[Ref, Binding]] = {}
        self.captured: list[int] = []

    def check(self, name: str) -> None:
        """Check, at the end of a trace, that nothing was captured.

        Raises:
          CapturedReferences: something was; the trace is of no use.
        """
        if self.captured:
            used = [self.bound[key] for key in self.captured]
            raise CapturedReferences(
                name,
                [ref for ref, _ in used],
                [binding.is_written for _, binding in used],
                staging(),
                **place_in_source(),
            )


class Ref:
    """A reference to an array, which can be replaced as a whole or in parts; see ``new_ref``.

    ``ref[...]`` is the array, ``ref[i]`` a part of it, ``ref[i] = value`` and ``ref[i] += value``
    put another in its place; they take the indices that arrays take.  A reference is no array: an
    operation takes ``ref[...]``.  It is known by identity.

    Attributes:
      aval: its type, ``Ref{f32[3]}``.
    """

    __slots__ = ("__weakref__", "_home", "_own", "aval", "structure")

    def __init__(self, value: object) -> None:
        value = held(value, abstractify(value).dtype)
        leaves, self.structure = physical.flatten(value)  # a random key is a tree of its key data
        self.aval = AbstractRef(abstractify(value), [abstractify(leaf) for leaf in leaves])
        self._home = home = staging()
        self._own: Binding | None = None
        if home is not None and home is state.trace:
            home.references = home.references or References()
            if home.recorder is not None:
                self._own = home.recorder.made(self, leaves)
        self._own = self._own or Binding(value)

    def like(self, binding: Callable[[Ref], Binding]) -> Ref:
        """Return a reference of the same type that is bound otherwise, at home in this trace."""
        return Ref.of_type(self.aval, self.structure, binding)

    @staticmethod
    def of_type(aval: AbstractRef, structure: Any, binding: Callable[[Ref], Binding]) -> Ref:
        """Return a reference that is at home in this trace.

        Args:
          aval: its type.
          structure: how the value is made of arrays.
          binding: gives where the value is.
        """
        made = object.__new__(Ref)
        made.aval, made.structure, made._home = aval, structure, staging()
        made._own = binding(made)
        return made

    @property
    def leaf_avals(self) -> list[ShapedArray]:
        """The types of the arrays that the value is made of: of a random key its key data."""
        return self.aval.leaf_avals

    def whole(self, leaves: Sequence[Any]) -> Any:
        """Return the value that is made of such arrays."""
        return self.structure.unflatten(leaves)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of the array."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The rank of the array."""
        return len(self.aval.shape)

    @property
    def size(self) -> Any:
        """How many elements the array has."""
        return self.aval.inner_aval.size

    @property
    def sharding(self) -> Any:
        """The array's sharding."""
        return self.read().sharding

    @property
    def committed(self) -> bool:
        """Whether the array is committed: it was put on its devices on purpose."""
        return self.read().committed

    @property
    def format(self) -> Any:
        """How the array lies in memory, and where."""
        return self.read().format

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the array's memory, which is another array's after a write."""
        return self.read().unsafe_buffer_pointer()

    def binding(self) -> Binding:
        """Return where the value is, for the trace at hand.

        Raises:
          RefError: the reference was frozen or freed.
        """
        if self._own is None:
            raise RefError(
                f"a reference of type {self.aval} was used after it was frozen or freed."
            )
        trace = staging()
        if trace is self._home or trace is None:
            return self._own
        known = trace.references = trace.references or References()
        found = known.bound.get(id(self))
        if found is None and trace.recorder is not None:
            found = known.bound[id(self)] = (self, trace.recorder.captured(self))
        if found is None:
            # What stands for the value need only have its type: the trace is thrown away.
            unknown = self.whole([trace.argument(aval) for aval in self.leaf_avals])
            found = known.bound[id(self)] = (self, Binding(unknown))
            known.captured.append(id(self))
        return found[1]

    def rebind(self, binding: Binding | None) -> Binding | None:
        """Put the value elsewhere, for the trace at hand, and return where it was.

        Args:
          binding: the place; None where the reference is not bound.
        """
        trace = staging()
        if trace is None or trace is self._home:
            before, self._own = self._own, binding
            return before
        known = trace.references = trace.references or References()
        before = known.bound.pop(id(self), None)
        if binding is not None:
            known.bound[id(self)] = (self, binding)
        return None if before is None else before[1]

    def root(self) -> Ref:
        """Return the reference that this is a part of; itself where it is no part."""
        return self

    def holds_tracers(self) -> bool:
        """Whether the value is traced where the reference was made."""
        own = self._own
        return own is not None and any(isinstance(x, Tracer) for x in physical.leaves(own.value))

    def read(self) -> Any:
        """Return the array."""
        return self.binding().value

    def recorder(self) -> Any:
        """Return what records how parts are read and written here; None where nothing does."""
        return self.binding().recorder

    def write(self, value: object) -> None:
        """Put another array of the same type in the place of the one that is there.

        Raises:
          RefError: the reference does not know of a transform that the array is a part of.
        """
        binding = self.binding()
        self.check_holds(value, binding)
        binding.value = value
        binding.is_written = True

    def check_holds(self, value: object, binding: Binding) -> None:
        """Check that the trace where the value is kept knows of all that the new one is part of.

        Raises:
          RefError: it does not.
        """
        owners = {leaf.owner for leaf in physical.leaves(value) if isinstance(leaf, Tracer)}
        around = set(_chain(binding.trace))
        if not owners <= around or any(t.maps and t not in around for t in _chain(state.trace)):
            raise RefError(
                f"a reference of type {self.aval} that was made outside of a transform was given a "
                f"value of inside, {abstractify(value).short()}: its batch axis or its derivative "
                "would be lost.",
                instead=(
                    "make the reference inside, with new_ref",
                    "under vmap, pass it as an argument, with an axis of its own in in_axes",
                    "under grad, write lax.stop_gradient(value)",
                ),
                **place_in_source(),
            )

    def end(self) -> Any:
        """Return the array for the last time: the reference cannot be used again."""
        value = self.binding().end()
        self._own = None
        return value

    @property
    def at(self) -> Views:
        """References to parts: ``ref.at[idx]`` reads and writes ``ref[idx]``."""
        return Views(self)

    def reshape(self, *shape: Any) -> Rearranged:
        """Return a reference to the same elements in another shape.

        Args:
          *shape: the sizes, or a tuple of them; one may be -1.
        """
        sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        known = math.prod([size for size in sizes if size != -1])
        whole = tuple([self.size // max(known, 1) if size == -1 else size for size in sizes])
        if math.prod(whole) != self.size:
            raise RefError(
                f"a reference of type {self.aval} cannot have the shape {whole}.",
                **place_in_source(),
            )
        return Rearranged(
            self,
            self.aval.inner_aval.update(shape=whole),
            lambda value: value.reshape(whole),
            lambda value: value.reshape(self.shape),
        )

    def transpose(self, *axes: Any) -> Rearranged:
        """Return a reference to the same elements with its axes in another order.

        Args:
          *axes: the axes, or a tuple of them; in reverse order where not given.
        """
        order = tuple(axes[0]) if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        order = order or tuple(range(self.ndim))[::-1]
        back = tuple([order.index(axis) for axis in range(self.ndim)])
        return Rearranged(
            self,
            self.aval.inner_aval.update(shape=tuple([self.shape[axis] for axis in order])),
            lambda value: value.transpose(order),
            lambda value: value.transpose(back),
        )

    @property
    def T(self) -> Rearranged:
        """A reference to the same elements with its axes in reverse order."""
        return self.transpose()

    def bitcast(self, dtype: object) -> Rearranged:
        """Return a reference to the same bits as numbers of another dtype.

        Args:
          dtype: the dtype.  Where its numbers are narrower, the last axis but one is as many times
            longer; where they are wider, shorter.

        Raises:
          RefError: that axis is not there, or is no multiple.
        """
        own, wanted = self.dtype, canonicalize_dtype(dtype)
        shape = _bitcast_shape(self, wanted)
        return Rearranged(
            self,
            ShapedArray(shape, wanted),
            lambda value: _as_bits(value, wanted),
            lambda value: _as_bits(value, own),
        )

    def get(self, idx: object = ...) -> Any:
        """Return a part of the array: ``ref[idx]``."""
        return part(self, idx)

    def set(self, value: object, idx: object = ...) -> None:
        """Put a value in the place of a part: ``ref[idx] = value``."""
        replace(self, idx, value)

    def swap(self, value: object, idx: object = ...) -> Any:
        """Put a value in the place of a part, and return the part before."""
        before = part(self, idx)
        replace(self, idx, value)
        return before

    def addupdate(self, x: object, idx: object = ...) -> None:
        """Add to a part; an element that is named twice gets both."""
        replace(self, idx, x, adding=True)

    def __getitem__(self, index: object) -> Any:
        return part(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        replace(self, index, value)

    def __copy__(self) -> Ref:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Say what it is made of: where its array is kept belongs to this program alone."""
        return Ref, (self.read(),)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a reference to a scalar has no length")
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(_NO_ARRAY.format(self.aval))

    def __repr__(self) -> str:
        if self._own is None:
            return f"Ref(<frozen {self.aval}>)"
        return f"Ref({repr(self._own.value).removeprefix('Array(').removesuffix(')')})"


class Views:
    """What ``ref.at`` is: the index between the brackets makes a reference to a part."""

    __slots__ = ("_ref",)

    def __init__(self, ref: Ref) -> None:
        self._ref = ref

    def __getitem__(self, index: object) -> View:
        return View(self._ref, index)


class View(Ref):
    """A reference to a part of another: what is written to it is written there.

    Args:
      ref: the other.
      index: the part, as arrays take it.
    """

    __slots__ = ("_index", "_ref")

    def __init__(self, ref: Ref, index: object) -> None:
        self._ref = ref
        self._index = index
        value = part(ref, index)
        leaves, self.structure = physical.flatten(value)
        self.aval = AbstractRef(abstractify(value), [abstractify(leaf) for leaf in leaves])

    def root(self) -> Ref:
        """Return the reference that this is a part of."""
        return self._ref.root()

    def __reduce__(self) -> tuple[Any, ...]:
        return View, (self._ref, self._index)

    def read(self) -> Any:
        """Return the part."""
        return part(self._ref, self._index)

    def recorder(self) -> Any:
        """Return None: it is the other reference of which parts are read and written."""
        return None

    def write(self, value: object) -> None:
        """Put another array in the place of the part."""
        replace(self._ref, self._index, value)

    def end(self) -> Any:
        """Refuse to end a reference whose array goes on.

        Raises:
          RefError: always.
        """
        raise RefError(f"a part, {self.aval}, of a reference cannot be frozen or freed alone.")

    def __repr__(self) -> str:
        return f"{self._ref!r}.at[{self._index!r}]"


class Rearranged(Ref):
    """A reference to the elements of another in another shape, or as numbers of another dtype.

    Args:
      ref: the other.
      aval: the type of the array that is seen.
      forward: makes it of the other's array.
      backward: makes the other's array of it.
    """

    __slots__ = ("_backward", "_forward", "_ref")

    def __init__(
        self,
        ref: Ref,
        aval: ShapedArray,
        forward: Callable[[Any], Any],
        backward: Callable[[Any], Any],
    ) -> None:
        self._ref = ref
        self._forward = forward
        self._backward = backward
        self.structure = ref.structure
        self.aval = AbstractRef(aval)

    def root(self) -> Ref:
        """Return the reference whose elements these are."""
        return self._ref.root()

    def read(self) -> Any:
        """Return the array that is seen."""
        return self._forward(self._ref.read())

    def recorder(self) -> Any:
        """Return None: it is the other reference that is read and written."""
        return None

    def write(self, value: object) -> None:
        """Put another array in the place of the one that is seen."""
        self._ref.write(self._backward(value))

    def end(self) -> Any:
        """Refuse to end a reference whose array goes on.

        Raises:
          RefError: always.
        """
        raise RefError(f"{self.aval}, what another reference holds, cannot be frozen or freed.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Ref, (self.read(),)

    def __repr__(self) -> str:
        return f"{self._ref!r} as {self.aval}"


def _as_bits(value: Value, dtype: DType) -> Any:
    """Return the bits of an array as numbers of another dtype, along the last axis but one."""
    own, wanted = itemsize_bits(value.dtype), itemsize_bits(dtype)
    if own == wanted:
        return bitcast_convert_type(value, dtype)
    *outer, rows, columns = value.shape
    if own > wanted:
        cut = bitcast_convert_type(value, dtype).swapaxes(-1, -2)
        return cut.reshape(*outer, rows * (own // wanted), columns)
    count = wanted // own
    joined = value.reshape(*outer, rows // count, count, columns).swapaxes(-1, -2)
    return bitcast_convert_type(joined, dtype)


def _bitcast_shape(ref: Ref, dtype: DType) -> tuple[int, ...]:
    """Return the shape of an array whose bits are those of numbers of another dtype.

    Raises:
      RefError: there is none.
    """
    own, wanted = itemsize_bits(ref.dtype), itemsize_bits(dtype)
    if own == wanted:
        return ref.shape
    if ref.ndim < 2 or ref.shape[-2] * own % wanted:
        raise RefError(
            f"a reference of type {ref.aval} has no axis before the last that is cut or joined to "
            f"be {dtype.name}.",
            **place_in_source(),
        )
    return (*ref.shape[:-2], ref.shape[-2] * own // wanted, ref.shape[-1])


_NO_ARRAY = "a reference of type {} is no array: read its value with ref[...]"


def part(ref: Ref, index: object) -> Any:
    """Return a part of what a reference holds; of ``None``, ``...`` or ``()`` all of it.

    Raises:
      IndexError: an integer is out of bounds.
    """
    if index is None or index is Ellipsis or (isinstance(index, tuple) and not index):
        return ref.read()
    _check_bounds(ref, index)
    placed = placed_slices(index, ref.shape)
    recorder = ref.recorder()
    return ref.read()[placed] if recorder is None else recorder.part(ref, placed)


def replace(ref: Ref, index: object, value: object, *, adding: bool = False) -> None:
    """Put a value in the place of a part, or add it to the part.

    Raises:
      IndexError: an integer is out of bounds.
      RefError: the value has not the part's shape, or not its dtype.
    """
    index = ... if index is None else index
    recorder = ref.recorder()
    if recorder is not None:
        _check_bounds(ref, index)
        index = placed_slices(index, ref.shape)
        _check_fit(ref, value, recorder.part_aval(ref, index))
        ref.check_holds(value, ref.binding())
        recorder.replace(ref, index, held(value, ref.dtype), adding=adding)
        return
    before = ref.read()
    place = part(ref, index)
    index = placed_slices(index, ref.shape)
    _check_fit(ref, value, place)
    if place is before:
        after = before + value if adding else held(value, ref.dtype)
    elif adding:
        after = before.at[index].add(value)
    else:
        after = before.at[index].set(value)
    ref.write(after)


def held(value: object, dtype: object) -> Any:
    """Return an array or number as an array of a dtype, which is strong."""
    return value if isinstance(value, ExtendedArray) else convert_element_type(value, dtype)


def _check_fit(ref: Ref, value: object, place: object) -> None:
    given = abstractify(value)
    wanted = place if isinstance(place, ShapedArray) else abstractify(place)
    yields = given.weak_type and given.dtype.kind == wanted.dtype.kind
    if given.dtype != wanted.dtype and not yields:
        raise RefError(
            f"a reference of type {ref.aval} was given a value of dtype {given.dtype.name}.",
            instead=(f"convert it: value.astype({wanted.dtype.name!r})",),
            **place_in_source(),
        )
    if given.shape != wanted.shape:
        raise RefError(
            f"a part of shape {wanted.shape} of a reference of type {ref.aval} was given a value "
            f"of shape {given.shape}.",
            instead=_reshaping(given.shape, wanted.shape),
            **place_in_source(),
        )


def _reshaping(given: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[str, ...]:
    """Return what gives a value another shape, where that can be."""
    stretched = len(given) <= len(wanted) and all(
        size in (1, whole) for size, whole in zip(reversed(given), reversed(wanted), strict=False)
    )
    if stretched:
        return (f"give it that shape: jnp.broadcast_to(value, {wanted})",)
    if math.prod(given) == math.prod(wanted):
        return (f"give it that shape: value.reshape({wanted})",)
    return ()


def _check_bounds(ref: Ref, index: object) -> None:
    """Check the integers of an index, which arrays clamp."""
    entries = index if isinstance(index, tuple) else (index,)
    if any(entry is None or entry is Ellipsis for entry in entries):
        return
    for entry, size in zip(entries, ref.shape, strict=False):
        if type(entry) is int and not -size <= entry < size:
            raise IndexError(f"index {entry} is out of bounds for an axis of size {size}")


class Taken:
    """References of outside that a function is staged with, once it is known which it uses.

    Args:
      found: what the trace that is thrown away said.

    Attributes:
      written: the references that the function writes; others are only read.

    Raises:
      CapturedReferences: it was another function, inside, that takes none along.
    """

    def __init__(self, found: CapturedReferences) -> None:
        if found.outside is not staging():
            raise found
        pairs = list(zip(found.refs, found.written, strict=True))
        self.written = [ref for ref, is_written in pairs if is_written]
        self._read = [ref for ref, is_written in pairs if not is_written]
        self._constants = [ref.read() for ref in self._read]

    def values(self) -> list[Any]:
        """Return the values to begin with of the references that are written."""
        return [ref.read() for ref in self.written]

    def run(self, values: Sequence[Any], call: Callable[[], Any]) -> tuple[Any, list[Any]]:
        """Call a function that is being staged, and return its result and the values after it."""
        self._bind(values)
        result = call()
        self._check_only_read(self._read)
        return result, self.values()

    def look(self, values: Sequence[Any], call: Callable[[], Any]) -> Any:
        """Call a function that is being staged and may only read, and return its result."""
        self._bind(values)
        result = call()
        self._check_only_read([*self.written, *self._read])
        return result

    def write(self, values: Iterable[Any]) -> None:
        """Write what the staged function wrote."""
        for ref, value in zip(self.written, values, strict=True):
            ref.write(value)

    def _bind(self, values: Sequence[Any]) -> None:
        bind([*self.written, *self._read], [*values, *self._constants])

    def _check_only_read(self, refs: Sequence[Ref]) -> None:
        for ref in refs:
            if ref.binding().is_written:
                raise RefError(
                    f"a reference of type {ref.aval} is written where it can only be read, in the "
                    "condition of a loop or in a function that is solved or transposed.",
                    instead=("write it in the body of the loop, or after the call",),
                    **place_in_source(),
                )


class Lent:
    """References that hold other values while a function is called: ``with Lent(refs, values)``.

    Args:
      refs: the references.
      values: what each holds first.

    Attributes:
      after: what each holds when the block ends.
      written: for each, whether the block wrote to it.
    """

    def __init__(self, refs: Sequence[Ref], values: Sequence[Any]) -> None:
        self._refs = refs
        self._values = values
        self._bindings: list[Binding] = []
        self._before: list[Binding | None] = []
        self.after: list[Any] = []
        self.written: list[bool] = []

    def __enter__(self) -> Lent:
        self._bindings = [Binding(value) for value in self._values]
        for ref, binding in zip(self._refs, self._bindings, strict=True):
            self._before.append(ref.rebind(binding))
        return self

    def __exit__(self, *_: object) -> None:
        self.after = [binding.value for binding in self._bindings]
        self.written = [binding.is_written for binding in self._bindings]
        for ref, before in zip(self._refs, self._before, strict=True):
            ref.rebind(before)


class Carried:
    """References whose values a staged program takes first, and gives back first.

    Two of the same references are equal, so that what is made with them is found again.

    Args:
      refs: the references.
    """

    def __init__(self, refs: Iterable[Ref] = ()) -> None:
        self.refs = tuple(refs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Carried) and self.refs == other.refs

    def __hash__(self) -> int:
        return hash(self.refs)

    @property
    def avals(self) -> list[ShapedArray]:
        """The types of the values."""
        return [aval for ref in self.refs for aval in ref.leaf_avals]

    def values(self) -> list[Any]:
        """Return the values, as they are in the trace at hand."""
        return [leaf for ref in self.refs for leaf in physical.leaves(ref.read())]

    def run(self, values: Sequence[Any], call: Callable[[], Any]) -> tuple[Any, list[Any]]:
        """Call a function that is being staged, and return its result and the values after it."""
        if not self.refs:
            return call(), []
        bind(self.refs, self._whole(values))
        return call(), self.values()

    def write(self, values: Sequence[Any]) -> None:
        """Write what the staged program gave back."""
        for ref, value in zip(self.refs, self._whole(values), strict=True):
            ref.write(value)

    def _whole(self, values: Sequence[Any]) -> list[Any]:
        given = iter(values)
        return [ref.whole([next(given) for _ in ref.leaf_avals]) for ref in self.refs]

    def with_captured(self, found: CapturedReferences) -> Carried:
        """Return these references and those that were found to be used besides.

        Raises:
          CapturedReferences: it was another function, inside, that takes none along.
        """
        if found.outside is not staging():
            raise found
        return Carried([*self.refs, *found.refs])


def bind(refs: Sequence[Ref], values: Iterable[Any]) -> None:
    """Bind references of outside to values, in the function that is being staged."""
    trace = staging()
    assert trace is not None, "a function is being staged"
    known = trace.references = trace.references or References()
    for ref, value in zip(refs, values, strict=True):
        known.bound[id(ref)] = (ref, Binding(value))


def check_distinct(who: str, given: Iterable[tuple[str, Ref]]) -> None:
    """Check that references are given once each, so that what is written to one is in no other.

    Args:
      who: who takes them, for the message.
      given: what each is called, and the reference.

    Raises:
      RefError: one is given twice.
    """
    seen: dict[int, str] = {}
    for name, ref in given:
        key = id(ref.root())
        if key in seen:
            raise RefError(
                f"{who} got one reference of type {ref.root().aval} twice: as {name} and as "
                f"{seen[key]}.",
                instead=("pass it once",),
                **place_in_source(),
            )
        seen[key] = name


def staging() -> Any:
    """Return the trace of the function that is being staged, or None."""
    return next((trace for trace in _chain(state.trace) if trace.stages), None)


def _chain(trace: Trace) -> Iterator[Trace]:
    """Yield a trace, and those below it in turn."""
    base = base_trace()
    while trace is not base:
        yield trace
        trace = trace.parent
    yield base


def _refused(ref: Ref) -> Any:
    raise TypeError(_NO_ARRAY.format(ref.aval))


for _kind in (Ref, View, Rearranged):
    register_abstractifier(_kind, _refused)
