"""What a front end asks of the caches: what they hold, and to empty them."""

from __future__ import annotations

from typing import Any, TypedDict

from jxkernel import observe
from jxkernel.api.jit import clear_caches as forget
from jxkernel.compile import clear_disk_cache, disk_cache_summary
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied
from jxkernel.observe.explain import format_size

__all__ = ["CachesAnswer", "caches", "clear_caches"]


class CachesAnswer(TypedDict):
    """What is remembered, in words, or what was forgotten."""

    functions: int
    disk_entries: int
    disk_size: str
    disk_folder: str
    text: str


def caches(session: Session) -> dict[str, Any]:
    """Return what is remembered, here and on disk."""
    disk = disk_cache_summary()
    count = len(observe.functions())
    on_disk = f"{disk.entries} executables on disk" if disk.folder else "no disk cache"
    return tidied(
        {
            "functions": count,
            "disk_entries": disk.entries,
            "disk_size": format_size(disk.bytes),
            "disk_folder": disk.folder or "",
            "text": f"{count} traced functions; {on_disk}",
        }
    )


def clear_caches(session: Session, disk: bool = False) -> dict[str, Any]:
    """Forget every trace and executable, and return what was forgotten.

    Args:
      session: the session that is asked.
      disk: whether to delete those on disk too.
    """
    before = caches(session)
    forget()
    session.cells.clear()
    said = "every trace and compiled call is forgotten"
    if disk:
        said += f"; {clear_disk_cache()} executables deleted from disk"
    return {**before, "text": said}
