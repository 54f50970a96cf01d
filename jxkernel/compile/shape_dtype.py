"""``ShapeDtypeStruct``: a description in the place of an array, for tracing and lowering.

This module must not know of programs or their compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel._reprs import with_type
from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier
from jxkernel.core.explicit_sharding import explicit_sharding_of
from jxkernel.core.key_data import ExtendedArray, key_data_axes
from jxkernel.dtypes import DType
from jxkernel.errors import NoMeshError
from jxkernel.sharding import NamedSharding, PartitionSpec, Sharding
from jxkernel.sharding.layout import Format, sharding_of
from jxkernel.sharding.mesh import current_mesh

__all__ = ["ShapeDtypeStruct", "described", "of_elements", "standing"]


class ShapeDtypeStruct:
    """A shape and dtype standing for an array: what ``eval_shape`` gives and ``lower`` takes.

    Attributes:
      shape: the sizes of the axes.
      dtype: the element type.
      sharding: where the array lies, or None where that is open; a bare ``PartitionSpec`` is of
        the mesh that is set, and a ``Format`` says it by its sharding.
      weak_type: whether the dtype yields to the dtype it meets.

    Raises:
      RuntimeError: a spec is given and no mesh is set.
      TypeError: what is given as a shape is no sequence, or as a sharding is none.
      ValueError: the dtype is None.
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct needs a dtype, got None: write the one you mean")
        try:
            self.shape = tuple(shape)
        except TypeError:
            raise TypeError(
                f"ShapeDtypeStruct needs a sequence of sizes as shape, got {shape!r:.100}"
            ) from None
        self.dtype = dtypes.as_dtype(dtype)
        self.sharding = sharding if sharding is None else _as_sharding(sharding)
        self.weak_type = weak_type

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Return the description of an array, of a number, or of what stands for one.

        It says where an array lies if the array is committed to that.

        >>> import jxkernel as jx, jxkernel.numpy as jnp
        >>> jx.ShapeDtypeStruct.like(jnp.zeros((2, 3)))
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        aval = abstractify(x)
        lies = getattr(x, "committed", isinstance(x, ShapeDtypeStruct))
        sharding = x.sharding if lies else None
        return cls(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def format(self) -> Format:
        """Where the array lies, with a layout that is open."""
        return Format(sharding=self.sharding)

    @property
    def size(self) -> int:
        """The number of elements."""
        return ShapedArray(self.shape, self.dtype).size

    def update(self, **parts: Any) -> ShapeDtypeStruct:
        """Return this description with the given attributes replaced."""
        values = {name: parts.pop(name, getattr(self, name)) for name in self.__slots__}
        if parts:
            raise TypeError(f"ShapeDtypeStruct has no attribute {', '.join(map(repr, parts))}")
        return ShapeDtypeStruct(**values)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a ShapeDtypeStruct of no axes has no len()")
        return self.shape[0]

    def __repr__(self) -> str:
        sharding = "" if self.sharding is None else f", sharding={self.sharding}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"

    def _parts(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __reduce__(self) -> Any:
        return _restored, self._parts()


def _restored(
    shape: tuple[int, ...], dtype: DType, sharding: Any, weak_type: bool
) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(shape, dtype, sharding=sharding, weak_type=weak_type)


def _as_sharding(given: Any) -> Any:
    if isinstance(given, Format):
        return sharding_of(given, "ShapeDtypeStruct")
    if isinstance(given, PartitionSpec):
        mesh = current_mesh()
        if mesh is None:
            raise NoMeshError("ShapeDtypeStruct sharding", repr(given))
        return NamedSharding(mesh, given)
    if not isinstance(given, Sharding):
        raise TypeError(
            f"ShapeDtypeStruct got {with_type(given)} as sharding: give "
            "a sharding, such as NamedSharding(mesh, PartitionSpec()), a PartitionSpec or None"
        )
    return given


def _abstract_struct(value: ShapeDtypeStruct) -> ShapedArray:
    aval = ShapedArray(value.shape, dtypes.canonicalize_dtype(value.dtype), value.weak_type)
    explicit_sharding = explicit_sharding_of(value.sharding, aval.ndim)
    return aval if explicit_sharding is None else aval.update(explicit_sharding=explicit_sharding)


register_abstractifier(ShapeDtypeStruct, _abstract_struct)


def standing(leaf: Any) -> Any:
    """Return what stands for an argument while nothing is computed.

    Anything that has a shape and a dtype describes an array.  A description of keys becomes keys
    whose key data are one, for that is what tracing takes.
    """
    if type(leaf) is not ShapeDtypeStruct:
        leaf = _description(leaf)
    if type(leaf) is not ShapeDtypeStruct or not isinstance(leaf.dtype, dtypes.ExtendedDType):
        return leaf
    key = leaf.dtype.scalar(0)
    sizes = (*leaf.shape, *key.key_data.shape)
    return key.with_key_data(ShapeDtypeStruct(sizes, key.key_data.dtype, sharding=leaf.sharding))


def _description(leaf: Any) -> Any:
    """Return the description that a value of an unknown type is; any other value as it is."""
    try:
        abstractify(leaf)
    except TypeError:
        if isinstance(leaf, (np.ndarray, np.generic)) or not _describes(leaf):
            return leaf
    else:
        return leaf
    lies = (
        leaf.explicit_sharding if isinstance(leaf, ShapedArray) else getattr(leaf, "sharding", None)
    )
    return ShapeDtypeStruct(
        ShapedArray(leaf.shape, leaf.dtype).shape,
        leaf.dtype,
        sharding=lies if isinstance(lies, Sharding) else None,
        weak_type=bool(getattr(leaf, "weak_type", False)),
    )


def _describes(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def described(structure: Any, avals: Sequence[ShapedArray], shardings: Sequence[Any]) -> Any:
    """Return a tree of descriptions, with one for each array of keys.

    Args:
      structure: the structure of what is described, whose leaves are key data where that has keys.
      avals: the types of its leaves.
      shardings: where each shall lie; None where that is open.
    """
    structs = [
        ShapeDtypeStruct(
            aval.shape,
            aval.dtype,
            sharding=lies or aval.explicit_sharding,
            weak_type=aval.weak_type,
        )
        for aval, lies in zip(avals, shardings, strict=True)
    ]
    return of_elements(structure, structs, _of_keys)


def _of_keys(keys: ExtendedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(keys.shape, keys.dtype, sharding=keys.key_data.sharding)


def of_elements(structure: Any, leaves: Sequence[Any], of_key_data: Callable[[Any], Any]) -> Any:
    """Return a tree in which each array of keys is replaced by what a function makes of it."""
    whole = structure.unflatten(leaves)
    if not any(key_data_axes(structure)):
        return whole
    return tree.map(lambda x: of_key_data(x) if isinstance(x, ExtendedArray) else x, whole)
