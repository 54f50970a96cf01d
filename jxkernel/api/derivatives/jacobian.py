"""Whole Jacobians, Hessians, and the transpose of a linear function.

A Jacobian is a derivative applied to every unit vector at once, by ``vmap``: forwards a column
each, backwards a row.  The result is a tree of trees: for each leaf of the value the structure of
the arguments, with entries of shape (shape of the value's leaf, shape of the argument's leaf).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.api.arguments import argument_positions, checked_argnums, function_name, named_like
from jxkernel.api.derivatives.autodiff import check_reduce_axes, derivatives, jvp, vjp
from jxkernel.api.derivatives.key_tangents import refuse_keys
from jxkernel.api.reference_arguments import refuse_references
from jxkernel.api.traced import check_function, leaf_avals
from jxkernel.api.vectorize import vmap
from jxkernel.compile import standing
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.references import CapturedReferences, Taken
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise.arithmetic import add
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.convert import convert_element_type_p
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.records import record
from jxkernel.transforms.stage import trace_flat
from jxkernel.transforms.transpose import pull_back
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev", "linear_transpose"]


class _Chosen:
    """The arguments to differentiate by, apart from the others.

    Attributes:
      values: those arguments.
      leaves: their leaves.
      structure: the structure of what stands for them in the result: of the one argument, or of
        the tuple of them.
    """

    __slots__ = ("_args", "_fun", "_kwargs", "_positions", "leaves", "structure", "values")

    def __init__(
        self,
        fun: Callable[..., Any],
        argnums: int | tuple[int, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._fun = fun
        self._args = args
        self._kwargs = kwargs
        self._positions = argument_positions(fun, argnums, len(args))
        self.values = tuple([args[place] for place in self._positions])
        one = isinstance(argnums, int)
        self.leaves, self.structure = physical.flatten(self.values[0] if one else self.values)

    def __call__(self, *values: Any) -> Any:
        """Apply the function with other values of the chosen arguments."""
        given = list(self._args)
        for place, value in zip(self._positions, values, strict=True):
            given[place] = value
        return self._fun(*given, **self._kwargs)

    @property
    def __name__(self) -> str:
        return function_name(self._fun)

    def avals(self, name: str) -> list[ShapedArray]:
        """Return the types of the leaves, of which none is a reference."""
        refuse_references(f"{name} of {self.__name__}", self.leaves)
        return leaf_avals(name, "args", self.leaves, self.structure)


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian column by column, by forward derivatives.

    It suits functions with fewer inputs than outputs.

    Args:
      fun: a function of arrays and pytrees of them.
      argnums: the position, or positions, of the arguments to differentiate by.
      has_aux: whether ``fun`` returns (value, anything else); the latter is returned as well.
      holomorphic: whether ``fun`` is complex and holomorphic.

    Returns:
      a function with the arguments of ``fun``.  For each leaf of the value it gives a tree of the
      structure of the argument (a tuple of those for several ``argnums``).

    Raises:
      TypeError: ``fun`` is not callable, or an argument is not real (not complex, if holomorphic).

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.jacfwd(lambda x: jnp.stack([x[0] * x[1], x[1]]))(jnp.array([2.0, 5.0])).tolist()
    [[5.0, 2.0], [0.0, 1.0]]
    """
    check_function("jacfwd", fun)
    chosen = checked_argnums(argnums)

    def jacobian_forward(*args: Any, **kwargs: Any) -> Any:
        try:
            return _jacfwd(_Chosen(fun, chosen, args, kwargs), has_aux, holomorphic)
        except Exception as error:
            hide_internal_frames(error)
            raise

    return named_like(jacobian_forward, fun)


