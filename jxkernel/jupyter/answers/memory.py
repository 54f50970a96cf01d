"""`%jx live`, `memory` and `free`: what is held on the devices.

Purpose: find the arrays that variables hold, delete them, and ask what a call takes.

Place in the pipeline: between `magics.jx` and the runtime, over `expressions`.

Must not know: how a line is split into subcommands, or how views are drawn.
"""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError

from jxkernel.jupyter.answers.expressions import traced
from jxkernel.jupyter.display import View, table_view, text_view
from jxkernel.jupyter.session import Session
from jxkernel.jupyter.waiting import arrays_in
from jxkernel.observe.explain import format_size

__all__ = ["free", "live", "memory"]


def live(session: Session, words: str = "") -> View:
    """Returns the device arrays that notebook variables hold, largest first."""
    found: dict[int, tuple[Any, list[str]]] = {}
    hidden = session.shell.user_ns_hidden
    for name, value in list(session.shell.user_ns.items()):
        if name in hidden or name in ("Out", "_oh"):
            continue
        for array in arrays_in(value):
            found.setdefault(id(array), (array, []))[1].append(name)
    rows = [
        (
            ", ".join(names),
            array.aval.short(weak=True),
            "deleted" if array.is_deleted() else format_size(array.nbytes),
            "" if array.is_deleted() else str(array.device),
        )
        for array, names in sorted(found.values(), key=lambda one: -one[0].nbytes)
    ]
    total = sum(array.nbytes for array, _ in found.values() if not array.is_deleted())
    title = f"{len(rows)} arrays in variables, {format_size(total)}"
    return table_view(title, ("names", "type", "size", "device"), rows, numeric=(2,))


def memory(session: Session, words: str) -> View:
    """Returns the memory that a compiled expression takes; without one, that of live arrays."""
    if not words:
        return live(session)
    stats = traced(session, words, "%jx memory").lower().compile().memory_analysis()
    rows = [
        ("arguments", format_size(stats.argument_size_in_bytes)),
        ("results", format_size(stats.output_size_in_bytes)),
        ("results in donated arguments", format_size(stats.alias_size_in_bytes)),
        ("temporary", format_size(stats.temp_size_in_bytes)),
        ("code", format_size(stats.generated_code_size_in_bytes)),
    ]
    return table_view(f"memory of {words}", ("", "size"), rows, numeric=(1,))


def free(session: Session, words: str) -> View:
    """Deletes the arrays that variables hold, and the variables.

    Raises:
      UsageError: no variable is named, or one does not exist or holds no array.
    """
    namespace = session.shell.user_ns
    names = words.replace(",", " ").split()
    if not names:
        raise UsageError("%jx free: name the variables whose arrays to delete")
    for name in names:
        if not arrays_in(namespace.get(name)):
            raise UsageError(f"%jx free: {name} holds no device array")
    freed = 0
    for name in names:
        for array in arrays_in(namespace.pop(name)):
            if not array.is_deleted():
                freed += array.nbytes
                array.delete()
    return text_view("", f"{', '.join(names)} deleted: {format_size(freed)}")
