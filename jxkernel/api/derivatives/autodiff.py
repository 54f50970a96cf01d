"""Derivatives as users call them: ``grad``, ``value_and_grad``, ``vjp``, ``jvp``, ``linearize``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel._lazy import late_function
from jxkernel.api.arguments import argument_positions, checked_argnums, function_name, named_like
from jxkernel.api.derivatives.key_tangents import per_key, per_word, refuse_keys
from jxkernel.api.jit import check_result, jit
from jxkernel.api.reference_arguments import (
    OfValues,
    Returned,
    directions,
    has_references,
    held_by,
    is_made_here,
    named,
    refuse_references,
    with_own,
    write_written,
)
from jxkernel.api.traced import check_function, leaf_avals
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.jaxpr import eval_jaxpr
from jxkernel.core.trace import evaluating
from jxkernel.core.zeros import UndefinedPrimal, Zero, scalar_like
from jxkernel.higher_order.references import Ref, check_distinct
from jxkernel.primitives.elementwise.convert import convert_element_type_p
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.records import record
from jxkernel.runtime import ArrayImpl, as_device_array, own_result
from jxkernel.transforms.jvp import jvp_flat
from jxkernel.transforms.linearize import Linearized, linearize_flat, vjp_flat
from jxkernel.transforms.transpose import backward
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = [
    "check_reduce_axes",
    "derivatives",
    "fwd_and_bwd",
    "grad",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]

booleans_like = late_function("jxkernel.api.derivatives.pullback", "booleans_like")
make_pullback = late_function("jxkernel.api.derivatives.pullback", "made")
spread_booleans = late_function("jxkernel.api.derivatives.pullback", "spread_booleans")
taking_references = late_function("jxkernel.api.derivatives.pullback", "taking_references")


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar-valued function.

    Args:
      fun: a function whose result is a floating-point scalar.
      argnums: the position, or positions, of the arguments to differentiate by.
      has_aux: whether ``fun`` returns (scalar, anything else); the latter is returned as well.
      holomorphic: whether ``fun`` is complex and holomorphic.
      allow_int: whether to differentiate by integers, giving ``float0`` zeros.
      reduce_axes: an older argument, which must be empty.

    Returns:
      a function with the arguments of ``fun`` that returns gradients of their structure and
      dtype (a tuple of them for several ``argnums``), and the auxiliary result if there is one.

    Raises:
      TypeError: the result is no floating-point scalar, an argument has no derivative, or
        ``argnums`` does not fit.

    For complex arguments of a real function it is the conjugate of the direction of steepest
    ascent, as is usual.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> f = lambda x: jnp.sum(x**3)
    >>> jx.grad(f)(jnp.array([1.0, -2.0])).tolist()
    [3.0, 12.0]
    """
    inner = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            value, gradients = inner(*args, **kwargs)
        except Exception as error:
            hide_internal_frames(error)
            raise
        return (gradients, value[1]) if has_aux else gradients

    named_like(gradient, fun)
    gradient.__doc__ = f"Gradient of {function_name(fun)} by positions {argnums}."
    return gradient


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Return a function that computes a scalar-valued function and its gradient.

    Args, errors and conventions are those of ``grad``; the result is (value, gradients), with
    (value, aux) in place of value if ``has_aux``.

    >>> import jxkernel as jx
    >>> value, slope = jx.value_and_grad(lambda x: x**2 + 1)(3.0)
    >>> value.item(), slope.item()
    (10.0, 6.0)
    """
    check_function("grad", fun)
    chosen = checked_argnums(argnums)
    check_reduce_axes("grad", reduce_axes)
    name = function_name(fun)

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            return _value_and_grad(fun, name, args, kwargs, chosen, has_aux, holomorphic, allow_int)
        except Exception as error:
            hide_internal_frames(error)
            raise

    named_like(value_and_gradient, fun)
    value_and_gradient.__doc__ = f"Value and gradient of {name}."
    return value_and_gradient


def check_reduce_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    """Check that an argument of older releases asks for nothing.

    Raises:
      NotImplementedError: it does.
    """
    if reduce_axes:
        raise NotImplementedError(
            f"{name} got reduce_axes={reduce_axes!r:.100}, which is gone: sum what it returns over "
            "those axes with lax.psum, or use shard_map, which does so by itself"
        )


def _value_and_grad(
    fun: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
) -> Any:
    positions = argument_positions(fun, argnums, len(args))
    flat, in_tree = physical.flatten(tuple([args[position] for position in positions]))
    refuse_references(f"grad of {name}", flat)
    avals = leaf_avals(f"the gradient of {name}", "args", flat, in_tree)
    if not allow_int:
        refuse_keys("grad", in_tree, avals)
    for aval in avals:
        _check_input(aval, holomorphic, allow_int)

    def of_chosen(*chosen: Any) -> Any:
        given = list(args)
        for position, value in zip(positions, chosen, strict=True):
            given[position] = value
        result = fun(*given, **kwargs)
        _check_output(name, _split_aux(fun, result)[0] if has_aux else result, holomorphic)
        return result

    flat_fun = _FlatFunction(of_chosen, in_tree, has_aux)
    outs, pullback = vjp_flat(flat_fun, flat)
    seed = _seed(outs[0])
    aux_cts = [Zero.tangent_of(leaf) for leaf in outs[1:]]
    pulled = pullback([seed, *aux_cts])
    gradients = in_tree.unflatten(derivatives(pulled))
    gradients = per_key(in_tree, avals, gradients)
    value = flat_fun.value(outs)
    result = (value, flat_fun.aux(outs)) if has_aux else value
    return result, gradients[0] if isinstance(argnums, int) else gradients


def derivatives(leaves: Sequence[Any]) -> list[Any]:
    """Return tangents or cotangents as users get them: explicit, and arrays if not traced."""
    full = [instantiate(leaf) for leaf in leaves]
    if not evaluating():
        return full
    return [leaf if _is_final(leaf) else as_device_array(leaf) for leaf in full]


def _is_final(leaf: Any) -> bool:
    return type(leaf) is ArrayImpl or getattr(leaf, "dtype", None) == dtypes.float0


def _seed(value: Any) -> Any:
    """Return the cotangent 1 of a scalar."""
    one = scalar_like(value, 1)
    # Traced, a scalar is written into the program; evaluated, gradients are arrays.
    if not evaluating():
        return one
    one, dtype = as_device_array(one), abstractify(value).dtype
    # The value may have 64 bits where settings give new arrays 32.
    kept = one.dtype == dtype
    return one if kept else convert_element_type_p.bind(one, new_dtype=dtype, weak_type=False)


def _check_input(aval: ShapedArray, holomorphic: bool, allow_int: bool) -> None:
    dtype = aval.dtype
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(f"grad with holomorphic=True needs complex arguments, got {dtype.name}")
    elif not dtypes.issubdtype(dtype, np.inexact) and not allow_int:
        raise TypeError(
            "grad requires real- or complex-valued inputs (floating-point or complex dtypes), but "
            f"got {dtype.name}. To differentiate by integers convert them with x.astype(float), or "
            "pass allow_int=True for float0 zeros"
        )


def _check_output(name: str, value: Any, holomorphic: bool) -> None:
    try:
        aval = abstractify(value)
    except TypeError:
        raise TypeError(
            f"grad requires {name} to return a scalar, got {kind_in_words(value)}: return one "
            "number, and use has_aux=True for anything besides"
        ) from None
    if aval.shape:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. {name} returned shape "
            f"{aval.shape}: reduce it with .sum() or .mean(), or use jacrev for the whole Jacobian"
        )
    wanted = np.complexfloating if holomorphic else np.floating
    if not dtypes.issubdtype(aval.dtype, wanted):
        raise TypeError(
            f"grad requires {name} to return a {'complex' if holomorphic else 'real'} "
            f"floating-point scalar, got {aval.dtype.name}"
            + (
                ": for a holomorphic function pass holomorphic=True"
                if dtypes.issubdtype(aval.dtype, np.complexfloating)
                else ""
            )
        )


def _split_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"has_aux=True needs {function_name(fun)} to return a pair (value, aux), got "
            f"{kind_in_words(result)}: return both, or leave has_aux out"
        )
    return result[0], result[1]


def _is_array(value: Any) -> bool:
    try:
        abstractify(value)
    except TypeError:
        return False
    return True


class _FlatFunction:
    """A function of trees as one of flat leaves, remembering the structure of its result.

    Attributes:
      value_tree: the structure of the value, once called.
      aux_tree: the structure of the auxiliary result, once called.
      aux_others: leaves of the auxiliary result that are no arrays, by position, once called.
      count: the number of leaves of the value, once called.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: Any,
        has_aux: bool,
        *,
        may_return_references: bool = False,
    ) -> None:
        self._fun = fun
        self._in_tree = in_tree
        self._has_aux = has_aux
        self._may_return_references = may_return_references
        self._returned: Returned | None = None
        self.value_tree: Any = None
        self.aux_tree: Any = None
        self.aux_others: dict[int, Any] = {}
        self._aux_refs: set[int] = set()
        self.count = 0

    def __call__(self, *leaves: Any) -> list[Any]:
        result = self._fun(*self._in_tree.unflatten(leaves))
        value, aux = _split_aux(self._fun, result) if self._has_aux else (result, None)
        value_leaves, self.value_tree = physical.flatten(value)
        if self._may_return_references and has_references(value_leaves):
            self._returned = Returned(value)
            value_leaves, self.value_tree = physical.flatten(self._returned.values(value))
        aux_leaves, self.aux_tree = physical.flatten(aux)
        self.count = len(value_leaves)
        for index, leaf in enumerate(value_leaves):
            if not _is_array(leaf):
                check_result(function_name(self._fun), self.value_tree, index, leaf)
        # A reference that was made inside holds a traced value: that of a new one comes out.
        self._aux_refs = {i for i, x in enumerate(aux_leaves) if _is_made_inside(x)}
        aux_leaves = [x.read() if i in self._aux_refs else x for i, x in enumerate(aux_leaves)]
        self.aux_others = {i: x for i, x in enumerate(aux_leaves) if not _is_array(x)}
        arrays = [x for i, x in enumerate(aux_leaves) if i not in self.aux_others]
        return [*value_leaves, *arrays]

    def value(self, outs: Sequence[Any]) -> Any:
        """Return the value's tree of leaves from all results."""
        value = self.value_tree.unflatten(map(own_result, outs[: self.count]))
        returned = self._returned
        return value if returned is None else returned.references(value, returned.outside)

    def tangent(self, avals: Sequence[ShapedArray], tangents: Sequence[Any]) -> Any:
        """Return the tree of the value's tangent from the types of all results and theirs."""
        leaves = derivatives(tangents[: self.count])
        tangent = per_key(
            self.value_tree, avals[: self.count], self.value_tree.unflatten(map(own_result, leaves))
        )
        returned = self._returned
        if returned is None:
            return tangent
        still = {at: Ref(_no_tangent(ref.read())) for at, ref in returned.outside.items()}
        return returned.references(tangent, still)

    def aux(self, outs: Sequence[Any]) -> Any:
        """Return the auxiliary tree from all results."""
        arrays = iter(outs[self.count :])
        others = self.aux_others
        leaves = [
            others[i] if i in others else next(arrays) for i in range(self.aux_tree.num_leaves)
        ]
        return self.aux_tree.unflatten(
            [Ref(x) if i in self._aux_refs else x for i, x in enumerate(leaves)]
        )