def _jacfwd(chosen: _Chosen, has_aux: bool, holomorphic: bool) -> Any:
    avals = chosen.avals("jacfwd")
    refuse_keys("jacfwd", chosen.structure, avals)
    for aval in avals:
        _check_kind("jacfwd", "arguments", aval, holomorphic)

    def push(*tangents: Any) -> Any:
        value, moved, *aux = jvp(chosen, chosen.values, tangents, has_aux=has_aux)
        for leaf in physical.leaves(value) if holomorphic else ():
            _check_kind("jacfwd", "results", abstractify(leaf), holomorphic)
        return moved, aux

    values_tree = physical.structure(chosen.values)
    units = values_tree.unflatten(_unit_vectors(avals))
    moved, aux = vmap(push, out_axes=(-1, None))(*units)
    jacobian_tree = physical.map(
        lambda y: chosen.structure.unflatten(_cut(y, avals, np.ndim(y) - 1)), moved
    )
    return (jacobian_tree, *aux) if has_aux else jacobian_tree


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian row by row, by derivatives on the way back.

    It suits functions with fewer outputs than inputs.

    Args:
      fun: a function of arrays and pytrees of them.
      argnums: the position, or positions, of the arguments to differentiate by.
      has_aux: whether ``fun`` returns (value, anything else); the latter is returned as well.
      holomorphic: whether ``fun`` is complex and holomorphic.
      allow_int: whether to differentiate by integers, giving ``float0`` zeros.

    Returns:
      a function with the arguments of ``fun``.  For each leaf of the value it gives a tree of the
      structure of the argument (a tuple of those for several ``argnums``).

    Raises:
      TypeError: ``fun`` is not callable, an argument has no derivative, or a result is not real
        (not complex, if holomorphic).

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.jacrev(lambda x: jnp.stack([x[0] * x[1], x[1]]))(jnp.array([2.0, 5.0])).tolist()
    [[5.0, 2.0], [0.0, 1.0]]
    """
    check_function("jacrev", fun)
    chosen = checked_argnums(argnums)

    def jacobian_reverse(*args: Any, **kwargs: Any) -> Any:
        try:
            return _jacrev(_Chosen(fun, chosen, args, kwargs), has_aux, holomorphic, allow_int)
        except Exception as error:
            hide_internal_frames(error)
            raise

    return named_like(jacobian_reverse, fun)


jacobian = jacrev


def _jacrev(chosen: _Chosen, has_aux: bool, holomorphic: bool, allow_int: bool) -> Any:
    argument_avals = chosen.avals("jacrev")
    refuse_keys("jacrev", chosen.structure, argument_avals)
    for aval in argument_avals:
        if not dtypes.issubdtype(aval.dtype, np.inexact) and not allow_int:
            raise TypeError(
                f"jacrev differentiates by real or complex arguments, got {aval.dtype.name}: "
                "convert with x.astype(float), or pass allow_int=True for float0 zeros"
            )
        if holomorphic:
            _check_kind("jacrev", "arguments", aval, holomorphic)
    value, pullback, *aux = vjp(chosen, *chosen.values, has_aux=has_aux)
    leaves, value_tree = physical.flatten(value)
    avals = [abstractify(leaf) for leaf in leaves]
    refuse_keys("jacrev", value_tree, avals)
    for aval in avals:
        _check_kind("jacrev", "results", aval, holomorphic)
    units = value_tree.unflatten(_unit_vectors(avals))
    pulled = [
        _as_weak(ct, value)
        for ct, value in zip(physical.leaves(vmap(pullback)(units)), chosen.leaves, strict=True)
    ]
    pieces = [_cut(x, avals, 0) for x in pulled]
    rows = [chosen.structure.unflatten(row) for row in zip(*pieces, strict=True)]
    jacobian_tree = value_tree.unflatten(rows)
    return (jacobian_tree, *aux) if has_aux else jacobian_tree


def _check_kind(name: str, what: str, aval: ShapedArray, holomorphic: bool) -> None:
    """Check that derivatives of a kind of number exist.

    Raises:
      TypeError: it is not real, or not complex if holomorphic.
    """
    wanted = np.complexfloating if holomorphic else np.floating
    if not dtypes.issubdtype(aval.dtype, wanted):
        is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
        advice = ": for a holomorphic function pass holomorphic=True" if is_complex else ""
        raise TypeError(
            f"{name} needs {'complex' if holomorphic else 'real'} {what}, got {aval.dtype.name}"
            f"{advice}"
        )


def _as_weak(ct: Any, value: Any) -> Any:
    """Return a cotangent, weakly typed where the argument it belongs to is."""
    aval = abstractify(value)
    if not aval.weak_type or aval.dtype not in dtypes.INEXACT:
        return ct
    return convert_element_type_p.bind(ct, new_dtype=aval.dtype, weak_type=True)


def _unit_vectors(avals: Sequence[ShapedArray]) -> list[Any]:
    """Return, for arrays of the given types, all unit vectors of their joint space, stacked."""
    total = sum(aval.size for aval in avals)
    units, start = [], 0
    for aval in avals:
        rows = broadcasted_iota(np.int32, (total, aval.size), 0)
        columns = broadcasted_iota(np.int32, (total, aval.size), 1)
        # Bound as it is: the dtype is that of the array, also where settings would narrow it.
        ones = convert_element_type_p.bind(
            eq(rows, add(columns, start)), new_dtype=aval.dtype, weak_type=aval.weak_type
        )
        units.append(reshape(ones, (total, *aval.shape)))
        start += aval.size
    return units


def _cut(x: Any, avals: Sequence[ShapedArray], axis: int) -> list[Any]:
    """Return an axis over a joint space as the axes of each of its arrays."""
    shape = np.shape(x)
    pieces, start = [], 0
    for aval in avals:
        piece = slice_in_dim(x, start, start + aval.size, 1, axis)
        pieces.append(reshape(piece, (*shape[:axis], *aval.shape, *shape[axis + 1 :])))
        start += aval.size
    return pieces


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Hessian: the forward Jacobian of the reverse one.

    Args and errors are those of ``jacrev``.  For each leaf of the value the result is a tree of
    the structure of the arguments whose every leaf is again such a tree.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([3.0, 4.0])).tolist()
    [[8.0, 6.0], [6.0, 0.0]]
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )


_LINEAR = (np.inexact, np.integer)


def _reading_references(
    fun: Callable[..., list[Any]], avals: Sequence[ShapedArray], name: str
) -> ClosedJaxpr:
    """Return the program of a function that may read references of outside, and not write them."""
    try:
        return trace_flat(fun, avals, name=name)
    except CapturedReferences as found:
        taken = Taken(found)
    return trace_flat(
        lambda *leaves: taken.look(taken.values(), partial(fun, *leaves)), avals, name=name
    )


@filtered
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a linear function.

    Args:
      fun: a function that is linear in its arguments, of real and complex arrays to such or of
        integers to integers.
      *primals: arrays, or anything with shapes and dtypes, that tell the arguments' types.
      reduce_axes: an older argument, which must be empty.

    Returns:
      a function from a cotangent of the result to a tuple with a cotangent per argument.  It is a
      pytree whose leaves are what ``fun`` closes over, so ``jit`` may return it or take it.

    Raises:
      TypeError: ``fun`` is not callable, or an argument or result is neither real nor complex, nor
        all of them integers.
      UndefinedRuleError: later, an operation in ``fun`` is not linear.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> transposed = jx.linear_transpose(lambda x: 3 * x, jnp.ones(2))
    >>> transposed(jnp.array([1.0, 5.0]))[0].tolist()
    [3.0, 15.0]
    """
    check_function("linear_transpose", fun)
    check_reduce_axes("linear_transpose", reduce_axes)
    flat, in_tree = physical.flatten(physical.map(standing, primals))
    avals = leaf_avals("linear_transpose", "primals", flat, in_tree)
    out_tree: Any = None

    def flat_fun(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        out, out_tree = physical.flatten(fun(*in_tree.unflatten(leaves)))
        return out

    program = _reading_references(flat_fun, avals, function_name(fun))
    every = [*avals, *program.out_avals]
    if not any(all(dtypes.issubdtype(a.dtype, kind) for a in every) for kind in _LINEAR):
        raise TypeError(
            "linear_transpose takes functions of real or complex numbers to such, or of integers "
            f"to integers, and {function_name(fun)} has {' '.join(a.short() for a in every)}"
        )

    transposed = _Transposed(function_name(fun), program.hoisted(), in_tree, out_tree)
    return tree.Partial(transposed, *program.consts)


@record()
class _Transposed:
    """The transpose of a linear function: what it closes over and a cotangent to cotangents.

    Attributes:
      name: the function.
      program: that of what it closes over and of its arguments.
      in_tree: the structure of its arguments.
      out_tree: that of its result.
    """

    name: str
    program: ClosedJaxpr
    in_tree: Any
    out_tree: Any

    @filtered
    def __call__(self, *consts_and_cotangent: Any) -> tuple[Any, ...]:
        """Return the cotangents of the arguments for one of the result.

        Raises:
          TypeError: the cotangent has another structure or type than the result.
        """
        *consts, cotangent = consts_and_cotangent
        leaves, structure = physical.flatten(cotangent)
        wanted = [aval.transposed().short() for aval in self.program.out_avals]
        found = [aval.short() for aval in map(abstractify, leaves)]
        if structure != self.out_tree or found != wanted:
            raise TypeError(
                f"the transpose of {self.name} takes a cotangent of structure "
                f"{structure_text(self.out_tree)} "
                f"and types {' '.join(wanted)}, got {structure_text(structure)} and "
                f"{' '.join(found)}"
            )
        avals = self.program.in_avals[len(consts) :]
        linear = (*[False] * len(consts), *[True] * len(avals))
        pulled = zip(pull_back(self.program, linear, consts, leaves), avals, strict=True)
        every = [Zero(aval) if type(ct) is Zero else ct for ct, aval in pulled]
        return self.in_tree.unflatten(derivatives(every))

    def __repr__(self) -> str:
        return f"transpose of {self.name}"
