"""The stages of ahead-of-time compilation: ``Traced``, ``Lowered``, ``Compiled``.

``jit(f).trace(x).lower().compile()(x)`` walks the same road as a first call of ``jit(f)(x)``,
one stage at a time, each of which can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from jxkernel import tree
from jxkernel._jaxlib import JaxRuntimeError, computation_of, module_cost
from jxkernel._lazy import late_function
from jxkernel._reprs import counted, with_type
from jxkernel.compile.dispatch import Dispatch, cpp_callable
from jxkernel.compile.executable import (
    Executable,
    FastpathData,
    compiled_once,
    lowered_for,
    lowering_conditions,
)
from jxkernel.compile.placement import Placement, devices_of, target_device
from jxkernel.compile.shape_dtype import described, of_elements
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.printing import jaxpr_text
from jxkernel.core.trace import Tracer
from jxkernel.errors import ArgumentTypeError
from jxkernel.lowering import LoweredProgram
from jxkernel.records import record
from jxkernel.runtime import default_device, platform_of
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = [
    "ArgInfo",
    "Compiled",
    "CompilerOptions",
    "LowerOptions",
    "Lowered",
    "Outside",
    "Traced",
    "Wrapped",
    "as_called",
    "checked_platforms",
]

has_devices = late_function("jxkernel.compile.coming_devices", "has_devices")
of_coming_devices = late_function("jxkernel.compile.coming_devices", "of_coming_devices")
listed_options = late_function("jxkernel.compile.effort", "listed_options")
on_devices = late_function("jxkernel.compile.coming_devices", "on_devices")
with_devices = late_function("jxkernel.compile.coming_devices", "with_devices")

CompilerOptions = dict[str, bool | int | float | str]
"""XLA options by name, as ``compile`` and ``jit`` take them."""


@record()
class ArgInfo:
    """What a stage knows of one array argument.

    Attributes:
      aval: its type.
      donated: whether its buffer is given to the results.
    """

    aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.aval.dtype


class LowerOptions(NamedTuple):
    """What lowering and compiling a traced function needs to know besides its jaxpr.

    Attributes:
      donated: for each flat argument, whether it is donated; empty for none.
      keep_unused: whether arguments that the function never reads stay parameters.
      device: the device to compile for, or None for the default.
      compiler_options: XLA options by name.
      function_id: the number of the function object, for events.
      names: a function that returns a name for each flat argument.
      shardings: where each flat argument lies; None where that is open.
      results: where each flat result shall lie; None where that is open.
    """

    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    device: Any = None
    compiler_options: tuple[tuple[str, Any], ...] = ()
    function_id: int = 0
    names: Callable[[], Sequence[str]] | None = None
    shardings: tuple[Any, ...] = ()
    results: tuple[Any, ...] | None = None


@runtime_checkable
class Wrapped(Protocol):
    """What ``jit`` returns: a function that can be traced and lowered without being run."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, compiled."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function for given arguments."""
        ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower the function for given arguments."""
        ...


@record()
class Outside:
    """The caller of a program that takes the values of references: it has the references.

    Attributes:
      in_tree: the structure of ``(args, kwargs)`` with the references.
      out_tree: the structure of the function's result.
      run: calls the program for given arguments, and writes what it gives to the references.
    """

    in_tree: Any
    out_tree: Any
    run: Callable[..., Any]