def _is_made_inside(leaf: Any) -> bool:
    """Whether a leaf is a reference to an array that was made in the trace at hand."""
    return is_made_here(leaf) and _is_array(leaf.read())


def _no_tangent(value: Any) -> Any:
    """Return the tangent of what does not depend on the arguments."""
    return physical.map(lambda leaf: instantiate(Zero.tangent_of(leaf)), value)


@filtered
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    saveable_args: object = True,
    in_nzs: object = None,
) -> Any:
    """Return a function's value and its pullback (vector-Jacobian product).

    Args:
      fun: the function.
      *primals: the point, one tree of arrays per positional argument.
      has_aux: whether ``fun`` returns (value, anything else).
      reduce_axes: an older argument, which must be empty.
      saveable_args: whether each argument may be kept for the way back: True, False, or a tree of
        them like the arguments, or above it; containers match by their number of children.  Where
        the way back reads one that is not kept, ``args_res`` has a mark, and it is put there
        before the pullback is called.
      in_nzs: likewise, whether the tangent of each argument may be other than zero; the cotangent
        of another is zero.  ``pullback.out_nzs`` says which arrays of the value have a derivative.

    Returns:
      (value, pullback), and the auxiliary result if there is one.  The pullback takes a
      cotangent of the structure, shapes and dtypes of the value and returns a tuple of
      cotangents of the arguments (``float0`` for integers).  It is a pytree whose leaves are what
      is kept for the way back, so ``jit`` may return it or take it; ``args_res`` has the arguments
      among these, ``opaque_residuals`` the others.  ``pullback.with_refs(...)`` adds gradients to
      references; the cotangent of an argument that is a reference is always in one.

    Raises:
      TypeError: ``fun`` is not callable; later, the cotangent does not fit the value.
      ValueError: ``saveable_args`` or ``in_nzs`` is no such tree.

    >>> import jxkernel as jx
    >>> y, pullback = jx.vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> [ct.item() for ct in pullback(1.0)]
    [5.0, 2.0]
    """
    check_function("vjp", fun)
    check_reduce_axes("vjp", reduce_axes)
    flat, in_tree = physical.flatten(primals)
    if has_references(flat):
        return _vjp_taking(fun, primals, has_aux, saveable_args, in_nzs)
    flat_fun = _FlatFunction(fun, in_tree, has_aux)
    saveable = spread_booleans("vjp(saveable_args=)", saveable_args, in_tree)
    linear = linearize_flat(flat_fun, flat, _moving("vjp", in_nzs, in_tree))
    way = _Pullback(function_name(fun), linear, in_tree, flat_fun.value_tree, flat_fun.count)
    consts = linear.program.consts
    pullback = make_pullback(way, flat, in_tree, flat_fun.value_tree, consts, saveable)
    value = flat_fun.value(linear.outs)
    return (value, pullback, flat_fun.aux(linear.outs)) if has_aux else (value, pullback)


