"""Identities: operations that leave values as they are and change how they are treated.

``stop_gradient`` ends differentiation, ``copy`` makes a buffer of its own, ``materialize`` has a
value in memory before it is used where that is quicker, and ``optimization_barrier`` keeps the
compiler from moving computations across it.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.core.avals import ShapedArray, abstractify, canonical_value
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.primitives.elementwise.families import (
    ANY,
    ZERO_DERIVATIVE,
    transpose_of_terms,
    unary,
)
from jxkernel.primitives.sharding import rules
from jxkernel.tree import physical

__all__ = [
    "copy_p",
    "materialize",
    "optimization_barrier",
    "optimization_barrier_p",
    "stop_gradient",
    "stop_gradient_p",
    "untaken",
]

TreeT = TypeVar("TreeT")

# ---------------------------------------------------------------- stop_gradient


def _unchanged(x: Any) -> Any:
    return x


stop_gradient_p = unary(
    "stop_gradient",
    ANY,
    lower=lambda context, x: x,
    reference=np.array,
    jvp=ZERO_DERIVATIVE,
)
stop_gradient_p.define(evaluate=_unchanged)


def stop_gradient(x: TreeT) -> TreeT:
    """Return a tree of arrays unchanged, as a constant to every derivative.

    Both tangents and cotangents end here: they are zero.

    >>> import jxkernel as jx
    >>> from jxkernel import lax
    >>> jx.grad(lambda x: x * lax.stop_gradient(x))(5.0).item()
    5.0
    """
    return physical.map(_stop_gradient, x)


def _stop_gradient(leaf: Any) -> Any:
    aval = abstractify(leaf)
    leaf = canonical_value(leaf, aval)
    return stop_gradient_p.bind(leaf) if dtypes.issubdtype(aval.dtype, np.inexact) else leaf


# ---------------------------------------------------------------- untaken


def _nothing(ct: Any, x: Any) -> list[Any]:
    return [None]


untaken_p = unary(
    "untaken",
    ANY,
    lower=lambda context, x: x,
    reference=np.array,
    jvp=ZERO_DERIVATIVE,
    transpose=_nothing,
)
untaken_p.define(evaluate=_unchanged)


def untaken(x: Any) -> Any:
    """Return an array unchanged, for examples of a batch whose results nobody takes.

    Nothing depends on it, so unlike ``stop_gradient`` it may stand in a linear program, where no
    cotangent comes through.
    """
    return untaken_p.bind(x)


# ---------------------------------------------------------------- copy

copy_p = unary(
    "copy",
    ANY,
    lower=lambda context, x: x,
    reference=np.array,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x: ct),
)

# ---------------------------------------------------------------- materialize


def _materialize_lower(context: Any, x: Any) -> Any:
    if context.module.platform == "cpu":
        return context.value("stablehlo.optimization_barrier", context.out_types[0], (x,))
    return x


_materialize_p = unary(
    "materialize",
    ANY,
    work=0,
    lower=_materialize_lower,
    reference=np.array,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x: ct),
)


def materialize(x: Any) -> Any:
    """Return an array unchanged, on CPU written to memory before anything is computed from it.

    One loop of a long integer computation and a transcendental function is slower there than the
    two apart: normal numbers from random bits by 1.3 times, exponential ones by 1.6 (a million
    floats).  On other platforms a pass over the memory would cost more, and nothing is done.
    """
    return _materialize_p.bind(x)


# ---------------------------------------------------------------- optimization_barrier

optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True).define(
    sharding=rules.Linear(rules.same)
)


def optimization_barrier(operand: TreeT, /) -> TreeT:
    """Return a tree of arrays unchanged, all of it computed before anything that uses it.

    The compiler moves no computation across the barrier: what is made twice on purpose, to save
    memory, stays so.  Tangents and cotangents pass through a barrier of their own.  StableHLO
    ``optimization_barrier``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.optimization_barrier((jnp.array([1, 2]), 3.0))[0].tolist()
    [1, 2]
    """
    leaves, structure = physical.flatten(operand)
    return tree.unflatten(structure, optimization_barrier_p.bind(*leaves))


@optimization_barrier_p.def_abstract_eval
def _optimization_barrier_abstract_eval(*avals: ShapedArray) -> list[ShapedArray]:
    return list(avals)


def _optimization_barrier_reference(*arrays: Any) -> list[Any]:
    return [np.array(array) for array in arrays]


optimization_barrier_p.reference = _optimization_barrier_reference


@optimization_barrier_p.def_lower
def _optimization_barrier_lower(context: Any, *values: Any) -> Sequence[Any]:
    return context.op("stablehlo.optimization_barrier", context.out_types, values).results


@optimization_barrier_p.def_jvp
def _optimization_barrier_jvp(
    primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    return optimization_barrier_p.bind(*primals), _barrier_of_nonzero(tangents)


def _barrier_of_nonzero(tangents: Sequence[Any]) -> list[Any]:
    given = [t for t in tangents if type(t) is not Zero]
    passed = iter(optimization_barrier_p.bind(*given)) if given else iter(())
    return [t if type(t) is Zero else next(passed) for t in tangents]


@optimization_barrier_p.def_transpose
def _optimization_barrier_transpose(cts: Sequence[Any], *args: Any) -> list[Any]:
    wanted = [
        ct if is_linear(arg) else Zero.tangent_of(arg) for ct, arg in zip(cts, args, strict=True)
    ]
    passed = _barrier_of_nonzero(wanted)
    return [ct if is_linear(arg) else None for ct, arg in zip(passed, args, strict=True)]


@optimization_barrier_p.def_batch
def _optimization_barrier_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Sequence[Any], Sequence[int | None]]:
    return optimization_barrier_p.bind(*args), dims
