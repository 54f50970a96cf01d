"""Tasks: code that a learner writes, graded by what it gives and by how it was traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any, Protocol

import numpy as np

from jxkernel import events, tree
from jxkernel.api.derivatives.checks import check_grads
from jxkernel.api.jit import jit_state
from jxkernel.api.tracing import make_jaxpr
from jxkernel.observe.explain import ledger
from jxkernel.observe.programs import count_equations
from jxkernel.observe.recorder import Recorder
from jxkernel.observe.teaching import classes
from jxkernel.tree import physical

__all__ = ["Case", "Check", "Finding", "Grade", "Task", "task"]

Case = tuple[tuple[Any, ...], Any]
"""Arguments, and what the learner's function must give for them."""


class Check(Protocol):
    """What a teacher writes: it fails with an ``AssertionError`` that says what is missing."""

    def __call__(self, answer: Any, /) -> object:
        """Look at what was handed in; an answer of False has failed too."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
      what: what it is.
      missing: what is missing, in words; empty where nothing is.
    """

    what: str
    missing: str = ""

    def __str__(self) -> str:
        return f"✗ {self.what}: {self.missing}" if self.missing else f"✓ {self.what}"


@dataclass(frozen=True, slots=True)
class Grade:
    """What was found in an answer. It is true where nothing is missing.

    Attributes:
      name: the task's name.
      findings: what was looked at.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is missing."""
        return not any(one.missing for one in self.findings)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing, one sentence for each finding."""
        return tuple(one.missing for one in self.findings if one.missing)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        title = f"{'✓' if self.passed else '✗'} {self.name}"
        return "\n".join([title, *(f"  {one}" for one in self.findings)])

    __repr__ = __str__

    def require(self) -> None:
        """Fail where something is missing: for graders such as nbgrader.

        Raises:
          AssertionError: something is missing; the message lists it.
        """
        if not self.passed:
            raise AssertionError(str(self))


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a learner's answer must do; call it with the answer. See ``task``."""

    name: str
    check: Check | Sequence[Case]
    grads: int = 0
    max_eqns: int | None = None
    max_traces: int | None = None
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        """Check what was given.

        Raises:
          TypeError: ``check`` is neither a function nor a list of cases.
          ValueError: derivatives or equations are asked for, and no case says where.
        """
        if callable(self.check):
            if self.grads or self.max_eqns is not None:
                raise ValueError(
                    f"task {self.name}: grads and max_eqns need arguments: give "
                    "check=[((x,), expected)], not a function"
                )
        elif (
            not isinstance(self.check, Sequence)
            or not self.check
            or not all(map(_case, self.check))
        ):
            raise TypeError(
                f"task {self.name}: check is a function, or a list of cases "
                f"((arguments), expected), not {self.check!r:.60}"
            )

    def __call__(self, answer: Any) -> Grade:
        """Grade an answer; nothing of it shows in the learner's own ledger."""
        findings = tuple(self._findings(answer))
        grade = Grade(self.name, findings)
        classes.note(self.name, grade.missing)
        return grade

    def __repr__(self) -> str:
        return f"task {self.name}: hand in an answer by calling it"

    def _findings(self, answer: Any) -> Iterator[Finding]:
        if answer is None or answer is ...:
            yield Finding("an answer", "nothing is handed in yet")
            return
        if not callable(self.check) and not callable(answer):
            yield Finding("an answer", f"a function is wanted, not {type(answer).__name__}")
            return
        with events.private(), redirect_stdout(StringIO()):
            yield from self._measured(answer)

    def _measured(self, answer: Any) -> Iterator[Finding]:
        if self.max_traces is not None and jit_state(answer) is not None:
            answer.clear_cache()
        with Recorder(kinds=(events.CacheMiss, events.Traced), private=True) as recorder:
            values = _found("values", lambda: self._values(answer))
        yield values
        if values.missing:
            return
        if self.max_traces is not None:
            traces = sum(row.eqns is not None for row in ledger(recorder))
            yield Finding("traces", _beyond(traces, self.max_traces))
        if callable(self.check):
            return
        (args, _), *_ = self.check
        if self.max_eqns is not None:
            yield _found("equations", lambda: self._equations(answer, args))
        if self.grads:
            yield _found("derivatives", lambda: self._derivatives(answer, args))

    def _values(self, answer: Any) -> str:
        if callable(self.check):
            return "the check does not hold" if self.check(answer) is False else ""
        for number, (args, expected) in enumerate(self.check, 1):
            missing = _difference(answer(*args), expected, self.tolerance)
            if missing:
                return f"case {number}: {missing}"
        return ""

    def _equations(self, answer: Any, args: tuple[Any, ...]) -> str:
        assert self.max_eqns is not None, "the task limits them"
        return _beyond(count_equations(make_jaxpr(answer)(*args).jaxpr), self.max_eqns)

    def _derivatives(self, answer: Any, args: tuple[Any, ...]) -> str:
        try:
            check_grads(answer, args, self.grads)
        except AssertionError:
            return "they are not those of the function's values"
        return ""


