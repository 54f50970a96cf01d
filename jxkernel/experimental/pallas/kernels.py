"""Kernels: what makes one, and what it asks where it runs."""

from typing import Any, NoReturn

__all__ = ["pallas_call", "program_id", "refuse"]


def refuse(what: str) -> NoReturn:
    """Raise: no kernel is compiled here."""
    raise NotImplementedError(
        f"{what} is of kernels in Python for accelerators, which nothing here compiles: write the "
        "function with jxkernel.numpy, or call a kernel of C++ or CUDA by jxkernel.ffi"
    )


def pallas_call(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no kernel is compiled here."""
    refuse("pallas_call")


def program_id(axis: int) -> NoReturn:
    """Refuse: no kernel runs here."""
    refuse("program_id")
