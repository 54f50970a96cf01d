"""``custom_partitioning_p``: a call of a program that the user says how to divide over devices.

XLA's partitioner asks, while it compiles: it tells how operands and results shall lie, and is given
the program of one device and how its operands and results do lie.  Where nothing is divided the
program itself is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from jxkernel import hlo
from jxkernel._jaxlib import HloSharding, OpSharding, register_partitioner
from jxkernel.compile.placement import named, whole_on
from jxkernel.compile.shape_dtype import ShapeDtypeStruct
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import extend_axes
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.unfolding import unfold_call
from jxkernel.higher_order.programs import evaluate_compiled, typed_by_programs
from jxkernel.lowering.lower import lower_piece
from jxkernel.runtime.failures import keep_failure
from jxkernel.sharding import NamedSharding
from jxkernel.sharding.mesh import in_shard_map
from jxkernel.sharding.rules import SdyShardingRule, parse_rule
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

__all__ = ["UserPartitioning", "custom_partitioning_p"]

_TARGET = "CustomSPMDPartitioning"


class UserPartitioning:
    """How the user has a call partitioned; a parameter of its equation, compared by identity.

    Attributes:
      name: the function's name.
      partition: see ``custom_partitioning.def_partition``.
      rule: a sharding rule, or a function of (mesh, operands' types, results' types) that returns
        one; None where the user gave none.
      static: the values of static arguments, which the user's functions get first.
      in_tree: the structure of the arguments, a tuple.
      out_tree: the structure of the result.
    """

    __slots__ = ("in_tree", "name", "out_tree", "partition", "rule", "static")

    def __init__(
        self,
        name: str,
        partition: Callable[..., Any],
        rule: Any,
        static: tuple[Any, ...],
        trees: tuple[Any, Any],
    ) -> None:
        self.name = name
        self.partition = partition
        self.rule = rule
        self.static = static
        self.in_tree, self.out_tree = trees

    def __repr__(self) -> str:
        return self.name

    def rule_text(self, mesh: Any, ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> str:
        """Return the sharding rule of a call as MLIR's text.

        Raises:
          NotImplementedError: the user gave none.
          ValueError: it does not fit the operands.
        """
        rule = self.rule
        if callable(rule):
            rule = rule(*self.static, mesh, list(ins), list(outs))
            rule = parse_rule(rule) if isinstance(rule, str) else rule
        if not isinstance(rule, SdyShardingRule):
            raise NotImplementedError(
                f"custom_partitioning of {self.name} over a mesh needs a sharding_rule, such as "
                "def_partition(..., sharding_rule='i j -> i j'): XLA's partitioner asks for no "
                "other way to pass shardings on"
            )
        return rule.attribute([aval.shape for aval in ins], [aval.shape for aval in outs])


class PartitionedCall:
    """One call in one module: XLA asks how it is partitioned while it compiles the module.

    Attributes:
      partitioning: how the user divides it.
      mesh: the mesh that the module is divided over.
      platform: what it is compiled for.
      ins: the types of the operands.
      outs: the types of the results.
      key: what XLA calls it by.
    """

    __slots__ = ("__weakref__", "ins", "key", "mesh", "outs", "partitioning", "platform")

    def __init__(self, partitioning: UserPartitioning, context: Any) -> None:
        self.partitioning = partitioning
        self.mesh = context.module.mesh
        self.platform: str = context.module.platform
        self.ins: Sequence[ShapedArray] = context.avals_in
        self.outs: Sequence[ShapedArray] = context.avals_out
        self.key = f"{partitioning.name}#{next(_NUMBERS)}"
        _CALLS[self.key] = self

    def answer(self, ins: Sequence[Any], result: Any) -> tuple[bytes, list[Any], Any]:
        """Return the module of one device, and how its operands and results lie.

        Args:
          ins: how XLA would have the operands lie.
          result: how it would have the result lie, or the results together.

        Raises:
          TypeError, ValueError: what the user says does not fit.
        """
        partitioning = self.partitioning
        several = len(self.outs) != 1
        results = result.tuple_elements() if several else [result]
        wanted_ins = partitioning.in_tree.unflatten(self._told(self.ins, ins))
        wanted_outs = partitioning.out_tree.unflatten(self._told(self.outs, results))
        said = partitioning.partition(*partitioning.static, self.mesh, wanted_ins, wanted_outs)
        if not isinstance(said, tuple) or len(said) != 4:
            raise TypeError(
                f"partition of {partitioning.name} returns (mesh, function, the result's "
                f"shardings, the arguments' shardings), got {said!r:.100}"
            )
        mesh, lower, outs, ins = said
        out_shardings = self._given(outs, partitioning.out_tree, "result")
        in_shardings = self._given(ins, partitioning.in_tree, "arguments")
        piece = self._piece(mesh or self.mesh, lower, in_shardings, out_shardings)
        tiled = [
            [
                one._to_xla_hlo_sharding(aval.ndim)
                for one, aval in zip(shardings, avals, strict=True)
            ]
            for shardings, avals in ((in_shardings, self.ins), (out_shardings, self.outs))
        ]
        return piece, tiled[0], _together(tiled[1]) if several else tiled[1][0]

    def _told(self, avals: Sequence[ShapedArray], shardings: Sequence[Any]) -> list[Any]:
        return [
            ShapeDtypeStruct(
                aval.shape,
                aval.dtype,
                sharding=named(given, self.mesh, aval.ndim) or whole_on(self.mesh),
            )
            for aval, given in zip(avals, shardings, strict=True)
        ]

    def _given(self, shardings: Any, structure: Any, what: str) -> list[NamedSharding]:
        leaves, found = physical.flatten(shardings)
        if found != structure or not all(isinstance(leaf, NamedSharding) for leaf in leaves):
            raise TypeError(
                f"partition of {self.partitioning.name} returns for the {what} a NamedSharding for "
                f"each array, as {physical.logical(structure)}, got {shardings!r:.100}"
            )
        return leaves

    def _piece(
        self,
        mesh: Any,
        lower: Callable[..., Any],
        ins: Sequence[NamedSharding],
        outs: Sequence[NamedSharding],
    ) -> bytes:
        """Return the module of one device, made of the user's function of pieces."""
        partitioning = self.partitioning
        pieces = _pieces(self.ins, ins)

        def run(*leaves: Any) -> list[Any]:
            result, structure = physical.flatten(lower(*partitioning.in_tree.unflatten(leaves)))
            if structure != partitioning.out_tree:
                raise TypeError(
                    f"the function of pieces of {partitioning.name} returns "
                    f"{physical.logical(partitioning.out_tree)}, got {physical.logical(structure)}"
                )
            return result

        with (
            extend_axes(mesh.shape_tuple, manual=True, tracked=False),
            in_shard_map(mesh, mesh.axis_names),
        ):
            closed = trace_flat(run, pieces, name=partitioning.name)
        for found, wanted in zip(closed.out_avals, _pieces(self.outs, outs), strict=True):
            if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
                raise TypeError(
                    f"the function of pieces of {partitioning.name} gave {found.short()} where a "
                    f"piece of the result is {wanted.short()}"
                )
        if closed.effects:
            raise ValueError(
                f"the function of pieces of {partitioning.name} has an effect, such as a callback: "
                "leave it out"
            )
        return lower_piece(closed, name=partitioning.name, platform=self.platform, mesh=mesh)


