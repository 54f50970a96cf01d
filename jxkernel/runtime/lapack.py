"""LAPACK for CPU programs: jaxlib's kernels, made known to XLA on first use.

Registration is cheap; ``initialize`` binds the routines of SciPy's LAPACK, so it waits until a
program that needs them is lowered.  It asks for two modules of ``scipy.linalg``, whose package
would load all of SciPy's linear algebra with them (0.13 s); they are loaded without it (0.03 s).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from jxkernel._jaxlib import lapack_kernels, register_custom_call_target
from jxkernel._lazy import late_function

__all__ = ["prepare_lapack"]

_PACKAGE = "scipy.linalg"
_ROUTINES = ("cython_blas", "cython_lapack")

module_from_spec = late_function("importlib.util", "module_from_spec")


@cache
def prepare_lapack() -> None:
    """Make the LAPACK kernels callable from compiled CPU programs."""
    lapack = lapack_kernels()
    for name, target in lapack.registrations().items():
        register_custom_call_target(name, target, platform="cpu", api_version=1)
    with _scipys_routines():
        lapack.initialize()


@contextmanager
def _scipys_routines() -> Iterator[None]:
    """Have the modules that ``initialize`` imports loaded, without the package they lie in.

    Afterwards they are forgotten: a later import of the package finds them as ever, the same
    module objects, for an extension module of this kind is made once in a process.
    """
    specs = [] if _PACKAGE in sys.modules else _specs()
    loaded: list[ModuleType] = []
    try:
        for spec in specs:
            loaded.append(_load(spec))
        yield
    finally:
        for module in loaded:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]


def _specs() -> list[ModuleSpec]:
    """Return where the modules are; none where SciPy is laid out otherwise."""
    scipy = PathFinder.find_spec("scipy")
    package = scipy and PathFinder.find_spec(_PACKAGE, scipy.submodule_search_locations)
    folders = package and package.submodule_search_locations
    found = [PathFinder.find_spec(f"{_PACKAGE}.{name}", folders) for name in _ROUTINES]
    specs = [spec for spec in found if spec is not None and spec.loader is not None]
    return specs if folders and len(specs) == len(_ROUTINES) else []


def _load(spec: ModuleSpec) -> ModuleType:
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module
