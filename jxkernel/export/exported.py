"""``export``: a jitted function as a program that other processes run.

An ``Exported`` holds portable StableHLO, one module for all platforms that lower alike, beside the
types, structures and shardings of arguments and results.  Calling it is one primitive, so it runs
eagerly, under ``jit``, and inside another exported program.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo, tree
from jxkernel.api.custom.derivatives import custom_vjp
from jxkernel.api.derivatives.autodiff import vjp
from jxkernel.api.jit import jit, jit_state
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.compile.stages import Traced, checked_platforms
from jxkernel.core.avals import ShapedArray, abstractify, shape_text
from jxkernel.core.dimensions import Dimension, SymbolicScope, is_symbolic
from jxkernel.core.filtering import filtered
from jxkernel.core.jaxpr import jaxpr_as_fun
from jxkernel.core.trace import Tracer
from jxkernel.export.call import call_exported_p, shape_at
from jxkernel.export.checks import (
    DisabledSafetyCheck,
    check_effects,
    check_portable,
    check_sums,
    check_takes_no_references,
)
from jxkernel.export.devices import (
    ProgramShardings,
    on_current_mesh,
    over_mesh,
    read_sharding,
    shardings_of,
    tiled,
    written_sharding,
)
from jxkernel.export.format import (
    maximum_supported_calling_convention_version,
    packed,
    unpacked,
)
from jxkernel.export.shapes import symbolic_shape
from jxkernel.export.trees import read_tree, written_tree
from jxkernel.hlo import artifacts
from jxkernel.lowering.symbolic import lower_for_export, solved_dimensions
from jxkernel.runtime import default_device, platform_of
from jxkernel.sharding import AbstractMesh, Mesh, NamedSharding
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["Exported", "default_export_platform", "deserialize", "export"]


class Exported:
    """A program apart from the process that made it.

    Attributes:
      fun_name: the function's name.
      in_avals: the types of the flat arguments, which say nothing of shardings; sizes may be
        symbolic.
      trees: the physical structures of ``(args, kwargs)``, static arguments left out, and of the
        result.
      out_avals: the types of the flat results.
      platforms: what it was lowered for.
      disabled_safety_checks: what is not checked of it.
      divided: how arguments and results are divided, over meshes without devices.
      nr_devices: how many devices it runs on.
    """

    __slots__ = (
        "__weakref__",
        "_derivative",
        "_differentiable",
        "_make_vjp",
        "_modules",
        "disabled_safety_checks",
        "divided",
        "fun_name",
        "in_avals",
        "nr_devices",
        "out_avals",
        "platforms",
        "trees",
    )

    def __init__(
        self,
        fun_name: str,
        trees: tuple[Any, Any],
        avals: tuple[Sequence[ShapedArray], Sequence[ShapedArray]],
        modules: dict[str, bytes],
        shardings: ProgramShardings,
        disabled_safety_checks: Sequence[DisabledSafetyCheck] = (),
        make_vjp: "Callable[[Exported], Exported] | None" = None,
    ) -> None:
        self.fun_name = fun_name
        self.trees = trees
        self.in_avals = tuple([aval.update(explicit_sharding=None) for aval in avals[0]])
        self.out_avals = tuple([aval.update(explicit_sharding=None) for aval in avals[1]])
        self.platforms = tuple(modules)
        self.disabled_safety_checks = tuple(disabled_safety_checks)
        self.nr_devices = shardings.nr_devices
        self.divided = shardings
        self._modules = modules
        self._make_vjp = make_vjp
        self._derivative: Exported | None = None
        self._differentiable: Callable[..., Any] | None = None

    @property
    def calling_convention_version(self) -> int:
        """The version of how the program is called, and of its header."""
        return maximum_supported_calling_convention_version

    @property
    def ordered_effects(self) -> tuple[()]:
        """The effects that keep their order: none, for callbacks do not leave their process."""
        return ()

    @property
    def unordered_effects(self) -> tuple[()]:
        """The other effects, likewise none."""
        return ()

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``, static arguments left out."""
        return physical.logical(self.trees[0])

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return physical.logical(self.trees[1])

    @property
    def mlir_module_serialized(self) -> bytes:
        """The module as a portable artifact: that of the default platform, else of the first."""
        return self.artifact(default_export_platform()) or next(iter(self._modules.values()))

    def artifact(self, platform: str) -> bytes | None:
        """Return the module of a platform as a portable artifact, or None."""
        found = self._modules.get(platform)
        if found is None and DisabledSafetyCheck.platform() in self.disabled_safety_checks:
            return next(iter(self._modules.values()))
        return found

    def mlir_module(self) -> str:
        """Return the StableHLO module as text; an unknown size is ``?``."""
        return hlo.module_text(artifacts.deserialize(self.mlir_module_serialized))

    @property
    def in_shardings_hlo(self) -> tuple[Any, ...]:
        """For each flat argument how it is divided, as XLA says it; None where none is given."""
        return tiled(self.divided.ins, self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[Any, ...]:
        """For each flat result how it is divided, as XLA says it; None where none is given."""
        return tiled(self.divided.outs, self.out_avals)

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[NamedSharding | None, ...]:
        """Return how flat arguments are divided, over another mesh; None where none is given.

        The devices are counted in the order of the mesh, so that its first one takes the place of
        the first that the program was exported for.

        Raises:
          ValueError: the mesh has another number of devices, or its axes cannot say it.
        """
        return over_mesh(self.divided.ins, self.in_avals, mesh, self.fun_name)

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[NamedSharding | None, ...]:
        """Return how flat results are divided, over another mesh; see ``in_shardings_jax``."""
        return over_mesh(self.divided.outs, self.out_avals, mesh, self.fun_name)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, or make it part of what is being traced.

        Its derivative is the exported one (``has_vjp``); under ``vmap`` it runs once per example.
        A program for several devices runs over those of the mesh that an argument lies on, else
        of ``set_mesh``, or of the program that it is made part of; arguments are divided as
        exported, from however they lie.  A program for one device runs over any number.

        Raises:
          ValueError: the structure, shapes or dtypes do not fit, or the platform or the number of
            devices is another.
        """
        flat, in_tree = physical.flatten((args, kwargs))
        if in_tree != self.trees[0]:
            raise ValueError(self._structure_message(args, kwargs))
        self._check_types(flat)
        flat = on_current_mesh(flat, self.nr_devices)
        return self.trees[1].unflatten(self.run(flat))

    def run(self, flat: Sequence[Any]) -> list[Any]:
        """Run the program on flat arguments of the right types."""
        if self._make_vjp is None or not any(isinstance(leaf, Tracer) for leaf in flat):
            return call_exported_p.bind(*flat, exported=self)
        if self._differentiable is None:
            self._differentiable = _differentiable(self)
        return self._differentiable(*flat)

    def _structure_message(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        lines = [
            f"{what}{tree.keystr(place.path)}: exported with {place.expected}, got {place.found}"
            for expected, found, what in zip(
                self.trees[0].children(), (args, kwargs), ("args", "kwargs"), strict=True
            )
            for place in physical.mismatches(expected, found, exact=True)
        ]
        listed = "\n  ".join(lines) or f"exported with {structure_text(self.in_tree)}"
        return f"{self.fun_name} was exported with arguments of another structure:\n  {listed}"

    def _check_types(self, flat: Sequence[Any]) -> None:
        avals = [abstractify(leaf) for leaf in flat]
        for index, (aval, expected) in enumerate(zip(avals, self.in_avals, strict=True)):
            if aval.dtype != expected.dtype or aval.ndim != expected.ndim:
                raise ValueError(
                    f"{self.fun_name} was exported for {expected.short()} as "
                    f"{self._argument_name(index)} and got {aval.short()}"
                )
        values = self.dimension_values([aval.shape for aval in avals])
        for index, (aval, expected) in enumerate(zip(avals, self.in_avals, strict=True)):
            if shape_at(expected.shape, values) != aval.shape:
                names = ", ".join(f"{name} = {value}" for name, value in values.items())
                raise ValueError(
                    f"{self.fun_name} was exported for {expected.short()} as "
                    f"{self._argument_name(index)} and got {aval.short()}"
                    + (f", where {names} follows from the other sizes" if names else "")
                )

    def _argument_name(self, index: int) -> str:
        which, *rest = tree.leaf_paths(self.in_tree)[index]
        return ("args" if which.idx == 0 else "kwargs") + tree.keystr(tuple(rest))

    def dimension_values(self, shapes: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
        """Return the value of each dimension variable for given shapes of the arguments.

        Raises:
          ValueError: there is none, or it breaks a promise of the scope.
        """
        values: dict[str, Any] = {}
        expected = [aval.shape for aval in self.in_avals]
        for name, argument, axis, factor, rest in solved_dimensions(expected):
            size = shapes[argument][axis]
            rest = rest.evaluate(values) if is_symbolic(rest) else rest
            value, left = divmod(size - rest, factor)
            if left != 0 or value < 1:
                raise ValueError(
                    f"{self.fun_name} was exported for {shape_text(expected[argument])} as "
                    f"{self._argument_name(argument)} and got {shape_text(shapes[argument])}: "
                    f"no {name} of 1 or more makes axis {axis} {size}"
                )
            values[name] = value
        for promised in self._scope.nonnegative if values else ():
            if promised.variables() <= values.keys() and promised.evaluate(values) < 0:
                given = ", ".join(f"{name} = {value}" for name, value in values.items())
                raise ValueError(
                    f"{self.fun_name} was exported with the constraints "
                    f"{', '.join(self._scope.constraints)}, and is called with {given}"
                )
        return values

    @property
    def _scope(self) -> SymbolicScope:
        """The scope of the symbolic sizes, of which there must be one."""
        sizes = [size for aval in self.in_avals for size in aval.shape]
        return next(size.scope for size in sizes if isinstance(size, Dimension))

    def has_vjp(self) -> bool:
        """Whether its derivative can be had."""
        return self._make_vjp is not None

    def vjp(self) -> "Exported":
        """Return its derivative as a program of its own.

        That takes the flat arguments and then a cotangent for each result of an inexact dtype,
        and returns a tuple of a cotangent for each argument of an inexact dtype.

        Raises:
          ValueError: it was serialized without.
        """
        if self._derivative is not None:
            return self._derivative
        if self._make_vjp is None:
            raise ValueError(
                f"{self.fun_name} was exported without its derivative: write "
                "exported.serialize(vjp_order=1) where it is exported"
            )
        self._derivative = self._make_vjp(self)
        return self._derivative

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the program as bytes that ``deserialize`` reads, in this process or another.

        Args:
          vjp_order: how many times the program that is read can be differentiated in reverse.

        Raises:
          ValueError: a structure holds a class that is not registered for export, or the
            derivative is not there.
        """
        artifacts = list(dict.fromkeys(self._modules.values()))
        derivative = [bytes(self.vjp().serialize(vjp_order - 1))] if vjp_order > 0 else []
        symbolic = any(is_symbolic(size) for aval in self.in_avals for size in aval.shape)
        header = {
            "fun_name": self.fun_name,
            "in_tree": written_tree(self.trees[0]),
            "in_avals": [_written_aval(aval) for aval in self.in_avals],
            "out_tree": written_tree(self.trees[1]),
            "out_avals": [_written_aval(aval) for aval in self.out_avals],
            "constraints": list(self._scope.constraints) if symbolic else [],
            "modules": {name: artifacts.index(made) for name, made in self._modules.items()},
            "nr_devices": self.nr_devices,
            "in_shardings": [written_sharding(each) for each in self.divided.ins],
            "out_shardings": [written_sharding(each) for each in self.divided.outs],
            "disabled_checks": [check.name for check in self.disabled_safety_checks],
            "vjp": bool(derivative),
        }
        return packed(header, [*artifacts, *derivative])

    def __repr__(self) -> str:
        inputs = ", ".join(aval.short() for aval in self.in_avals)
        outputs = ", ".join(aval.short() for aval in self.out_avals)
        platforms = ", ".join(self.platforms)
        over = f", nr_devices={self.nr_devices}" if self.nr_devices > 1 else ""
        return (
            f"Exported({self.fun_name}, ({inputs}) -> ({outputs}), platforms={platforms!r}{over})"
        )


def _written_aval(aval: ShapedArray) -> list[Any]:
    sizes = [str(size) if is_symbolic(size) else int(size) for size in aval.shape]
    return [aval.dtype.name, sizes, aval.weak_type]


def _read_aval(written: Any, scope: SymbolicScope) -> ShapedArray:
    name, sizes, weak_type = written
    shape: Any = symbolic_shape(", ".join(map(str, sizes)), scope=scope)
    return ShapedArray(shape, dtypes.as_dtype(name), weak_type)


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the exported program that ``Exported.serialize`` wrote.

    Reading runs no code of the writer; calling the program runs the program.

    Raises:
      ValueError: these are not such bytes, they are damaged, or they are of a format that this
        version does not read.

    >>> import jxkernel as jx
    >>> from jxkernel import export
    >>> blob = export.export(jx.jit(lambda x: x * 2.0))(1.5).serialize()
    >>> float(export.deserialize(blob).call(3.0))
    6.0
    """
    header, sections = unpacked(blob)
    derivative = deserialize(sections[-1]) if header["vjp"] else None
    scope = SymbolicScope(header["constraints"])
    return Exported(
        header["fun_name"],
        (read_tree(header["in_tree"]), read_tree(header["out_tree"])),
        (
            [_read_aval(written, scope) for written in header["in_avals"]],
            [_read_aval(written, scope) for written in header["out_avals"]],
        ),
        {name: sections[index] for name, index in header["modules"].items()},
        ProgramShardings(
            header["nr_devices"],
            tuple([read_sharding(written) for written in header["in_shardings"]]),
            tuple([read_sharding(written) for written in header["out_shardings"]]),
        ),
        [DisabledSafetyCheck(name) for name in header["disabled_checks"]],
        None if derivative is None else lambda _: derivative,
    )


def default_export_platform() -> str:
    """Return the platform that ``export`` lowers for where none is named.

    >>> from jxkernel import export
    >>> export.default_export_platform()
    'cpu'
    """
    return platform_of(default_device())


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Return a function that exports a jitted function for the types of its arguments.

    Args:
      fun_jit: what ``jit`` returned.
      platforms: the platforms to lower for, such as ``("cpu", "tpu")``; by default that of the
        default device.  None of their devices need be here.
      disabled_checks: what not to check.

    Returns:
      a function of arrays, or of ``ShapeDtypeStruct`` (whose sizes may be symbolic), that returns
      an ``Exported``.  It is for as many devices as the mesh has that an argument, a sharding
      given to ``jit``, or the function itself speaks of; that mesh may be an ``AbstractMesh``.

    Raises:
      ValueError: the function is not jitted, a platform is unknown, shardings are over different
        numbers or orders of devices, or the program cannot leave this process: it calls back into
        Python, or a custom call that nobody promised to keep.
      InconclusiveDimensionOperation: the function asks of a symbolic size what has no one answer.

    >>> import jxkernel as jx
    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import export
    >>> (b,) = export.symbolic_shape("b")
    >>> spec = jx.ShapeDtypeStruct((b, 4), jnp.float32)
    >>> export.export(jx.jit(lambda x: x.sum(axis=1)))(spec)
    Exported(<lambda>, (f32[b,4]) -> (f32[b]), platforms='cpu')
    """
    if jit_state(fun_jit) is None:
        raise ValueError(f"export needs what jit returns, got {fun_jit!r:.100}: export(jit(f))")
    names = (default_export_platform(),) if platforms is None else checked_platforms(platforms)

    @filtered
    def exporter(*args: Any, **kwargs: Any) -> Exported:
        traced = fun_jit.trace(*args, **kwargs)
        mesh, shardings = shardings_of(traced)
        return _exported(traced, mesh, shardings, names, disabled_checks)

    return exporter


def _exported(
    traced: Traced,
    mesh: Mesh | AbstractMesh | None,
    shardings: ProgramShardings,
    platforms: Sequence[str],
    disabled: Sequence[DisabledSafetyCheck],
) -> Exported:
    closed = traced.program
    check_takes_no_references(traced)
    check_effects(traced.fun_name, closed)
    check_sums(traced.fun_name, closed, (*shardings.ins, *shardings.outs))
    modules: dict[str, bytes] = {}
    for platform in platforms:
        lowered = lower_for_export(
            closed,
            name=traced.fun_name,
            platform=platform,
            mesh=mesh,
            in_shardings=shardings.ins,
            out_shardings=shardings.outs,
        )
        check_portable(lowered, disabled)
        modules[platform] = artifacts.serialize(lowered.module)

    def make_vjp(primal: Exported) -> Exported:
        inputs = [*closed.in_avals, *_of_inexact(closed.out_avals, closed.out_avals)]
        specs = [ShapeDtypeStruct(a.shape, a.dtype, sharding=a.explicit_sharding) for a in inputs]
        pulled_back = jit(_pulled_back(traced)).trace(*specs)
        cts = _of_inexact(shardings.outs, closed.out_avals)
        ins, outs = (*shardings.ins, *cts), _of_inexact(shardings.ins, closed.in_avals)
        divided = ProgramShardings(shardings.nr_devices, ins, outs)
        return _exported(pulled_back, mesh, divided, platforms, disabled)

    trees = (traced.in_structure, traced.out_structure)
    avals = (closed.in_avals, closed.out_avals)
    return Exported(traced.fun_name, trees, avals, modules, shardings, disabled, make_vjp)


def _is_inexact(aval: ShapedArray) -> bool:
    return dtypes.issubdtype(aval.dtype, np.inexact)


def _of_inexact(values: Sequence[Any], avals: Sequence[ShapedArray]) -> tuple[Any, ...]:
    """Return those values whose type is inexact."""
    return tuple([value for value, aval in zip(values, avals, strict=True) if _is_inexact(aval)])


def _pulled_back(traced: Traced) -> Callable[..., tuple[Any, ...]]:
    """Return the function of arguments and cotangents that returns cotangents of arguments."""
    closed = traced.program
    program = jaxpr_as_fun(closed)
    count = len(closed.in_avals)
    places = [index for index, aval in enumerate(closed.in_avals) if _is_inexact(aval)]

    def pulled_back(*values: Any) -> tuple[Any, ...]:
        def of_inexact(*leaves: Any) -> tuple[Any, ...]:
            given = list(values[:count])
            for place, leaf in zip(places, leaves, strict=True):
                given[place] = leaf
            return _of_inexact(program(*given), closed.out_avals)

        _, pullback = vjp(of_inexact, *[values[place] for place in places])
        return pullback(tuple(values[count:]))

    pulled_back.__name__ = f"{traced.fun_name}_vjp"
    return pulled_back


def _differentiable(exported: Exported) -> Callable[..., list[Any]]:
    """Return the call of a program with its exported derivative."""

    def program(*leaves: Any) -> list[Any]:
        return call_exported_p.bind(*leaves, exported=exported)

    def forward(*leaves: Any) -> tuple[list[Any], tuple[Any, ...]]:
        # Differentiated once more, it needs its derivative again.
        return exported.run(leaves), leaves

    def backward(leaves: tuple[Any, ...], cts: list[Any]) -> tuple[Any, ...]:
        found = iter(exported.vjp().call(*leaves, *_of_inexact(cts, exported.out_avals)))
        return tuple([next(found) if _is_inexact(aval) else None for aval in exported.in_avals])

    program.__name__ = exported.fun_name
    function = custom_vjp(program)
    function.defvjp(forward, backward)
    return function
