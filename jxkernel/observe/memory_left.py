"""How much memory a process may still take: what the machine, its container and its limit leave.

Sources: proc(5) and the kernel's documentation of control groups, versions 1 and 2.
"""

from collections.abc import Iterator
from pathlib import Path

__all__ = ["memory_left"]

_ROOT = Path("/")
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes")
_SECOND = ("memory.max", "memory.current")


def memory_left(root: Path = _ROOT) -> int | None:
    """Return the bytes that are left, or None where the system does not tell.

    Args:
      root: where the file system begins.
    """
    proc = root / "proc"
    left = [*_of_machine(proc), *_of_process(proc), *_of_containers(root)]
    return max(min(left), 0) if left else None


def _fields(path: Path) -> dict[str, list[str]]:
    """Return the lines of a file by their first words; none where it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {words[0]: words[1:] for line in lines if (words := line.split())}


def _number(path: Path) -> int | None:
    [*words] = _fields(path)
    return int(words[0]) if words and words[0].isdigit() else None


def _of_machine(proc: Path) -> Iterator[int]:
    found = _fields(proc / "meminfo").get("MemAvailable:")
    if found:
        yield int(found[0]) * 1024


def _of_process(proc: Path) -> Iterator[int]:
    """Yield what the limit of addresses leaves (``ulimit -v``)."""
    try:
        limits = (proc / "self/limits").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    soft = [line.split()[3] for line in limits if line.startswith("Max address space")]
    taken = _fields(proc / "self/status").get("VmSize:")
    if taken and soft and soft[0].isdigit():
        yield int(soft[0]) - int(taken[0]) * 1024


def _of_containers(root: Path) -> Iterator[int]:
    """Yield what each control group leaves that the process is in; what caches files is free."""
    groups = root / "sys/fs/cgroup"
    for line in _fields(root / "proc/self/cgroup"):
        number, kinds, path = line.split(":", 2)
        is_second = number == "0"
        if not is_second and "memory" not in kinds.split(","):
            continue
        top = groups if is_second else groups / "memory"
        names = _SECOND if is_second else _FIRST
        own = top / path.strip("/")
        for group in (own, *own.parents):
            limit, used = (_number(group / name) for name in names)
            if limit is not None and used is not None:
                told = _fields(group / "memory.stat")
                files = told.get("total_inactive_file") or told.get("inactive_file") or ["0"]
                yield limit - used + int(files[0])
            if group == top:
                break
