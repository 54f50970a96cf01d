"""``%jx teach``: teaching mode on and off."""

from __future__ import annotations

from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.session.switches import switch
from jxkernel.jupyter.views.tables import table_view, text_view
from jxkernel.jupyter.views.view import View

__all__ = ["teach"]

_LESSONS = (
    ("index out of bounds", "x[12] of eight elements reads the nearest; a write does nothing"),
    ("random key used again", "the same key gives the same numbers, in any cell"),
    ("update dropped", "x.at[0].set(1) on a line of its own changes nothing"),
    ("side effect while tracing", "print and append in a jitted function happen once, or never"),
    ("view of a device array", "np.asarray(x)[0] = 1 fails: what to write instead"),
    ("64 bits became 32", "NumPy's float64 becomes float32"),
)


def teach(session: Session, words: str) -> View:
    """Switch teaching mode on or off, or say which it is.

    Raises:
      UsageError: the word is neither ``on`` nor ``off``.
    """
    wanted = switch("teach", words)
    if wanted is not None:
        session.settings.teach = wanted
    if not session.settings.teach:
        return text_view("", "teaching mode is off; `%jx teach on` tells silent mistakes")
    title = "Teaching mode is on: these are told; calls are slower; `%jx teach off` ends it"
    return table_view(title, ("Lesson", "What happens"), _LESSONS)
