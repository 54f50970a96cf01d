"""``%jx comm``: what a call would send between devices."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.cluster.communication import LINKS, Link, communication
from jxkernel.jupyter.session.expressions import traced
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_duration, format_size

__all__ = ["comm"]

_LINK = "ethernet-10"


def comm(session: Session, words: str) -> View:
    """Return the collectives of a call: line, bytes, mesh axes, and time on a link.

    Raises:
      UsageError: there is no call, or no link of that name.
    """
    link, words = _link(words)
    found = communication(traced(session, words, "%jx comm"))
    if not found:
        return text_view("", f"{words} sends nothing between devices.")
    rows = [
        (
            f"{one.file}:{one.line}" if one.file else "",
            one.code,
            f"{one.kind}{' in a loop, each time' if one.in_loop else ''}",
            format_size(one.bytes),
            f"{', '.join(map(str, one.axes))} ({one.devices})",
            format_duration(one.seconds(link) * 1e9),
        )
        for one in found
    ]
    total = format_duration(sum(one.seconds(link) for one in found) * 1e9)
    bytes_in_all = format_size(sum(one.bytes for one in found))
    title = f"communication of {words}: {bytes_in_all}, about {total} over {link.name}"
    head = ("where", "line", "collective", "bytes", "axes (devices)", "time")
    table = table_view(title, head, rows, numeric=(3, 5))
    advice = dict.fromkeys(f"{one.kind}: {one.instead}" for one in found)
    return stacked_view(
        "text", {"collectives": table, "instead": text_view("to avoid it", "\n".join(advice))}
    )


def _link(words: str) -> tuple[Link, str]:
    if not words.startswith("--link"):
        return LINKS[_LINK], words
    _, _, rest = words.partition(" ")
    name, _, call = rest.strip().partition(" ")
    if name not in LINKS:
        raise UsageError(f"%jx comm: there is no link {name!r}; there are {', '.join(LINKS)}")
    return LINKS[name], call.strip()
