"""Operations with a rule for each transform, written as classes: ``HiPrim``.

An operation of arrays and trees of them carries a Python implementation and the derivative and
batching rules that its author gives.  It is made of ``custom_jvp``, ``custom_vjp`` and
``custom_vmap``, so transforms know nothing of it.  Types above arrays are refused where a value of
one is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jxkernel import tree
from jxkernel._lazy import lazy_names
from jxkernel.api.custom.batching import custom_vmap
from jxkernel.api.custom.derivatives import custom_jvp, custom_vjp
from jxkernel.api.custom.linear_calls import call_linear
from jxkernel.api.derivatives.jacobian import linear_transpose
from jxkernel.api.vectorize import vmap
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.avals import ShapedArray as AbstractValue
from jxkernel.core.axes import Axis
from jxkernel.core.effects import Effect, EffectTypeSet
from jxkernel.core.filtering import filtered
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero
from jxkernel.core.zeros import is_linear as is_undefined_primal
from jxkernel.dtypes import float0
from jxkernel.higher_order.references import AbstractRef
from jxkernel.higher_order.references import View as TransformedRef
from jxkernel.primitives.shape.broadcast import add_tangents, batch_to_front
from jxkernel.primitives.shape.broadcast import instantiate as instantiate_zeros
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batched_aval, example_aval

__all__ = [
    "AbstractRef",
    "AbstractValue",
    "GradAccum",
    "HiPrim",
    "HiType",
    "NullAccum",
    "RefAccum",
    "ShapedArray",
    "TransformedRef",
    "ValAccum",
    "Zero",
    "aval_method",
    "aval_property",
    "bdims_at_front",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp_from_lin",
    "linearize_from_jvp",
    "register_hitype",
    "unmap_avals",
    "vjp_from_jvp",
    "vjp_from_lin",
    "vmap_rule",
]

__getattr__, __dir__ = lazy_names(__name__)


# ---------------------------------------------------------------- accumulators


class GradAccum:
    """Where a backward rule puts the cotangent of one array.

    Args:
      aval: the cotangent's type.
    """

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def accum(self, ct: Any) -> None:
        """Add a cotangent."""
        raise NotImplementedError

    def freeze(self) -> Any:
        """Return what was added up."""
        raise NotImplementedError


class ValAccum(GradAccum):
    """Adds cotangents up as a value.

    Args:
      aval: the cotangent's type.
      val: what to begin with; None for zero.
    """

    def __init__(self, aval: ShapedArray, val: Any = None) -> None:
        super().__init__(aval)
        self.val = Zero(aval) if val is None else val

    def accum(self, ct: Any) -> None:
        """Add a cotangent; None is zero."""
        if ct is not None:
            self.val = add_tangents(self.val, ct)

    def freeze(self) -> Any:
        """Return the sum, a ``Zero`` where nothing was added."""
        return self.val


class RefAccum(GradAccum):
    """Adds cotangents to a reference.

    Args:
      aval: the cotangent's type.
      ref: the reference.
    """

    def __init__(self, aval: ShapedArray, ref: Any) -> None:
        super().__init__(aval)
        self.ref = ref

    def accum(self, ct: Any) -> None:
        """Add a cotangent; None is zero."""
        if ct is not None and type(ct) is not Zero:
            self.ref[...] += ct

    def freeze(self) -> Any:
        """Return a ``Zero``: the sum is in the reference."""
        return Zero(self.aval)


class NullAccum(GradAccum):
    """Takes cotangents that nobody wants."""

    def accum(self, ct: Any) -> None:
        """Do nothing."""

    def freeze(self) -> Any:
        """Return a ``Zero``."""
        return Zero(self.aval)


# ---------------------------------------------------------------- effects

control_flow_allowed_effects = EffectTypeSet([Effect])
"""The kinds of effects that loops and branches may have: all."""

effects_p = Primitive("effects", multiple_results=True)
"""Stands in programs for the effects of an operation, which its parts do not have."""
effects_p.define(
    abstract_eval=lambda *, effects: [],
    lower=lambda context, *, effects: [],
    evaluate=lambda *, effects: [],
    effects=lambda *, effects: effects,
    jvp=Undefined("it has no operands that could move"),
    transpose=Undefined("it has no operands that could be linear"),
    batch=Undefined("it has no operands of which there could be many"),
)


# ---------------------------------------------------------------- operations


class HiPrim:
    """An operation with rules of its own: subclass it.

    A subclass sets, before it calls ``super().__init__()``, ``in_avals`` (a tuple with the type of
    each argument, or a tree of types), ``out_aval`` (the type of the result, or a tree) and
    ``params`` (a dict of what is known, which become attributes).  An instance is called with
    arrays.  A class may set ``effects``: an operation that has some is never dropped.  It has at
    least ``expand``; the other methods are rules:

    - ``jvp``, or ``lin`` and ``linearized``: the forward derivative, and by its transpose the
      backward one;
    - ``vjp_fwd`` and ``vjp_bwd_retval`` (or ``vjp_bwd``): the backward derivative;
    - ``batch``: what ``vmap`` makes of it.  Without it, ``expand`` and the rules are vectorized.

    Where both derivatives are given, each serves for its direction; the backward rule is traced.
    An operation without a rule for a direction is refused there.

    Source: docs.jax.dev, "Custom derivative rules with hijax primitives".

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.hijax import HiPrim
    >>> class Log1pExp(HiPrim):
    ...     def __init__(self, aval):
    ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return jnp.log(1 + jnp.exp(x))
    ...     def vjp_fwd(self, nzs_in, x):
    ...         return self(x), x
    ...     def vjp_bwd_retval(self, x, g):
    ...         return ((1 - 1 / (1 + jnp.exp(x))) * g,)
    >>> jx.grad(lambda x: Log1pExp(jx.typeof(x))(x))(100.0).item()
    1.0
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Effect] = frozenset()

    def __init__(self) -> None:
        missing = [one for one in ("in_avals", "out_aval", "params") if not hasattr(self, one)]
        if missing:
            raise TypeError(
                f"{type(self).__name__} sets {', '.join(missing)} in __init__, before "
                "super().__init__()"
            )
        for aval in tree.leaves((tuple(self.in_avals), self.out_aval)):
            if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
                raise NotImplementedError(
                    f"{type(self).__name__} is of a type above arrays, {aval!r:.60}, which no "
                    "trace here knows: register the class as a pytree of its arrays, and declare "
                    "trees of their types"
                )
        vars(self).update(self.params)
        self._applied = _with_rules(self)

    def __init_subclass__(cls) -> None:
        if cls.jvp is jvp_from_lin and cls.lin is linearize_from_jvp[0]:
            raise TypeError(f"{cls.__name__} derives jvp from lin, and lin from jvp: write one")

    @filtered
    def __call__(self, *args: Any) -> Any:
        """Apply the operation.

        Raises:
          TypeError: arguments or results are not of the types that it declares.
        """
        types = tree.map(abstractify, args)
        _check_types(f"{type(self).__name__} takes", types, tuple(self.in_avals))
        self.check(*types)
        if self.effects:
            effects_p.bind(effects=frozenset(self.effects))
        out = self._applied(*args)
        _check_types(f"{type(self).__name__} gives", tree.map(abstractify, out), self.out_aval)
        return out

    def check(self, *arg_tys: Any) -> None:
        """Check the types of arguments further; a subclass may raise."""

    def expand(self, *args: Any) -> Any:
        """Return the result, by operations of arrays."""
        raise self._lacks("evaluation", "expand")

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the result and its tangent."""
        raise self._lacks("jvp", "jvp")

    def lin(self, nzs_in: tuple[Any, ...], *primals: Any) -> tuple[Any, Any]:
        """Return the result, and what ``linearized`` needs of the arguments."""
        raise self._lacks("linearize", "lin and linearized")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """Return the result's tangent."""
        raise self._lacks("linearize", "lin and linearized")

    def vjp_fwd(self, nzs_in: tuple[Any, ...], /, *args: Any) -> tuple[Any, ...]:
        """Return the result, and what the way back needs of the arguments."""
        raise self._lacks("grad", "vjp_fwd and vjp_bwd_retval")

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Return a cotangent for each argument; None for zero."""
        raise self._lacks("grad", "vjp_fwd and vjp_bwd_retval")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> Any:
        """Put the cotangents into accumulators."""
        for accums, cts in zip(arg_accums, self.vjp_bwd_retval(res, outgrad), strict=True):
            if cts is not None:
                tree.map(lambda a, ct: a.accum(ct), accums, cts, is_leaf=_is_none)

    def batch(self, axis_data: Any, args: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
        """Return the result for many examples, and where their axis is in it."""
        raise self._lacks("vmap", "batch")

    def _lacks(self, transform: str, methods: str) -> NotImplementedError:
        name = type(self).__name__
        return NotImplementedError(f"for {transform}, the operation {name} defines {methods}")

    def _has(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(HiPrim, method)

    def _forward(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the result and its tangent, by the forward rule."""
        if self._has("jvp"):
            return self.jvp(primals, tangents)
        out, *kept = self.lin(_nonzero(tangents), *primals)
        return out, self.linearized(*_without_marks(kept), *tangents)

    def _backward(self, kept: Sequence[Any], nonzero: Any, cts: Any) -> tuple[Any, ...]:
        """Return a tree of cotangents for each argument, by the backward rule."""
        accums = tree.map(_accumulator, tuple(self.in_avals), nonzero)
        self.vjp_bwd(*_without_marks(kept), cts, *accums)
        return tree.map(lambda accum: accum.freeze(), accums)


