"""Rules declared in the field's older style: tables indexed by primitives.

``ad.primitive_jvps[p] = rule`` and its like set slots of the primitive, which is where rules live
here; nothing else holds them.  Where a rule's arguments differ (``batching``, ``mlir``) it is
wrapped.  ``jxkernel.interpreters`` re-exports what stands here.
"""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.compile import eager_callable
from jxkernel.core.avals import (
    ShapedArray,
    abstractify,
    pytype_aval_mappings,
    rank_of,
    register_abstractifier,
)
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.dtypes import canonicalize_dtype
from jxkernel.errors import UndefinedRuleError
from jxkernel.lowering import LoweringContext
from jxkernel.primitives.shape.broadcast import add_tangents, batch_to_front, instantiate
from jxkernel.transforms.stage import trace_flat

__all__ = [
    "RuleTable",
    "apply_primitive",
    "aval_to_ir_type",
    "axis_primitive_batchers",
    "canonicalize_dtype_handlers",
    "defbilinear",
    "defbroadcasting",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "defvectorized",
    "dtype_to_ir_type",
    "fancy_primitive_batchers",
    "ir_constant",
    "lower_fun",
    "primitive_batchers",
    "primitive_jvps",
    "primitive_transposes",
    "register_lowering",
]

Rule = Callable[..., Any]


class RuleTable:
    """One slot of every primitive, as a mapping from primitives to rules.

    Args:
      slot: the name of the slot.
      inwards: makes the slot's rule of one in the table's style.
      outwards: the other way.
    """

    def __init__(
        self,
        slot: str,
        inwards: Callable[[Rule], Rule] = lambda rule: rule,
        outwards: Callable[[Rule], Rule] = lambda rule: rule,
    ) -> None:
        self._slot = slot
        self._inwards = inwards
        self._outwards = outwards

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        primitive.replace_rule(self._slot, self._inwards(rule))

    def __getitem__(self, primitive: Primitive) -> Rule:
        return self._outwards(primitive.rule(self._slot))

    def __contains__(self, primitive: object) -> bool:
        return isinstance(primitive, Primitive) and callable(getattr(primitive, self._slot))

    def __iter__(self) -> Iterator[Primitive]:
        return (one for one in Primitive.registry.values() if one in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, primitive: Primitive, default: Any = None) -> Any:
        """Return the rule of a primitive, or a default where it has none."""
        present = primitive in self
        return self[primitive] if present else default

    def __repr__(self) -> str:
        return f"<the {self._slot} rules of {len(self)} primitives>"


class KindTable(MutableMapping[type, Callable[[Any], Any]]):
    """What makes an array of values of a kind: setting an entry makes the kind count as arrays.

    The values need ``__array__`` as well, by which their data are read.
    """

    def __setitem__(self, kind: type, handler: Callable[[Any], Any]) -> None:
        register_abstractifier(kind, lambda value: abstractify(handler(value)))

    def __getitem__(self, kind: type) -> Callable[[Any], Any]:
        if kind not in pytype_aval_mappings:
            raise KeyError(kind)
        return _canonical

    def __delitem__(self, kind: type) -> None:
        del pytype_aval_mappings[kind]

    def __iter__(self) -> Iterator[type]:
        return iter(pytype_aval_mappings)

    def __len__(self) -> int:
        return len(pytype_aval_mappings)


def _canonical(value: Any) -> Any:
    array = np.asarray(value)
    return array.astype(canonicalize_dtype(array.dtype), copy=False)


canonicalize_dtype_handlers = KindTable()
"""Functions from a value of a kind to an array of a dtype that arrays have."""

# ---------------------------------------------------------------- derivatives

primitive_jvps = RuleTable("jvp")
"""Rules ``(primals, tangents, **params) -> (result, tangent)``."""

primitive_transposes = RuleTable("transpose")
"""Rules ``(ct, *args, **params) -> cotangents``."""


