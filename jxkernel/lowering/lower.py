"""Lowering jaxprs to StableHLO.

A rule is called ``rule(context, *values, **params)`` and returns a value, or a sequence of them.
The context is a ``Builder`` (so a rule appends operations to it) that also tells the types of
the equation being lowered.  One context serves one block; it is updated per equation, because
an object per equation costs as much as the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from math import prod
from typing import Any, Protocol

import numpy as np

from jxkernel import hlo
from jxkernel._jaxlib import threads, version
from jxkernel.config import long_chains, loop_unrolling
from jxkernel.core.avals import ShapedArray
from jxkernel.core.effects import TOKEN, has_ordered
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var, likeness, nesting
from jxkernel.lowering.chains import stored_values
from jxkernel.lowering.dividing import is_divided
from jxkernel.lowering.kernel_loops import has_kernel_loops
from jxkernel.lowering.keys import made_keys
from jxkernel.lowering.partitioning import Meshes, Partitioning, partitioned_signature
from jxkernel.lowering.program import LoweredProgram
from jxkernel.lowering.repeats import LEAST_EQUATIONS, Call, Repeated, Step, with_calls
from jxkernel.lowering.unrolling import is_unrolled
from jxkernel.primitives.shape.transpose import transpose_p
from jxkernel.primitives.sharding.constraints import divide_anew, mesh_cast_p
from jxkernel.sharding.named import NamedSharding
from jxkernel.sharding.spec import PartitionSpec
from jxkernel.source import attributes_of, place_of, scope_of, user_frame

__all__ = ["LoweringContext", "LoweringRule", "ModuleState", "lower_program"]

_DEEPEST_CALL = 64
"""XLA visits calls by recursion on threads of small stacks: 200 deep ends the process (0.10.2)."""


_BARRIER = "stablehlo.optimization_barrier"
_ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}
_ONE_KERNEL_SINCE = (0, 11, 2)
_PLAIN = tuple(
    [
        f"stablehlo.{name}"
        for name in (
            *("add", "subtract", "multiply", "divide", "negate", "convert", "complex", "real"),
            *("imag", "reshape", "transpose", "broadcast", "reduce", "slice", "concatenate"),
            *("pad", "select", "gather", "dot_general"),
        )
    ]
)
"""Operations that work on shares of sums, where an equation is more than one."""
_SUMMING = ("stablehlo.reduce", "stablehlo.dot_general")
"""The first jaxlib whose XLA gives such a call the number of arguments that it has."""
_INDEX = np.dtype(np.int32)


class LoweringRule(Protocol):
    """How one application of a primitive becomes StableHLO."""

    def __call__(self, context: LoweringContext, *values: Any, **params: Any) -> Any:
        """Append the operations and return the value(s) of the result(s)."""


class ModuleState:
    """What the functions of one module share.

    Attributes:
      builder: the module being built.
      platform: ``cpu``, ``cuda``, ``rocm`` or ``tpu``.
      functions: the function already made for each nested program.
      callbacks: host functions referred to by index.
      device_count: how many devices it is for.
      manual_axes: the mesh axes that the ``shard_map``s around handle.
      manual_mesh: the mesh whose axes collectives may name; None outside ``shard_map``.
      axis_indices: in a ``shard_map`` over some axes of its mesh, the device's index along each.
      mesh: the mesh that its arguments and results are divided over; None for none.
      meshes: the meshes that it declares.
      partitions: what XLA asks of this process while it compiles the module.
      partitioned: whether it is for the devices of a mesh.
      portable: whether other versions of jaxlib are to compile it.
      cuts_chains: whether long chains are cut.
      stored: how many values are stored where chains are cut.
    """

    __slots__ = (
        "axis_indices",
        "builder",
        "callbacks",
        "cuts_chains",
        "device_count",
        "functions",
        "manual_axes",
        "manual_mesh",
        "mesh",
        "meshes",
        "partitioned",
        "partitions",
        "platform",
        "portable",
        "stored",
    )

    def __init__(self, name: str, platform: str) -> None:
        self.builder = hlo.ModuleBuilder(name)
        self.platform = platform
        self.functions: dict[Any, tuple[Any, str]] = {}
        self.callbacks: list[Any] = []
        self.manual_mesh: Any = None
        self.manual_axes: frozenset[Any] = frozenset()
        self.axis_indices: dict[Any, Any] = {}
        self.mesh: Any = None
        self.meshes = Meshes(self.builder)
        self.partitions: list[Any] = []
        self.device_count = 1
        self.partitioned = False
        self.portable = False
        self.cuts_chains = platform == "cpu" and long_chains.value == "cut"
        self.stored = 0


class LoweringContext(hlo.Builder):
    """A builder that knows the types of the equation being lowered.

    Attributes:
      avals_in: the types of the operands.
      avals_out: the types of the results.
      is_transposed: whether the program transposes the result.
      module: what all functions of the module share.
      token: what the next ordered effect waits for; None where there are none.
    """

    __slots__ = (
        *("_literals", "avals_in", "avals_out", "is_transposed", "module"),
        *("primitive_name", "token"),
    )

    def __init__(self, ip: Any, loc: Any, module: ModuleState) -> None:
        super().__init__(ip, loc)
        self.module = module
        self.avals_in: Sequence[ShapedArray] = ()
        self.avals_out: Sequence[ShapedArray] = ()
        self.is_transposed = False
        self.primitive_name = ""
        self.token: Any = None
        self._literals: dict[tuple[Any, Any], Any] = {}

    def take_token(self) -> Any:
        """Return the token that an ordered effect takes.

        Raises:
          NotImplementedError: what surrounds the effect keeps no order.
        """
        if self.token is None:
            raise NotImplementedError(
                f"{self.primitive_name} has an ordered effect inside a function that may run in "
                "any order, such as that of a reduction: use ordered=False, or lax.scan"
            )
        return self.token

    @property
    def manual_mesh(self) -> Any:
        """The mesh whose axes collectives may name here, or None."""
        return self.module.manual_mesh

    def manual_computation(
        self,
        closed: ClosedJaxpr,
        values: Sequence[Any],
        mesh: Any,
        ins: Sequence[Any],
        outs: Sequence[Any],
        manual_axes: Sequence[Any],
    ) -> Sequence[Any]:
        """Append a program that every device of a mesh runs on its own pieces.

        Args:
          closed: the program, of local shapes.
          values: the arguments, of global shapes.
          mesh: the mesh.
          ins: for each argument the mesh axes that divide each of its axes, and those along which
            devices hold shares of it.
          outs: the same for the results.
          manual_axes: the axes of the mesh that the program handles; XLA handles the others.
        """
        module, types = self.module, self.out_types
        if mesh.size == 1:
            # XLA divides nothing for one device, and would not know what a manual part is.
            outer = module.manual_mesh
            module.manual_mesh = mesh
            try:
                return self.inline(closed, values)
            finally:
                module.manual_mesh = outer
        partial = set(manual_axes) != set(mesh.axis_names)
        counted = list(manual_axes) if partial else []
        avals = [*[ShapedArray((1,), _INDEX)] * len(counted), *closed.in_avals]
        numbers = [self.constant(np.arange(mesh.shape[name], dtype=_INDEX)) for name in counted]
        symbol = module.meshes.symbol(mesh)
        attributes = {
            "in_shardings": hlo.sharding_per_value(
                symbol, [*[(((name,),), ()) for name in counted], *ins]
            ),
            "out_shardings": hlo.sharding_per_value(symbol, outs),
            "manual_axes": hlo.manual_axes(manual_axes),
        }
        operation = self.op("sdy.manual_computation", types, [*numbers, *values], attributes, 1)
        outer = module.manual_mesh, module.axis_indices, module.manual_axes
        module.manual_mesh, module.axis_indices = mesh, dict(outer[1])
        module.manual_axes = outer[2].union(manual_axes)

        def fill(builder: hlo.Builder, *arguments: Any) -> Sequence[Any]:
            inner = LoweringContext(builder.ip, self.loc, module)
            for name, argument in zip(counted, arguments, strict=False):
                kind = hlo.tensor_type((), _INDEX)
                module.axis_indices[name] = inner.value("stablehlo.reshape", kind, (argument,))
            return inner.nested(closed, arguments[len(counted) :])

        try:
            self.region(operation, 0, types_of(avals), fill, end="sdy.return")
        finally:
            module.manual_mesh, module.axis_indices, module.manual_axes = outer
        return operation.results

    def one_device_attributes(self, results: int) -> dict[str, Any]:
        """Return the attributes by which an operation runs once, not on each device of a mesh."""
        if not self.module.partitioned or self.manual_mesh is not None:
            return {}
        return self.module.meshes.on_first_device(results)

    @property
    def out_type(self) -> Any:
        """The MLIR type of the one result."""
        aval = self.avals_out[0]
        return hlo.tensor_type(aval.shape, aval.dtype)

    @property
    def out_types(self) -> list[Any]:
        """The MLIR types of the results."""
        return types_of(self.avals_out)

    def inline(self, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        """Append the equations of a nested program and return its results."""
        inner = type(self)(self.ip, self.loc, self.module)
        inner.token = self.token
        outs = inner.nested(closed, args)
        self.token = inner.token
        return outs

    def threaded(self, closed: ClosedJaxpr, args: Sequence[Any], token: Any) -> list[Any]:
        """Append a nested program and return its results, then the token it leaves behind.

        Args:
          closed: the program.
          args: its arguments' values.
          token: the token it begins with; None for a program without ordered effects, which
            leaves none behind either.
        """
        self.token = token
        outs = self.nested(closed, args)
        return outs if token is None else [*outs, self.token]

    def nested(self, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        """Append a nested program, its constants (few and small) written into the module."""
        constants = [
            self.constant(np.asarray(value, var.aval.dtype))
            for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
        ]
        return self.equations(closed.jaxpr, [*constants, *args])

    def lower_region(
        self,
        operation: Any,
        index: int,
        avals: Sequence[ShapedArray],
        body: Callable[..., Sequence[Any]],
    ) -> None:
        """Fill a region of an operation: ``body(context, *arguments)`` gives its results."""

        def fill(builder: hlo.Builder, *arguments: Any) -> Sequence[Any]:
            return body(type(self)(builder.ip, self.loc, self.module), *arguments)

        self.region(operation, index, types_of(avals), fill)

    def call_program(self, closed: ClosedJaxpr, name: str, args: Sequence[Any]) -> Sequence[Any]:
        """Append a call of a nested program, lowered once per module.

        Where calls would nest too deep for the compiler, the outer ones are written out.
        """
        if nesting(closed) > _DEEPEST_CALL or self.module.axis_indices:
            return self.nested(closed, args)
        symbol = self.program_symbol(closed, name)
        if not has_ordered(closed.effects):
            return self.call(symbol, types_of(closed.out_avals), args)
        types = types_of([*closed.out_avals, TOKEN])
        *outs, self.token = self.call(symbol, types, [*args, self.take_token()])
        return outs

    @property
    def makes_one_kernel(self) -> bool:
        """Whether ``one_kernel`` may be called: XLA is new enough, and is not to divide it."""
        module = self.module
        return (
            module.platform == "cpu"
            and not module.partitioned
            and not module.portable
            and version >= _ONE_KERNEL_SINCE
        )

    def one_kernel(
        self,
        name: str,
        operands: Sequence[Any],
        types: Sequence[Any],
        body: Callable[..., Sequence[Any]],
    ) -> Sequence[Any]:
        """Append a call that XLA's CPU backend compiles to one function, loops included.

        It calls a kernel for each operation of each turn of other loops.  A function runs on one
        thread.

        Args:
          name: what the function is to be called, if that is free.
          operands: what it is called with.
          types: the MLIR types of the results.
          body: ``body(builder, *arguments)`` appends the operations, which are elementwise ones,
            slices and loops, and gives the results.
        """
        function = self.module.builder.function(name, [x.type for x in operands], types)
        function.builder.loc = self.loc
        function.returns(body(function.builder, *function.arguments))
        symbol = function.operation.attributes["sym_name"].value
        marks, self.marks = self.marks, {**self.marks, **_ONE_KERNEL}
        results = self.call(symbol, types, operands)
        self.marks = marks
        return results

    def program_symbol(self, closed: ClosedJaxpr, name: str) -> str:
        """Return the name of a nested program's function, lowered once per module.

        That of a program with ordered effects takes and gives, last, the token.
        """
        key = (id(closed), self.module.manual_mesh)
        found = self.module.functions.get(key)
        if found is None:
            found = self.module.functions[key] = (closed, self._function(closed, name))
        return found[1]

    def _function(self, closed: ClosedJaxpr, name: str) -> str:
        jaxpr = closed.jaxpr
        tokens = [TOKEN] if has_ordered(closed.effects) else []
        function = self.module.builder.function(
            name, types_of([*jaxpr.in_avals, *tokens]), types_of([*jaxpr.out_avals, *tokens])
        )
        inner = type(self)(function.builder.ip, self.loc, self.module)
        arguments = list(function.arguments)
        token = arguments.pop() if tokens else None
        function.returns(inner.threaded(closed, arguments, token))
        return function.operation.attributes["sym_name"].value

    def equations(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        """Append all equations of a program, given values for constvars and invars together."""
        env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], args, strict=True))
        stored: frozenset[Var] = frozenset()
        if self.module.cuts_chains:
            stored = stored_values(jaxpr)
            self.module.stored += len(stored)
            stored |= made_keys(jaxpr)
        transposed = {e.invars[0] for e in jaxpr.eqns if e.primitive is transpose_p}
        self._append(self._steps(jaxpr, stored, transposed), env, stored, transposed)
        return [
            self._literal(atom) if type(atom) is Literal else env[atom] for atom in jaxpr.outvars
        ]

    def _steps(
        self, jaxpr: Jaxpr, stored: AbstractSet[Var], transposed: AbstractSet[Any]
    ) -> Sequence[Step]:
        """Return the equations of a program, with calls in the place of runs that have copies."""
        module, eqns = self.module, jaxpr.eqns
        divided = module.partitioned or module.manual_mesh is not None
        # A function knows neither symbolic sizes nor marks of what surrounds its calls.
        if len(eqns) < LEAST_EQUATIONS or divided or module.portable or self.marks:
            return eqns
        return with_calls(jaxpr, [_kind(eqn, stored, transposed) for eqn in eqns])

    def _append(
        self,
        steps: Sequence[Step],
        env: dict[Any, Any],
        stored: AbstractSet[Var],
        transposed: AbstractSet[Any],
    ) -> None:
        """Append equations and calls, and note their values."""
        outer, marks = self.loc, self.marks
        for eqn in steps:
            if isinstance(eqn, Call):
                # Without a location: XLA puts the name of one in front of all names inside.
                self.loc = hlo.unknown_location
                symbol = self._repeated_symbol(eqn.repeated, stored, transposed)
                types = types_of([var.aval for var in eqn.outvars])
                called = self.call(symbol, types, [env[var] for var in eqn.invars])
                env.update(zip(eqn.outvars, called, strict=True))
                continue
            primitive, outvars = eqn.primitive, eqn.outvars
            self.loc = _location(eqn) or outer
            values: list[Any] = []
            avals: list[ShapedArray] = []
            for atom in eqn.invars:
                literal = type(atom) is Literal
                values.append(self._literal(atom) if literal else env[atom])
                avals.append(atom.aval)
            self.avals_in = avals
            self.avals_out = [var.aval for var in outvars]
            self.is_transposed = outvars[0] in transposed if transposed and outvars else False
            self.primitive_name = primitive.name
            self.marks = attributes_of(eqn.source) or marks
            sums = self._sums(avals, outvars) if self.module.partitioned else None
            before = len(self.ip.block.operations) if sums is not None else 0
            out = primitive.rule("lower")(self, *values, **eqn.params)
            self.marks = marks
            if sums is not None:
                pairs = zip(values, avals, strict=True)
                self._mark_shares(sums, before, [value for value, a in pairs if a.unreduced])
            if primitive.multiple_results:
                env.update(zip(outvars, out, strict=True))
            else:
                # ``lower_fun`` gives lists, whatever the primitive.
                env[outvars[0]] = out[0] if isinstance(out, list) else out
            if stored:
                for var in outvars:
                    if var in stored:
                        value = env[var]
                        env[var] = self.value(_BARRIER, value.type, (value,))
            if self.module.partitioned and primitive is not mesh_cast_p:
                self._divide(env, avals, outvars)
        self.loc = outer

    def _repeated_symbol(
        self, repeated: Repeated, stored: AbstractSet[Var], transposed: AbstractSet[Any]
    ) -> str:
        """Return the name of the function of a run that has copies, lowered once per module."""
        found = self.module.functions.get(repeated)
        if found is None:
            types = types_of([var.aval for var in repeated.invars])
            outs = types_of([var.aval for var in repeated.outvars])
            function = self.module.builder.function("layer", types, outs)
            inner = type(self)(function.builder.ip, self.loc, self.module)
            env = dict(zip(repeated.invars, function.arguments, strict=True))
            inner._append(repeated.eqns, env, stored, transposed)
            function.returns([env[var] for var in repeated.outvars])
            symbol = function.operation.attributes["sym_name"].value
            found = self.module.functions[repeated] = (repeated, symbol)
        return found[1]

    def _divide(self, env: dict[Any, Any], avals: Sequence[ShapedArray], outvars: Any) -> None:
        """Tell the partitioner how results lie, where types of the equation say it."""
        outs = [var.aval for var in outvars]
        found = next(
            (a.explicit_sharding for a in (*outs, *avals) if a.explicit_sharding is not None), None
        )
        if found is None:
            return
        whole = NamedSharding(found.mesh, PartitionSpec())
        for var, aval in zip(outvars, outs, strict=True):
            if aval.ndim or aval.unreduced:
                env[var] = self.divided(env[var], aval.explicit_sharding or whole)

    def _sums(self, avals: Sequence[ShapedArray], outvars: Any) -> NamedSharding | None:
        """Return how the first operand or result lies that is a sum which is put off, or None."""
        found = next((a for a in (*avals, *[var.aval for var in outvars]) if a.unreduced), None)
        return None if found is None else found.explicit_sharding

    def _mark_shares(self, sums: NamedSharding, before: int, values: Sequence[Any]) -> None:
        """Constrain the shares of sums that operations of an equation give to each other.

        Args:
          sums: which names the mesh axes of the sums.
          before: how many operations stood in the block before those of the equation.
          values: the operands that are such sums.
        """
        operations = list(self.ip.block.operations)[before:]
        if len(operations) < 2 or self.module.manual_axes.issuperset(sums.spec.unreduced):
            return
        known = [*values]
        for operation, following in pairwise(operations):
            name = operation.operation.name
            makes = name in _SUMMING and not values
            if name.startswith(_PLAIN) and (makes or any(x in known for x in operation.operands)):
                (value,) = operation.results
                entries = _entries_of_shape(value.type.shape, (*self.avals_out, *self.avals_in))
                if entries is not None:
                    lies = sums.update(spec=sums.spec.update(partitions=entries))
                    said = {"sharding": self._sharding_attribute(lies, len(entries))}
                    value = self.put_between("sdy.sharding_constraint", value, said, following)
                known.append(value)

    def divided(self, value: Any, sharding: NamedSharding) -> Any:
        """Append a constraint to a sharding over explicit mesh axes, and return the value."""
        if self.module.manual_axes.issuperset(sharding.mesh.axis_names):
            return value
        attribute = self._sharding_attribute(sharding, len(value.type.shape))
        return self.value("sdy.sharding_constraint", value.type, (value,), {"sharding": attribute})

    def _sharding_attribute(self, sharding: NamedSharding, rank: int) -> Any:
        manual = self.module.manual_axes
        return self.module.meshes.explicit_sharding(sharding, rank, manual)

    def _literal(self, literal: Literal) -> Any:
        """Return the constant of a literal, made once per block (NaN and -0.0 kept apart)."""
        array = np.asarray(literal.val, literal.aval.dtype)
        key = (array.tobytes(), literal.aval.dtype)
        value = self._literals.get(key)
        if value is None:
            value = self._literals[key] = self.constant(array)
        return value


def _entries_of_shape(shape: Sequence[int], avals: Sequence[ShapedArray]) -> tuple[Any, ...] | None:
    """Return the entries of the first type that has a shape, save for axes of size 1, or None."""
    for aval in avals:
        given = iter([e for e, size in zip(aval.entries, aval.shape, strict=True) if size != 1])
        if [size for size in aval.shape if size != 1] == [size for size in shape if size != 1]:
            return tuple([None if size == 1 else next(given) for size in shape])
    return None


def types_of(avals: Sequence[ShapedArray]) -> list[Any]:
    """Return the MLIR types of avals."""
    return [hlo.tensor_type(aval.shape, aval.dtype) for aval in avals]


def _location(eqn: Eqn) -> Any:
    """Return the location of an equation: its primitive's name at the user's line."""
    source = eqn.source
    if source is None:
        return None
    frame = user_frame(source)
    if frame is None:
        return None
    name, scope = eqn.primitive.name, scope_of(source)
    name = "/".join((*scope, name)) if scope else name
    return hlo.file_location(frame.file, frame.line, frame.column + 1, name)


def _kind(eqn: Eqn, stored: AbstractSet[Var], transposed: AbstractSet[Any]) -> Any:
    """Return what is equal for equations that are lowered alike but for what they read, or None."""
    does = likeness(eqn, [atom if type(atom) is Literal else atom.aval for atom in eqn.invars])
    if does is None:
        return None
    outs = [(var.aval, var in stored, var in transposed) for var in eqn.outvars]
    return (does, place_of(eqn.source), *outs)


def used_arguments(jaxpr: Jaxpr) -> list[bool]:
    """Say, for constvars and invars together, which the program reads."""
    used = {atom for atom in jaxpr.outvars if type(atom) is not Literal}
    for eqn in jaxpr.eqns:
        used.update([atom for atom in eqn.invars if type(atom) is not Literal])
    return [var in used for var in [*jaxpr.constvars, *jaxpr.invars]]


def lower_program(
    closed: ClosedJaxpr,
    *,
    name: str,
    platform: str,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    partitioning: Partitioning | None = None,
) -> LoweredProgram:
    """Lower a program to a module whose ``main`` takes its constants, then its arguments.

    Args:
      closed: the program.
      name: the module's name, made safe for MLIR.
      platform: the platform to lower for.
      donated: for each argument, whether its buffer may hold a result.
      keep_unused: whether ``main`` also takes arguments that the program never reads.
      partitioning: how arguments and results are divided over devices; None for one device.
    """
    jaxpr = closed.jaxpr
    state = ModuleState(f"jit_{module_name(name)}", platform)
    state.device_count = 1 if partitioning is None else partitioning.mesh.size
    state.partitioned = partitioning is not None
    state.mesh = None if partitioning is None else partitioning.mesh
    state.builder.set_attribute("mhlo.num_partitions", hlo.i32_attr(state.device_count))
    state.builder.set_attribute("mhlo.num_replicas", hlo.i32_attr(1))
    variables = [*jaxpr.constvars, *jaxpr.invars]
    used = [True] * len(variables) if keep_unused else used_arguments(jaxpr)
    kept = tuple(index for index, keep in enumerate(used) if keep)
    donate = [False] * len(jaxpr.constvars) + list(donated or [False] * len(jaxpr.invars))
    in_avals = [variables[index].aval for index in kept]
    unusable: list[int] = []
    if partitioning is None:
        arguments, unusable = _aliases(in_avals, [donate[index] for index in kept], jaxpr.out_avals)
        results = None
    else:
        arguments, results = partitioned_signature(
            state.meshes, closed, partitioning, kept, [donate[index] for index in kept]
        )
    ordered, effects = has_ordered(jaxpr.effects), bool(jaxpr.effects)
    # Tokens come last, so that places among the arguments and results are what they were.
    function = state.builder.function(
        "main",
        types_of([*in_avals, TOKEN] if ordered else in_avals),
        types_of([*jaxpr.out_avals, TOKEN] if effects else jaxpr.out_avals),
        public=True,
        arg_attrs=[*arguments, {}] if ordered else arguments,
        res_attrs=results if results is None or not effects else [*results, {}],
    )
    context = LoweringContext(function.builder.ip, hlo.unknown_location, state)
    values: list[Any] = [None] * len(variables)
    given = list(function.arguments)
    if ordered:
        context.token = given.pop()
    for index, value in zip(kept, given, strict=True):
        values[index] = value
    outs = context.equations(jaxpr, values)
    if partitioning is not None:
        asked = zip(outs, jaxpr.out_avals, partitioning.out_shardings, strict=True)
        outs = [_as_asked(context, out, aval, sharding) for out, aval, sharding in asked]
    if effects:
        outs.append(context.token if ordered else context.constant(0, TOKEN.dtype))
    function.returns(outs)
    return LoweredProgram(
        state.builder.module,
        name,
        kept,
        platform,
        tuple(state.callbacks),
        tuple([kept[place] - len(jaxpr.constvars) for place in unusable]),
        takes_token=ordered,
        gives_token=effects,
        stored=state.stored,
        **_about_loops(jaxpr, platform, whole=partitioning is None),
        partitions=tuple(state.partitions),
    )


def lower_piece(closed: ClosedJaxpr, *, name: str, platform: str, mesh: Any) -> bytes:
    """Return the module of what each device of a mesh does with its pieces, as MLIR's bytes.

    Args:
      closed: the program of pieces, without effects; it may communicate along the mesh's axes.
      name: the module's name, made safe for MLIR.
      platform: the platform to lower for.
      mesh: the mesh.
    """
    state = ModuleState(module_name(name), platform)
    state.device_count, state.partitioned = mesh.size, True
    state.manual_mesh, state.manual_axes = mesh, frozenset(mesh.axis_names)
    types = types_of(closed.in_avals), types_of(closed.out_avals)
    function = state.builder.function("main", *types, public=True)
    context = LoweringContext(function.builder.ip, hlo.unknown_location, state)
    function.returns(context.nested(closed, list(function.arguments)))
    module: Any = state.builder.module
    return module.operation.get_asm(binary=True)


def _about_loops(jaxpr: Jaxpr, platform: str, *, whole: bool) -> dict[str, bool]:
    """Return what is told of loops to XLA for CPUs: what types say of sizes holds on one device."""
    wanted = loop_unrolling.value
    if platform != "cpu" or not whole:
        return {"unrolled": platform != "cpu" or wanted != "off"}
    unrolled = wanted == "on" or (wanted == "auto" and is_unrolled(jaxpr))
    divided = is_divided(jaxpr, threads(), unrolled=unrolled)
    kernel_loops = not divided or has_kernel_loops(jaxpr, threads())
    return {"unrolled": unrolled, "divided": divided, "kernel_loops": kernel_loops}


def _as_asked(context: Any, value: Any, aval: ShapedArray, sharding: NamedSharding | None) -> Any:
    """Return a result whose sum is put off as it is asked for, which its type may not say."""
    if sharding is None or sharding.spec.unreduced == aval.unreduced:
        return value
    return divide_anew(context, value, aval, sharding)


def _aliases(
    in_avals: Sequence[ShapedArray], donated: Sequence[bool], out_avals: Sequence[ShapedArray]
) -> tuple[list[dict[str, Any]], list[int]]:
    """Give each donated argument a result of the same type to live on in, where there is one.

    XLA may put other results of as many bytes into the buffers that are left.

    Returns:
      the attributes of all arguments, and which donated arguments' buffers fit no result.
    """
    free: dict[tuple[Any, Any], list[int]] = {}
    for index, aval in enumerate(out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(index)
    attributes: list[dict[str, Any]] = []
    donors: list[int] = []
    for place, (aval, donate) in enumerate(zip(in_avals, donated, strict=True)):
        candidates = free.get((aval.shape, aval.dtype)) if donate else None
        if candidates:
            attributes.append({"tf.aliasing_output": hlo.i32_attr(candidates.pop(0))})
        elif donate:
            attributes.append({"jax.buffer_donor": hlo.bool_attr(True)})
            donors.append(place)
        else:
            attributes.append({})
    if not donors:
        return attributes, []
    left = [_bytes_of(out_avals[index]) for places in free.values() for index in places]
    unusable: list[int] = []
    for place in donors:
        size = _bytes_of(in_avals[place])
        if size in left:
            left.remove(size)
        else:
            unusable.append(place)
    return attributes, unusable


def _bytes_of(aval: ShapedArray) -> int:
    return prod(aval.shape) * aval.dtype.itemsize


def module_name(name: str) -> str:
    """Return a name with everything but letters, digits and ``_`` replaced."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "fun"
