"""The disk cache: executables kept between sessions, so that a program is compiled once.

Compiling asks here first and stores here afterwards (``compile.executable``).  The key of an entry
is a digest of everything that decides the executable: the module's text without source locations,
the compile options (XLA's flags among them), jaxlib's version, the devices, the processor's
features and the number of XLA's threads.  Nothing that happens to the folder may break a compile:
what cannot be read, is damaged, or was not written by this very code for this very key, is a miss.

An entry holds the executable twice where that pays: trimmed, which is loaded, and whole, for who
reads the program (``compile.trimming``).

A file is written whole under another name and renamed, so that other processes see all of it or
nothing.  Reading an entry sets its modification time, which is what the oldest are known by when
the folder outgrows ``jax_compilation_cache_max_size``.

This module must not know of jaxprs, avals or tracing.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, BinaryIO

from jxkernel import events
from jxkernel._jaxlib import DeviceList, machine_description, version_text
from jxkernel._lazy import late_function
from jxkernel.config import (
    compilation_cache_dir,
    compilation_cache_include_metadata_in_key,
    compilation_cache_max_size,
    enable_compilation_cache,
    module_passes,
    persistent_cache_min_compile_time_secs,
    persistent_cache_min_entry_size_bytes,
)
from jxkernel.records import record

__all__ = [
    "CacheEntry",
    "CacheSummary",
    "LoadedEntry",
    "clear_disk_cache",
    "disk_cache_folder",
    "disk_cache_key",
    "disk_cache_summary",
    "load_executable",
    "load_or_compile",
    "reset_disk_cache",
    "store_executable",
]

blake2b = late_function("hashlib", "blake2b")  # it loads OpenSSL, for a cache that is in use
trimmed = late_function("jxkernel.compile.trimming", "trimmed")  # for what is compiled

_MAGIC = b"jxkernel executable 2\n"
_DIGEST = 32
_HEADER = struct.Struct(f"<{_DIGEST}s{_DIGEST}sQIQQ")
"""Digest of what follows it up to what is loaded; key; nanoseconds of the compile; lengths of the
name, of what is loaded, and of the whole executable, which is 0 where that is what is loaded.

These three follow, the last one behind its digest."""
_START = len(_MAGIC) + _HEADER.size

_SUFFIX = ".executable"
_NAME = rf"[0-9a-f]{{{2 * _DIGEST}}}{re.escape(_SUFFIX)}(\..+)?"
"""The names of entries; with more behind them, of those that are being written."""
_UNREACHABLE = (OSError, ValueError)
"""What a path may raise: the second is for paths that no file can have."""
_ABANDONED_SECONDS = 3600
_ROOM = 0.9
"""The part of the bound that eviction leaves in use, so that not every store evicts."""


@record()
class CacheEntry:
    """One executable on disk.

    Attributes:
      path: its file.
      bytes: the file's size.
      used: when it was stored or last loaded, in seconds since the epoch.
    """

    path: str
    bytes: int
    used: float


@record()
class CacheSummary:
    """What is on disk, and what this process did with it.

    Attributes:
      folder: where the entries are; None while the cache is off.
      entries: how many there are.
      bytes: their size together.
      limit: the greatest size that the folder may have; -1 for no bound.
      hits: executables that this process loaded.
      misses: executables that it did not find and compiled.
      stores: executables that it stored.
      bytes_read: size of what it loaded.
      bytes_written: size of what it stored.
      saved_ns: time that compiling the loaded ones took when they were stored, less loading them.
      problem: why the folder is not written to; empty while all is well.
    """

    folder: str | None
    entries: int
    bytes: int
    limit: int
    hits: int
    misses: int
    stores: int
    bytes_read: int
    bytes_written: int
    saved_ns: int
    problem: str


@record()
class LoadedEntry:
    """An executable from disk.

    Attributes:
      executable: jaxlib's loaded executable.
      bytes: how much was read.
      compile_ns: how long compiling it took.
      load_ns: how long loading it took.
      whole: where it is trimmed, what loads the whole one; that gives None if it is gone.
    """

    executable: Any
    bytes: int
    compile_ns: int
    load_ns: int
    whole: Callable[[], Any] | None


class _Use:
    """What this process did with the cache, and what it knows of the folder."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget all of it."""
        self.hits = self.misses = self.stores = 0
        self.bytes_read = self.bytes_written = self.saved_ns = 0
        self.sizes: dict[str, int] = {}
        self.problems: dict[str, str] = {}

    def add(self, **amounts: int) -> None:
        """Add to the counters."""
        with self.lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)


