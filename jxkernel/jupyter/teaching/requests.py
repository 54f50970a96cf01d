"""What a front end asks of teaching: to switch its mode, and to note a guess."""

from __future__ import annotations

from typing import Any, TypedDict

from jxkernel.jupyter.session.session import Session
from jxkernel.observe.teaching.quiz import EXERCISES, answered

__all__ = ["GuessAnswer", "TeachAnswer", "guess", "teach"]


class TeachAnswer(TypedDict):
    """Whether teaching mode is on."""

    on: bool


def teach(session: Session, on: bool) -> dict[str, Any]:
    """Switch teaching mode on or off."""
    session.settings.teach = bool(on)
    return {"on": session.settings.teach}


class GuessAnswer(TypedDict):
    """Whether the exercise is one whose answers are kept."""

    kept: bool


def guess(session: Session, exercise: str, correct: bool) -> dict[str, Any]:
    """Note a guess that was clicked on."""
    answered(exercise, correct=bool(correct))
    return {"kept": exercise in EXERCISES}