class _Stage:
    """What every stage tells of the function's arguments and result."""

    __slots__ = ("_traced",)

    _traced: Traced

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)`` without static arguments."""
        return physical.logical(self._traced.in_structure)

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return physical.logical(self._traced.out_structure)

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, as the tree ``(args, kwargs)``."""
        return _typed(self._traced.in_structure, self._traced.jaxpr.in_avals)

    @property
    def out_info(self) -> Any:
        """The result's tree with a ``ShapeDtypeStruct`` for each array."""
        traced = self._traced
        structure, results = traced.out_structure, traced.options.results
        avals = traced.program.out_avals[: structure.num_leaves]
        return described(structure, avals, results or (None,) * len(avals))

    @property
    def args_info(self) -> Any:
        """The tree ``(args, kwargs)`` with an ``ArgInfo`` for each array."""
        avals = self._traced.jaxpr.in_avals
        donated = self._traced.options.donated[: len(avals)] or [False] * len(avals)
        infos = [ArgInfo(aval, given) for aval, given in zip(avals, donated, strict=True)]
        return of_elements(self._traced.in_structure, infos, _of_key_data)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which flat arguments are donated."""
        donated = self._traced.options.donated
        return tuple(index for index, given in enumerate(donated) if given)


class Traced(_Stage):
    """A function traced for given argument types.

    Attributes:
      program: the closed jaxpr that is compiled.
      fun_name: the function's name.
      options: what lowering and compiling needs to know besides.
      trees: the structures of the program's ``(args, kwargs)`` and of its result.
      recorded: the closed jaxpr in which references are read and written, where there are any.
      outside: what is around the program where it takes values of references.
    """

    __slots__ = ("fun_name", "options", "outside", "program", "recorded", "trees")

    def __init__(
        self, jaxpr: ClosedJaxpr, fun_name: str, in_tree: Any, out_tree: Any, options: LowerOptions
    ) -> None:
        self.program = jaxpr
        self.fun_name = fun_name
        self.options = options
        self._traced = self
        self.trees = (in_tree, out_tree)
        self.recorded: ClosedJaxpr | None = None
        self.outside: Outside | None = None

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The closed jaxpr; of a function that uses references, with equations that do."""
        return self.program if self.recorded is None else self.recorded

    @property
    def in_structure(self) -> Any:
        """The physical structure of ``(args, kwargs)`` without static arguments."""
        return self.trees[0] if self.outside is None else self.outside.in_tree

    @property
    def out_structure(self) -> Any:
        """The physical structure of the result."""
        return self.trees[1] if self.outside is None else self.outside.out_tree

    @property
    def out_avals(self) -> Any:
        """The types of the result, as its tree."""
        return _typed(self.out_structure, self.jaxpr.out_avals)

    @property
    def effects(self) -> frozenset[Any]:
        """What the function does besides computing its result."""
        return self.jaxpr.effects

    def as_text(self, *, debug_info: bool = False) -> str:
        """Return the jaxpr as text.

        Args:
          debug_info: whether each equation ends with the user's line that made it.
        """
        return jaxpr_text(self.jaxpr.jaxpr, show_source=debug_info)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lower to StableHLO.

        Args:
          lowering_platforms: the platforms to lower for, such as ``("cpu", "tpu")``; by default
            that of the device that the function would run on.  Nothing need exist of another
            platform to lower for it; to compile, its devices must be here.  A function whose
            shardings are over an ``AbstractMesh`` is lowered for devices to come.

        Raises:
          ValueError: no platform is named, an unknown one, or none for devices to come.
        """
        target = self._target(coming=lowering_platforms is not None)
        if lowering_platforms is None:
            named: tuple[str, ...] = (platform_of(devices_of(target)[0]),)
        else:
            named = checked_platforms(lowering_platforms)
        programs = {name: self._lowered(name, target) for name in named}
        return Lowered(self, programs, target)

    def _target(self, coming: bool = False) -> Any:
        """Return the device, or the placement on a mesh, that the function would run on.

        Args:
          coming: whether the devices of a mesh may be still to come.
        """
        options, closed = self.options, self.program
        shardings = options.shardings or (None,) * len(closed.in_avals)
        results = options.results or (None,) * len(closed.out_avals)
        there = with_devices(closed, shardings, results)
        if there is None and not coming:
            raise ValueError(
                f"{self.fun_name} is divided over a mesh without devices: name the platforms to "
                'lower for, jit(f).trace(...).lower(lowering_platforms=("cpu",)), or give a Mesh'
            )
        if there is None:
            return of_coming_devices(self.fun_name, closed, shardings, results)
        shardings, results = there
        target, _ = target_device(
            (None,) * len(closed.in_avals),
            options.device,
            closed=closed,
            shardings=shardings if any(one is not None for one in shardings) else None,
            results=results if options.results else None,
            keep_unused=options.keep_unused,
        )
        if coming and type(target) is not Placement:
            return of_coming_devices(self.fun_name, closed, shardings, results) or target
        return target

    def _lowered(self, platform: str, target: Any) -> LoweredProgram:
        options = self.options
        return lowered_for(
            self.program,
            target,
            platform,
            name=self.fun_name,
            donated=options.donated,
            keep_unused=options.keep_unused,
            compiler_options=options.compiler_options,
            function_id=options.function_id,
            names=options.names,
        )

    def __repr__(self) -> str:
        return f"Traced({self.fun_name}, {counted(len(self.jaxpr.eqns), 'equation')})"


PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
"""What programs can be lowered for; ``gpu`` stands for ``cuda`` and ``rocm``."""


def checked_platforms(platforms: Sequence[str]) -> tuple[str, ...]:
    """Return names of platforms, ``gpu`` spelt out.

    Raises:
      ValueError: there is none, or one is unknown.
    """
    named = (platforms,) if isinstance(platforms, str) else tuple(platforms)
    unknown = [name for name in named if name not in (*PLATFORMS, "gpu")]
    if unknown or not named:
        raise ValueError(
            f"lowering_platforms={tuple(named)}: name one or more of {', '.join(PLATFORMS)}"
        )
    whole = [other for name in named for other in (PLATFORMS[1:3] if name == "gpu" else (name,))]
    return tuple(dict.fromkeys(whole))


class Lowered(_Stage):
    """A function as a StableHLO module, one for each platform that it was lowered for."""

    __slots__ = ("_conditions", "_programs", "_target")

    def __init__(
        self,
        traced: Traced,
        programs: dict[str, LoweredProgram],
        target: Any,
    ) -> None:
        options = traced.options
        self._traced = traced
        self._programs = programs
        self._target = target
        self._conditions = lowering_conditions(options.donated, options.keep_unused)

    @property
    def _device(self) -> Any:
        """The device it is for, the first of several; the default one for devices to come."""
        return devices_of(self._target)[0] if has_devices(self._target) else default_device()

    @property
    def _program(self) -> LoweredProgram:
        """The program of the device's platform, else the first."""
        return self._programs.get(platform_of(self._device)) or next(iter(self._programs.values()))

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the module as text; where platforms differ, one module after the other.

        Args:
          dialect: ``stablehlo`` (the default) or ``hlo``.
          debug_info: whether source locations are printed.

        Raises:
          ValueError: the dialect is another.
        """
        if _checked_dialect(dialect) == "hlo":
            texts = [computation_of(one.module).as_hlo_text() for one in self._programs.values()]
        else:
            texts = [one.text(locations=debug_info) for one in self._programs.values()]
        return "\n".join(dict.fromkeys(texts))

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the MLIR module itself, or jaxlib's ``XlaComputation``.

        Args:
          dialect: ``stablehlo`` (the default) or ``hlo``.

        Raises:
          ValueError: the dialect is another.
        """
        module = self._program.module
        return computation_of(module) if _checked_dialect(dialect) == "hlo" else module

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's cost estimate of the unoptimized program: flops, bytes accessed ..."""
        return module_cost(self._device.client, self._program.module)

    def compile(
        self,
        compiler_options: CompilerOptions | None = None,
        *,
        device_assignment: Sequence[Any] | None = None,
    ) -> Compiled:
        """Compile with XLA; what a call of the function has compiled already is not made again.

        Args:
          compiler_options: XLA options by name, added to those given to ``jit``.
          device_assignment: the device to compile for, in a tuple; of a program for devices to
            come all of them, in the order of its mesh.

        Raises:
          JaxRuntimeError: XLA refuses the module or an option.
          TypeError: an option's value is no string, boolean or number.
          ValueError: the program was not lowered for the device's platform.
        """
        target = self._target
        if not has_devices(target):
            target = on_devices(target, device_assignment)
        elif device_assignment is not None:
            target = _only_device(device_assignment)
        platform = platform_of(devices_of(target)[0])
        program = self._programs.get(platform)
        if program is None:
            raise ValueError(
                f"{self._traced.fun_name} was lowered for {', '.join(self._programs)} and cannot "
                f"be compiled for {platform}: name it among lowering_platforms"
            )
        traced = self._traced
        added = listed_options(compiler_options) if compiler_options else ()
        executable = compiled_once(
            traced.program,
            target,
            self._conditions,
            lambda: program,
            compiler_options=(*traced.options.compiler_options, *added),
            function_id=traced.options.function_id,
        )
        return Compiled(traced, executable)

    def __repr__(self) -> str:
        return f"Lowered({self._traced.fun_name}, platform={', '.join(self._programs)!r})"


