"""The traced/static map: the user's own source with a letter on every name and expression.

T is traced, S static, C a constant baked in, ! a side effect at trace time. The letter says it;
colour and underline only repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from jxkernel._reprs import counted
from jxkernel.jupyter.code.magics import as_typed
from jxkernel.jupyter.views.html import (
    Html,
    anchor,
    details,
    element,
    escape,
    join,
    line_class,
    page,
    pre,
    row,
    table,
)
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_size
from jxkernel.observe.marks import LETTERS, FunctionMap, Mark, NameFact, Provenance

__all__ = [
    "LEGEND",
    "function_data",
    "map_data",
    "map_html",
    "map_text",
    "map_view",
    "shown_places",
]

LEGEND = "T traced · S static · C constant baked in · ! side effect while tracing"

_LINES = 400
_MARKS = 3_000
_MARK_CHARACTERS = 90_000
_NAMES = 200
_NAME_CHARACTERS = 40_000
_HTML_CHARACTERS = 70_000
_CHAIN = 6
_FUNCTIONS = 40


def map_view(provenance: Provenance) -> View:
    """Return the map of everything that was traced."""
    return View(
        "provenance", map_text(provenance), page(map_html(provenance)), map_data(provenance)
    )


def map_data(provenance: Provenance) -> dict[str, Any]:
    """Return the map as data: for each function its names, marks and loops."""
    functions = []
    left = _MARK_CHARACTERS
    for one in provenance.functions[:_FUNCTIONS]:
        marks = list(_first_marks(one, left))
        left -= sum(map(_characters, marks))
        functions.append(_data(one, marks))
    return {"legend": LEGEND, "functions": functions}


def function_data(function: FunctionMap) -> dict[str, Any]:
    """Return the map of one function as data."""
    return _data(function, _first_marks(function, _MARK_CHARACTERS))


def _data(function: FunctionMap, marks: Iterable[Mark]) -> dict[str, Any]:
    lines = _lines(function)
    return {
        "name": function.name,
        "file": function.file,
        "first_line": function.first_line,
        "source_line": lines[0][0] if lines else function.first_line,
        "source": [text for _, text in lines],
        "names": _first_names(function),
        "marks": [asdict(mark) for mark in marks],
        "loops": [asdict(loop) for loop in function.loops],
    }


def _first_names(function: FunctionMap) -> list[dict[str, Any]]:
    """What the first names are, as many as fit."""
    found: list[dict[str, Any]] = []
    left = _NAME_CHARACTERS
    for fact in function.names[:_NAMES]:
        data = asdict(replace(fact, depends_on=fact.depends_on[:_NAMES]))
        left -= len(str(data))
        if left < 0:
            break
        found.append(data)
    return found


def _first_marks(function: FunctionMap, left: int) -> Iterator[Mark]:
    """The first marks, as many as fit: data that is too large is not sent at all."""
    for mark in function.marks[:_MARKS]:
        left -= _characters(mark)
        if left < 0:
            return
        yield mark


def _characters(mark: Mark) -> int:
    """About how long a mark is as data."""
    return 180 + len(mark.code) + len(mark.detail)


def map_text(provenance: Provenance) -> str:
    """Return the map as text: under each line of source the letters of its names."""
    if not provenance.functions:
        return str(provenance)
    blocks = ["\n".join(_text_lines(one)) for one in provenance.functions[:_FUNCTIONS]]
    return "\n\n".join([*blocks, LEGEND])


def map_html(provenance: Provenance) -> Html:
    """Return the map as HTML; the first function is open, the others folded."""
    if not provenance.functions:
        return element("div", str(provenance), class_="dim")
    parts: list[object] = [element("div", LEGEND, class_="dim")]
    shown: set[str] = set()
    for index, one in enumerate(provenance.functions[:_FUNCTIONS]):
        body = [_function_html(one, shown), _facts_html(one), *_notes_html(one)]
        title = f"{_title(one)}, line {one.first_line}"
        parts.append(element("div", *body) if not index else details(title, *body))
    return join(parts)


def shown_places(provenance: Provenance) -> frozenset[tuple[str, int]]:
    """Return the file and number of each line that the map shows."""
    return frozenset(
        (one.file, number) for one in provenance.functions[:_FUNCTIONS] for number, _ in _lines(one)
    )


def _title(function: FunctionMap) -> str:
    return "cell" if function.name == "<module>" else function.name


def _lines(function: FunctionMap) -> list[tuple[int, str]]:
    """The numbered source lines from a function's first to the last that has a mark or name.

    They are those that were traced: a file may have changed, and what a timing magic is given is in
    no file.
    """
    used = [mark.end_line for mark in function.marks]
    used += [fact.line for fact in function.names] + [loop.line for loop in function.loops]
    last = max(used, default=function.first_line)
    first = function.first_line
    shown = function.source[: min(last - first, _LINES) + 1]
    numbered = list(enumerate(shown, start=first))
    if function.name == "<module>" and numbered and numbered[0][1].startswith("# %%"):
        return numbered[1:]
    return numbered


def _name_marks(function: FunctionMap) -> dict[int, list[Mark]]:
    """By line the marks within it that do not overlap: names and side effects."""
    found: dict[int, list[Mark]] = {}
    for mark in function.marks:
        if mark.line == mark.end_line and (mark.is_name or mark.kind == "effect"):
            of_line = found.setdefault(mark.line, [])
            if not of_line or mark.column >= of_line[-1].end_column:
                of_line.append(mark)
    return found


def _text_lines(function: FunctionMap) -> Iterator[str]:
    yield f"{_title(function)} ({function.file}:{function.first_line})"
    marks_of = _name_marks(function)
    for number, text in _lines(function):
        yield f"{number:4} {text}"
        marks = marks_of.get(number)
        if marks:
            letters = [" "] * (max(mark.column for mark in marks) + 1)
            for mark in marks:
                letters[mark.column] = LETTERS[mark.kind]
            yield "     " + "".join(letters)
    for fact in function.names:
        size = f", {format_size(fact.bytes)}" if fact.bytes else ""
        yield f"  {LETTERS[fact.kind]} {fact.name}: {fact.detail}{size}"
    for mark in function.effects:
        yield f"  ! line {mark.line}: {as_typed(mark.code)}: {mark.detail}"
    for loop in function.loops:
        yield f"  unrolled, line {loop.line}: {_loop_text(loop.times, loop.equations)}"
        yield f"    instead: {'' if loop.rewrite else loop.instead}".rstrip()
        yield from (f"      {line}" for line in loop.rewrite.splitlines())


def _loop_text(times: int, equations: int) -> str:
    return f"{counted(times, 'round')} made {counted(equations, 'equation')}"


def _function_html(function: FunctionMap, shown: set[str]) -> Html:
    """The lines of a function; a line inside two functions is a link's end in the first alone."""
    rows: list[Html] = []
    left = _HTML_CHARACTERS
    marks_of = _name_marks(function)
    for number, text in _lines(function):
        label = element("span", f"{number:4} ", class_="dim")
        # With little room left the rest is shown without marks.
        marked = _marked(text, marks_of.get(number, ())) if left > 0 else escape(text, 300)
        of_line = line_class(function.file, number)
        name = anchor(f"s{of_line}") if of_line not in shown else ""
        shown.add(of_line)
        rows.append(row(label, marked, class_=of_line, id=name))
        left -= len(rows[-1])
    return element("div", *rows, role="group", aria_label=f"source of {_title(function)}")