def _moving(name: str, in_nzs: object, in_tree: tree.PyTreeDef) -> list[bool] | None:
    return None if in_nzs is None else spread_booleans(f"{name}(in_nzs=)", in_nzs, in_tree)


def _vjp_taking(
    fun: Callable[..., Any], primals: Any, has_aux: bool, saveable_args: object, in_nzs: object
) -> Any:
    """Differentiate a function with references among its arguments: their values go in, and out.

    Raises:
      RefError: one is given twice.
    """
    of_values = OfValues(fun, primals, has_aux)
    check_distinct(f"vjp of {function_name(fun)}", of_values.named("args"))
    (value, after), pullback, *aux = vjp(
        of_values,
        *of_values.points,
        has_aux=has_aux,
        saveable_args=saveable_args,
        in_nzs=in_nzs,
    )
    of_values.write(after)
    return (value, taking_references(pullback, of_values.refs), *aux)


class _Pullback:
    """The way back through a function at a point: residuals and a cotangent to cotangents."""

    __slots__ = ("_active", "_in_avals", "_in_tree", "_jaxpr", "_name", "_out", "_tree", "nonzero")

    def __init__(
        self, name: str, linear: Linearized, in_tree: Any, value_tree: Any, count: int
    ) -> None:
        self._name = name
        self._jaxpr = linear.program.jaxpr
        self._in_avals = linear.in_avals
        self._active = linear.active
        self._in_tree = in_tree
        self._tree = value_tree
        # Of an auxiliary result no cotangent is given: it is zero.
        self._out = [abstractify(out) for out in linear.outs[:count]]
        self.nonzero = linear.nonzero[:count]

    @filtered
    def __call__(self, *residuals_and_cotangent: Any) -> Any:
        """Return the cotangents of the arguments for a cotangent of the value."""
        size = len(self._jaxpr.constvars)
        residuals, given = residuals_and_cotangent[:size], residuals_and_cotangent[size:]
        if len(given) != 1:
            raise TypeError(
                f"the pullback of {self._name} takes one argument, a cotangent like the value, "
                f"got {len(given)}: give the cotangents of several results as a tuple"
            )
        leaves = _cotangent_leaves(self._name, given[0], self._tree, self._out)
        cts = [ct for ct, has in zip(leaves, self.nonzero, strict=True) if has]
        cts += [Zero(atom.aval) for atom in self._jaxpr.outvars[len(cts) :]]
        linear = [UndefinedPrimal(var.aval) for var in self._jaxpr.invars]
        moved = iter(backward(self._jaxpr, residuals, linear, cts))
        every = [
            next(moved) if moves else Zero(aval.cotangent())
            for aval, moves in zip(self._in_avals, self._active, strict=True)
        ]
        pulled = self._in_tree.unflatten(derivatives(every))
        return per_key(self._in_tree, self._in_avals, pulled)

    def __repr__(self) -> str:
        return f"pullback of {self._name}"


