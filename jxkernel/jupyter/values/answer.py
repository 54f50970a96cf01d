"""``%jx value``: what an array or a tree of arrays holds."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.jupyter.session.expressions import evaluate
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.values.view import value_view
from jxkernel.jupyter.views.view import View

__all__ = ["value"]


def value(session: Session, words: str) -> View:
    """Return the view of what an expression of the user's holds.

    Raises:
      UsageError: there is no expression.
    """
    if not words:
        raise UsageError("%jx value: give an array or a tree of arrays, as in %jx value params")
    return value_view(evaluate(session, words))