def _marked(text: str, marks: Sequence[Mark]) -> Html:
    parts: list[object] = []
    at = 0
    for mark in marks:
        letter = LETTERS[mark.kind]
        before = text[at : mark.column]
        parts += [
            # Exporters shorten white space that stands alone between two elements.
            "\u00a0" * len(before) if before.isspace() else before,
            element(
                "span",
                text[mark.column : mark.end_column],
                element("b", letter),
                class_=f"k {'X' if letter == '!' else letter}",
                title=escape(f"{mark.kind}: {mark.detail}", 300),
            ),
        ]
        at = mark.end_column
    return join([*parts, text[at:]])


def _facts_html(function: FunctionMap) -> Html:
    rows = [
        (
            element("b", LETTERS[fact.kind]),
            element("code", fact.name),
            element("code", escape(fact.detail, 200)),
            format_size(fact.bytes) if fact.bytes else "",
            _origin_text(fact),
        )
        for fact in function.names[:_NAMES]
    ]
    head = ("", "Name", "Type or value", "Size", "Comes from")
    return details(f"{counted(len(function.names), 'name')}", table(head, rows, numeric=(3,)))


def _origin_text(fact: NameFact) -> str:
    """The names on the way to the nearest argument, and the other arguments, as many as fit."""
    if fact.is_argument:
        return "argument"
    names = [link.name for link in fact.chain]
    if len(names) > _CHAIN:
        names = [*names[: _CHAIN - 1], "…", names[-1]]
    others = [one for one in fact.depends_on if one not in names]
    if len(others) > _CHAIN:
        others = [*others[:_CHAIN], f"{len(others) - _CHAIN} more"]
    return " ← ".join(names) + (f", and {', '.join(others)}" if others else "")


def _notes_html(function: FunctionMap) -> Iterator[Html]:
    for mark in function.effects:
        code = element("code", escape(as_typed(mark.code), 200))
        yield element("div", f"! line {mark.line}: ", code, f" {mark.detail}", class_="warn")
    for loop in function.loops:
        what = f"line {loop.line} was unrolled: {_loop_text(loop.times, loop.equations)}; instead: "
        instead = pre(loop.rewrite) if loop.rewrite else element("code", loop.instead)
        yield element("div", what, instead, class_="warn")
