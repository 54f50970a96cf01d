"""LAPACK for CPU programs: jaxlib's kernels, made known to XLA on first use.

Registration is cheap; ``initialize`` binds the routines of SciPy's LAPACK, which imports SciPy
(0.2 s), so it waits until a program that needs them is lowered.
"""

from __future__ import annotations

from functools import cache

from jxkernel._jaxlib import lapack_kernels, register_custom_call_target

__all__ = ["prepare_lapack"]


@cache
def prepare_lapack() -> None:
    """Make the LAPACK kernels callable from compiled CPU programs."""
    lapack = lapack_kernels()
    for name, target in lapack.registrations().items():
        register_custom_call_target(name, target, platform="cpu", api_version=1)
    lapack.initialize()
