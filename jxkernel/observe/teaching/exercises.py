"""Exercises: code whose traces the learner predicts, run and explained by what was recorded."""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import linecache
import textwrap
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from jxkernel import events
from jxkernel.events import CacheHit, CacheMiss, Executed, Reason
from jxkernel.observe.explain import LedgerRow, ledger
from jxkernel.observe.recorder import DEFAULT_KINDS, Recorder
from jxkernel.source import current_user_frame

__all__ = ["Exercise", "Graded", "LineStory", "Measure", "Outcome"]

Measure = Literal["traces", "compilations", "prints", "equations", "value"]
"""What an exercise asks for: a count, or the value of its last line."""

_UNITS: dict[Measure, tuple[str, str]] = {
    "traces": ("trace", "traces"),
    "compilations": ("compilation", "compilations"),
    "prints": ("printed line", "printed lines"),
    "equations": ("equation", "equations"),
}
_QUESTIONS: dict[Measure, str] = {
    "traces": "How many traces will this make?",
    "compilations": "How many programs will this compile?",
    "prints": "How many lines will this print?",
    "equations": "How many equations will the program have?",
    "value": "What is the value of the last line?",
}
_PRELUDE = """
import functools
import numpy as np
import jxkernel as jax
import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax, random
"""
_runs = itertools.count(1)
_OFFERED = 7