def _cotangent_leaves(
    name: str, cotangent: Any, value_tree: Any, avals: Sequence[ShapedArray]
) -> list[Any]:
    cotangent = per_word("cotangent", f"the pullback of {name}", value_tree, avals, cotangent)
    leaves, structure = physical.flatten(cotangent)
    if structure != value_tree:
        raise ValueError(
            f"the pullback of {name} needs a cotangent of the structure of the "
            f"value, {structure_text(value_tree)}, and got {structure_text(structure)}"
        )
    return [
        _fitting("cotangent", name, leaf, aval.tangent())
        for leaf, aval in zip(leaves, avals, strict=True)
    ]


def _fitting(what: str, name: str, leaf: Any, wanted: ShapedArray) -> Any:
    """Return a tangent or cotangent checked against the type it must have.

    Raises:
      ValueError: it has another type.
    """
    aval = abstractify(leaf)
    if wanted.dtype == dtypes.float0 and aval.shape == wanted.shape:
        # An integer has no tangent, so whatever pulls at it is zero.
        if aval.dtype == wanted.dtype or what == "cotangent":
            return Zero(wanted)
        raise ValueError(
            f"{name}: the {what} of an integer or boolean has dtype float0, got {aval.short()}: "
            f"write np.zeros({wanted.shape}, float0), or convert the value with x.astype(float)"
        )
    if aval.shape != wanted.shape or aval.dtype != wanted.dtype:
        raise ValueError(f"{name}: the {what} must have type {wanted.short()}, got {aval.short()}")
    return leaf


