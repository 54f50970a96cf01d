"""The stages of ahead-of-time compilation: ``Traced``, ``Lowered``, ``Compiled``.

``jit(f).trace(x).lower().compile()(x)`` walks the same road as a first call of ``jit(f)(x)``,
one stage at a time, each of which can be looked at.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jxkernel import dtypes, tree
from jxkernel._jaxlib import hlo_text_of, module_cost
from jxkernel.compile.executable import Executable, compile_lowered, execute, target_device
from jxkernel.compile.nonfinite import checking_results, report_nonfinite
from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.lowering import LoweredProgram, lower_program

__all__ = ["Compiled", "LowerOptions", "Lowered", "ShapeDtypeStruct", "Traced"]


class ShapeDtypeStruct:
    """A shape and dtype standing for an array: what ``eval_shape`` gives and ``lower`` takes.

    Attributes:
      shape: the sizes of the axes.
      dtype: the element type.
      weak_type: whether the dtype yields to the dtype it meets.
    """

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, *, weak_type: bool = False) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return ShapedArray(self.shape, self.dtype).size

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return (self.shape, self.dtype, self.weak_type) == (
            other.shape,
            other.dtype,
            other.weak_type,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))


def _abstract_struct(value: ShapeDtypeStruct) -> ShapedArray:
    return ShapedArray(value.shape, dtypes.canonicalize_dtype(value.dtype), value.weak_type)


register_abstractifier(ShapeDtypeStruct, _abstract_struct)


class Traced:
    """A function traced for given argument types.

    Attributes:
      jaxpr: the closed jaxpr.
      fun_name: the function's name.
      in_tree: the structure of ``(args, kwargs)`` without static arguments.
      out_tree: the structure of the result.
    """

    __slots__ = ("_options", "fun_name", "in_tree", "jaxpr", "out_tree")

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        fun_name: str,
        in_tree: Any,
        out_tree: Any,
        options: "LowerOptions",
    ) -> None:
        self.jaxpr = jaxpr
        self.fun_name = fun_name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._options = options

    @property
    def out_info(self) -> Any:
        """The result's tree with a ``ShapeDtypeStruct`` for each array."""
        return self.out_tree.unflatten([_struct(aval) for aval in self.jaxpr.out_avals])

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the flat arguments."""
        return self.jaxpr.in_avals

    def lower(self, *, lowering_platforms: tuple[str, ...] | None = None) -> "Lowered":
        """Lower to StableHLO, for the default device's platform unless one is named."""
        options = self._options
        device, _ = target_device((), options.device)
        platform = lowering_platforms[0] if lowering_platforms else device.platform
        program = lower_program(
            self.jaxpr,
            name=self.fun_name,
            platform=platform,
            donated=options.donated,
            keep_unused=options.keep_unused,
        )
        return Lowered(self, program, device)

    def __repr__(self) -> str:
        return f"Traced({self.fun_name}, {len(self.jaxpr.eqns)} equations)"


class LowerOptions(NamedTuple):
    """What lowering and compiling a traced function needs to know besides its jaxpr."""

    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    device: Any = None
    compiler_options: tuple[tuple[str, Any], ...] = ()


class Lowered:
    """A function as a StableHLO module."""

    __slots__ = ("_device", "_program", "_traced")

    def __init__(self, traced: Traced, program: LoweredProgram, device: Any) -> None:
        self._traced = traced
        self._program = program
        self._device = device

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``."""
        return self._traced.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._traced.out_tree

    @property
    def out_info(self) -> Any:
        """The result's tree with a ``ShapeDtypeStruct`` for each array."""
        return self._traced.out_info

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the module as text.

        Args:
          dialect: ``stablehlo`` (the default) or ``hlo``.
          debug_info: whether source locations are printed.

        Raises:
          ValueError: the dialect is another.
        """
        if dialect in (None, "stablehlo"):
            return self._program.text(locations=debug_info)
        if dialect == "hlo":
            return hlo_text_of(self._program.module)
        raise ValueError(f"unknown dialect {dialect!r}: there are 'stablehlo' and 'hlo'")

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the MLIR module itself."""
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"unknown dialect {dialect!r}: there is 'stablehlo'")
        return self._program.module

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's cost estimate of the unoptimized program: flops, bytes accessed ..."""
        return module_cost(self._device.client, self._program.module)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        """Compile with XLA.

        Args:
          compiler_options: XLA options by name, added to those given to ``jit``.

        Raises:
          JaxRuntimeError: XLA refuses the module or an option.
        """
        options = (*self._traced._options.compiler_options, *(compiler_options or {}).items())
        executable = compile_lowered(self._program, self._traced.jaxpr, self._device, options)
        return Compiled(self._traced, executable)

    def __repr__(self) -> str:
        return f"Lowered({self._traced.fun_name}, platform={self._program.platform!r})"


class Compiled:
    """A function compiled for given argument types; calling it never traces."""

    __slots__ = ("_executable", "_traced")

    def __init__(self, traced: Traced, executable: Executable) -> None:
        self._traced = traced
        self._executable = executable

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``."""
        return self._traced.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._traced.out_tree

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the types and structure compiled for (static ones left out).

        Raises:
          TypeError: the structure, a shape or a dtype differs.
        """
        flat, in_tree = tree.flatten((args, kwargs))
        if in_tree != self._traced.in_tree:
            raise TypeError(
                f"{self._traced.fun_name} was compiled for arguments of structure "
                f"{self._traced.in_tree} and got {in_tree}"
            )
        for index, (leaf, expected) in enumerate(zip(flat, self._traced.in_avals, strict=True)):
            aval = abstractify(leaf)
            if (aval.shape, aval.dtype) != (expected.shape, expected.dtype):
                raise TypeError(
                    f"{self._traced.fun_name} was compiled for {expected.short()} as argument "
                    f"{index} and got {aval.short()}"
                )
        _, committed = target_device(flat)
        outs = self._executable.call(flat, committed=committed)
        if checking_results():
            report_nonfinite(
                self._traced.jaxpr, flat, outs, name=self._traced.fun_name, execute=execute
            )
        return self._traced.out_tree.unflatten(outs)

    def as_text(self) -> str:
        """Return the HLO text after XLA's optimizations."""
        return "\n\n".join(module.to_string() for module in self._executable.xla.hlo_modules())

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's cost estimate of the optimized program."""
        return self._executable.xla.cost_analysis()

    def memory_analysis(self) -> Any:
        """Return XLA's memory statistics: argument, output, temporary and code bytes."""
        return self._executable.xla.get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        """Return jaxlib's loaded executable."""
        return self._executable.xla

    def __repr__(self) -> str:
        return f"Compiled({self._traced.fun_name}, device={self._executable.device})"


def _struct(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
