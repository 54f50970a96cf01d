"""Abstract values: what is known of an array while a program is traced.

An aval is the type of a value in the typed IR.  Avals are interned: two equal descriptions are
the same object, so equality is identity and hashing is free on the hot paths of tracing and of
every cache.  This module must not know of tracers, primitives or devices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import in_words, with_type
from jxkernel.core.dimensions import Dimension
from jxkernel.core.explicit_sharding import entry_text, explicit_sharding_of
from jxkernel.dtypes import DType
from jxkernel.errors import ByteOrderError
from jxkernel.sharding.mesh import get_abstract_mesh
from jxkernel.sharding.named import NamedSharding
from jxkernel.sharding.spec import ManualAxisType, PartitionSpec

__all__ = [
    "ShapedArray",
    "abstractify",
    "array_of",
    "canonical_value",
    "has_aval",
    "kind_in_words",
    "pytype_aval_mappings",
    "rank_of",
    "register_abstractifier",
    "shape_of",
    "shape_text",
    "type_of",
]

_INTERNED: dict[tuple[Any, ...], ShapedArray] = {}
_NO_AXES: frozenset[Hashable] = frozenset()


class ShapedArray:
    """The type of an array: its shape, its dtype and whether the dtype is weak.

    Instances are interned and immutable.  ``weak_type`` marks a value that began as a Python
    scalar and so yields to the dtype it meets (see ``dtypes``).  ``vma``, inside a ``shard_map``
    that keeps track of it, holds the mesh axes along which the value may differ between devices.
    ``explicit_sharding`` says how the value is divided over explicit mesh axes, None where it is
    not (see ``core.explicit_sharding``).
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "explicit_sharding",
        "ndim",
        "shape",
        "size",
        "vma",
        "weak_type",
    )

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    vma: frozenset[Hashable]
    explicit_sharding: NamedSharding | None
    ndim: int
    size: int

    def __new__(
        cls,
        shape: tuple[int, ...],
        dtype: Any,
        weak_type: bool = False,
        vma: frozenset[Hashable] = _NO_AXES,
        explicit_sharding: NamedSharding | None = None,
        *,
        sharding: NamedSharding | None = None,
    ) -> ShapedArray:
        """Return the instance with these parts; a sharding counts by its explicit axes alone.

        Raises:
          TypeError: the shape is none, or the dtype.
        """
        if sharding is not None:
            explicit_sharding = explicit_sharding_of(sharding, len(shape))
        key: tuple[Any, ...] = (shape, dtype, weak_type)
        if vma or explicit_sharding is not None:
            key = (shape, dtype, weak_type, vma, explicit_sharding)
        try:
            found = _INTERNED.get(key)
        except TypeError:  # The shape is a list.
            found = None
        if found is None:
            key = (_as_shape(shape), _as_dtype(dtype), *key[2:])
            found = _INTERNED.setdefault(key, _make(key))
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ShapedArray is immutable: cannot set {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            ShapedArray,
            (self.shape, self.dtype, self.weak_type, self.vma, self.explicit_sharding),
        )

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype.name}{self._sizes()}{self._axes()}{weak})"

    def __str__(self) -> str:
        mark = "~" if self.weak_type else ""
        return f"{mark}{self.dtype.name}{self._sizes()}{self._axes()}"

    def short(self, weak: bool = False) -> str:
        """Return the type as jaxprs print it, such as ``f32[3,4]``; ``*`` marks a weak dtype.

        ``f32[3]{V:x}`` is the type of a value that varies along the mesh axis ``x``, and
        ``f32[8@x,4]`` of one whose first axis is divided over the explicit mesh axis ``x``.  One
        whose sum over ``x`` is put off is ``f32[3]{U:x}``, one of whose cotangent it is
        ``f32[3]{R:x}``.
        """
        mark = "*" if weak and self.weak_type else ""
        return f"{dtypes.short_name(self.dtype)}{mark}{self._sizes()}{self._axes()}"

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return the type in one word, such as ``float32[3,4]``.

        Args:
          short_dtypes: whether the dtype is abbreviated, as in ``short``.
        """
        name = dtypes.short_name(self.dtype) if short_dtypes else self.dtype.name
        return f"{name}{self._sizes()}{self._axes()}"

    def _sizes(self) -> str:
        if self.explicit_sharding is None:
            return shape_text(self.shape)
        pairs = zip(self.shape, self.entries, strict=True)
        return f"[{','.join([f'{size}{entry_text(entry)}' for size, entry in pairs])}]"

    @property
    def entries(self) -> tuple[Any, ...]:
        """For each axis, the explicit mesh axis (or a tuple of them) that divides it, or None."""
        if self.explicit_sharding is None:
            return (None,) * self.ndim
        return self.explicit_sharding.spec.partitions

    @property
    def unreduced(self) -> frozenset[Hashable]:
        """The mesh axes over which the sum is put off that gives the value."""
        return _NO_AXES if self.explicit_sharding is None else self.explicit_sharding.spec.unreduced

    @property
    def reduced(self) -> frozenset[Hashable]:
        """The mesh axes over which the sum is put off that gives the value's cotangent."""
        return _NO_AXES if self.explicit_sharding is None else self.explicit_sharding.spec.reduced

    @property
    def sharding(self) -> NamedSharding:
        """How the value is divided over the explicit axes of its mesh, which is abstract.

        For a value that is whole the mesh is that of ``set_mesh``, and empty without one.
        """
        if self.explicit_sharding is not None:
            return self.explicit_sharding
        return NamedSharding(get_abstract_mesh(), PartitionSpec(*self.entries))

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """Along which axes that ``shard_map`` maps the value may differ between devices."""
        manual = frozenset(get_abstract_mesh().manual_axes)
        return ManualAxisType(self.vma, self.unreduced & manual, self.reduced & manual)

    @property
    def mat(self) -> ManualAxisType:
        """The same as ``manual_axis_type``, by its short name."""
        return self.manual_axis_type

    def _axes(self) -> str:
        parts: list[str] = []
        for letter, axes in (("V", self.vma), ("U", self.unreduced), ("R", self.reduced)):
            names = ",".join(sorted(map(str, axes)))
            if names:
                parts.append(f"{letter}:({names})" if len(axes) > 1 else f"{letter}:{names}")
        return f"{{{', '.join(parts)}}}" if parts else ""

    def strip_weak_type(self) -> ShapedArray:
        """Return the same type with a strong dtype."""
        return self.update(weak_type=False) if self.weak_type else self

    def update(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: DType = None,
        weak_type: bool | None = None,
        vma: frozenset[Hashable] | None = None,
        explicit_sharding: Any = ...,
    ) -> ShapedArray:
        """Return this type with parts replaced; a new shape has no sharding but one given."""
        if explicit_sharding is ...:
            explicit_sharding = self.explicit_sharding if shape is None else None
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            self.vma if vma is None else vma,
            explicit_sharding,
        )

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of a tangent of this, under the field's name: see ``tangent``."""
        return self.tangent()

    def to_ct_aval(self) -> ShapedArray:
        """Return the type of a cotangent of this, under the field's name: see ``cotangent``."""
        return self.cotangent()

    def at_least_vspace(self) -> ShapedArray:
        """Return the type of a tangent of this, under an older name."""
        return self.tangent()

    def tangent(self) -> ShapedArray:
        """Return the type of a tangent of this: itself, or ``float0`` where not inexact."""
        if dtypes.issubdtype(self.dtype, np.inexact):
            return self
        return ShapedArray(self.shape, dtypes.float0, False, self.vma, self.explicit_sharding)

    def cotangent(self) -> ShapedArray:
        """Return the type of a cotangent: a tangent's, but sums are put off where they were not.

        That of a value whose sum over devices is put off is the same on all of them; that of a
        value which is the same on all, and says so (``reduced``), is a sum that is put off.
        """
        return self.tangent().transposed()

    def transposed(self) -> ShapedArray:
        """Return the type that a linear function's transpose takes where the function gives this.

        It is a cotangent's, but keeps integers.
        """
        sharding = self.explicit_sharding
        if sharding is None or not sharding.spec.puts_off:
            return self
        spec = PartitionSpec(
            *self.entries, unreduced=sharding.spec.reduced, reduced=sharding.spec.unreduced
        )
        return self.update(explicit_sharding=sharding.update(spec=spec))


