"""``%jx quiz``: exercises that ask what tracing will do."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError

from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.teaching.view import exercise_view, graded_view, quiz_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.teaching.exercises import Exercise, Graded
from jxkernel.observe.teaching.quiz import EXERCISES, Quiz, quiz

__all__ = ["exercises", "view_of"]


def exercises(session: Session, words: str) -> View:
    """List the exercises, show one, or grades a guess: ``[NAME [GUESS]]``.

    Besides the built-in ones a name may be a variable: a function, or an ``Exercise``.

    Raises:
      UsageError: there is no such exercise, or the guess is no number.
    """
    name, _, guess = words.partition(" ")
    variable = session.shell.user_ns.get(name)
    own = callable(variable) or isinstance(variable, Exercise)
    if name and name not in EXERCISES and not own:
        raise UsageError(f"%jx quiz: no exercise {name!r}; there are {', '.join(EXERCISES)}")
    chosen: Any = name if name in EXERCISES else variable
    try:
        found = quiz(chosen if name else None, _guess(guess.strip()))
    except TypeError as error:
        raise UsageError(f"%jx quiz: {error}") from None
    return view_of(found)


def view_of(shown: Quiz | Exercise | Graded) -> View:
    """Return the view of what ``quiz`` gave."""
    if isinstance(shown, Quiz):
        return quiz_view(shown)
    return graded_view(shown) if isinstance(shown, Graded) else exercise_view(shown)


def _guess(text: str) -> Any:
    if not text:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
