"""``%jx trace``: what ran when, recorded over cells, and who made what is held in memory."""

from __future__ import annotations

import shlex

from IPython.core.error import UsageError

from jxkernel._jaxlib import JaxRuntimeError
from jxkernel._reprs import file_error
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.session.settling import wait_for_variables
from jxkernel.jupyter.timeline.view import timeline_view
from jxkernel.jupyter.views.tables import table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import MemoryProfile, Profile, memory_profile
from jxkernel.observe.explain import format_size

__all__ = ["memory_profile_view", "trace"]

FOLDER = "jx-trace"
MEMORY_FILE = "jx-memory.prof"


def trace(session: Session, words: str) -> View:
    """Start a profile, stop it and show the timeline, or profiles memory.

    ``start [FOLDER] [--python]`` writes to the folder ``jx-trace`` where none is named; ``stop``;
    ``memory [FILE]`` writes a pprof profile.

    Raises:
      UsageError: the words are none of these, or a profile is running already, or none is.
    """
    try:
        word, *rest = shlex.split(words) or [""]
    except ValueError as error:
        raise UsageError(f"%jx trace: {error}") from None
    if word == "start":
        return _start(session, rest)
    if word == "stop" and not rest:
        return _stop(session)
    if word == "memory" and len(rest) < 2:
        return _memory(session, rest[0] if rest else MEMORY_FILE)
    if word:
        raise UsageError(
            f"%jx trace: {words!r} is not 'start [FOLDER] [--python]', 'stop' or 'memory [FILE]'"
        )
    profile = session.profile
    running = profile is not None and profile.is_running
    return text_view(
        "",
        "A profile is running; %jx trace stop ends it."
        if running
        else "No profile is running; %jx trace start begins one.",
    )


def _start(session: Session, words: list[str]) -> View:
    folders = [word for word in words if word != "--python"]
    if len(folders) > 1 or any(word.startswith("-") for word in folders):
        raise UsageError(f"%jx trace start: {' '.join(words)!r} is not '[FOLDER] [--python]'")
    profile = Profile(folders[0] if folders else FOLDER, python="--python" in words)
    try:
        profile.start()
    except OSError as error:
        raise UsageError(f"%jx trace start: {file_error(error)}") from None
    except RuntimeError as error:
        raise UsageError(f"%jx trace start: {error}") from None
    session.profile = profile
    return text_view("", f"recording to {profile.folder}; run cells, then %jx trace stop")


def _stop(session: Session) -> View:
    if session.profile is None or not session.profile.is_running:
        raise UsageError("%jx trace stop: no profile is running; %jx trace start begins one")
    wait_for_variables(session.shell.user_ns)  # an interrupt ends the wait; the profile goes on
    profile, session.profile = session.profile, None
    try:
        timeline = profile.stop()
    except (OSError, JaxRuntimeError) as error:  # of the profiler's own files, the latter
        raise UsageError(f"%jx trace stop: {error}") from None
    lines = timeline.by_line()
    session.measured = {one.name: round(one.total_ns) for one in lines if one.name}
    compiler = session.shell.compile
    return timeline_view(timeline, lambda spot: name_cells(spot, compiler))


def _memory(session: Session, file: str) -> View:
    try:
        found = memory_profile(file)
    except OSError as error:
        raise UsageError(f"%jx trace memory: {file_error(error)}") from None
    return memory_profile_view(session, found)


def memory_profile_view(session: Session, found: MemoryProfile) -> View:
    """Return the view of what is held in memory, by the line that made it."""
    compiler = session.shell.compile
    rows = [
        (
            name_cells(row.place, compiler) if row.place else "no line of yours",
            row.function,
            row.kind,
            row.device,
            row.count,
            format_size(row.bytes),
        )
        for row in found.rows
    ]
    title = f"{format_size(found.bytes)} by the line that made it"
    title += f" · written: {found.file}" if found.file else ""
    head = ("Made at", "In", "Kind", "Device", "Count", "Size")
    return table_view(title, head, rows, numeric=(4, 5))