def _as_shape(shape: Any) -> tuple[Any, ...]:
    try:
        sizes: tuple[Any, ...] = tuple(shape) if np.iterable(shape) else (shape,)
        return tuple([n if isinstance(n, (int, Dimension)) else as_index(n) for n in sizes])
    except TypeError:
        raise TypeError(f"ShapedArray needs a shape of integers, got {shape!r:.100}") from None


def _as_dtype(dtype: DType) -> Any:
    if dtype is None:
        raise TypeError("ShapedArray needs a dtype, got None: write the one you mean")
    return dtypes.as_dtype(dtype)


def _make(key: tuple[Any, ...]) -> ShapedArray:
    shape, dtype, weak_type, vma, explicit_sharding = (
        key if len(key) > 3 else (*key, _NO_AXES, None)
    )
    aval = object.__new__(ShapedArray)
    for name, value in (
        ("shape", shape),
        ("dtype", dtype),
        ("weak_type", weak_type),
        ("vma", vma),
        ("explicit_sharding", explicit_sharding),
        ("ndim", len(shape)),
        ("size", prod(shape)),
    ):
        object.__setattr__(aval, name, value)
    return aval


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as jaxprs print it: ``[3,4]``, and ``[]`` for a scalar."""
    return f"[{','.join(map(str, shape))}]"


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, a tracer, a NumPy value or a Python number."""
    try:
        return value.shape
    except AttributeError:
        return () if isinstance(value, _NUMBERS) else np.asarray(value).shape


