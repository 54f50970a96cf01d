"""Several functions and several arguments, each measured: a table of benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jxkernel.core.avals import abstractify
from jxkernel.observe.benchmarks import Benchmark, benchmark
from jxkernel.observe.explain import format_duration, function_label
from jxkernel.tree import physical

__all__ = ["FIGURES", "Case", "Comparison", "Measured", "cases_of", "compare", "measured"]

FIGURES = ("latency", "pipelined", "dispatch", "first call")
"""What may be compared: three times of a call, and what had to be done once before it."""

_LABEL_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Case:
    """One call to measure.

    Attributes:
      name: the function's name, unlike that of any other function.
      label: the arguments in words: their size, the name of the case, or their types.
      size: the size, where cases are sizes.
      function: the function.
      arguments: gives its arguments, when its turn has come.
    """

    name: str
    label: str
    size: float | None
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A case and what was measured, or why it could not be.

    Attributes:
      name: the function's name.
      label: the arguments in words.
      size: the size, where cases are sizes.
      benchmark: the figures; None where the call failed.
      error: what ended the call; empty where nothing did.
    """

    name: str
    label: str
    size: float | None
    benchmark: Benchmark | None
    error: str = ""

    def seconds(self, figure: str) -> float | None:
        """Return one of ``FIGURES`` in seconds; None where it was not measured."""
        found = self.benchmark
        if found is None:
            return None
        if figure == "first call":
            return found.build_time
        return float(getattr(found, figure).median)

    def text(self, figure: str) -> str:
        """Return one of ``FIGURES`` as text; empty where it was not measured."""
        seconds = self.seconds(figure)
        return format_duration(1e9 * seconds) if seconds else ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cases as they were measured.

    Attributes:
      rows: the cases, those of one size or argument side by side.
    """

    rows: tuple[Measured, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The functions, in order."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    @property
    def labels(self) -> tuple[str, ...]:
        """The cases, in order."""
        return tuple(dict.fromkeys(row.label for row in self.rows))

    def factor(self, row: Measured, figure: str) -> float | None:
        """Return how many times the best of its case a row takes; None where not measured."""
        alike = [one.seconds(figure) for one in self.rows if one.label == row.label]
        best = min([one for one in alike if one], default=None)
        own = row.seconds(figure)
        return own / best if own and best else None

    def table(self) -> str:
        """Return the figures as aligned text."""
        head = ("function", "arguments", *FIGURES, "")
        body = [
            (row.name, row.label, *(row.text(figure) for figure in FIGURES), _remark(self, row))
            for row in self.rows
        ]
        widths = [max(len(cells[at]) for cells in [head, *body]) for at in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if at in (0, 1, len(head) - 1) else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in [head, *body]
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as plain data, which JSON can hold."""
        return [
            {
                "name": row.name,
                "label": row.label,
                "size": row.size,
                "error": row.error,
                "benchmark": row.benchmark and row.benchmark.to_dict(),
            }
            for row in self.rows
        ]

    def __repr__(self) -> str:
        return self.table()


def compare(
    functions: Any,
    *args: Any,
    sizes: Iterable[float] | None = None,
    make: Callable[[Any], Any] | None = None,
    cases: Mapping[str, Any] | None = None,
) -> Comparison:
    """Measure functions for some arguments, as ``benchmark`` measures one for one.

    Args:
      functions: a function, several, or a mapping from names to functions.
      *args: their arguments, where they are measured for one case only.
      sizes: sizes to measure for; ``make`` gives the arguments of each.
      make: takes a size and returns the arguments: a tuple of them, or one.
      cases: arguments by the name of the case: a tuple of them, or one.

    Returns:
      the figures: printed, a table. A call that fails has its error in its row; the others go on.

    Raises:
      TypeError: there is no function, or arguments are given in more than one way.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import compare
    >>> sin, cos = jx.jit(jx.numpy.sin), jx.jit(jx.numpy.cos)
    >>> found = compare([sin, cos], sizes=[8, 16], make=jx.numpy.ones)
    >>> [(row.name, row.label) for row in found.rows]
    [('sin', '8'), ('cos', '8'), ('sin', '16'), ('cos', '16')]
    """
    found = cases_of(functions, args, sizes=sizes, make=make, cases=cases)
    return Comparison(tuple(measured(one) for one in found))


def measured(case: Case) -> Measured:
    """Measure a case; a call that fails is told, not raised."""
    try:
        found, error = benchmark(case.function, *case.arguments()), ""
    except Exception as raised:  # whatever a function of the user's raises belongs to its row
        found, error = None, f"{type(raised).__name__}: {raised}".strip()
    return Measured(case.name, case.label, case.size, found, error)


def cases_of(
    functions: Any,
    args: Sequence[Any] = (),
    *,
    sizes: Iterable[float] | None = None,
    make: Callable[[Any], Any] | None = None,
    cases: Mapping[str, Any] | None = None,
) -> tuple[Case, ...]:
    """Return the calls that ``compare`` measures, in their order; arguments as it takes them.

    Raises:
      TypeError: there is no function, or arguments are given in more than one way.
    """
    named = _named(functions)
    if (sizes is None) != (make is None):
        raise TypeError("sizes= and make= go together: make(size) gives the arguments of a size")
    if sum([bool(args), sizes is not None, cases is not None]) > 1:
        raise TypeError("give arguments in one way: as they are, by sizes= and make=, or by cases=")
    given: list[tuple[str, float | None, Callable[[], tuple[Any, ...]]]]
    if sizes is not None and make is not None:
        given = [(f"{size:g}", size, _making(make, size)) for size in sizes]
    elif cases is not None:
        given = [(str(name), None, _making(_same, value)) for name, value in cases.items()]
    else:
        given = [(_types(args), None, _making(_same, tuple(args)))]
    return tuple(
        Case(name, label, size, function, arguments)
        for label, size, arguments in given
        for name, function in named.items()
    )


def _named(functions: Any) -> dict[str, Callable[..., Any]]:
    if callable(functions):
        functions = [functions]
    if isinstance(functions, Mapping):
        named = {str(name): function for name, function in functions.items()}
    else:
        named = {}
        for function in functions:
            name = function_label(function)[:_LABEL_LENGTH]
            number = 1
            while (name if number == 1 else f"{name} {number}") in named:
                number += 1
            named[name if number == 1 else f"{name} {number}"] = function
    for name, function in named.items():
        if not callable(function):
            raise TypeError(f"a comparison needs functions, got {function!r:.60} for {name}")
    if not named:
        raise TypeError("a comparison needs at least one function")
    return named


def _making(make: Callable[[Any], Any], of: Any) -> Callable[[], tuple[Any, ...]]:
    """What gives arguments as a tuple: one argument needs none around it."""

    def arguments() -> tuple[Any, ...]:
        made = make(of)
        return made if isinstance(made, tuple) else (made,)

    return arguments


def _same(value: Any) -> Any:
    return value


def _types(args: Sequence[Any]) -> str:
    """The types of arguments, ``f32[8], i32[]``; empty where there is none."""
    told = []
    for leaf in physical.leaves(list(args)):
        try:
            told.append(abstractify(leaf).short(weak=True))
        except TypeError:
            told.append(type(leaf).__name__)
    text = ", ".join(told)
    return text if len(text) <= _LABEL_LENGTH else f"{text[: _LABEL_LENGTH - 1]}…"


def _remark(found: Comparison, row: Measured) -> str:
    if row.error:
        return f"failed: {row.error[:200]}"
    factor = found.factor(row, "latency")
    return "" if factor is None or len(found.names) == 1 else f"{factor:.3g} × the best"