def as_called(traced: Traced) -> tuple[Lowered, Compiled]:
    """Return the stages that a call goes through; what calls have made is not made again."""
    target = traced._target()
    options = traced.options
    platform = platform_of(devices_of(target)[0])
    executable = compiled_once(
        traced.program,
        target,
        lowering_conditions(options.donated, options.keep_unused),
        lambda: traced._lowered(platform, target),
        compiler_options=options.compiler_options,
        function_id=options.function_id,
    )
    return Lowered(traced, {platform: executable.lowered}, target), Compiled(traced, executable)


def _checked_dialect(dialect: str | None) -> str:
    if dialect not in (None, "stablehlo", "hlo"):
        raise ValueError(f"unknown dialect {dialect!r}: there are 'stablehlo' and 'hlo'")
    return dialect or "stablehlo"


def _only_device(devices: Sequence[Any]) -> Any:
    if len(devices) != 1:
        raise ValueError(f"device_assignment names {len(devices)} devices for a program of one")
    return devices[0]


class Compiled(_Stage):
    """A function compiled for given argument types; calling it never traces."""

    __slots__ = ("_callable", "_dispatch", "_executable")

    def __init__(self, traced: Traced, executable: Executable) -> None:
        self._traced = traced
        self._executable = executable
        options = traced.options
        self._dispatch = Dispatch(
            traced.fun_name,
            options.donated,
            options.keep_unused,
            tuple(executable.compiler_options),
            options.device,
            function_id=options.function_id,
            names=options.names,
            compiled=executable,
        )
        # Each compiled function has a key of its own, so none answers for another.
        self._callable = cpp_callable(traced.fun_name, self._run, self._cache_miss)
        # Who watches executions reads it.
        self._callable.__name__ = traced.fun_name

    @property
    def from_disk(self) -> bool:
        """Whether it was loaded from the disk cache."""
        return self._executable.from_disk

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the types and structure compiled for (static ones left out).

        Raises:
          TypeError: the structure, a shape or a dtype differs, or an argument is being traced.
        """
        outside = self._traced.outside
        if outside is None:
            return self._callable(*args, **kwargs)
        if physical.structure((args, kwargs)) != outside.in_tree:
            raise TypeError(self._structure_message(args, kwargs))
        return outside.run(self._callable, args, kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self._cache_miss(*args, **kwargs)[0]

    def _cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, FastpathData | None, bool]:
        traced = self._traced
        flat, in_tree = physical.flatten((args, kwargs))
        in_tree_of_program, out_tree = traced.trees
        if in_tree != in_tree_of_program:
            raise TypeError(self._structure_message(args, kwargs))
        self._check_types(flat)
        return self._dispatch.answer(traced.program, flat, out_tree)

    def _structure_message(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        name = self._traced.fun_name
        places: list[str] = []
        for expected, found, what in zip(
            self._traced.in_structure.children(), (args, kwargs), ("args", "kwargs"), strict=True
        ):
            for place in physical.mismatches(expected, found, exact=True):
                where = f"{what}{tree.keystr(place.path)}"
                advice = f" {place.advice}" if place.advice else ""
                places.append(f"{where}: compiled for {place.expected}, got {place.found}.{advice}")
        listed = "\n  ".join(places) or f"compiled for {structure_text(self.in_tree)}"
        return (
            f"{name} was compiled for arguments of another structure (static arguments are left "
            f"out of the call):\n  {listed}"
        )

    def _check_types(self, flat: Sequence[Any]) -> None:
        """Check the flat arguments against the types compiled for.

        Raises:
          TypeError: the message names each argument that differs.
        """
        wrong: list[str] = []
        for index, (leaf, expected) in enumerate(
            zip(flat, self._traced.program.in_avals, strict=True)
        ):
            if isinstance(leaf, Tracer):
                raise TypeError(self._tracer_message(index, leaf))
            try:
                aval = abstractify(leaf)
            except TypeError:
                what = f"{with_type(leaf)}"
                name = self._argument_name(index)
                raise ArgumentTypeError(self._traced.fun_name, name, what) from None
            if (aval.shape, aval.dtype) != (expected.shape, expected.dtype):
                where = self._argument_name(index)
                wrong.append(
                    f"compiled for {expected.short()} as argument {where} and got {aval.short()}"
                )
        if wrong:
            raise TypeError(f"{self._traced.fun_name} was {'; '.join(wrong)}")

    def _argument_name(self, index: int) -> str:
        names = self._traced.options.names
        return str(index) if names is None else names()[index]

    def _tracer_message(self, index: int, tracer: Tracer) -> str:
        return (
            f"{self._traced.fun_name} is compiled and cannot be transformed: argument "
            f"{self._argument_name(index)} is a tracer of type {tracer.aval.short()}. Transform "
            "the function that it was compiled from, then compile the result."
        )

    @property
    def input_shardings(self) -> Any:
        """The tree ``(args, kwargs)`` with the sharding of each array."""
        return physical.logical(self._traced.trees[0]).unflatten(self._executable.in_shardings)

    @property
    def output_shardings(self) -> Any:
        """The result's tree with the sharding of each array."""
        return physical.logical(self._traced.trees[1]).unflatten(self._executable.out_shardings)

    @property
    def input_formats(self) -> Any:
        """The tree ``(args, kwargs)`` with the format of each array; empty where it is unread."""
        return physical.logical(self._traced.trees[0]).unflatten(self._executable.in_formats)

    @property
    def output_formats(self) -> Any:
        """The result's tree with the format of each array."""
        return physical.logical(self._traced.trees[1]).unflatten(self._executable.out_formats)

    def as_text(self) -> str:
        """Return the HLO text after XLA's optimizations."""
        return "\n\n".join(module.to_string() for module in self._executable.whole.hlo_modules())

    def cost_analysis(self) -> dict[str, float] | None:
        """Return XLA's cost estimate of the optimized program; None where it makes none."""
        try:
            return self._executable.whole.cost_analysis()
        except (JaxRuntimeError, NotImplementedError):
            return None

    def memory_analysis(self) -> Any:
        """Return XLA's memory statistics: argument, output, temporary and code bytes.

        None where the platform keeps none.
        """
        try:
            return self._executable.xla.get_compiled_memory_stats()
        except (JaxRuntimeError, NotImplementedError):
            return None

    def runtime_executable(self) -> Any:
        """Return jaxlib's loaded executable."""
        return self._executable.whole

    def __repr__(self) -> str:
        return f"Compiled({self._traced.fun_name}, device={self._executable.device})"


def _typed(structure: Any, avals: Sequence[ShapedArray]) -> Any:
    """Return a tree of types, with one for each array of keys."""
    return of_elements(structure, avals, _type_of_key_data)


def _type_of_key_data(keys: ExtendedArray) -> ShapedArray:
    return keys.key_data.update(shape=keys.shape, dtype=keys.dtype)


def _of_key_data(keys: ExtendedArray) -> ArgInfo:
    info = keys.key_data
    return ArgInfo(info.aval.update(shape=keys.shape, dtype=keys.dtype), info.donated)