def rank_of(value: Any) -> int:
    """Return the number of axes of an array, a tracer, a NumPy value or a Python number."""
    try:
        return value.ndim
    except AttributeError:
        return 0 if isinstance(value, _NUMBERS) else len(shape_of(value))


_NUMBERS = (int, float, complex)

type_of: Callable[[object], type[Any]] = type
"""``type``, annotated: to a type checker ``type(x)`` of an ``Any`` is of unknown type."""

pytype_aval_mappings: dict[type, Any] = {}
"""For each type whose values count as arrays, the function that gives their type in programs."""


def register_abstractifier(kind: type, function: Any) -> None:
    """Say how a value of exactly the type ``kind`` maps to its aval."""
    pytype_aval_mappings[kind] = function


def abstractify(value: Any) -> ShapedArray:
    """Return the aval of an array, a NumPy value, a Python scalar or a tracer.

    Raises:
      TypeError: the value is none of these, or of a dtype that no array has, or its bytes are in
        another machine's order.
      ValueError: it is a masked array.
    """
    kind = type_of(value)
    function = pytype_aval_mappings.get(kind)
    if function is None:
        refuse_masked(kind)
        if not has_aval(kind):
            raise TypeError(
                f"Value {in_words(value, 200)} of type {kind.__module__}.{kind.__qualname__} "
                "is not a valid array type: arrays, NumPy arrays and Python numbers are"
            )
        function = pytype_aval_mappings[kind]
    return function(value)


def kind_in_words(value: Any) -> str:
    """Return what a value is, as messages say it: ``an array f32[8]``, ``a tuple of length 2``."""
    if value is None:
        return "None"
    kind: type[Any] = type_of(value)
    if has_aval(kind) and not isinstance(value, (bool, int, float, complex)):
        return f"an array {abstractify(value).short()}"
    name = kind.__name__
    if isinstance(value, (tuple, list)):
        length: int = value.__len__()
        return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name} of length {length}"
    return with_type(value)


def canonical_value(value: Any, aval: ShapedArray) -> Any:
    """Return a NumPy value in the dtype of its type, 32 bits for 64; anything else as it is.

    A function may return what it is given: a result has the dtype that its type says.
    """
    if issubclass(type_of(value), (np.ndarray, np.generic)) and value.dtype != aval.dtype:
        return value.astype(aval.dtype)
    return value


def has_aval(kind: type) -> bool:
    """Return whether values of a type count as arrays; no value is looked at."""
    if _is_masked(kind):
        return True  # one, but a refused one
    for base in kind.__mro__:
        if base in pytype_aval_mappings:
            pytype_aval_mappings[kind] = pytype_aval_mappings[base]
            return True
    return False


def refuse_masked(kind: type) -> None:
    """Raise ``ValueError`` for the type of NumPy's masked arrays or of their masked elements."""
    if _is_masked(kind):
        raise ValueError(
            "Arrays have no mask, and a masked array would lose its own: write x.filled(value)."
        )


def _is_masked(kind: type) -> bool:
    return kind.__name__ in ("MaskedArray", "MaskedConstant")


def array_of(value: Any) -> Any:
    """Return the array that an object says it is (``__jax_array__``); anything else as it is."""
    return value.__jax_array__() if hasattr(type_of(value), "__jax_array__") else value


def _abstract_numpy(value: Any) -> ShapedArray:
    if not value.dtype.isnative:
        raise ByteOrderError(value.dtype.str)
    dtypes.check_valid_dtype(value.dtype)
    return ShapedArray(value.shape, dtypes.canonicalize_dtype(value.dtype))


def _abstract_scalar(kind: type) -> Any:
    def abstract(value: Any) -> ShapedArray:
        return ShapedArray((), dtypes.canonicalize_dtype(dtypes.python_scalar_dtypes[kind]), True)

    return abstract


def _abstract_size(value: Dimension) -> ShapedArray:
    # A symbolic size joins in arithmetic as the Python integer that it will be.
    return ShapedArray((), dtypes.canonicalize_dtype(dtypes.python_scalar_dtypes[int]), True)


def _abstract_bool(value: bool) -> ShapedArray:
    return ShapedArray((), np.dtype(bool))


register_abstractifier(np.ndarray, _abstract_numpy)
register_abstractifier(np.generic, _abstract_numpy)
register_abstractifier(bool, _abstract_bool)
register_abstractifier(Dimension, _abstract_size)
for _kind in (int, float, complex):
    register_abstractifier(_kind, _abstract_scalar(_kind))
