"""``ravel_pytree``: a tree of arrays as one vector, and back."""

from typing import Any

from jxkernel import dtypes
from jxkernel.api.traced import leaf_avals
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.primitives.creation import full
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.records import record
from jxkernel.tree import physical

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, "Unravel"]:
    """Return all elements of a tree of arrays as one vector, and the function that undoes it.

    Args:
      pytree: a tree of arrays and numbers of any shapes and dtypes.

    Returns:
      an array of shape ``(n,)``, of the dtype that the leaves' dtypes promote to, and a function
      from such a vector to a tree like the first, each leaf of its own dtype.  Functions made
      from trees of one kind are equal, so they can be static arguments.

    Raises:
      TypeError: a leaf is no array and no number; later, the vector has another dtype.
      ValueError: later, the vector has another shape.

    The derivative is that of the reshapes, conversions and the concatenation it is made of.

    >>> from jxkernel.flatten_util import ravel_pytree
    >>> flat, unravel = ravel_pytree({"a": 1.0, "b": (2.0, 3.0)})
    >>> flat
    Array([1., 2., 3.], dtype=float32, weak_type=True)
    >>> unravel(2 * flat)["b"]
    (Array(4., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    leaves, structure = physical.flatten(pytree)
    given = leaf_avals("ravel_pytree", "pytree", leaves, structure)
    avals = [aval.strip_weak_type() for aval in given]
    if not leaves:
        dtype = dtypes.default_float_dtype()
        return full((0,), 0, dtype), Unravel(structure, (), dtype)
    dtype, _ = dtypes.lattice_result_type(*[(aval.dtype, False) for aval in avals])
    # Weak arrays of one dtype are a weak vector.
    weak = all(aval.weak_type and aval.dtype == dtype for aval in given)
    parts = [
        reshape(convert_element_type(leaf, dtype, weak_type=weak), (aval.size,))
        for leaf, aval in zip(leaves, avals, strict=True)
    ]
    return concatenate(parts, 0), Unravel(structure, tuple(avals), dtype)


@record()
class Unravel:
    """From a vector back to a tree of arrays: what ``ravel_pytree`` returns.

    Attributes:
      structure: the structure of the tree.
      avals: the types of its leaves.
      dtype: the dtype of the vector.
    """

    structure: Any
    avals: tuple[ShapedArray, ...]
    dtype: Any

    def __call__(self, flat: Any) -> Any:
        """Return the tree of the elements of a vector.

        Raises:
          TypeError: it has another dtype.
          ValueError: it has another shape.
        """
        found = abstractify(flat)
        size = sum(aval.size for aval in self.avals)
        if found.dtype != self.dtype:
            raise TypeError(
                f"unravel takes a vector of dtype {self.dtype.name}, got {found.short()}: convert "
                f"it with x.astype('{self.dtype.name}')"
            )
        if found.shape != (size,):
            raise ValueError(
                f"unravel takes a vector of shape ({size},), one element for each of the tree, "
                f"got {found.short()}"
            )
        leaves, start = [], 0
        for aval in self.avals:
            part = slice_in_dim(flat, start, start + aval.size)
            if aval.dtype != self.dtype:
                part = convert_element_type(part, aval.dtype)
            leaves.append(reshape(part, aval.shape))
            start += aval.size
        return self.structure.unflatten(leaves)
