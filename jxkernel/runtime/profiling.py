"""Profiles: what ran when on host and devices, and what memory devices hold.

XLA's own profiler does the work.  A profile is an XSpace: planes (host, devices) of lines (threads,
streams) of events.  Written to a folder it is ``*.xplane.pb`` and ``*.trace.json.gz``, the Chrome
trace format that Perfetto opens.  One profile runs at a time, as the profiler asks.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, wraps
from glob import glob
from pathlib import Path
from typing import Any

from jaxlib import _jax, _profile_data, _profiler  # type: ignore[attr-defined]  # C++ modules

from jxkernel.core.filtering import filtered
from jxkernel.runtime.clients import backend as client_of

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileLine",
    "ProfileOptions",
    "ProfilePlane",
    "ProfileSession",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "export_profile_data",
    "get_profiled_instructions_proto",
    "memory_profile_data",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]

ProfileData = _profile_data.ProfileData
ProfileEvent = _profile_data.ProfileEvent
ProfileLine = _profile_data.ProfileLine
ProfileOptions = _profiler.ProfileOptions
ProfilePlane = _profile_data.ProfilePlane
register_subprocess = _profiler.register_subprocess

Folder = str | os.PathLike[str]

_running: list[ProfileSession] = []
_servers: list[Any] = []


class TraceAnnotation(_profiler.TraceMe):  # type: ignore[misc]  # a C++ class without stubs
    """Names a stretch of host time in a profile: a context manager.

    Args:
      name: what the profile shows.
      **kwargs: numbers and strings shown with it.

    >>> with jx.profiler.TraceAnnotation("load", batch=3):
    ...     x = jnp.arange(3)
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        # ``_jx`` tells what Python code named from what the runtime names by itself.
        super().__init__(name, _jx=1, **kwargs)


class StepTraceAnnotation(TraceAnnotation):
    """Names one step of a loop, so that a profile can be read step by step.

    Args:
      name: what the profile shows, the same for all steps.
      **kwargs: numbers and strings shown with it, usually ``step_num``.

    >>> with jx.profiler.StepTraceAnnotation("train", step_num=7):
    ...     x = jnp.arange(3)
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        # ``_r`` marks the root of a step.
        super().__init__(name, _r=1, **kwargs)


def _refuse_link(create_perfetto_link: bool) -> None:
    if create_perfetto_link:
        raise NotImplementedError(
            "create_perfetto_link would open a server: pass create_perfetto_trace=True and open "
            "the file in Perfetto"
        )


class ProfileSession:
    """One profile, from ``start`` to ``stop``.

    Args:
      log_dir: the folder to write it to; None to keep it in ``profile_data`` alone.
      create_perfetto_link: must be False: nothing is opened to the network.
      create_perfetto_trace: whether to write ``perfetto_trace.json.gz`` as well.
      profiler_options: what to record.

    Attributes:
      profile_data: the profile as planes, lines and events, once it was stopped.
      space: the same as the profiler wrote it, a serialized XSpace.

    Raises:
      NotImplementedError: a link is asked for.
    """

    def __init__(
        self,
        log_dir: Folder | None = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: Any = None,
    ) -> None:
        _refuse_link(create_perfetto_link)
        self.log_dir = log_dir
        self.create_perfetto_trace = create_perfetto_trace
        self.profiler_options = profiler_options
        self.profile_data: Any = None
        self.space = b""
        self._session: Any = None
        self._writer: Any = None

    @property
    def is_running(self) -> bool:
        """Whether it has been started and not yet stopped."""
        return self._session is not None

    def start(self) -> None:
        """Start recording.

        Raises:
          RuntimeError: a profile is running already.
          OSError: the folder is not there and cannot be made.
        """
        if _running:
            raise RuntimeError("a profile is running already, and only one can: stop it first")
        if self.log_dir is not None:
            Path(self.log_dir).mkdir(parents=True, exist_ok=True)  # else all is lost at the end
        client_of()  # a client made later would not be recorded
        options = self.profiler_options
        self._session = _profiler.ProfilerSession(*([] if options is None else [options]))
        _running.append(self)

    def stop(self) -> Any:
        """Stop recording, write the profile where there is a folder, and return it.

        Raises:
          RuntimeError: it is not running.
        """
        if self._session is None:
            raise RuntimeError("no profile is running: start one first")
        session, self._session = self._session, None
        _running.clear()
        self.space = space = session.stop()
        self._writer = session
        self.profile_data = ProfileData.from_serialized_xspace(space)
        _make_iterators(self.profile_data)
        if self.log_dir is not None:
            session.export(space, os.fspath(self.log_dir))
            if self.create_perfetto_trace:
                _copy_for_perfetto(Path(self.log_dir))
        return self.profile_data


def _make_iterators(data: Any) -> None:
    """Look at one statistic of each kind, and keep the classes of what is looked through.

    They are made at their first use, and again when they were collected; Python warns of it each
    time, and where warnings are errors jaxlib ends the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _keep_alive(type(data.planes))
        for plane in data.planes:
            _keep_alive(type(plane.stats))
            _keep_alive(type(plane.lines))
            for line in plane.lines:
                _keep_alive(type(line.events))
                for event in line.events:
                    _keep_alive(type(event.stats))
                    break


@cache
def _keep_alive(kind: type) -> type:
    """Return a class, which is alive from then on."""
    return kind


