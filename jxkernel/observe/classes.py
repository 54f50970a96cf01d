"""Classes: what became of the tasks of many learners, kept in files that a teacher reads."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ClassProgress", "Progress", "class_progress", "join_class", "leave_class", "note"]

_SUFFIX = ".tasks.jsonl"
_file: Path | None = None


@dataclass(slots=True)
class Progress:
    """How far one learner came with one task.

    Attributes:
      tries: how often an answer was handed in.
      passed: whether one passed.
      missing: what the latest that failed was missing.
    """

    tries: int = 0
    passed: bool = False
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassProgress:
    """What a folder holds.

    Attributes:
      learners: learner -> task -> how far.
      unread: how many lines were none of ours.
    """

    learners: dict[str, dict[str, Progress]] = field(default_factory=dict)
    unread: int = 0

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that anyone tried."""
        return tuple(sorted({name for tried in self.learners.values() for name in tried}))

    def solved(self, name: str) -> int:
        """Return how many learners passed a task."""
        return sum(name in tried and tried[name].passed for tried in self.learners.values())

    def stuck(self, name: str) -> str:
        """Return what those who have not passed a task are missing most often."""
        missing = [
            one
            for tried in self.learners.values()
            if name in tried and not tried[name].passed
            for one in tried[name].missing
        ]
        return max(missing, key=missing.count, default="")

    def __str__(self) -> str:
        lines = [f"{len(self.learners)} learners, {len(self.tasks)} tasks"]
        for name in self.tasks:
            tries = sum(tried[name].tries for tried in self.learners.values() if name in tried)
            stuck = self.stuck(name)
            line = f"  {name}: passed by {self.solved(name)}, {tries} tries"
            lines.append(f"{line}; missing: {stuck}" if stuck else line)
        lines += [f"{self.unread} lines could not be read"] * bool(self.unread)
        return "\n".join(lines)

    __repr__ = __str__


def join_class(folder: str | Path, learner: str) -> Path:
    """Keep what this process grades from now on in a folder; return the learner's file.

    Raises:
      ValueError: the learner's name cannot be that of a file.
    """
    global _file
    if not learner or learner.startswith(".") or any(one in learner for one in "/\\:\0"):
        raise ValueError(f"a learner's name is that of a file there; {learner!r} cannot be one")
    folder = Path(folder).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    _file = folder / f"{learner}{_SUFFIX}"
    return _file


def leave_class() -> None:
    """Keep nothing any more."""
    global _file
    _file = None


def note(task: str, missing: tuple[str, ...]) -> None:
    """Keep one grade, where a class was joined."""
    if _file is None:
        return
    line = json.dumps({"when": round(time.time()), "task": task, "missing": list(missing)})
    with _file.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def class_progress(folder: str | Path) -> ClassProgress:
    """Return what the learners of a folder have handed in.

    Raises:
      FileNotFoundError: there is no such folder.
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    learners: dict[str, dict[str, Progress]] = {}
    unread = 0
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        tried = learners.setdefault(file.name.removesuffix(_SUFFIX), {})
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            unread += not _take(tried, line)
    return ClassProgress(learners, unread)


def _take(tried: dict[str, Progress], line: str) -> bool:
    """Add one line, and say whether it is one of ours."""
    try:
        kept = json.loads(line)
        name, missing = str(kept["task"]), tuple(map(str, kept["missing"]))
    except (ValueError, KeyError, TypeError):
        return False
    progress = tried.setdefault(name, Progress())
    progress.tries += 1
    progress.passed |= not missing
    progress.missing = missing or progress.missing
    return True
