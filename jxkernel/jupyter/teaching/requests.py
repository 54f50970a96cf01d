"""What a front end asks of teaching mode: to switch it."""

from __future__ import annotations

from typing import Any, TypedDict

from jxkernel.jupyter.session.session import Session

__all__ = ["TeachAnswer", "teach"]


class TeachAnswer(TypedDict):
    """Whether teaching mode is on."""

    on: bool


def teach(session: Session, on: bool) -> dict[str, Any]:
    """Switch teaching mode on or off."""
    session.settings.teach = bool(on)
    return {"on": session.settings.teach}