def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the two ways through a function as two functions.

    Args:
      fun: the function.
      argnums: the position, or positions, of the arguments to differentiate by.
      has_aux: whether ``fun`` returns (value, anything else).
      jitted: whether to compile both.

    Returns:
      ``fwd(*args)``, which returns what ``vjp`` does: (value, residuals), and the auxiliary result
      if there is one; and ``bwd(residuals, cotangent)``, which returns the cotangents of the
      arguments (a tuple of them for several ``argnums``).

    Raises:
      TypeError: ``fun`` is not callable; later, the errors of ``vjp``.

    >>> import jxkernel as jx
    >>> fwd, bwd = jx.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> value, residuals = fwd(2.0, 3.0)
    >>> [float(ct) for ct in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    check_function("fwd_and_bwd", fun)
    chosen = checked_argnums(argnums)

    @filtered
    def fwd(*args: Any, **kwargs: Any) -> Any:
        positions = argument_positions(fun, chosen, len(args))

        def of_chosen(*values: Any) -> Any:
            given = list(args)
            for position, value in zip(positions, values, strict=True):
                given[position] = value
            return fun(*given, **kwargs)

        named_like(of_chosen, fun)
        return vjp(of_chosen, *[args[position] for position in positions], has_aux=has_aux)

    @filtered
    def bwd(residuals: Any, cotangent: Any) -> Any:
        pulled = residuals(cotangent)
        return pulled[0] if isinstance(chosen, int) else pulled

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


@filtered
def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return a function's value and its derivative along a tangent (Jacobian-vector product).

    Args:
      fun: the function.
      primals: a tuple or list, one tree of arrays per positional argument.
      tangents: the direction, of the same structure, shapes and (tangent) dtypes.  That of a
        reference is another reference, which gets the tangents of what is written to the first.
      has_aux: whether ``fun`` returns (value, anything else).

    Returns:
      (value, tangent of the value), and the auxiliary result if there is one.

    Raises:
      TypeError: ``fun`` is not callable, or structures or dtypes do not match.
      ValueError: shapes do not match.

    >>> import jxkernel as jx
    >>> y, slope = jx.jvp(lambda x: x**3, (2.0,), (1.0,))
    >>> y.item(), slope.item()
    (8.0, 12.0)
    """
    check_function("jvp", fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "jvp takes primals and tangents as tuples or lists, one entry per argument; got "
            f"{kind_in_words(primals)} and {kind_in_words(tangents)}: write (x,) for one"
        )
    flat, in_tree = physical.flatten(primals)
    if has_references(flat):
        return _jvp_taking(fun, primals, tangents, has_aux)
    name, avals = function_name(fun), [abstractify(leaf) for leaf in flat]
    tangents = per_word("tangent", f"jvp of {name}", in_tree, avals, tangents)
    flat_tangents, tangent_tree = physical.flatten(tangents)
    if in_tree != tangent_tree:
        raise TypeError(
            f"jvp needs primals and tangents of one structure, got {structure_text(in_tree)} "
            f"and {structure_text(tangent_tree)}"
        )
    checked = [
        _tangent(name, leaf, primal) for leaf, primal in zip(flat_tangents, avals, strict=True)
    ]
    flat_fun = _FlatFunction(fun, in_tree, has_aux, may_return_references=True)
    outs, out_tangents = jvp_flat(flat_fun, flat, checked)
    value = flat_fun.value(outs)
    tangent = flat_fun.tangent([abstractify(out) for out in outs], out_tangents)
    return (value, tangent, flat_fun.aux(outs)) if has_aux else (value, tangent)


def _jvp_taking(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool) -> Any:
    """Differentiate a function with references among its arguments: their values go in, and out.

    Raises:
      TypeError: the tangent of a reference is no reference.
      RefError: one is given twice.
    """
    who, of_values = f"jvp of {function_name(fun)}", OfValues(fun, primals, has_aux)
    along = directions(who, "tangents", of_values.structure, of_values.refs, tangents)
    check_distinct(who, of_values.named("primals") + named("tangents", of_values.structure, along))
    slopes = held_by(tuple(tangents))
    (value, after), (tangent, after_tangent), *aux = jvp(
        of_values, of_values.points, slopes, has_aux
    )
    of_values.write(after)
    write_written(along.values(), of_values.written, after_tangent)
    value = with_own(value, of_values.returned, of_values.refs)
    return (value, with_own(tangent, of_values.returned, along), *aux)


def _tangent(name: str, leaf: Any, primal: ShapedArray) -> Any:
    wanted = primal.tangent()
    try:
        return _fitting("tangent", name, leaf, wanted)
    except ValueError as error:
        if abstractify(leaf).dtype == wanted.dtype:
            raise
        raise TypeError(str(error)) from None


@filtered
def linearize(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: object = None
) -> Any:
    """Return a function's value and its derivative as a linear function of tangents.

    Args:
      fun: the function.
      *primals: the point.  The tangent of a reference is another reference, which gets the
        tangents of what is written to the first.
      has_aux: whether ``fun`` returns (value, anything else).
      in_nzs: whether the tangent of each argument may be other than zero: True, False, or a tree
        of them like the arguments, or above it; containers match by their number of children.
        The tangent of another counts as zero.  ``linear.out_nzs`` says which arrays of the value
        have a derivative.

    Returns:
      (value, linear), and the auxiliary result if there is one; ``linear(*tangents)`` gives the
      tangent of the value without evaluating ``fun`` again.  It is a pytree whose leaves are what
      is kept of the point, so ``jit`` may return it or take it.

    Raises:
      TypeError: ``fun`` is not callable; later, the tangents' structure does not fit.
      ValueError: ``in_nzs`` is no such tree; later, their shapes or dtypes do not fit.

    >>> import jxkernel as jx
    >>> y, linear = jx.linearize(lambda x: x**2, 3.0)
    >>> y.item(), linear(1.0).item(), linear(10.0).item()
    (9.0, 6.0, 60.0)
    """
    check_function("linearize", fun)
    flat, in_tree = physical.flatten(primals)
    if has_references(flat):
        return _linearize_taking(fun, primals, has_aux, in_nzs)
    flat_fun = _FlatFunction(fun, in_tree, has_aux, may_return_references=True)
    linear = linearize_flat(flat_fun, flat, _moving("linearize", in_nzs, in_tree)).pruned()
    push = _Pushforward(function_name(fun), linear, in_tree, flat_fun)
    apply = _Linear(push, *linear.program.consts)
    value = flat_fun.value(linear.outs)
    return (value, apply, flat_fun.aux(linear.outs)) if has_aux else (value, apply)


def _linearize_taking(fun: Callable[..., Any], primals: Any, has_aux: bool, in_nzs: object) -> Any:
    """Differentiate a function with references among its arguments: their values go in, and out.

    Raises:
      RefError: one is given twice.
    """
    of_values = OfValues(fun, primals, has_aux)
    check_distinct(f"linearize of {function_name(fun)}", of_values.named("args"))
    (value, after), linear, *aux = linearize(
        of_values, *of_values.points, has_aux=has_aux, in_nzs=in_nzs
    )
    of_values.write(after)
    push = _PushforwardTaking(
        function_name(fun),
        of_values.structure,
        tuple(of_values.refs),
        of_values.written,
        of_values.returned,
    )
    value = with_own(value, of_values.returned, of_values.refs)
    return (value, tree.Partial(push, linear), *aux)


@record()
class _PushforwardTaking:
    """The derivative of a function of references: it writes tangents to references.

    Attributes:
      name: the function.
      structure: that of its arguments.
      positions: where references are among them.
      written: for each whether the function wrote to it.
      returned: which of them the value has, by position there.
    """

    name: str
    structure: Any
    positions: tuple[int, ...]
    written: tuple[bool, ...]
    returned: Mapping[int, int]

    @filtered
    def __call__(self, linear: Callable[..., Any], *tangents: Any) -> Any:
        """Return the value's tangent for tangents of the arguments.

        Raises:
          TypeError: the tangent of a reference is no reference.
          RefError: one is given twice.
        """
        who = f"the linearization of {self.name}"
        along = directions(who, "tangents", self.structure, self.positions, tangents)
        check_distinct(who, named("tangents", self.structure, along))
        tangent, after = linear(*held_by(tangents))
        write_written(along.values(), self.written, after)
        return with_own(tangent, self.returned, along)

    def __repr__(self) -> str:
        return f"linearization of {self.name}"


class _Linear(tree.Partial):
    """The derivative of a function at a point: what is kept of it are leaves."""

    @property
    def out_nzs(self) -> Any:
        """Which arrays of the value have a derivative, as a tree of booleans."""
        push: Any = self.func
        return push.out_nzs


tree.register_pytree_node(
    _Linear,
    lambda linear: (linear.args, linear.func),
    lambda func, args: _Linear(func, *args),
)


class _Pushforward:
    """The derivative of a function at a point: residuals and tangents to the value's tangent."""

    __slots__ = (
        "_active",
        "_in_avals",
        "_in_tree",
        "_jaxpr",
        "_name",
        "_nonzero",
        "_out",
        "_tangent",
        "_value_tree",
    )

    def __init__(
        self, name: str, linear: Linearized, in_tree: Any, flat_fun: _FlatFunction
    ) -> None:
        self._name = name
        self._jaxpr = linear.program.jaxpr
        self._in_avals = linear.in_avals
        self._active = linear.active
        self._in_tree = in_tree
        self._out = [abstractify(out) for out in linear.outs]
        self._nonzero = linear.nonzero
        self._tangent = flat_fun.tangent
        self._value_tree = flat_fun.value_tree

    @property
    def out_nzs(self) -> Any:
        """Which arrays of the value have a derivative."""
        return booleans_like(self._value_tree, self._nonzero)

    @filtered
    def __call__(self, *residuals_and_tangents: Any) -> Any:
        """Return the value's tangent for tangents of the arguments."""
        size = len(self._jaxpr.constvars)
        who = f"the linearization of {self._name}"
        given = residuals_and_tangents[size:]
        given = per_word("tangent", who, self._in_tree, self._in_avals, given)
        leaves, structure = physical.flatten(given)
        if structure != self._in_tree:
            raise TypeError(
                f"{who} takes tangents of structure {structure_text(self._in_tree)}, got "
                f"{structure_text(structure)}"
            )
        checked = [
            _fitting("tangent", self._name, leaf, aval.tangent())
            for leaf, aval in zip(leaves, self._in_avals, strict=True)
        ]
        active = [t for t, moves in zip(checked, self._active, strict=True) if moves]
        moved = iter(eval_jaxpr(self._jaxpr, residuals_and_tangents[:size], *active))
        out = [
            next(moved) if nonzero else Zero(aval.tangent())
            for nonzero, aval in zip(self._nonzero, self._out, strict=True)
        ]
        return self._tangent(self._out, out)

    def __repr__(self) -> str:
        return f"linearization of {self._name}"