def _without_marks(kept: Sequence[Any]) -> list[Any]:
    """Return residuals, and structured ones, of (residuals, which results move, structured)."""
    return [kept[0], *kept[2:]]


def _accumulator(aval: ShapedArray, nonzero: bool) -> GradAccum:
    return ValAccum(aval.cotangent()) if nonzero else NullAccum(aval.cotangent())


def _is_none(value: Any) -> bool:
    return value is None


def _is_zero(value: Any) -> bool:
    return type(value) is Zero


def _nonzero(tangents: Any) -> Any:
    return tree.map(lambda t: not _is_zero(t), tangents, is_leaf=_is_zero)


def _explicit(tangents: Any) -> Any:
    """Return tangents as arrays, but for those of integers."""
    return tree.map(
        lambda t: t if _is_zero(t) and t.dtype == float0 else instantiate_zeros(t),
        tangents,
        is_leaf=_is_zero,
    )


def _check_types(who: str, found: Any, declared: Any) -> None:
    if tree.structure(found) != tree.structure(declared):
        raise TypeError(f"{who} {declared}, and there is {found}")
    for one, other in zip(tree.leaves(found), tree.leaves(declared), strict=True):
        if one.shape != tuple(other.shape) or one.dtype != other.dtype:
            raise TypeError(f"{who} {other.short()}, and there is {one.short()}")