def task(
    name: str,
    *,
    check: Check | Sequence[Case],
    grads: int = 0,
    max_eqns: int | None = None,
    max_traces: int | None = None,
    tolerance: float = 1e-4,
) -> Task:
    """Return a task: called with a learner's answer, it grades it.

    The grade says what is missing, not how it is done. It is true where nothing is missing, and
    its ``require()`` fails otherwise, as nbgrader wants it. ``%jx class`` gathers the grades of
    many.

    Args:
      name: the task's name, as the teacher's table shows it.
      check: cases ``[((x,), expected), ...]`` that the function handed in must meet; or a function
        of what was handed in whose ``AssertionError`` says what is missing.
      grads: up to which order the derivatives must agree with finite differences, in the first
        case.
      max_eqns: how many equations the program of the first case may have, inner programs included;
        an answer that cannot be traced has failed then.
      max_traces: how many traces all cases together may take.
      tolerance: how far values may be off, relative and absolute.

    Raises:
      TypeError: ``check`` is neither a function nor a list of cases.
      ValueError: derivatives or equations are asked for, and no case says where.

    >>> import jxkernel as jx
    >>> double = jx.task("double", check=[((3.0,), 6.0), ((0.5,), 1.0)], grads=1, max_traces=1)
    >>> double(lambda x: x + 3.0)
    ✗ double
      ✗ values: case 2: the value differs
    >>> bool(double(lambda x: 2.0 * x))
    True
    """
    return Task(
        name=name,
        check=check,
        grads=grads,
        max_eqns=max_eqns,
        max_traces=max_traces,
        tolerance=tolerance,
    )


def _case(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], tuple)


def _beyond(count: int, limit: int) -> str:
    return "" if count <= limit else f"{count}, and at most {limit} are allowed"


def _found(what: str, look: Callable[[], str]) -> Finding:
    """What a look says; a learner's code may fail in any way."""
    try:
        return Finding(what, look())
    except AssertionError as error:
        return Finding(what, _first_line(error) or "the check does not hold")
    except Exception as error:
        return Finding(what, f"{type(error).__name__}: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _difference(given: Any, expected: Any, tolerance: float) -> str:
    """What differs, in words that do not say what is expected."""
    if given is None or given is ...:
        return "nothing is returned yet"
    if physical.structure(given) != physical.structure(expected):
        return _other_structure(given, expected)
    leaves = (map(np.asarray, physical.leaves(one)) for one in (given, expected))
    for one, other in zip(*leaves, strict=True):
        if one.shape != other.shape:
            return f"the shape is {one.shape}, wanted is {other.shape}"
        if other.dtype == bool != one.dtype:
            return f"the dtype is {one.dtype}, wanted is bool"
        wrong = ~np.isclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        if wrong.any():
            return _amount(wrong)
    return ""


def _other_structure(given: Any, expected: Any) -> str:
    place = physical.structure_mismatch(physical.structure(expected), physical.structure(given))
    found, wanted = (
        "one value" if text == "a leaf" else text for text in (place.found, place.expected)
    )
    return f"the result{tree.keystr(place.path)} is {found}, wanted is {wanted}"


def _amount(wrong: np.ndarray[Any, Any]) -> str:
    if not wrong.ndim:
        return "the value differs"
    first = tuple(int(one) for one in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} values differ, the first at {list(first)}"
