"""``%jx comm``: what a call would send between devices."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.core.error import UsageError

from jxkernel.cluster.communication import LINKS, Collective, Link, communication
from jxkernel.cluster.layouts import Layout, other_layouts
from jxkernel.jupyter.session.expressions import call_of
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_duration, format_size

__all__ = ["comm"]

_LINK = "ethernet-10"
_TRY_SECONDS = 20.0


def comm(session: Session, words: str) -> View:
    """Return the collectives of a call: line, bytes, mesh axes, time on a link, what avoids each.

    Raises:
      UsageError: there is no call, or no link of that name.
    """
    link, words = _link(words)
    if " --link" in words:
        raise UsageError("%jx comm [--link NAME] f(x): the link comes first")
    function, args, kwargs = call_of(session, words, "%jx comm")
    found = communication(function.trace(*args, **kwargs))
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
    title = f"Communication of {words}: {bytes_in_all}, about {total} over {link.name}"
    head = ("Where", "Line", "Collective", "Bytes", "Axes (devices)", "Time")
    table = table_view(title, head, rows, numeric=(3, 5))
    others = other_layouts(function, args, kwargs, sum(one.bytes for one in found), _TRY_SECONDS)
    advice = dict.fromkeys(_instead(one, others) for one in found)
    return stacked_view(
        "text", {"collectives": table, "instead": text_view("to avoid it", "\n".join(advice))}
    )


def _instead(one: Collective, others: Sequence[Layout]) -> str:
    """Return in words with which layout of an argument a collective is not needed."""
    avoiding = next((other for other in others if other.avoids(one)), None)
    if avoiding is None:
        return f"{one.kind}: {one.instead}"
    spec = f"P({', '.join(map(repr, avoiding.spec))})"
    whole = ", whole on each device" if not any(avoiding.spec) else ""
    left = f"{format_size(avoiding.bytes)} are sent then" if avoiding.bytes else "nothing is sent"
    what = f"{one.kind} of {one.code}" if one.code else one.kind
    return f"{what}: {avoiding.argument} as {spec}{whole}: {left}"


def _link(words: str) -> tuple[Link, str]:
    if not words.startswith("--link"):
        return LINKS[_LINK], words
    _, _, rest = words.partition(" ")
    name, _, call = rest.strip().partition(" ")
    if name not in LINKS:
        raise UsageError(f"%jx comm: there is no link {name!r}; there are {', '.join(LINKS)}")
    return LINKS[name], call.strip()