def _pieces(avals: Sequence[ShapedArray], shardings: Sequence[NamedSharding]) -> list[ShapedArray]:
    return [
        ShapedArray(sharding.shard_shape(aval.shape), aval.dtype)
        for aval, sharding in zip(avals, shardings, strict=True)
    ]


def _together(shardings: Sequence[Any]) -> Any:
    """Return the sharding of several results as XLA's one of a tuple."""
    found = OpSharding()
    found.type = OpSharding.Type.TUPLE
    found.tuple_shardings = [sharding.to_proto() for sharding in shardings]
    return HloSharding.from_proto(found)


_CALLS: WeakValueDictionary[str, PartitionedCall] = WeakValueDictionary()
"""The calls in modules that are alive, by their keys; programs that were lowered hold them."""

_NUMBERS = count()


def _answer(
    shapes: Sequence[Any], ins: Sequence[Any], shape: Any, result: Any, key: bytes
) -> tuple[bytes, list[Any], Any]:
    """Answer XLA; an error is kept, and the compilation raises it as it was."""
    try:
        return _CALLS[key.decode()].answer(ins, result)
    except Exception as error:
        raise RuntimeError(keep_failure(error)) from None


def _not_asked(*args: Any) -> None:
    """Say nothing: shardings are passed on by the rule."""
    raise NotImplementedError("shardings are passed on by sharding rules")


@cache
def _register() -> None:
    register_partitioner(_TARGET, _not_asked, _answer, _not_asked, True)


# ---------------------------------------------------------------- the primitive

_NO_RULE = Undefined(
    "custom_partitioning says how to divide a call, and not its derivative or its batched form: "
    "give the function around it a rule with custom_vjp, custom_jvp or custom_vmap"
)

custom_partitioning_p = Primitive("custom_partitioning", multiple_results=True)
custom_partitioning_p.varies = typed_by_programs


@custom_partitioning_p.def_abstract_eval
def _custom_partitioning_abstract_eval(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, partitioning: UserPartitioning
) -> list[ShapedArray]:
    return jaxpr.out_avals


@custom_partitioning_p.def_lower
def _custom_partitioning_lower(
    context: Any, *values: Any, jaxpr: ClosedJaxpr, partitioning: UserPartitioning
) -> Sequence[Any]:
    module = context.module
    if module.device_count == 1 or context.manual_mesh is not None:
        return context.inline(jaxpr, values)
    _register()
    call = PartitionedCall(partitioning, context)
    module.partitions.append(call)
    return context.op(
        "stablehlo.custom_call",
        context.out_types,
        values,
        {
            "call_target_name": hlo.string_attr(_TARGET),
            "api_version": hlo.i32_attr(2),
            "backend_config": hlo.string_attr(call.key),
            "sdy.sharding_rule": hlo.parse_attribute(
                partitioning.rule_text(module.mesh, context.avals_in, context.avals_out)
            ),
        },
    ).results


custom_partitioning_p.define(
    batch=_NO_RULE,
    evaluate=evaluate_compiled(custom_partitioning_p),
    jvp=_NO_RULE,
    sharding=AS_TYPED,
    transpose=_NO_RULE,
    unfold=unfold_call("jaxpr"),
)