_use = _Use()
_numbers = count()


def disk_cache_folder() -> str | None:
    """Return the folder of the disk cache, or None while the cache is off.

    It is off where an option says so, while XLA is told to dump what it compiles, for that asks
    for a compilation, and while the user has passes over what it compiles.
    """
    if module_passes.value:
        return None
    if not enable_compilation_cache.value or compilation_cache_max_size.value == 0:
        return None
    if "xla_dump_to" in os.environ.get("XLA_FLAGS", ""):
        return None
    return compilation_cache_dir.value or None


def disk_cache_key(
    module: Any, devices: Sequence[Any], options: Any, overrides: Sequence[tuple[str, Any]] = ()
) -> bytes:
    """Return the digest of all that decides an executable.

    Args:
      module: the MLIR module.  Its source locations are left out, unless
        ``jax_compilation_cache_include_metadata_in_key`` is on.
      devices: what it is compiled for.
      options: the compile options, before ``overrides`` are added to them.
      overrides: XLA options by name.
    """
    text = module.operation.get_asm(
        enable_debug_info=compilation_cache_include_metadata_in_key.value,
        use_local_scope=True,
        assume_verified=True,
    )
    digest = blake2b(digest_size=_DIGEST)
    parts = (
        _MAGIC,
        text.encode(),
        options.SerializeAsString(),
        repr(sorted((name, repr(value)) for name, value in overrides)).encode(),
        version_text.encode(),
        devices[0].client.platform_version.encode(),
        repr([(device.platform, device.device_kind, device.id) for device in devices]).encode(),
        machine_description(devices),
    )
    for part in parts:
        # The length keeps two parts from reading as two others.
        digest.update(struct.pack("<Q", len(part)))
        digest.update(part)
    return digest.digest()


def load_or_compile(
    compilation: Callable[[], Any],
    module: Any,
    devices: Sequence[Any],
    options: Any,
    overrides: Sequence[tuple[str, Any]] = (),
    *,
    fun: str,
    function_id: int = 0,
) -> tuple[Any, LoadedEntry | None]:
    """Return an executable, and the entry that it came from; else it is compiled and stored.

    Args:
      compilation: what compiles; called only on a miss, its errors are the caller's.
      module: the MLIR module, without host callbacks (those are objects of this process).
      devices: what it is compiled for.
      options: the compile options, before ``overrides`` are added to them.
      overrides: XLA options by name.
      fun: the program's name, for events and the entry.
      function_id: the number of the function object, for events.
    """
    folder = disk_cache_folder()
    client = devices[0].client
    # What several processes compile together they must all compile: one of them hitting alone
    # would leave the others waiting for it.
    if folder is None or len(client.devices()) != len(client.local_devices()):
        return compilation(), None
    about: dict[str, Any] = {"fun": fun, "function_id": function_id, "cache": "disk"}
    key = disk_cache_key(module, devices, options, overrides)
    found = load_executable(key, devices, folder)
    if found is not None:
        saved = max(0, found.compile_ns - found.load_ns)
        events.emit(events.CacheHit, **about, bytes=found.bytes, saved_ns=saved)
        return found.executable, found
    start = time.perf_counter_ns()
    executable = compilation()
    took = time.perf_counter_ns() - start
    on_cpu = devices[0].platform == "cpu"
    stored = store_executable(key, executable, fun, took, folder, trim=on_cpu)
    events.emit(events.CacheMiss, **about, bytes=stored)
    return executable, None