# ---------------------------------------------------------------- what an operation is made of


@tree.register_static
class _Flags:
    """Booleans that are known, among residuals.

    Args:
      nonzero: a tree of them.
    """

    def __init__(self, nonzero: Any) -> None:
        self.nonzero = nonzero
        self._key = (tuple(tree.leaves(nonzero)), tree.structure(nonzero))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _with_rules(operation: HiPrim) -> Callable[..., Any]:
    """Return a function with the rules of an operation."""

    def expand(*args: Any) -> Any:
        return operation.expand(*args)

    expand.__name__ = type(operation).__name__
    function: Any = expand
    if operation._has("batch"):
        function = custom_vmap(expand)
        function.def_vmap(partial(_batched, operation))
    forward = operation._has("jvp") or operation._has("lin")
    if operation._has("vjp_fwd") and not forward:
        given = custom_vjp(function)
        given.defvjp(partial(_there, operation), partial(_back, operation), symbolic_zeros=True)
        return given
    given = custom_jvp(function)
    given.defjvp(partial(_moved, operation), symbolic_zeros=True)
    return given


def _batched(
    operation: HiPrim, axis_size: int, in_batched: list[Any], *args: Any
) -> tuple[Any, Any]:
    dims = tuple(tree.map(lambda has: 0 if has else None, in_batched))
    out, places = operation.batch(Axis(axis_size), args, dims)
    leaves, structure = tree.flatten(out)
    if places is None or isinstance(places, int):
        places = [places] * len(leaves)
    else:
        places = tree.leaves(places, is_leaf=_is_none)
    moved = [
        leaf if place is None else move_axis(leaf, place, 0)
        for leaf, place in zip(leaves, places, strict=True)
    ]
    return structure.unflatten(moved), structure.unflatten([place is not None for place in places])


def _there(operation: HiPrim, *args: Any) -> tuple[Any, Any]:
    values = tree.map(lambda one: one.value, args, is_leaf=_is_marked)
    nonzero = tree.map(lambda one: one.perturbed, args, is_leaf=_is_marked)
    out, *kept = operation.vjp_fwd(nonzero, *values)
    return out, (_Flags(nonzero), kept)


