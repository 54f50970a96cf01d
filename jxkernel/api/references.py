"""Mutable references: made, read, written, and taken along by what stages functions."""

from typing import Any

from jxkernel.core.avals import kind_in_words
from jxkernel.core.filtering import filtered
from jxkernel.core.slices import ds
from jxkernel.higher_order.references import AbstractRef, Ref
from jxkernel.primitives.creation import empty

__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "ds",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "put",
    "swap",
]


def _reference(name: str, ref: object) -> Ref:
    """Return an argument that is a reference, or say that it is none."""
    if not isinstance(ref, Ref):
        raise TypeError(
            f"{name} takes a reference, as new_ref makes them, got {kind_in_words(ref)}"
        )
    return ref


@filtered
def new_ref(init_val: object, *, memory_space: None = None, kind: None = None) -> Ref:
    """Return a reference to an array, which can be written.

    Args:
      init_val: an array or number, which the reference holds first; it is not changed itself.
      memory_space: must be None.
      kind: must be None.

    Returns:
      the reference: ``ref[...]`` reads it, ``ref[...] = x``, ``ref[i] = x`` and ``ref[i] += x``
      write it.  Values written have its dtype, and the shape of the part.

    Raises:
      TypeError: ``init_val`` is no array and no number.

    A function that makes references and writes to them is differentiated, vectorized and compiled
    as one that does not.  ``jit``, ``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``switch``
    and ``checkpoint`` take references of outside along, closed over or (``jit``, ``vmap``, ``jvp``,
    ``linearize``, ``vjp``) as arguments.  What would lose a derivative or a batch axis is refused.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> total = jx.new_ref(jnp.zeros(2))
    >>> @jx.jit
    ... def add(i):
    ...     total[i] += 2.5
    >>> add(0), add(0), add(1)
    (None, None, None)
    >>> total[...].tolist()
    [5.0, 2.5]
    """
    if isinstance(init_val, Ref):
        raise TypeError("new_ref takes an array or a number, got a reference: give it ref[...]")
    if memory_space is not None or kind is not None:
        raise NotImplementedError(
            "references lie where their arrays lie: give no memory_space and no kind"
        )
    return Ref(init_val)


@filtered
def empty_ref(ty: Any, memory_space: None = None) -> Ref:
    """Return a reference to an array whose elements are not specified.

    Args:
      ty: the array's shape and dtype, such as a ``ShapeDtypeStruct``.
      memory_space: must be None.

    >>> import jxkernel as jx
    >>> jx.empty_ref(jx.ShapeDtypeStruct((2, 3), "float32")).shape
    (2, 3)
    """
    return new_ref(empty(ty.shape, ty.dtype), memory_space=memory_space)


@filtered
def freeze(ref: Ref) -> Any:
    """Return the array that a reference holds; the reference cannot be used any more.

    Raises:
      TypeError: ``ref`` is no reference.
      RefError: it was frozen or freed before.

    >>> import jxkernel as jx
    >>> ref = jx.new_ref(1.5)
    >>> ref[...] += 1.0
    >>> jx.freeze(ref).item()
    2.5
    """
    return _reference("freeze", ref).end()


@filtered
def free_ref(ref: Ref) -> None:
    """Let go of the array that a reference holds; the reference cannot be used any more.

    Raises:
      TypeError: ``ref`` is no reference.
      RefError: it was frozen or freed before.

    >>> import jxkernel as jx
    >>> ref = jx.new_ref(1.5)
    >>> jx.free_ref(ref)
    """
    _reference("free_ref", ref).end()


@filtered
def get(ref: Ref, idx: object = ...) -> Any:
    """Return a part of what a reference holds: ``ref[idx]``.

    Raises:
      TypeError: ``ref`` is no reference.
    """
    return _reference("get", ref).get(idx)


@filtered
def put(ref: Ref, idx: object, value: object) -> None:
    """Put a value in the place of a part of what a reference holds: ``ref[idx] = value``.

    Raises:
      TypeError: ``ref`` is no reference.
    """
    _reference("set", ref).set(value, idx)


@filtered
def swap(ref: Ref, idx: object, value: object) -> Any:
    """Put a value in the place of a part of what a reference holds, and return the part before.

    Raises:
      TypeError: ``ref`` is no reference.
    """
    return _reference("swap", ref).swap(value, idx)


@filtered
def addupdate(ref: Ref, idx: object, x: object) -> None:
    """Add to a part of what a reference holds; an element that is named twice gets both.

    Raises:
      TypeError: ``ref`` is no reference.
    """
    _reference("addupdate", ref).addupdate(x, idx)
