"""What kernels for NVIDIA's devices ask: importable, and refused where it is asked."""

from typing import Any, NoReturn

__all__ = ["CompilerParams", "atomic_add", "load", "store"]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} of pallas.triton is for kernels that Triton compiles for NVIDIA's devices; here "
        "kernels are interpreted: write x_ref[...] and o_ref[...] = x, or call a kernel of C++ or "
        "CUDA by jxkernel.ffi"
    )


class CompilerParams:
    """How a kernel is compiled; making one is refused.

    Raises:
      NotImplementedError: an instance is made.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("CompilerParams")


def atomic_add(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel runs here."""
    _refuse("atomic_add")


def load(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel runs here."""
    _refuse("load")


def store(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel runs here."""
    _refuse("store")