@dataclass(frozen=True, slots=True)
class LineStory:
    """One line of an exercise, and what it did.

    Attributes:
      number: its number, from 1.
      code: its text.
      reasons: why it traced or compiled, one entry for each time.
      reused: how many calls on it found their trace.
    """

    number: int
    code: str
    reasons: tuple[tuple[Reason, ...], ...] = ()
    reused: int = 0

    def remark(self) -> str:
        """What the line did, in words; empty where it built and reused nothing."""
        told = ["; ".join(one.sentence() for one in why) for why in self.reasons]
        if len(told) > 3:
            told[3:] = ["…"]
        times = f"traced {len(self.reasons)} times" if len(self.reasons) > 1 else "traced"
        parts = [f"{times}: {', then '.join(told)}"] * bool(told)
        parts += [f"reused {_times(self.reused)}".rstrip()] * bool(self.reused)
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened when an exercise ran.

    Attributes:
      answer: what was asked for.
      lines: the code, line by line, with what each line did.
      rows: the ledger of the run, the functions of the exercise alone.
      printed: what it printed.
    """

    answer: Any
    lines: tuple[LineStory, ...]
    rows: tuple[LedgerRow, ...]
    printed: str

    def story(self) -> list[str]:
        """The code with remarks on the lines that did something."""
        width = min(max((len(line.code) for line in self.lines), default=0), 48)
        told = []
        for line in self.lines:
            remark = line.remark()
            code = line.code.ljust(width) if remark else line.code
            told.append(f"{line.number:3}  {code}{f'  ← {remark}' if remark else ''}".rstrip())
        return told

    def fixes(self) -> list[str]:
        """The advice of the ledger, each once."""
        return list(dict.fromkeys(row.fix for row in self.rows if row.fix))


@dataclass(frozen=True)
class Exercise:
    """A few lines of code, and a question about what they will do.

    Attributes:
      name: its name.
      code: the lines; ``jax`` and ``jx``, ``jnp``, ``np``, ``lax``, ``random`` and ``functools``
        are imported.
      asks: ``traces``, ``compilations``, ``prints``, ``equations`` or ``value``.
      question: the question; by default that of ``asks``.
      lesson: what there is to learn, told after the answer.
      of: the function whose traces, compilations or equations count; empty for all.
      namespace: the variables that the code may read.
      choices: the guesses that a page offers to click on; by default, of a count, seven numbers.
    """

    name: str
    code: str
    asks: Measure = "traces"
    question: str = ""
    lesson: str = ""
    of: str = ""
    namespace: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    choices: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Check what was given.

        Raises:
          ValueError: ``asks`` is no measure.
          SyntaxError: the code is not Python.
        """
        if self.asks not in get_args(Measure):
            known = ", ".join(get_args(Measure))
            raise ValueError(f"exercise {self.name}: asks={self.asks!r} is none of {known}")
        object.__setattr__(self, "code", textwrap.dedent(self.code).strip("\n"))
        object.__setattr__(self, "question", self.question or _QUESTIONS[self.asks])
        ast.parse(self.code)

    @classmethod
    def of_function(cls, function: Callable[[], object], **parts: Any) -> Exercise:
        """Return the exercise whose code is the body of a function; its docstring is the question.

        Args:
          function: a function without parameters, whose source is known.
          **parts: further attributes.

        Raises:
          TypeError: the function has parameters.
          OSError: its source is not known.
        """
        if inspect.signature(function).parameters:
            raise TypeError(f"exercise {function.__name__}: write it without parameters")
        lines = textwrap.dedent(inspect.getsource(function)).splitlines()
        [node] = ast.parse("\n".join(lines)).body
        assert isinstance(node, ast.FunctionDef)
        first = node.body[1 if ast.get_docstring(node) else 0]
        code = "\n".join(lines[_first_line(first) - 1 : node.end_lineno])
        parts.setdefault("question", inspect.getdoc(function) or "")
        parts.setdefault("namespace", function.__globals__)
        return cls(function.__name__, code, **parts)

    def run(self) -> Outcome:
        """Run the code and tell what it did.

        It happens in private: the learner's own ledger has no row of it. Exceptions of the code
        are passed on.
        """
        # Python takes no null character in a file's name.
        name = self.name.replace("\0", "\ufffd")
        file = f"exercise {name}, run {next(_runs)}"
        linecache.cache[file] = (len(self.code), None, self.code.splitlines(keepends=True), file)
        namespace: dict[str, Any] = {"__name__": "exercise"}
        exec(_PRELUDE, namespace)
        namespace |= {name: one for name, one in self.namespace.items() if name != "__name__"}
        calls = _Calls(file)
        with (
            events.private(),
            Recorder(kinds=(*DEFAULT_KINDS, Executed), private=True) as recorder,
            events.listen(calls.note, (CacheMiss, CacheHit, Executed), private=True),
            redirect_stdout(io.StringIO()) as printed,
        ):
            value = _executed(self.code, file, namespace)
        rows = tuple(row for row in ledger(recorder) if row.fun in calls.functions)
        answer = self._answer(rows, printed.getvalue(), value)
        return Outcome(answer, tuple(calls.lines(self.code)), rows, printed.getvalue())

    def _answer(self, rows: tuple[LedgerRow, ...], printed: str, value: Any) -> Any:
        counted = [row for row in rows if not self.of or row.fun == self.of]
        match self.asks:
            case "traces":
                return sum(row.eqns is not None for row in counted)
            case "compilations":
                return sum(row.compile_ns > 0 for row in counted)
            case "equations":
                return sum(row.eqns or 0 for row in counted)
            case "prints":
                return len(printed.splitlines())
            case _:
                return value

    def check(self, guess: Any) -> Graded:
        """Run the code and grade a prediction.

        Raises:
          TypeError: a count is asked for, and the guess is no integer.
        """
        if self.asks != "value" and (isinstance(guess, bool) or not isinstance(guess, int)):
            raise TypeError(
                f"exercise {self.name} asks for a count: give an integer, not {guess!r:.60}"
            )
        return Graded(self, guess, self.run())

    def offered(self, answer: Any) -> tuple[Any, ...]:
        """The guesses to click on, the right one among them; none for a value without choices."""
        if self.choices or self.asks == "value":
            known = not self.choices or any(one == answer for one in self.choices)
            return self.choices if known else (*self.choices, answer)
        # Where it stands among greater numbers follows from the name, and says nothing.
        first = answer - zlib.crc32(self.name.encode()) % _OFFERED if answer >= _OFFERED else 0
        return tuple(range(first, first + _OFFERED))

    def __str__(self) -> str:
        lines = [f"{number:3}  {line}" for number, line in enumerate(self.code.splitlines(), 1)]
        code = "\n".join(line.rstrip() for line in lines)
        return f"{self.question}\n\n{code}\n\nanswer with: {self.call('YOUR GUESS')}"

    __repr__ = __str__

    def call(self, guess: str) -> str:
        """How a guess is handed in."""
        name = self.name if "__name__" in self.namespace else repr(self.name)
        return f"jax.quiz({name}, {guess})"