def defjvp(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Declare the derivative of a primitive of one result, argument by argument.

    Args:
      primitive: the primitive.
      *jvprules: for each argument, from its tangent, the primals and the parameters to the tangent
        of the result: ``rule(t, *primals, **params)``; None where the derivative is zero.
    """
    adapted = [
        None if rule is None else (lambda t, y, *xs, rule=rule, **params: rule(t, *xs, **params))
        for rule in jvprules
    ]
    defjvp2(primitive, *adapted)


def defjvp2(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Declare a derivative as ``defjvp`` does, by rules that are given the result too.

    Args:
      primitive: the primitive.
      *jvprules: for each argument ``rule(t, result, *primals, **params)``, or None.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        parts = [
            rule(t, y, *primals, **params)
            for rule, t in zip(jvprules, tangents, strict=True)
            if rule is not None and type(t) is not Zero
        ]
        return y, reduce(add_tangents, parts) if parts else Zero.tangent_of(y)

    primitive_jvps[primitive] = jvp


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare a primitive linear in all its arguments together.

    Args:
      primitive: the primitive.
      transpose_rule: ``rule(ct, *args, **params) -> cotangents``.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return y, Zero.tangent_of(y)
        full = [instantiate(t) for t in tangents]
        return y, primitive.bind(*full, **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose_rule


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare a linear primitive whose transpose reads only the cotangent.

    Args:
      primitive: the primitive.
      transpose_rule: ``rule(ct, **params) -> cotangents``.
    """
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Declare a primitive linear in each of its two arguments.

    Args:
      prim: the primitive.
      lhs_rule: ``rule(ct, x, y, **params)``, the cotangent of the first argument.
      rhs_rule: the same for the second.
    """
    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if is_linear(x):
            return [lhs_rule(ct, x, y, **params), None]
        return [None, rhs_rule(ct, x, y, **params)]

    primitive_transposes[prim] = transpose


# ---------------------------------------------------------------- batching


def _batch_inwards(rule: Rule) -> Rule:
    def batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(tuple(args), tuple(dims), **params)

    return batch


def _batch_outwards(rule: Rule) -> Rule:
    def batcher(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(Axis(_batch_size(args, dims)), args, dims, **params)

    return batcher


def _batch_size(args: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = (
        abstractify(arg).shape[dim] for arg, dim in zip(args, dims, strict=True) if dim is not None
    )
    return next(sizes)


primitive_batchers = RuleTable("batch", _batch_inwards, _batch_outwards)
"""Rules ``(args, dims, **params) -> (result, dim)``; a dim is None for what has no batch axis."""


def _batch_of_axis_inwards(rule: Rule) -> Rule:
    def batch(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(axis.size, axis.name, None, tuple(args), tuple(dims), **params)

    return batch


def _batch_of_axis_outwards(rule: Rule) -> Rule:
    def batcher(size: int, name: Any, kind: Any, args: Any, dims: Any, **params: Any) -> Any:
        return rule(Axis(size, name), args, dims, **params)

    return batcher


axis_primitive_batchers = RuleTable("batch", _batch_of_axis_inwards, _batch_of_axis_outwards)
"""Rules ``(size, name, kind, args, dims, **params) -> (result, dim)``, which see the new axis; the
kind of the trace is None."""

fancy_primitive_batchers = RuleTable("batch")
"""Rules ``(axis, args, dims, **params) -> (result, dim)``, as primitives here have them: the axis
has a ``size``, a ``name`` and an ``spmd_name``."""


def defvectorized(prim: Primitive) -> None:
    """Declare an elementwise primitive of one argument: it works on batches as it stands."""
    primitive_batchers[prim] = lambda args, dims, **params: (prim.bind(*args, **params), dims[0])


def defbroadcasting(prim: Primitive) -> None:
    """Declare an elementwise primitive of arguments that broadcast along new leading axes."""

    def batcher(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        size = _batch_size(args, dims)
        full = [
            arg if not rank_of(arg) else batch_to_front(arg, dim, size)
            for arg, dim in zip(args, dims, strict=True)
        ]
        return prim.bind(*full, **params), 0

    primitive_batchers[prim] = batcher


# ---------------------------------------------------------------- lowering


class _ByPlatform:
    """A ``lower`` rule made of rules for platforms and one for the rest.

    Attributes:
      rules: by platform; None is the rest.
    """

    __slots__ = ("primitive", "rules")

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive
        self.rules: dict[str | None, Rule] = {}

    def __call__(self, context: LoweringContext, *values: Any, **params: Any) -> Any:
        platform = context.module.platform
        rule = self.rules.get(platform) or self.rules.get(None)
        if rule is None:
            raise UndefinedRuleError(
                self.primitive.name,
                "lower",
                f"there is one for {', '.join(map(str, self.rules))} and none for {platform}",
            )
        # The generated classes of dialects append to what is current, and infer their results.
        with context.loc, context.ip:
            out = rule(context, *values, **params)
        outs = [_value(one) for one in out] if isinstance(out, (list, tuple)) else [_value(out)]
        return outs if self.primitive.multiple_results else outs[0]


def _value(value: Any) -> Any:
    """Return a value that a rule gave, which may be the operation of one result."""
    return getattr(value, "result", value)


_PLATFORMS = {"gpu": ("cuda", "rocm")}


def register_lowering(
    prim: Primitive,
    rule: Rule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Rule:
    """Declare how a primitive becomes StableHLO.

    Args:
      prim: the primitive.
      rule: ``rule(context, *values, **params)``, which appends operations where the context is
        and returns the values of the results, in a sequence.
      platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` or ``tpu``; every other one where not given.
      inline: taken for compatibility: rules are always written out where they are used.
      cacheable: taken for compatibility.

    Returns:
      the rule.
    """
    lower = prim.lower
    if not isinstance(lower, _ByPlatform):
        lower = _ByPlatform(prim)
        prim.replace_rule("lower", lower)
    for name in (None,) if platform is None else _PLATFORMS.get(platform, (platform,)):
        lower.rules[name] = rule
    return rule


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """Return the lowering rule that a function of arrays amounts to.

    Args:
      fun: applied to tracers of the operands, with the parameters as keywords.
      multiple_results: whether it returns a sequence.
    """

    def rule(context: LoweringContext, *values: Any, **params: Any) -> list[Any]:
        def flat(*args: Any) -> Sequence[Any]:
            out = fun(*args, **params)
            return list(out) if multiple_results else [out]

        return context.inline(trace_flat(flat, context.avals_in), values)

    return rule


def aval_to_ir_type(aval: ShapedArray, *more: Any) -> Any:
    """Return the MLIR type of an aval; a context before it, as the field has it, is ignored."""
    return _tensor(more[0] if more else aval)


def _tensor(aval: ShapedArray) -> Any:
    return hlo.tensor_type(aval.shape, aval.dtype)


def dtype_to_ir_type(dtype: Any) -> Any:
    """Return the MLIR element type of a dtype."""
    return hlo.element_type(dtype)


def ir_constant(val: Any) -> Any:
    """Append a constant where a lowering rule is, and return its value.

    Args:
      val: a NumPy array or number.
    """
    aval = abstractify(val)
    point = hlo.ir.InsertionPoint.current
    builder = hlo.Builder(point, hlo.ir.Location.current)
    return builder.constant(val, aval.dtype)


# ---------------------------------------------------------------- evaluation


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Run a primitive on arrays by compiling it, as it runs where no ``def_impl`` says otherwise.

    Args:
      prim: the primitive, which has a lowering rule.
      *args: arrays.
      **params: its parameters.
    """
    key = tuple(params.items())
    found = prim.eager_cache.get(key)
    return (eager_callable(prim, key) if found is None else found)(*args)
