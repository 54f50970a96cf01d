"""Types and operations that packages define above arrays: importable, and refused where used.

Packages define classes of these at their own import, and use them when their users ask for it.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from jxkernel._lazy import lazy_names
from jxkernel.core.avals import ShapedArray as AbstractValue
from jxkernel.primitives.shape.broadcast import instantiate as instantiate_zeros

__all__ = [
    "AbstractValue",
    "HiPrim",
    "HiType",
    "aval_method",
    "aval_property",
    "instantiate_zeros",
    "register_hitype",
]

__getattr__, __dir__ = lazy_names(__name__)


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is of a type above arrays, which no trace here knows: register the class as a "
        "pytree of its arrays, and write operations as functions of them"
    )


class HiPrim:
    """An operation of types above arrays; making one is refused.

    Raises:
      NotImplementedError: an instance is made.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse(type(self).__name__)


class HiType:
    """A type above arrays."""


class aval_property:
    """An attribute that tracers of a type are to have.

    Args:
      fget: what gives it.
    """

    def __init__(self, fget: Callable[..., Any]) -> None:
        self.fget = fget


class aval_method:
    """A method that tracers of a type are to have.

    Args:
      fun: the method.
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Take note of a class whose instances have a type above arrays: they are refused as values.

    Args:
      val_cls: the class.
      typeof_fn: from an instance to its type.
    """
