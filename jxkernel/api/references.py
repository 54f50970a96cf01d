"""Mutable references: names that libraries ask for, whose work is refused."""

from typing import Any, NoReturn

__all__ = ["Ref", "empty_ref", "free_ref", "freeze", "new_ref"]

_WHY = "mutable references are not here: state is carried explicitly, by `scan` and `.at`"


def _refuse() -> NoReturn:
    raise NotImplementedError(_WHY)


class Ref:
    """Refuse: state is carried explicitly, by ``scan`` and ``.at``.

    The class is there for ``isinstance``: nothing is an instance.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse()


def new_ref(*_: Any, **__: Any) -> NoReturn:
    """Refuse: state is carried explicitly, by ``scan`` and ``.at``."""
    _refuse()


def empty_ref(*_: Any, **__: Any) -> NoReturn:
    """Refuse: state is carried explicitly, by ``scan`` and ``.at``."""
    _refuse()


def free_ref(*_: Any, **__: Any) -> NoReturn:
    """Refuse: state is carried explicitly, by ``scan`` and ``.at``."""
    _refuse()


def freeze(*_: Any, **__: Any) -> NoReturn:
    """Refuse: state is carried explicitly, by ``scan`` and ``.at``."""
    _refuse()
