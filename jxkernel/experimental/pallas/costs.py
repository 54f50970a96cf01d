"""Programs looked at without running them: what one costs, and its StableHLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import dtypes, tree
from jxkernel.api.jit import jit
from jxkernel.core.avals import abstractify
from jxkernel.core.filtering import filtered
from jxkernel.records import record

__all__ = ["CostEstimate", "estimate_cost", "lower_as_mlir"]


@record()
class CostEstimate:
    """What a kernel does, in numbers.

    Attributes:
      flops: floating-point operations, but for transcendental functions.
      transcendentals: evaluations of transcendental functions.
      bytes_accessed: bytes read and written.
      remote_bytes_transferred: bytes that go to other devices.
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0


@filtered
def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """Return what a function costs, from its types alone.

    Args:
      fun: the function.
      *args: its arguments: arrays, or what has a shape and a dtype.
      **kwargs: more of them, by keyword.

    Operations are those that XLA counts in the program before it optimizes, one turn of each loop.
    Bytes are those of the arguments and results.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental import pallas as pl
    >>> a, b = jx.ShapeDtypeStruct((8, 4), "float32"), jx.ShapeDtypeStruct((4, 16), "float32")
    >>> pl.estimate_cost(lambda a, b: jnp.sin(a @ b), a, b)
    CostEstimate(flops=1024, transcendentals=128, bytes_accessed=896, remote_bytes_transferred=0)
    """
    lowered = jit(fun).lower(*args, **kwargs)
    counted = lowered.cost_analysis()
    leaves = [*tree.leaves((args, kwargs)), *tree.leaves(lowered.out_info)]
    return CostEstimate(
        int(counted.get("flops", 0)),
        int(counted.get("transcendentals", 0)),
        sum(map(_bytes, leaves)),
    )


def _bytes(leaf: Any) -> int:
    aval = leaf if hasattr(leaf, "shape") and hasattr(leaf, "dtype") else abstractify(leaf)
    size = 1
    for length in aval.shape:
        size *= length
    return -(-size * dtypes.itemsize_bits(aval.dtype) // 8)


@filtered
def lower_as_mlir(
    f: Callable[..., Any],
    *args: Any,
    dynamic_shapes: bool = False,
    device: Any = None,
    static_argnames: str | Sequence[str] = (),
    platforms: Sequence[str] | None = None,
    **kwargs: Any,
) -> str:
    """Return the StableHLO of a function, as text.

    Args:
      f: the function.
      *args: its arguments: arrays, or what has a shape and a dtype.
      dynamic_shapes: must be False: ``jxkernel.export`` has symbolic sizes.
      device: must be None; ``platforms`` says for what to lower.
      static_argnames: the arguments that are no data.
      platforms: such as ``("cpu", "tpu")``; the one at hand where not given.
      **kwargs: more arguments, by keyword.

    Raises:
      NotImplementedError: ``dynamic_shapes`` or a ``device`` is given.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental import pallas as pl
    >>> "stablehlo.sine" in pl.lower_as_mlir(jx.numpy.sin, 1.0)
    True
    """
    if dynamic_shapes or device is not None:
        raise NotImplementedError(
            "lower_as_mlir takes no dynamic_shapes and no device: jxkernel.export has symbolic "
            "sizes, and platforms says for what to lower"
        )
    traced = jit(f, static_argnames=static_argnames).trace(*args, **kwargs)
    return traced.lower(lowering_platforms=platforms).as_text()