def _is_marked(value: Any) -> bool:
    return hasattr(value, "perturbed")


def _back(operation: HiPrim, residuals: Any, cts: Any) -> tuple[Any, ...]:
    flags, kept = residuals
    return _explicit_gradients(operation._backward(kept, flags.nonzero, cts))


def _explicit_gradients(cts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tree.map(instantiate_zeros, cts, is_leaf=_is_zero)


def _moved(
    operation: HiPrim, primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Return the result and its tangent, of which the backward rule is the transpose."""
    if not operation._has("vjp_fwd"):
        return operation._forward(primals, _explicit(tangents))
    nonzero = _nonzero(tangents)
    out, *kept = operation.vjp_fwd(nonzero, *primals)
    flat, structure = tree.flatten(tangents, is_leaf=_is_zero)
    types = tree.map(lambda y: abstractify(y).tangent(), out)
    out_types, out_tree = tree.flatten(types)

    def forward(residuals: Any, moving: list[Any]) -> list[Any]:
        given = iter(moving)
        full = structure.unflatten([t if _is_zero(t) else next(given) for t in flat])
        _, moved = operation._forward(residuals[0], _explicit(full))
        leaves = tree.leaves(moved, is_leaf=_is_zero)
        return [instantiate_zeros(t) for t in leaves if t.dtype != float0]

    def backward(residuals: Any, given: list[Any]) -> list[Any]:
        rest = iter(given)
        cts = [Zero(one) if one.dtype == float0 else next(rest) for one in out_types]
        found = operation._backward(residuals[1], nonzero, out_tree.unflatten(cts))
        leaves = tree.leaves(_explicit_gradients(found))
        return [ct for ct, t in zip(leaves, flat, strict=True) if not _is_zero(t)]

    moving = [t for t in flat if not _is_zero(t)]
    moved = iter(call_linear(forward, backward, (primals, kept), moving, may_move=True))
    whole = [Zero(one) if one.dtype == float0 else next(moved) for one in out_types]
    return out, out_tree.unflatten(whole)


# ---------------------------------------------------------------- rules made of others


def _lin_from_jvp(self: HiPrim, nzs_in: tuple[Any, ...], *primals: Any) -> tuple[Any, Any]:
    return self(*primals), primals


def _linearized_from_jvp(self: HiPrim, primals: tuple[Any, ...], *tangents: Any) -> Any:
    return self.jvp(primals, tangents)[1]


def _fwd_from_lin(self: HiPrim, nzs_in: tuple[Any, ...], /, *args: Any) -> tuple[Any, ...]:
    out, *kept = self.lin(nzs_in, *args)
    return out, kept


def _bwd_from_lin(self: HiPrim, kept: Any, outgrad: Any, /) -> Any:
    return _transposed(self, partial(self.linearized, *_without_marks(kept)), outgrad)


def _fwd_from_jvp(self: HiPrim, nzs_in: tuple[Any, ...], /, *args: Any) -> tuple[Any, ...]:
    return self(*args), args


def _bwd_from_jvp(self: HiPrim, args: Any, outgrad: Any, /) -> Any:
    return _transposed(self, partial(_linearized_from_jvp, self, args), outgrad)


def _transposed(operation: HiPrim, moved: Callable[..., Any], outgrad: Any) -> Any:
    tangents = tree.map(lambda aval: aval.tangent(), tuple(operation.in_avals))
    return linear_transpose(moved, *tangents)(_explicit_gradients(outgrad))


def jvp_from_lin(
    self: HiPrim, primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Serve as the method ``jvp`` of an operation with ``lin`` and ``linearized``.

    Args:
      self: the operation.
      primals: the arguments.
      tangents: their tangents.

    Returns:
      the result and its tangent.
    """
    out, *kept = self.lin(_nonzero(tangents), *primals)
    return out, self.linearized(*_without_marks(kept), *tangents)


linearize_from_jvp = (_lin_from_jvp, _linearized_from_jvp)
"""The methods ``lin, linearized`` of an operation with ``jvp``."""

vjp_from_lin = (_fwd_from_lin, _bwd_from_lin)
"""The methods ``vjp_fwd, vjp_bwd_retval`` of an operation with ``lin`` and ``linearized``."""

vjp_from_jvp = (_fwd_from_jvp, _bwd_from_jvp)
"""The methods ``vjp_fwd, vjp_bwd_retval`` of one with ``jvp``, which is computed again there."""


# ---------------------------------------------------------------- for rules of many examples


def _pairs(values: Any, dims: Any) -> tuple[list[Any], Any, list[int | None]]:
    """Return the leaves of a tree, its structure, and the place of the batch axis in each."""
    leaves, structure = tree.flatten(values, is_leaf=_is_zero)
    places = tree.broadcast(dims, structure.unflatten([0] * len(leaves)), is_leaf=_is_none)
    return leaves, structure, tree.leaves(places, is_leaf=_is_none)


def bdims_at_front(axis_data: Axis, args: Any, dims: Any) -> Any:
    """Return arrays with their batch axes in front; one without is repeated.

    Args:
      axis_data: what a rule ``batch`` is given.
      args: a tree of arrays.
      dims: where the axis is in each, None where there is none: a tree like ``args``, or a prefix.
    """
    leaves, structure, places = _pairs(args, dims)
    size = axis_data.size
    moved = [batch_to_front(x, at, size) for x, at in zip(leaves, places, strict=True)]
    return structure.unflatten(moved)


def unmap_avals(axis_data: Axis, avals: Any, dims: Any) -> Any:
    """Return the types of many examples by those of one.

    Args:
      axis_data: what a rule ``batch`` is given.
      avals: a tree of types.
      dims: where the axis is to be in each, None for nowhere: a tree like ``avals``, or a prefix.
    """
    leaves, structure, places = _pairs(avals, dims)
    wider = [
        aval if at is None else batched_aval(aval, axis_data, at)
        for aval, at in zip(leaves, places, strict=True)
    ]
    return structure.unflatten(wider)


def vmap_rule(
    axis_data: Axis, f: Callable[..., Any], in_axes: Any, out_axes: Any, *, sum_match: bool = False
) -> Callable[..., Any]:
    """Return a function vectorized as ``vmap`` does, through which a ``Zero`` passes.

    Args:
      axis_data: what a rule ``batch`` is given.
      f: the function of one example.
      in_axes: where the axis is in each argument.
      out_axes: where it is to be in each result.
      sum_match: must be False.

    Raises:
      NotImplementedError: ``sum_match`` is set.
    """
    if sum_match:
        raise NotImplementedError("vmap_rule sums nothing: sum over the axis that out_axes names")

    def mapped(*args: Any) -> Any:
        leaves, structure, places = _pairs(args, in_axes)
        zeros = [
            Zero(leaf.aval if at is None else example_aval(leaf.aval, at)) if _is_zero(leaf) else 0
            for leaf, at in zip(leaves, places, strict=True)
        ]
        outs: list[Any] = []

        def example(*given: Any) -> list[Any]:
            rest = iter(given)
            full = [zero if _is_zero(zero) else next(rest) for zero in zeros]
            found, out_structure, _ = _pairs(f(*structure.unflatten(full)), None)
            outs[:] = [out_structure, found]
            return [out for out in found if not _is_zero(out)]

        moving = [(x, at) for x, at in zip(leaves, places, strict=True) if not _is_zero(x)]
        axes = tuple([at for _, at in moving])
        arrays = iter(vmap(example, axes, 0, axis_size=axis_data.size)(*[x for x, _ in moving]))
        out_structure, found = outs
        ends = _pairs(out_structure.unflatten(found), out_axes)[2]
        return out_structure.unflatten(
            [
                _wider_zero(axis_data, out, at) if _is_zero(out) else _placed(next(arrays), at)
                for out, at in zip(found, ends, strict=True)
            ]
        )

    return mapped


def _wider_zero(axis_data: Axis, zero: Zero, at: int | None) -> Zero:
    return zero if at is None else Zero(batched_aval(zero.aval, axis_data, at))


def _placed(value: Any, at: int | None) -> Any:
    """Return a value of many examples, whose axis is in front, with that elsewhere."""
    return value[0] if at is None else move_axis(value, 0, at)


# ---------------------------------------------------------------- types above arrays


class HiType:
    """A type above arrays."""


class aval_property:
    """An attribute that tracers of a type are to have.

    Args:
      fget: what gives it.
    """

    def __init__(self, fget: Callable[..., Any]) -> None:
        self.fget = fget


class aval_method:
    """A method that tracers of a type are to have.

    Args:
      fun: the method.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Take note of a class whose instances have a type above arrays: they are refused as values.

    Args:
      val_cls: the class.
      typeof_fn: from an instance to its type.
    """