def load_executable(key: bytes, devices: Sequence[Any], folder: str) -> LoadedEntry | None:
    """Return the executable of a key; None if there is none that can be trusted."""
    start = time.perf_counter_ns()
    path = _path(folder, key)
    content = _content(path, key)
    if content is None:
        _use.add(misses=1)
        return None
    whole = partial(_load_whole, path, key, devices) if content.whole else None
    executable = _deserialized(content.payload, devices) if content.payload else None
    if executable is None and whole is not None:
        executable, whole = whole(), None
    if executable is None:
        with suppress(OSError):
            os.unlink(path)
        _use.add(misses=1)
        return None
    with suppress(OSError):
        os.utime(path)
    took = time.perf_counter_ns() - start
    _use.add(hits=1, bytes_read=content.bytes, saved_ns=max(0, content.compile_ns - took))
    return LoadedEntry(executable, content.bytes, content.compile_ns, took, whole)


def _load_whole(path: str, key: bytes, devices: Sequence[Any]) -> Any:
    """Return the whole executable of an entry; None if it cannot be trusted."""
    content = _content(path, key, whole=True)
    return _deserialized(content.payload, devices) if content and content.payload else None


@record()
class _Content:
    """What was read of a file.

    Attributes:
      payload: the serialized executable; empty where the file is damaged, or not for us.
      compile_ns: how long compiling it took.
      bytes: how much was read.
      whole: whether the whole executable stands behind it.
    """

    payload: bytes = b""
    compile_ns: int = 0
    bytes: int = 0
    whole: bool = False


