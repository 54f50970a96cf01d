"""Benchmarks: several ways to do the same, timed in turn."""

from __future__ import annotations

from jxkernel.jupyter.benchmarks.view import benchmark_view
from jxkernel.jupyter.feature import Feature
from jxkernel.observe import Benchmark

__all__ = ["FEATURE"]

FEATURE = Feature(
    views={Benchmark: benchmark_view},
)
