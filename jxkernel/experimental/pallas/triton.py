"""What kernels for NVIDIA's devices ask: importable, and refused where it is asked."""

from typing import Any, NoReturn

from jxkernel.experimental.pallas.kernels import refuse

__all__ = ["CompilerParams", "atomic_add", "load", "store"]


class CompilerParams:
    """How a kernel is compiled; making one is refused.

    Raises:
      NotImplementedError: an instance is made.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        refuse("CompilerParams")


def atomic_add(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel runs here."""
    refuse("atomic_add")


def load(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel runs here."""
    refuse("load")


def store(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel runs here."""
    refuse("store")
