"""Lowering programs that leave their process: constants inside, sizes perhaps symbolic.

A symbolic size is ``?`` in a module.  Operations that state the shape of their result take it as
an operand then, a vector of numbers computed from the sizes of the arguments; all others are
written as ever.  XLA's shape refinement folds these computations once the arguments' sizes are
known (``hlo.artifacts.refined``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.dimensions import Dimension, is_symbolic
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.size_arithmetic import Arithmetic
from jxkernel.dtypes import DType
from jxkernel.lowering.lower import LoweringContext, ModuleState, module_name, types_of
from jxkernel.lowering.program import LoweredProgram

__all__ = ["lower_for_export", "solved_dimensions"]

_INT = np.dtype(np.int32)


class _SymbolicModule(ModuleState):
    """A module with the value of each dimension variable, computed at the start of ``main``."""

    __slots__ = ("sizes",)

    def __init__(self, name: str, platform: str) -> None:
        super().__init__(name, platform)
        self.sizes: dict[str, Any] = {}


class _Values(Arithmetic):
    """Computing with sizes that are values of the module."""

    def __init__(self, context: SymbolicContext) -> None:
        self.context = context

    def constant(self, value: int) -> Any:
        return self.context.constant(value, _INT)

    def _apply(self, name: str, left: Any, right: Any) -> Any:
        return self.context.value(f"stablehlo.{name}", hlo.tensor_type((), _INT), (left, right))

    def add(self, left: Any, right: Any) -> Any:
        return self._apply("add", left, right)

    def multiply(self, left: Any, right: Any) -> Any:
        return self._apply("multiply", left, right)

    def mod(self, left: Any, right: Any) -> Any:
        # StableHLO's remainder has the sign of the dividend.
        shifted = self.add(self._apply("remainder", left, right), right)
        return self._apply("remainder", shifted, right)

    def floordiv(self, left: Any, right: Any) -> Any:
        whole = self._apply("subtract", left, self.mod(left, right))
        return self._apply("divide", whole, right)

    def max(self, left: Any, right: Any) -> Any:
        return self._apply("maximum", left, right)

    def min(self, left: Any, right: Any) -> Any:
        return self._apply("minimum", left, right)


class SymbolicContext(LoweringContext):
    """Lowers equations whose types may have symbolic sizes."""

    __slots__ = ()

    module: _SymbolicModule

    def op(
        self,
        name: str,
        types: Sequence[Any],
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        regions: int = 0,
    ) -> Any:
        """Append the operation, or the one that takes sizes as operands."""
        attributes = attributes or {}
        symbolic = [key for key, value in attributes.items() if _is_symbolic(value)]
        rewrite = _REWRITES.get(name)
        if rewrite is not None and (symbolic or isinstance(types[0], hlo.SymbolicType)):
            name, operands, attributes = rewrite(self, types[0], operands, attributes)
        elif symbolic:
            raise NotImplementedError(
                f"{self.primitive_name} cannot be exported with a symbolic {symbolic[0]}: its "
                f"operation {name} takes numbers only. Export with concrete shapes."
            )
        return super().op(name, hlo.plain_types(types), operands, attributes, regions)

    def constant(self, value: Any, dtype: DType = None) -> Any:
        """Append a constant, or the value of a size."""
        if not is_symbolic(value):
            return super().constant(value, dtype)
        size = self.size(value)
        if dtype is None or dtype == _INT:
            return size
        return self.value("stablehlo.convert", hlo.tensor_type((), dtype), (size,))

    def value(
        self,
        name: str,
        kind: Any,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
    ) -> Any:
        """Append an operation of one result and return that result."""
        return self.op(name, (kind,), operands, attributes).result

    def region(
        self,
        operation: Any,
        index: int,
        types: Sequence[Any],
        body: Callable[..., Sequence[Any]],
        *,
        end: str = "stablehlo.return",
    ) -> None:
        """Fill a region of an operation, whose builder knows symbolic sizes too."""

        def fill(builder: hlo.Builder, *arguments: Any) -> Sequence[Any]:
            return body(type(self)(builder.ip, builder.loc, self.module), *arguments)

        super().region(operation, index, hlo.plain_types(types), fill, end=end)

    def manual_computation(
        self,
        closed: ClosedJaxpr,
        values: Sequence[Any],
        mesh: Any,
        ins: Sequence[Any],
        outs: Sequence[Any],
        manual_axes: Sequence[Any],
    ) -> Sequence[Any]:
        """Append a program that every device runs on its own pieces, of sizes that are known.

        Raises:
          NotImplementedError: a size is symbolic; the program sees nothing of what is around it,
            and so not the values of sizes.
        """
        avals = [*self.avals_in, *self.avals_out]
        sizes = [size for aval in avals for size in aval.shape] + list(closed.consts)
        if mesh.size > 1 and any(map(is_symbolic, sizes)):
            shown = ", ".join([aval.short() for aval in self.avals_in])
            raise NotImplementedError(
                f"shard_map cannot be exported with symbolic sizes, of ({shown}): export with "
                "concrete shapes, or leave the division to XLA, with_sharding_constraint"
            )
        return super().manual_computation(closed, values, mesh, ins, outs, manual_axes)

    def call_program(self, closed: ClosedJaxpr, name: str, args: Sequence[Any]) -> Sequence[Any]:
        """Write a nested program out: the sizes are values of ``main``."""
        return self.inline(closed, args)

    def nested(self, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        """Append a nested program; a captured size is computed, other constants are written."""
        constants = [
            self.constant(value if is_symbolic(value) else np.asarray(value))
            for value in closed.consts
        ]
        return self.equations(closed.jaxpr, [*constants, *args])

    def size(self, size: Any) -> Any:
        """Return the value of a size."""
        arithmetic = _Values(self)
        if isinstance(size, Dimension):
            return size.evaluate(self.module.sizes, arithmetic)
        return arithmetic.constant(size)

    def sizes(self, values: Sequence[Any]) -> Any:
        """Return a vector of sizes."""
        if not any(map(is_symbolic, values)):
            return self.constant(np.asarray(values, _INT))
        one = hlo.tensor_type((1,), _INT)
        parts = [self.value("stablehlo.reshape", one, (self.size(value),)) for value in values]
        kind = hlo.tensor_type((len(parts),), _INT)
        return self.value("stablehlo.concatenate", kind, parts, {"dimension": hlo.i64_attr(0)})


def _is_symbolic(attribute: Any) -> bool:
    return isinstance(attribute, hlo.SymbolicArray)


def _numbers(attribute: Any) -> Sequence[Any]:
    return attribute.values if _is_symbolic(attribute) else list(attribute)


_Rewritten = tuple[str, Sequence[Any], dict[str, Any]]


def _with_shape(name: str) -> Callable[..., _Rewritten]:
    """Return the rewrite to an operation whose last operand is the shape of its result."""

    def rewrite(
        context: SymbolicContext, kind: Any, operands: Sequence[Any], attributes: dict[str, Any]
    ) -> _Rewritten:
        return name, [*operands, context.sizes(kind.shape)], attributes

    return rewrite


def _with_vectors(name: str, *vectors: str) -> Callable[..., _Rewritten]:
    """Return the rewrite to an operation that takes some attributes as operands."""

    def rewrite(
        context: SymbolicContext, kind: Any, operands: Sequence[Any], attributes: dict[str, Any]
    ) -> _Rewritten:
        if not any(_is_symbolic(attributes[vector]) for vector in vectors):
            return name.replace("real_dynamic_", "").replace("dynamic_", ""), operands, attributes
        taken = [context.sizes(_numbers(attributes[vector])) for vector in vectors]
        rest = {key: value for key, value in attributes.items() if key not in vectors}
        return name, [*operands, *taken], rest

    return rewrite


def _dynamic_slice(
    context: SymbolicContext, kind: Any, operands: Sequence[Any], attributes: dict[str, Any]
) -> _Rewritten:
    """Return a slice of symbolic size at computed positions, as the gather of one window.

    Both keep the window within the operand.
    """
    if not _is_symbolic(attributes["slice_sizes"]):
        return "stablehlo.dynamic_slice", operands, attributes
    operand, *starts = operands
    rank = len(starts)
    one = hlo.tensor_type((1,), _INT)
    parts = [
        context.value(
            "stablehlo.reshape",
            one,
            (context.value("stablehlo.convert", hlo.tensor_type((), _INT), (start,)),),
        )
        for start in starts
    ]
    along = {"dimension": hlo.i64_attr(0)}
    vector = context.value("stablehlo.concatenate", hlo.tensor_type((rank,), _INT), parts, along)
    axes = list(range(rank))
    numbers = hlo.parse_attribute(
        f"#stablehlo.gather<offset_dims = {axes}, start_index_map = {axes}, index_vector_dim = 0>"
    )
    sizes = context.sizes(_numbers(attributes["slice_sizes"]))
    return (
        "stablehlo.dynamic_gather",
        (operand, vector, sizes),
        {"dimension_numbers": numbers, "indices_are_sorted": hlo.bool_attr(True)},
    )


_REWRITES: Mapping[str, Callable[..., _Rewritten]] = {
    "stablehlo.broadcast_in_dim": _with_shape("stablehlo.dynamic_broadcast_in_dim"),
    "stablehlo.reshape": _with_shape("stablehlo.dynamic_reshape"),
    "stablehlo.iota": _with_shape("stablehlo.dynamic_iota"),
    "stablehlo.slice": _with_vectors(
        "stablehlo.real_dynamic_slice", "start_indices", "limit_indices", "strides"
    ),
    "stablehlo.pad": _with_vectors(
        "stablehlo.dynamic_pad", "edge_padding_low", "edge_padding_high", "interior_padding"
    ),
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.gather": _with_vectors("stablehlo.dynamic_gather", "slice_sizes"),
}
"""The operations that state a shape, and what takes it as an operand instead."""


def solved_dimensions(
    shapes: Sequence[Sequence[Any]],
) -> Iterator[tuple[str, int, int, int, Any]]:
    """Yield how each dimension variable follows from the sizes of the arguments.

    Yields:
      ``(name, argument, axis, factor, rest)``: ``factor * name + rest`` is the size of that axis,
      where ``rest`` depends on variables that were yielded before.

    Raises:
      ValueError: one does not follow.
    """
    known: set[str] = set()
    axes = [
        (argument, axis, size)
        for argument, shape in enumerate(shapes)
        for axis, size in enumerate(shape)
        if isinstance(size, Dimension)
    ]
    wanted = {name for _, _, size in axes for name in size.variables()}
    while wanted - known:
        for argument, axis, size in axes:
            name = _only_unknown(size, known)
            if name is not None:
                factor = size.terms[(name, 1),]
                known.add(name)
                yield name, argument, axis, factor, size - factor * Dimension.of(name, size.scope)
                break
        else:
            missing = ", ".join(sorted(wanted - known))
            raise ValueError(
                f"the dimension variables {missing} do not follow from the shapes of the "
                f"arguments {[tuple(shape) for shape in shapes]}: let each be the size of an axis, "
                "perhaps times or plus a number"
            )


def _only_unknown(size: Dimension, known: set[str]) -> str | None:
    """Return the variable that a size determines: the only one unknown, in a linear term alone."""
    unknown = size.variables() - known
    if len(unknown) != 1:
        return None
    (name,) = unknown
    if ((name, 1),) not in size.terms:
        return None
    rest = size - size.terms[(name, 1),] * Dimension.of(name, size.scope)
    return None if isinstance(rest, Dimension) and name in rest.variables() else name


def lower_for_export(
    closed: ClosedJaxpr,
    *,
    name: str,
    platform: str,
    mesh: Any = None,
    in_shardings: Sequence[Any] = (),
    out_shardings: Sequence[Any] = (),
) -> LoweredProgram:
    """Lower a program to a module that needs nothing of this process.

    Its constants are written into it, and it takes all arguments, used or not.  How arguments and
    results are divided is said by operations of ``main``, which go along where it is copied.

    Args:
      closed: the program; its types may have symbolic sizes.
      name: the module's name, made safe for MLIR.
      platform: the platform to lower for.
      mesh: a mesh of the devices that it is for, in their order; None for one device.
      in_shardings: how each argument is divided over them, or None; read only with a mesh.
      out_shardings: the same for the results.

    Raises:
      ValueError: a dimension variable does not follow from the arguments' shapes.
      NotImplementedError: an operation takes no symbolic size where it is given one.
    """
    shapes = [aval.shape for aval in closed.in_avals]
    avals = [*closed.in_avals, *closed.out_avals]
    symbolic = any(is_symbolic(size) for aval in avals for size in aval.shape)
    state = _SymbolicModule(f"jit_{module_name(name)}", platform)
    state.portable = True
    if mesh is not None:
        state.device_count, state.partitioned = mesh.size, True
        state.meshes.symbol(mesh)
    state.builder.set_attribute("mhlo.num_partitions", hlo.i32_attr(state.device_count))
    state.builder.set_attribute("mhlo.num_replicas", hlo.i32_attr(1))
    function = state.builder.function(
        "main",
        hlo.plain_types(types_of(closed.in_avals)),
        hlo.plain_types(types_of(closed.out_avals)),
        public=True,
    )
    kind = SymbolicContext if symbolic else LoweringContext
    context = kind(function.builder.ip, hlo.unknown_location, state)
    if isinstance(context, SymbolicContext):
        _define_sizes(context, function.arguments, shapes)
    outs = context.nested(closed, _lying(context, function.arguments, in_shardings))
    function.returns(_lying(context, outs, out_shardings))
    count = len(closed.consts)
    kept = tuple(range(count, count + len(shapes)))
    return LoweredProgram(state.builder.module, name, kept, platform, tuple(state.callbacks))


def _lying(
    context: LoweringContext, values: Sequence[Any], shardings: Sequence[Any]
) -> Sequence[Any]:
    """Return values that lie as shardings say, where they do."""
    if not context.module.partitioned:
        return values
    return [
        value
        if sharding is None
        else context.value(
            "sdy.sharding_constraint",
            value.type,
            (value,),
            {"sharding": context.module.meshes.sharding(sharding, value.type.rank)},
        )
        for value, sharding in zip(values, shardings, strict=True)
    ]


def _define_sizes(
    context: SymbolicContext, arguments: Sequence[Any], shapes: Sequence[Sequence[Any]]
) -> None:
    """Compute the value of each dimension variable from the sizes of the arguments."""
    arithmetic = _Values(context)
    scalar = hlo.tensor_type((), _INT)
    for name, argument, axis, factor, rest in solved_dimensions(shapes):
        size = context.value(
            "stablehlo.get_dimension_size",
            scalar,
            (arguments[argument],),
            {"dimension": hlo.i64_attr(axis)},
        )
        if is_symbolic(rest) or rest:
            size = arithmetic.add(size, context.size(-rest))
        if factor != 1:
            size = arithmetic.floordiv(size, arithmetic.constant(factor))
        context.module.sizes[name] = size
