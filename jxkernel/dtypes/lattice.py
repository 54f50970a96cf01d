"""Which dtype results when operands of different dtypes meet.

The promotion lattice: each dtype points to those it may be promoted to; the result for several
operands is their least upper bound.  A starred node stands for a Python scalar, or an array made
of one (a *weak type*): it says the kind of number, and leaves the width to what it meets.

    node                  may become
    bool                  i*
    i*                    i2 i4 u2 u4, u8, i8           i2 i4 u2 u4 go no further
    u8                    u16, i16
    u16                   u32, i32
    u32                   u64, i64                      x64 off: i32 in place of i64
    u64                   f*
    i8                    i16
    i16                   i32
    i32                   i64
    i64                   f*
    f*                    f4 and f8 variants, bf16, f16, c*      f4 and f8 go no further
    bf16, f16             f32
    f32                   f64, c64
    f64                   c128
    c*                    c64
    c64                   c128

So ``u64 + i64`` is ``f*``, ``bf16 + f16`` is ``f32``, ``i32 + f*`` is ``f*``, and two different
8-bit floats have no bound at all.  In ``strict`` mode only the edges out of starred nodes to
dtypes of the same or a higher kind remain: two different dtypes do not meet, a scalar meets any
array whose kind can hold it.

Source: JAX Enhancement Proposal 9407, "Design of type promotion semantics".  This module must not
know of arrays beyond their ``dtype`` and ``weak_type``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jxkernel.config import enable_x64, numpy_dtype_promotion
from jxkernel.dtypes.canonical import (
    _canonical,
    check_valid_dtype,
    dtype,
    is_weakly_typed,
    python_scalar_dtypes,
)
from jxkernel.dtypes.kinds import (
    BOOLEAN,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    NARROW_FLOATING,
    DType,
    DTypeLike,
    ExtendedDType,
    as_dtype,
    dtype_argument,
    float0,
)
from jxkernel.errors import KeyTypeError, TypePromotionError

__all__ = ["lattice_result_type", "promote_types", "result_type"]

_WEAK_INT, _WEAK_FLOAT, _WEAK_COMPLEX = "int*", "float*", "complex*"
_SCALAR_NODES: dict[str, type] = {_WEAK_INT: int, _WEAK_FLOAT: float, _WEAK_COMPLEX: complex}
_DEAD_END_INTEGERS = ("int2", "int4", "uint2", "uint4")
_NARROW_NAMES = tuple(dtype.name for dtype in NARROW_FLOATING)


def _standard_edges(x64: bool) -> dict[str, tuple[str, ...]]:
    return {
        "bool": (_WEAK_INT,),
        _WEAK_INT: (*_DEAD_END_INTEGERS, "uint8", "int8"),
        "uint8": ("uint16", "int16"),
        "uint16": ("uint32", "int32"),
        "uint32": ("uint64", "int64" if x64 else "int32"),
        "uint64": (_WEAK_FLOAT,),
        "int8": ("int16",),
        "int16": ("int32",),
        "int32": ("int64",),
        "int64": (_WEAK_FLOAT,),
        _WEAK_FLOAT: (*_NARROW_NAMES, "bfloat16", "float16", _WEAK_COMPLEX),
        "bfloat16": ("float32",),
        "float16": ("float32",),
        "float32": ("float64", "complex64"),
        "float64": ("complex128",),
        _WEAK_COMPLEX: ("complex64",),
        "complex64": ("complex128",),
    }


def _strict_edges() -> dict[str, tuple[str, ...]]:
    complex_names, float_names, int_names = (
        tuple(dtype.name for dtype in dtypes) for dtypes in (COMPLEX, FLOATING, INTEGRAL)
    )
    return {
        _WEAK_INT: (*int_names, _WEAK_FLOAT),
        _WEAK_FLOAT: (*float_names, _WEAK_COMPLEX),
        _WEAK_COMPLEX: complex_names,
    }


def _reachable(node: str, edges: dict[str, tuple[str, ...]]) -> frozenset[str]:
    above = (_reachable(parent, edges) for parent in edges.get(node, ()))
    return frozenset({node}).union(*above)


@functools.cache
def _upper_bounds(x64: bool, mode: str) -> dict[str, frozenset[str]]:
    """Return, for each node, the nodes it may be promoted to, itself among them."""
    edges = _strict_edges() if mode == "strict" else _standard_edges(x64)
    nodes = {*edges, *(parent for parents in edges.values() for parent in parents), "bool"}
    return {node: _reachable(node, edges) for node in nodes}


@functools.lru_cache(maxsize=4096)
def _least_upper_bound(x64: bool, mode: str, nodes: frozenset[str]) -> str:
    bounds = _upper_bounds(x64, mode)
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    # The least of the common bounds is the one from which all the others can be reached.
    for node in common:
        if common == bounds[node]:
            return node
    raise TypePromotionError(sorted(nodes), mode=mode, details=_advice(nodes, mode))


def _advice(nodes: frozenset[str], mode: str) -> tuple[str, ...]:
    if mode == "strict":
        return ("numpy_dtype_promotion is 'strict': nothing is converted implicitly.",)
    if not nodes.isdisjoint(_DEAD_END_INTEGERS):
        return ("integers of fewer than 8 bits are never promoted implicitly.",)
    if not nodes.isdisjoint(_NARROW_NAMES):
        return ("floats of fewer than 16 bits are never promoted implicitly.",)
    return ()


def _node(dtype: DType, weak: bool) -> str:
    """Return the lattice node of a dtype, weak or not."""
    if weak and dtype not in BOOLEAN:
        return (
            _WEAK_INT if dtype in INTEGRAL else _WEAK_COMPLEX if dtype in COMPLEX else _WEAK_FLOAT
        )
    if isinstance(dtype, ExtendedDType):
        raise KeyTypeError("promotion", f"{dtype.name} beside another dtype")
    if dtype == float0:
        raise ValueError(f"The dtype {dtype} takes no part in promotion.")
    return dtype.name


def _checked_nodes(x64: bool, mode: str, pairs: tuple[tuple[DType, bool], ...]) -> frozenset[str]:
    nodes = frozenset(_node(_canonical(dtype, x64), weak) for dtype, weak in pairs)
    unknown = nodes.difference(_upper_bounds(x64, mode))
    if unknown:
        raise TypeError(f"Arrays cannot have the dtype {min(unknown)}.")
    return nodes


@functools.lru_cache(maxsize=4096)
def _joined(x64: bool, mode: str, pairs: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool]:
    if not pairs:
        raise ValueError("The result type of no operands is not defined: give at least one.")
    first, weak = pairs[0]
    if not weak and all(pair == pairs[0] for pair in pairs):
        # Extended dtypes and float0, which have no node, meet their own kind here.
        return _canonical(first, x64), False
    node = _least_upper_bound(x64, mode, _checked_nodes(x64, mode, pairs))
    scalar_type = _SCALAR_NODES.get(node)
    return _canonical(scalar_type or node, x64), scalar_type is not None


def lattice_result_type(*pairs: tuple[DType, bool]) -> tuple[DType, bool]:
    """Return the dtype and weakness of the result of operands given as (dtype, weak) pairs.

    The dtype is canonical.  A weak operand counts as a Python scalar of its kind, so a lone weak
    ``float16`` gives the default float dtype, weakly typed.

    Raises:
      TypePromotionError: the operands have no common dtype.
      TypeError: a dtype is none that arrays can have.
      ValueError: there is no operand, or ``float0`` meets another dtype.
      KeyTypeError: an extended dtype does.
    """
    return _joined(enable_x64.value, numpy_dtype_promotion.value, pairs)


_SCALAR_PAIRS = {
    scalar_type: (scalar_dtype, scalar_type is not bool)
    for scalar_type, scalar_dtype in python_scalar_dtypes.items()
}


def _pair(x: Any) -> tuple[DType, bool]:
    """Return the (dtype, weak) pair of one operand."""
    pair = _SCALAR_PAIRS.get(type(x))
    if pair is not None:
        return pair
    found = getattr(x, "dtype", None)
    if isinstance(found, np.dtype):
        return found, bool(getattr(x, "weak_type", False))
    return dtype(float if x is None else x), is_weakly_typed(x)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that results when the arguments meet in one operation.

    Args:
      *args: arrays, Python or NumPy scalars, dtypes, or names of dtypes.  The types ``int``,
        ``float`` and ``complex`` stand for Python scalars.
      return_weak_type_flag: return the pair of the dtype and whether it is weak.

    Raises:
      TypePromotionError, TypeError, ValueError: as ``lattice_result_type``.

    >>> jnp.result_type(jnp.array([1, 2], jnp.int8), 3.0)
    dtype('float32')
    >>> jnp.result_type(jnp.float16, jnp.int32)
    dtype('float16')
    """
    try:
        pairs = [_pair(x) for x in args]
    except TypeError as error:
        raise TypeError(f"result_type: {error}") from None
    result = lattice_result_type(*pairs)
    return result if return_weak_type_flag else result[0]


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """Return the least dtype to which both ``a`` and ``b`` may be promoted.

    Unlike ``result_type`` it speaks of dtypes alone: nothing is made canonical, except that with
    x64 off ``uint32`` and a narrower signed integer give ``int32``.  ``int``, ``float`` and
    ``complex`` stand for Python scalars.

    Raises:
      TypePromotionError: they have no common dtype.

    >>> jnp.promote_types(jnp.int32, jnp.float16)
    dtype('float16')
    >>> jnp.promote_types(jnp.float16, jnp.bfloat16)
    dtype('float32')
    """
    try:
        return _promoted(enable_x64.value, numpy_dtype_promotion.value, a, b)
    except TypeError:
        for argument, given in (("a", a), ("b", b)):
            check_valid_dtype(dtype_argument("promote_types", argument, given))
        raise


@functools.lru_cache(maxsize=4096)
def _promoted(x64: bool, mode: str, a: DTypeLike, b: DTypeLike) -> DType:
    pairs = tuple((as_dtype(each), is_weakly_typed(each)) for each in (a, b))
    if pairs[0] == pairs[1]:
        return pairs[0][0]
    # The nodes are those of x64, not canonical: a 64-bit dtype named by the user stays one.
    node = _least_upper_bound(x64, mode, _checked_nodes(True, mode, pairs))
    return np.dtype(_SCALAR_NODES.get(node, node))
