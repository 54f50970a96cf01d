"""The programs that outlines were made of, for as long as anyone else has them."""

from __future__ import annotations

import itertools
import secrets
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from jxkernel.core.jaxpr import ClosedJaxpr

__all__ = ["clear_outlines", "keep", "kept_program", "walk_kept"]

_MOST = 200

_Walk = Callable[[ClosedJaxpr], Iterator[Any]]


def keep(closed: ClosedJaxpr, title: str, walk: _Walk) -> str:
    """Keep a program's title and how to walk through it, and return its token."""
    return _outlined.keep(closed, title, walk)


def walk_kept(token: str) -> Iterator[Any]:
    """Walk through all of a program of which an outline lists the beginning.

    Nothing is made before it is asked for, so the beginning of a program of any length comes soon.

    Args:
      token: that of the outline.

    Yields:
      each equation with its depth, in order; each program as it begins, and again when it is
      whole.

    Raises:
      LookupError: the program is gone, or was another process's.
    """
    _, closed, walk = _outlined.find(token)
    return walk(closed)


def kept_program(token: str) -> tuple[str, ClosedJaxpr]:
    """Return the title of an outline, and the program that it shows.

    Args:
      token: that of the outline.

    Raises:
      LookupError: the program is gone, or was another process's.
    """
    title, closed, _ = _outlined.find(token)
    return title, closed


def clear_outlines() -> None:
    """Forget which programs outlines were made of."""
    _outlined.clear()


class _Outlined:
    """Programs by token; the oldest are forgotten."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._programs: dict[str, tuple[str, weakref.ref[ClosedJaxpr], _Walk]] = {}

    def keep(self, closed: ClosedJaxpr, title: str, walk: _Walk) -> str:
        token = f"{self._process}-{next(self._numbers)}"
        self._programs[token] = (title, weakref.ref(closed), walk)
        while len(self._programs) > _MOST:
            self._programs.pop(next(iter(self._programs)))
        return token

    def find(self, token: str) -> tuple[str, ClosedJaxpr, _Walk]:
        kept = self._programs.get(token)
        closed = kept[1]() if kept else None
        if kept is None or closed is None:
            raise LookupError("the program is no longer in the kernel: run its cell again")
        return kept[0], closed, kept[2]

    def clear(self) -> None:
        self._programs.clear()


_outlined = _Outlined()