@dataclass(frozen=True)
class Graded:
    """A prediction and what really happened.

    Attributes:
      exercise: the exercise.
      guess: the prediction.
      outcome: what happened.
    """

    exercise: Exercise
    guess: Any
    outcome: Outcome

    @property
    def correct(self) -> bool:
        """Whether the prediction was right."""
        answer = self.outcome.answer
        try:
            return bool(np.allclose(np.asarray(answer), np.asarray(self.guess), rtol=1e-3))
        except (TypeError, ValueError):  # no numbers, or shapes that do not fit
            return str(answer) == str(self.guess)

    def amount(self) -> str:
        """The answer with its unit: ``2 traces``."""
        return _amount(self.exercise.asks, self.outcome.answer)

    def verdict(self) -> str:
        """Right or wrong, in a sentence."""
        amount = self.amount()
        if self.correct:
            return f"Yes: {amount}."
        return f"Not quite: you said {self.guess}, and it is {amount}."

    def difference(self) -> list[str]:
        """What a wrong prediction has overlooked, line by line."""
        if self.correct or self.exercise.asks not in ("traces", "compilations"):
            return []
        lines = self.outcome.lines
        if self.guess < self.outcome.answer:
            built = [line for line in lines if line.reasons]
            return ["More than you thought. These lines built something, and why:"] + [
                f"  line {line.number}: {'; '.join(one.sentence() for one in why)}"
                for line in built
                for why in line.reasons
            ]
        reused = [str(line.number) for line in lines if line.reused]
        if not reused:
            return ["Fewer than you thought: nothing else was built."]
        which = f"line{'s' * (len(reused) > 1)} {', '.join(reused)}"
        return [f"Fewer than you thought: calls on {which} found their trace and reused it."]

    def __str__(self) -> str:
        outcome = self.outcome
        parts = [self.verdict(), "\n".join(outcome.story()), "\n".join(self.difference())]
        fixes = [f"to avoid it: {one}" for one in outcome.fixes()]
        printed = f"it printed:\n{textwrap.indent(outcome.printed.rstrip(), '  ')}"
        parts += [printed] * (self.exercise.asks == "prints" and bool(outcome.printed))
        parts += ["\n".join(fixes), self.exercise.lesson and f"Remember: {self.exercise.lesson}"]
        return "\n\n".join(part for part in parts if part)

    __repr__ = __str__


class _Calls:
    """What happened on which line of an exercise, noted while it happens."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._reasons: dict[int, list[tuple[Reason, ...]]] = {}
        self._executed: Counter[tuple[int, str]] = Counter()
        self._missed: Counter[tuple[int, str]] = Counter()
        self._reused: Counter[tuple[int, str]] = Counter()
        self.functions: set[str] = set()

    def note(self, event: events.Event) -> None:
        """Receive an event, on the line that caused it."""
        frame = current_user_frame()
        if frame is None or frame.file != self._file:
            return
        at = (frame.line, getattr(event, "fun", ""))
        match event:
            case CacheMiss(cache="trace" | "memory", reasons=reasons):
                self.functions.add(event.fun)
                self._missed[at] += 1
                self._reasons.setdefault(frame.line, []).append(tuple(map(self._told, reasons)))
            case CacheHit(cache="trace"):
                self._reused[at] += 1
            case Executed():
                self._executed[at] += 1
            case _:
                pass

    def _told(self, reason: Reason) -> Reason:
        """A reason with places in the exercise as lines."""
        what, before, after = (
            one.replace(f"{self._file}:", "line ")
            for one in (reason.what, reason.before, reason.after)
        )
        return Reason(reason.kind, what, before, after, reason.fix)

    def lines(self, code: str) -> list[LineStory]:
        """The lines of the code with what they did."""
        # A call that C++ answers is only seen to run; one that enters Python says more.
        for at, times in self._executed.items():
            if at[1] in self.functions:
                self._reused[at] = max(times - self._missed[at], self._reused[at])
        reused = Counter[int]()
        for (line, fun), times in self._reused.items():
            reused[line] += times * (fun in self.functions)
        return [
            LineStory(number, text, tuple(self._reasons.get(number, ())), reused[number])
            for number, text in enumerate(code.splitlines(), 1)
        ]


def _executed(code: str, file: str, namespace: dict[str, Any]) -> Any:
    """Run code and give the value of its last line, if that is an expression."""
    tree = ast.parse(code, file)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, file, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), file, "eval"), namespace)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _amount(asks: Measure, answer: Any) -> str:
    if asks == "value":
        return str(answer)
    one, several = _UNITS[asks]
    return f"{answer} {one if answer == 1 else several}"


def _times(count: int) -> str:
    return f"{count} times" if count > 1 else ""