def _content(path: str, key: bytes, *, whole: bool = False) -> _Content | None:
    """Read what is to be loaded of a file; None where there is none, or no file: a pipe, a folder.

    To open a pipe would wait for a writer.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            return _read(file, status.st_size, key, whole)
    except _UNREACHABLE:
        return None


def _read(file: BinaryIO, size: int, key: bytes, whole: bool) -> _Content:
    head = file.read(_START)
    if len(head) < _START or not head.startswith(_MAGIC):
        return _Content()
    digest, stored_key, compile_ns, *lengths = _HEADER.unpack_from(head, len(_MAGIC))
    name, loaded, behind = lengths
    if stored_key != key or size != _START + name + loaded + (_DIGEST + behind if behind else 0):
        return _Content()
    if whole and behind:
        file.seek(name + loaded, os.SEEK_CUR)
        digest, payload = file.read(_DIGEST), file.read()
        return _Content(payload if digest == _digest(payload) else b"")
    content = file.read(name + loaded)
    if digest != _digest(head[len(_MAGIC) + _DIGEST :], content):
        return _Content()
    return _Content(content[name:], compile_ns, _START + len(content), behind > 0)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=_DIGEST)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _deserialized(payload: bytes, devices: Sequence[Any]) -> Any:
    try:
        return devices[0].client.deserialize_executable(payload, DeviceList(tuple(devices)), None)
    except Exception:  # whatever the runtime has against an entry, it can be compiled again
        return None


def store_executable(
    key: bytes, executable: Any, name: str, compile_ns: int, folder: str, *, trim: bool = False
) -> int:
    """Store an executable if it is worth an entry, and return the bytes written.

    A folder that cannot be written is left alone from then on.  The first failure is
    said in one warning, where the user chose the folder.

    Args:
      key: what it is found by.
      executable: jaxlib's executable.
      name: the program's name.
      compile_ns: how long compiling it took.
      folder: where the entries are.
      trim: whether it is of XLA's CPU client, of which a trimmed one can be made.
    """
    too_cheap = compile_ns < persistent_cache_min_compile_time_secs.value * 1e9
    if too_cheap or folder in _use.problems:
        return 0
    try:
        whole = executable.serialize()
    except Exception:  # a platform that cannot serialize has no disk cache
        return 0
    if len(whole) < persistent_cache_min_entry_size_bytes.value:
        return 0
    loaded = trimmed(whole, partial(_flops, executable)) if trim else None
    behind = b"" if loaded is None else whole
    encoded = name.encode(errors="replace")
    loaded = loaded or whole
    rest = struct.pack(f"<{_DIGEST}sQIQQ", key, compile_ns, len(encoded), len(loaded), len(behind))
    content = b"".join((encoded, loaded))
    parts = [_MAGIC, _digest(rest, content), rest, content]
    if behind:
        parts += [_digest(behind), behind]
    try:
        return _write(folder, key, b"".join(parts))
    except IsADirectoryError:  # a folder has the entry's name: the others can be stored
        return 0
    except _UNREACHABLE as error:
        _give_up(folder, error)
        return 0


def _flops(executable: Any) -> float:
    """Return the number of operations that XLA counts in a program."""
    costs = executable.cost_analysis()
    return (costs[0] if isinstance(costs, list) else costs).get("flops", 0.0)


def _write(folder: str, key: bytes, content: bytes) -> int:
    # Executables are code: nobody else may put any here.
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = _path(folder, key)
    # In a container a writer may have the number of one that was killed, whose file is there yet.
    temporary = f"{path}.{os.getpid()}.{next(_numbers)}.{time.time_ns():x}"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _use.add(stores=1, bytes_written=len(content))
    _evict(folder, len(content))
    return len(content)


def _give_up(folder: str, error: Exception) -> None:
    with _use.lock:
        if folder in _use.problems:
            return
        _use.problems[folder] = str(error)
    if folder == compilation_cache_dir.default:
        return
    # Even where warnings are errors, what was compiled must reach its caller.
    with suppress(Warning):
        warnings.warn(
            f"The disk cache of compiled programs cannot write to {folder!r} ({error}): this "
            "process compiles without it. Choose another folder with "
            'config.update("jax_compilation_cache_dir", ...), or None for no disk cache.',
            RuntimeWarning,
            stacklevel=2,
        )


def _evict(folder: str, added: int) -> None:
    """Delete the entries that were not used for longest, once there is more than the bound.

    What other processes add is seen when this one's own count passes the bound, or when it stores
    its first entry: listing the folder for each entry would cost more than writing it.
    """
    limit = compilation_cache_max_size.value
    if limit < 0:
        return
    with _use.lock:
        if folder in _use.sizes:
            _use.sizes[folder] += added
            if _use.sizes[folder] <= limit:
                return
        entries = sorted(_entries(folder), key=lambda entry: entry.used)
        total = sum(entry.bytes for entry in entries)
        if total > limit:
            for entry in entries:
                if total <= limit * _ROOM:
                    break
                with suppress(OSError):
                    os.unlink(entry.path)
                total -= entry.bytes
        _use.sizes[folder] = total


def _entries(folder: str) -> list[CacheEntry]:
    """Return the entries of a folder, deleting what writers that died have left there.

    Whatever else lies there is passed over: files of other names, and what is no file.
    """
    entries: list[CacheEntry] = []
    try:
        files = list(os.scandir(folder))
    except _UNREACHABLE:
        return entries
    for file in files:
        name = re.fullmatch(_NAME, file.name)
        if name is None:
            continue
        with suppress(OSError):
            status = file.stat()
            if not stat.S_ISREG(status.st_mode):
                continue
            if name[1] is None:
                entries.append(CacheEntry(file.path, status.st_size, status.st_mtime))
            elif status.st_mtime < time.time() - _ABANDONED_SECONDS:
                os.unlink(file.path)
    return entries


def _path(folder: str, key: bytes) -> str:
    return os.path.join(folder, key.hex() + _SUFFIX)


def disk_cache_summary() -> CacheSummary:
    """Return what the disk cache holds, and what this process did with it.

    >>> from jxkernel.compile import disk_cache_summary
    >>> disk_cache_summary().hits >= 0
    True
    """
    folder = disk_cache_folder()
    entries = [] if folder is None else _entries(folder)
    return CacheSummary(
        folder=folder,
        entries=len(entries),
        bytes=sum(entry.bytes for entry in entries),
        limit=compilation_cache_max_size.value,
        hits=_use.hits,
        misses=_use.misses,
        stores=_use.stores,
        bytes_read=_use.bytes_read,
        bytes_written=_use.bytes_written,
        saved_ns=_use.saved_ns,
        problem=_use.problems.get(folder or "", ""),
    )


def clear_disk_cache() -> int:
    """Delete every entry of the disk cache, forget the counters, and return how many there were.

    Other processes that use the folder go on; what they had loaded stays loaded.
    """
    folder = disk_cache_folder()
    entries = [] if folder is None else _entries(folder)
    for entry in entries:
        with suppress(OSError):
            os.unlink(entry.path)
    reset_disk_cache()
    return len(entries)


def reset_disk_cache() -> None:
    """Forget the counters, and that a folder could not be used: it is tried again."""
    with _use.lock:
        _use.clear()
