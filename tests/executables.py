"""Programs that share an executable: of one text and one name, one is compiled and kept."""

from collections.abc import Callable
from typing import Any

import jxkernel as jx

__all__ = ["jit_as"]


def jit_as(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function whose program has the name of the one that an operation runs.

    An operation compiles a program of its own name when it is called eagerly.  A traced function
    that lowers to the same text is then found on disk; one that lowers to another is compiled.

    Args:
      name: the operation, such as ``linalg.norm``.
      function: what to compile.
    """

    def call(*args: Any) -> Any:
        return function(*args)

    call.__name__ = name.rpartition(".")[2]
    return jx.jit(call)
