"""The marks of functions whose cells show no map: jitted ones, and traces that failed."""

from __future__ import annotations

from jxkernel.jupyter.provenance.payload import MarksPayload
from jxkernel.jupyter.provenance.view import function_data
from jxkernel.jupyter.session.session import Session

__all__ = ["marks"]


def marks(session: Session, since: int) -> MarksPayload:
    """Return the maps of functions that were traced since a front end asked the last time.

    Args:
      session: the session.
      since: the number of the latest map that it has; 0 for none.
    """
    new = [one for one in list(session.marked.values()) if one.number > since]
    maps = [
        {
            "number": one.number,
            "count": one.count,
            "cell": session.identity_of(one.function.file),
            "function": function_data(one.function),
        }
        for one in new
    ]
    return {"maps": maps}  # type: ignore[typeddict-item]  # records as JSON has them