def _copy_for_perfetto(folder: Path) -> None:
    """Write the newest trace once more, under the name that tools look for."""
    traces = glob(str(folder / "plugins" / "profile" / "*" / "*.trace.json.gz"))
    newest = Path(max(traces, key=os.path.getmtime))
    shutil.copyfile(newest, newest.with_name("perfetto_trace.json.gz"))


def export_profile_data(
    profile_data: Any,
    log_dir: Folder,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    session_id: str | None = None,
) -> None:
    """Write a profile that was kept in memory to a folder.

    Args:
      profile_data: a ``ProfileData``, or a ``ProfileSession`` that was stopped.
      log_dir: the folder.
      create_perfetto_link: must be False: nothing is opened to the network.
      create_perfetto_trace: whether to write ``perfetto_trace.json.gz`` as well.
      session_id: the name of the folder below it; the time where not given.

    Raises:
      ValueError: the session is still running, or was not started.
      NotImplementedError: a link is asked for; or jaxlib is older than 0.12, and not a session but
        its data, or a ``session_id``, is given.

    >>> import tempfile
    >>> with jx.profiler.trace() as session:
    ...     y = jnp.sin(jnp.arange(8.0)).block_until_ready()
    >>> jx.profiler.export_profile_data(session, tempfile.mkdtemp())
    """
    _refuse_link(create_perfetto_link)
    found = profile_data.profile_data if isinstance(profile_data, ProfileSession) else profile_data
    if found is None:
        raise ValueError("this session has no profile: start it, and stop it after the work")
    export = getattr(_profiler, "export_to_xprof", None)
    if export is not None:
        export(found, os.fspath(log_dir), session_id or "")
    elif isinstance(profile_data, ProfileSession) and session_id is None:
        profile_data._writer.export(profile_data.space, os.fspath(log_dir))
    else:
        raise NotImplementedError(
            "this jaxlib writes the profile of a session alone, by the time: give the "
            "ProfileSession, and no session_id"
        )
    if create_perfetto_trace:
        _copy_for_perfetto(Path(log_dir))


def start_trace(
    log_dir: Folder,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> ProfileSession:
    """Start a profile that ``stop_trace`` ends.  Arguments and errors: ``ProfileSession``.

    >>> import tempfile
    >>> session = jx.profiler.start_trace(tempfile.mkdtemp())
    >>> session.is_running
    True
    >>> len(list(jx.profiler.stop_trace().planes)) > 0
    True
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    session.start()
    return session


def stop_trace() -> Any:
    """Stop the running profile, write it to its folder, and return its data.

    Raises:
      RuntimeError: none is running.
    """
    if not _running:
        raise RuntimeError("no profile is running: start one first")
    return _running[-1].stop()


@contextmanager
def trace(
    log_dir: Folder | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Generator[ProfileSession]:
    """Profile a block.  Arguments and errors: ``ProfileSession``, which is what ``as`` gives.

    Wait for results inside the block: work that still runs at its end is cut off.

    >>> with jx.profiler.trace() as session:
    ...     y = jnp.sin(jnp.arange(8.0)).block_until_ready()
    >>> any(plane.name.startswith("/host") for plane in session.profile_data.planes)
    True
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    session.start()
    try:
        yield session
    finally:
        session.stop()


def annotate_function(
    func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any
) -> Callable[..., Any]:
    """Return a function whose calls profiles show.

    Args:
      func: the function.
      name: what profiles call it; its own name where not given.
      **decorator_kwargs: numbers and strings shown with each call.

    >>> jx.profiler.annotate_function(abs, name="size")(-2)
    2
    """
    label = name or getattr(func, "__qualname__", repr(func))

    @wraps(func)
    @filtered
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return who holds memory on a platform's devices, as a gzipped pprof profile.

    Args:
      backend: the platform; the default one where not given.

    >>> jx.profiler.device_memory_profile()[:2] == bytes([0x1F, 0x8B])
    True
    """
    return gzip.compress(client_of(backend).heap_profile())


def memory_profile_data(profile: bytes) -> dict[str, Any]:
    """Return a profile of ``device_memory_profile`` as plain data: pprof's fields by their names.

    >>> sorted(memory_profile_data(jx.profiler.device_memory_profile()))[-2:]
    ['sampleType', 'stringTable']
    """
    return json.loads(_jax.pprof_profile_to_json(gzip.decompress(profile)))


def save_device_memory_profile(filename: Folder, backend: str | None = None) -> None:
    """Write ``device_memory_profile`` to a file, for ``pprof`` to show."""
    Path(filename).write_bytes(device_memory_profile(backend))


def get_profiled_instructions_proto(tensorboard_dir: Folder) -> bytes:
    """Return how long each instruction took, from a profile, as XLA's compiler reads it.

    Args:
      tensorboard_dir: the folder that ``trace`` has written to.

    Returns:
      a serialized ``ProfiledInstructionsProto``; empty where the profile is of no GPU.
    """
    return _profiler.get_profiled_instructions_proto(os.fspath(tensorboard_dir))


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Start the server through which profiling tools ask this process for profiles.

    Args:
      port: the port to listen on.
      requires_backend: whether to start the default platform first, so that it is recorded.

    Raises:
      ValueError: one is running already.
    """
    if _servers:
        raise ValueError("a profiling server is running already: stop it with stop_server()")
    if requires_backend:
        client_of()
    _servers.append(_profiler.start_server(port))
    return _servers[0]


def stop_server() -> None:
    """Stop the server of ``start_server``.

    Raises:
      ValueError: none is running.
    """
    if not _servers:
        raise ValueError("no profiling server is running")
    _servers.clear()
