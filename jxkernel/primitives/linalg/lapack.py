"""Calls of LAPACK kernels from CPU programs, and of their like on GPUs.

Matrices are column-major and batch axes come first; a kernel's ``info`` says whether it
succeeded, and where it did not the results are made NaN.  The kernels of GPUs come with the
platform's plugin; they are named here and need not be there for a program to be lowered.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.dtypes import DTypeLike
from jxkernel.runtime.lapack import prepare_lapack

__all__ = [
    "Argument",
    "call_gpu",
    "call_kernel",
    "call_lapack",
    "check_matrix_dtype",
    "has_kernel",
    "nan_where_failed",
    "on_gpu",
    "real_dtype",
]

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


_LIBRARIES = {
    "cuda": {"solver": "cusolver", "sparse": "cusparse", "hybrid": "cuhybrid", "own": "cu"},
    "rocm": {"solver": "hipsolver", "sparse": "hipsparse", "hybrid": "hiphybrid", "own": "hip"},
}
"""For each platform of GPUs the prefixes of its kernels, by the library that they are from."""


class Argument(NamedTuple):
    """The type of an operand or result of a kernel.

    Attributes:
      shape: its shape, batch axes first.
      dtype: its dtype.
      core: how many of its last axes are the kernel's own: 2 for matrices, 1 for vectors.
      by_rows: whether matrices lie by rows, which is their transpose by columns.
    """

    shape: tuple[int, ...]
    dtype: Any
    core: int
    by_rows: bool = False


def real_dtype(dtype: DTypeLike) -> Any:
    """Return the dtype of the parts of a complex dtype; a real one as it is."""
    return np.zeros((), dtype).real.dtype


def check_matrix_dtype(name: str, aval: ShapedArray, also: Sequence[str] = ()) -> None:
    """Raise a TypeError unless there is a kernel for arrays of this dtype, or it is one of more."""
    taken = (*_PREFIXES, *also)
    if aval.dtype.name not in taken:
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype.name}: it takes {', '.join(taken)}"
        )


def has_kernel(dtype: DTypeLike) -> bool:
    """Whether LAPACK has kernels for a dtype."""
    return dtype.name in _PREFIXES


def is_complex_dtype(dtype: DTypeLike) -> bool:
    """Whether a dtype of matrices is complex."""
    return dtype.kind == "c"


def _layout(argument: Argument) -> Any:
    """Return the axes from the fastest to the slowest: matrices by columns, batches outermost."""
    rank = len(argument.shape)
    order = list(range(rank))[::-1]
    if argument.core == 2 and not argument.by_rows:
        order[:2] = [rank - 2, rank - 1]
    body = "[]" if not order else str(order)
    return f"dense<{body}> : tensor<{rank}xindex>"


def _aliases(pairs: Sequence[tuple[int, int]], count: int) -> str:
    """Say which result takes over the buffer of which operand."""
    return ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{[result] if count > 1 else []}, operand_index = {operand}, operand_tuple_indices = []>"
        for operand, result in pairs
    )


def call_lapack(
    context: Any,
    routine: str,
    operands: Sequence[tuple[Any, Argument]],
    results: Sequence[Argument],
    *,
    dtype: DTypeLike,
    config: str = "",
    aliases: Sequence[tuple[int, int]] = (),
    gpu: tuple[str, str] | None = None,
) -> list[Any]:
    """Append the call of a kernel of LAPACK, or on a GPU of its like.

    Args:
      context: the lowering context.
      routine: LAPACK's name for it without the letter of the dtype, such as ``potrf``.
      operands: the operands' values and types.
      results: the results' types.
      dtype: the dtype that chooses the kernel.
      config: the kernel's attributes as MLIR, such as ``uplo = 76 : ui8``.
      aliases: which (operand, result) pairs share a buffer.
      gpu: the kernel for GPUs with the same operands and results, as for ``call_gpu``, and its
        attributes; None where there is none.

    Raises:
      NotImplementedError: there is no kernel for the program's platform.
    """
    if gpu is not None and on_gpu(context):
        kernel, attributes = gpu
        return call_gpu(context, kernel, operands, results, config=attributes, aliases=aliases)
    check_kernel(context)
    prepare_lapack()
    target = f"lapack_{_PREFIXES[dtype.name]}{routine}_ffi"
    return _call(context, target, operands, results, config, aliases)


def call_kernel(
    context: Any,
    target: str,
    operands: Sequence[tuple[Any, Argument]],
    results: Sequence[Argument],
) -> list[Any]:
    """Append the call of a kernel for CPUs that is of every dtype.

    Args:
      context: the lowering context.
      target: its name.
      operands: the operands' values and types.
      results: the results' types.

    Raises:
      NotImplementedError: the program is for another platform.
    """
    check_kernel(context)
    prepare_lapack()
    return _call(context, target, operands, results, "", ())


def check_kernel(context: Any) -> None:
    """Refuse a platform for which there is no kernel.

    Raises:
      NotImplementedError: the program is not for a CPU.
    """
    if context.module.platform != "cpu":
        raise NotImplementedError(
            f"{context.primitive_name} has no kernel for platform {context.module.platform!r}: "
            "move its operands to the CPU"
        )


def on_gpu(context: Any) -> bool:
    """Whether a program is for a GPU of a maker whose kernels are known."""
    return context.module.platform in _LIBRARIES


def call_gpu(
    context: Any,
    kernel: str,
    operands: Sequence[tuple[Any, Argument]],
    results: Sequence[Argument],
    *,
    config: str = "",
    aliases: Sequence[tuple[int, int]] = (),
) -> list[Any]:
    """Append the call of a kernel on a GPU.

    Args:
      context: the lowering context, of a program for a GPU.
      kernel: its name, with the kind of its library in place of the maker's prefix:
        ``solver_geqrf_ffi`` is ``cusolver_geqrf_ffi`` on CUDA.
      operands: the operands' values and types.
      results: the results' types.
      config: the kernel's attributes as MLIR.
      aliases: which (operand, result) pairs share a buffer.
    """
    kind, _, name = kernel.partition("_")
    target = f"{_LIBRARIES[context.module.platform][kind]}_{name}"
    return _call(context, target, operands, results, config, aliases)


def _call(
    context: Any,
    target: str,
    operands: Sequence[tuple[Any, Argument]],
    results: Sequence[Argument],
    config: str,
    aliases: Sequence[tuple[int, int]],
) -> list[Any]:
    attributes = {
        "call_target_name": hlo.string_attr(target),
        "has_side_effect": hlo.bool_attr(False),
        "api_version": hlo.i32_attr(4),
        "backend_config": hlo.parse_attribute(f"{{{config}}}"),
        "operand_layouts": hlo.parse_attribute(
            f"[{', '.join(_layout(argument) for _, argument in operands)}]"
        ),
        "result_layouts": hlo.parse_attribute(
            f"[{', '.join(_layout(argument) for argument in results)}]"
        ),
        "output_operand_aliases": hlo.parse_attribute(f"[{_aliases(aliases, len(results))}]"),
    }
    call = context.op(
        "stablehlo.custom_call",
        [hlo.tensor_type(argument.shape, argument.dtype) for argument in results],
        [value for value, _ in operands],
        attributes,
    )
    return list(call.results)


def nan_where_failed(
    context: Any,
    value: Any,
    argument: Argument,
    info: Any,
    direction: str = "EQ",
) -> Any:
    """Return a result with NaN for the examples whose ``info`` does not compare so with zero."""
    batch = argument.shape[: len(argument.shape) - argument.core]
    zero = context.splat(0, batch, np.dtype(np.int32))
    success = context.compare(info, zero, direction, batch, "SIGNED")
    spread = context.broadcast(
        success, tuple(range(len(batch))), argument.shape, np.dtype(np.bool_)
    )
    number = np.nan * (1 + 1j) if is_complex_dtype(argument.dtype) else np.nan
    nan = context.splat(number, argument.shape, argument.dtype)
    kind = hlo.tensor_type(argument.shape, argument.dtype)
    return context.value("stablehlo.select", kind, (spread, value, nan))
