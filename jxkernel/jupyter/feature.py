"""A feature of the notebook half: what one folder adds to the magics, the channel and the views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import View

__all__ = ["MOST_ROWS", "Feature", "Request", "Subcommand"]

MOST_ROWS = 200
"""How many rows a list in the answer to a request has; the answer says how many it leaves out."""


class Subcommand(NamedTuple):
    """A subcommand of ``%jx``.

    Attributes:
      answer: called with the session and the words after the name.
      help: its words, and after two blanks what it does.
      choices: the words that its first one is completed from; none for the notebook's variables.
    """

    answer: Callable[[Session, str], View]
    help: str
    choices: tuple[str, ...] = ()

    @property
    def takes_words(self) -> bool:
        """Whether there are words after its name: its help begins with them."""
        return "  " in self.help


class Request(NamedTuple):
    """What a front end may ask for.

    A request may come in a thread of its own in the midst of a cell. Looking starts no platform.

    Attributes:
      answer: called with the session, and the request's arguments by name.
      type: what it answers, as a ``TypedDict``.
    """

    answer: Callable[..., Mapping[str, Any]]
    type: type


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What a folder adds.

    Attributes:
      subcommands: of ``%jx``, by name.
      requests: of front ends, by name.
      payloads: the data of each kind of view that the lab extension may draw.
      extended: payload or answer -> the dataclass whose fields it has besides its own.
      views: how a notebook shows a value, by the value's type.
      fragments: HTML that a notebook shows for a value beside its own text, by the value's type;
        None for none.
    """

    subcommands: Mapping[str, Subcommand] = field(default_factory=dict)
    requests: Mapping[str, Request] = field(default_factory=dict)
    payloads: Mapping[str, type] = field(default_factory=dict)
    extended: Mapping[type, type] = field(default_factory=dict)
    views: Mapping[type, Callable[[Any], View]] = field(default_factory=dict)
    fragments: Mapping[type, Callable[[Session, Any], str | None]] = field(default_factory=dict)
