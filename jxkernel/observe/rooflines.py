"""What this machine can do at best, measured: memory bandwidth, and operations of a matrix product.

The two limits of the roofline model (Williams, Waterman and Patterson, 2009): a program that does
f operations on b bytes takes at least max(f / operations per second, b / bytes per second).
Both are measured with XLA's own code on the device, so they are what a compiled program can reach
there, not what a data sheet says.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jxkernel.api.jit import jit
from jxkernel.runtime import default_device, device_put_single, wait

__all__ = ["Roofline", "forget_rooflines", "roofline"]

_ROUNDS = 5
_SECONDS = 0.3
_SCALE = {"cpu": (2**22, 512)}
"""For each platform how many numbers are moved, and how wide the matrices are: little enough that
some runs fit between what else the machine does."""
_LARGE_SCALE = (2**27, 8192)


@dataclass(frozen=True, slots=True)
class Roofline:
    """What a device can do at best.

    Attributes:
      device: its name, ``cpu:0``.
      dtype: the type of the matrices' elements.
      bandwidth: bytes per second, read and written.
      flops: floating-point operations per second of a matrix product.
    """

    device: str
    dtype: str
    bandwidth: float
    flops: float

    def least_seconds(self, flops: float, moved: float) -> float:
        """Return the shortest time in which so many operations on so many bytes can be done."""
        return max(flops / self.flops, moved / self.bandwidth)

    def limit(self, flops: float, moved: float) -> str:
        """Return which of the two sets that time: ``operations`` or ``memory``."""
        return "operations" if flops / self.flops > moved / self.bandwidth else "memory"


def roofline(dtype: Any = np.float32, device: Any = None, *, again: bool = False) -> Roofline:
    """Measure what a device can do at best; once for a process, in about a second.

    Args:
      dtype: a floating-point type, for the matrix product.
      device: the device; the default one where not given.
      again: whether to measure although it was done before; the better figures are kept, since
        other work on the machine can only make them worse.

    >>> from jxkernel.observe import roofline
    >>> best = roofline()
    >>> best.dtype, best.bandwidth > 0, best.flops > 0
    ('float32', True, True)
    >>> best is roofline()
    True
    """
    key = (np.dtype(dtype), default_device() if device is None else device)
    known = _known.get(key)
    if known is None or again:
        measured = _measured(*key)
        if known is not None:
            bandwidth = max(known.bandwidth, measured.bandwidth)
            flops = max(known.flops, measured.flops)
            measured = replace(known, bandwidth=bandwidth, flops=flops)
        _known[key] = measured
    return _known[key]


_known: dict[tuple[np.dtype[Any], Any], Roofline] = {}


def forget_rooflines() -> None:
    """Forget what was measured: the next roofline is measured again."""
    _known.clear()


def _measured(dtype: np.dtype[Any], device: Any) -> Roofline:
    numbers, width = _SCALE.get(device.platform, _LARGE_SCALE)
    moving, multiply = jit(_halve_and_add, donate_argnums=1), jit(_square)
    source = device_put_single(np.ones(numbers, np.float32), device)
    target = [device_put_single(np.ones(numbers, np.float32), device)]

    def move() -> Any:
        target[0] = moving(source, target[0])
        return target[0]

    matrix = device_put_single(np.ones((width, width), dtype), device)
    return Roofline(
        device=f"{device.platform}:{device.id}",
        dtype=dtype.name,
        bandwidth=3 * source.nbytes / _least_seconds(move),
        flops=2 * width**3 / _least_seconds(lambda: multiply(matrix)),
    )


def _halve_and_add(x: Any, y: Any) -> Any:
    """Two reads and one write, in place of ``y``: without new memory."""
    return y * np.float32(0.5) + x


def _square(a: Any) -> Any:
    return a @ a


def _least_seconds(work: Callable[[], Any]) -> float:
    """The least time of many runs: the one that nothing else on the machine disturbed."""
    wait([work()])
    times: list[float] = []
    while len(times) < _ROUNDS or sum(times) < _SECONDS:
        started = time.perf_counter_ns()
        times.append((wait([work()]) - started) / 1e9)
    return min(times)
