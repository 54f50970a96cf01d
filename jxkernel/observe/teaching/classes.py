"""Classes: what became of the tasks of many learners, kept in files that a teacher reads."""

from __future__ import annotations

import json
import re
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from jxkernel.observe.explain import _count

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
      unread: how many lines were none of ours; a file that cannot be read counts as one.
    """

    learners: dict[str, dict[str, Progress]] = field(default_factory=dict)
    unread: int = 0

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that anyone tried, in the order of the numbers that they begin with."""
        return tuple(
            sorted({name for tried in self.learners.values() for name in tried}, key=_rank)
        )

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

    @property
    def title(self) -> str:
        """How many learners and tasks there are, and how much could not be read."""
        parts = [_count(len(self.learners), "learner"), _count(len(self.tasks), "task")]
        if self.unread:
            parts.append(f"{_count(self.unread, 'line')} that could not be read")
        told = ", ".join(parts)
        return told if self.learners else f"{told}; join with %jx class FOLDER as NAME"

    def __str__(self) -> str:
        lines = [self.title]
        for name in self.tasks:
            tries = sum(tried[name].tries for tried in self.learners.values() if name in tried)
            stuck = self.stuck(name)
            line = f"  {name}: passed by {self.solved(name)}, {_count(tries, 'answer')}"
            lines.append(f"{line}; missing: {stuck}" if stuck else line)
        return "\n".join(lines)

    __repr__ = __str__


def join_class(folder: str | Path, learner: str) -> Path:
    """Keep what this process grades from now on in a folder; return the learner's file.

    Raises:
      OSError: nothing can be written there.
      ValueError: the learner's name cannot be that of a file.
    """
    global _file
    if not learner or learner.startswith(".") or any(one in learner for one in "/\\:\0"):
        raise ValueError(f"a learner's name is that of a file there; {learner!r} cannot be one")
    folder = Path(folder).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{learner}{_SUFFIX}"
    with file.open("a"):
        _file = file
    return file


def leave_class() -> None:
    """Keep nothing any more."""
    global _file
    _file = None


def note(task: str, missing: tuple[str, ...]) -> None:
    """Keep one grade, where a class was joined; warn where that fails."""
    if _file is None:
        return
    line = json.dumps({"when": round(time.time()), "task": task, "missing": list(missing)})
    try:
        with _file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except OSError as error:
        warnings.warn(f"this grade is not kept: {error}", stacklevel=3)


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
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            unread += 1
            continue
        unread += sum(not _take(tried, line) for line in lines if line.strip())
    return ClassProgress(learners, unread)


def _take(tried: dict[str, Progress], line: str) -> bool:
    """Add one line, and say whether it is one of ours."""
    try:
        kept = json.loads(line)
    except (ValueError, RecursionError):
        return False
    match kept:
        case {"task": str(name), "missing": [*missing]} if all(isinstance(m, str) for m in missing):
            progress = tried.setdefault(name, Progress())
            progress.tries += 1
            progress.passed |= not missing
            progress.missing = tuple(missing) or progress.missing
            return True
        case _:
            return False


def _rank(name: str) -> tuple[bool, list[int], str]:
    """The order of tasks: 2.9 comes before 2.10, and a name without a number last."""
    number = re.match(r"\d+(?:\.\d+)*", name)
    return number is None, [int(one) for one in number[0].split(".")] if number else [], name
