"""What ``%%jit`` shows: one line that says what happened, and the details folded under it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import dedent
from typing import Any

from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.events import Reason
from jxkernel.jupyter.programs.view import outline_data, outline_html
from jxkernel.jupyter.provenance.view import map_data, map_html, map_text, shown_places
from jxkernel.jupyter.views.html import (
    Html,
    details,
    element,
    line_class,
    linking_style,
    page,
    pre,
    table,
)
from jxkernel.jupyter.views.view import Tidied, View, tidied
from jxkernel.observe import Provenance
from jxkernel.observe.explain import format_duration
from jxkernel.observe.programs import Outline, count_equations, outline

__all__ = ["RunReport", "Section", "run_view"]

_NAMES = 200


@dataclass(frozen=True, slots=True)
class Section:
    """A text to show under the summary: an HLO module, a cost table.

    Attributes:
      name: what ``--show`` calls it.
      title: its heading.
      text: the text.
      html: how it is shown, where not as the text.
      data: more of it, for the data of the view.
    """

    name: str
    title: str
    text: str
    html: Html | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RunReport:
    """What happened when a cell ran under ``%%jit``.

    Attributes:
      cell: the label of this execution, ``In[3]``.
      function: the cell's name in events and programs.
      version: the number of the cell's version.
      changed: what the edit that made the version changed.
      hit: whether no trace was needed.
      reasons: why it was traced.
      closed: the program; None when nothing was traced.
      stack: the cell and the transforms applied to it, innermost first.
      arguments: names for the program's arguments.
      names: names of the cell's for the program's variables.
      reserved: names of the notebook's variables, which no letter may equal.
      trace_ns: the time of tracing; ``lower_ns``, ``compile_ns`` and ``run_ns`` likewise.
      lower_ns: the time of lowering.
      compile_ns: the time of compiling.
      run_ns: from the call to the results' existence, without the above; None when not run.
      device: where it ran, ``cpu:0``.
      traced: the traced inputs with their types.
      static: the static inputs in words.
      assigned: names written back.
      provenance: what was traced and what was static, or None.
      warnings: what the user should know.
      sections: further texts.
      open: names of the sections to show open.
      rendered: what was drawn of the program and the map at an earlier run of the same trace;
        filled in here.
      defined: the functions that a cell of definitions compiles.
      kept: those of them that were unchanged.
      left: functions of such a cell that stay as they are: asynchronous ones and generators.
      awaited: the first and last line that ran before the traced ones, because they await.
    """

    cell: str
    function: str
    version: int = 1
    changed: str = ""
    hit: bool = False
    reasons: tuple[Reason, ...] = ()
    closed: ClosedJaxpr | None = None
    stack: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    names: Mapping[Any, str] = field(default_factory=dict)
    reserved: Collection[str] = ()
    trace_ns: int = 0
    lower_ns: int = 0
    compile_ns: int = 0
    run_ns: int | None = None
    device: str = ""
    traced: dict[str, str] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    assigned: tuple[str, ...] = ()
    provenance: Provenance | None = None
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    open: frozenset[str] = frozenset()
    rendered: dict[str, Any] = field(default_factory=dict)
    defined: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    awaited: tuple[int, int] | None = None

    def outline(self) -> Outline | None:
        """The program in the cell's own names; None when nothing was traced."""
        if self.closed is None:
            return None
        if "outline" not in self.rendered:
            self.rendered["outline"] = outline(
                self.closed,
                title=self.function,
                stack=self.stack,
                arguments=self.arguments,
                names=self.names,
                reserved=self.reserved,
            )
        return self.rendered["outline"]

    def summary(self) -> str:
        """The one line."""
        if self.defined:
            return self._definitions()
        parts = []
        if self.closed is not None:
            count = count_equations(self.closed.jaxpr)
            parts.append(f"{count:,} eqn{'' if count == 1 else 's'}")
        if not self.hit:
            parts.append(f"traced {format_duration(self.trace_ns)}")
            if self.lower_ns or self.compile_ns:
                parts.append(f"compiled {format_duration(self.lower_ns + self.compile_ns)}")
        if self.awaited:
            first, last = self.awaited
            lines = f"line {first}" if first == last else f"lines {first}–{last}"
            parts.append(f"{lines} awaited before it, untraced")
        parts.append("not run" if self.run_ns is None else f"ran {format_duration(self.run_ns)}")
        parts += [self.device] * bool(self.device)
        parts.append("hit" if self.hit else f"miss: {self.why()}")
        return f"jit  {' · '.join(parts)}"

    def _definitions(self) -> str:
        count = len(self.defined)
        names = f"{count} function{'' if count == 1 else 's'}: {', '.join(self.defined)}"
        kept = f" · unchanged: {', '.join(self.kept)}" if self.kept else ""
        left = f" · stay as they are: {', '.join(self.left)}" if self.left else ""
        return f"jit  {names} · traced when called{kept}{left}"

    def why(self) -> str:
        """Why it was traced, in a few words."""
        if self.changed:
            return self.changed
        if not self.reasons or self.reasons[0].kind == "first_call":
            return "first run"
        first, *others = self.reasons
        more = f" (+{len(others)} more)" if others else ""
        return _short(first) + more


def run_view(report: RunReport) -> View:
    """Return the view of one run."""
    summary = report.summary()
    text = "\n".join([summary, *_text_lines(report)])
    warnings = [_warning_html(warning) for warning in report.warnings]
    lines = [
        line_class(function.file, mark.line)
        for function in (report.provenance.functions if report.provenance else ())
        for mark in function.marks
    ]
    title = element("span", summary, class_="m")
    folded = details(title, *_html_parts(report), is_open=bool(report.open))
    body = title if report.defined else folded
    return View(
        "jit", text, page(body, *warnings, style=linking_style(lines)), _data(report, summary)
    )


def _warning_html(warning: str) -> Html:
    """A sentence, and below it the code that it gives."""
    sentence, _, code = warning.partition("\n")
    return element("div", sentence, *[pre(dedent(code))] * bool(code), class_="warn")


def _short(reason: Reason) -> str:
    if not reason.before and not reason.after:
        return reason.what
    return f"{reason.what} {reason.before or 'nothing'} → {reason.after or 'nothing'}"


def _text_lines(report: RunReport) -> Iterator[str]:
    """In a terminal nothing folds: only what was asked for, and warnings."""
    for warning in report.warnings:
        yield f"warning: {warning}"
    if "jaxpr" in report.open and report.closed is not None:
        yield str(report.outline())
    if "source" in report.open and report.provenance is not None:
        yield map_text(report.provenance)
    for section in report.sections:
        yield f"-- {section.title}"
        yield section.text


def _html_parts(report: RunReport) -> Iterator[Html]:
    yield table(("Stage", "Time"), _stage_rows(report), numeric=(1,))
    if report.reasons:
        rows = [(reason.sentence(), reason.fix) for reason in report.reasons]
        yield details("Why it was traced", table(("What differs", "Fix"), rows))
    if report.traced or report.static:
        yield _inputs_html(report)
    if report.provenance is not None:
        opened = "source" in report.open
        drawn = _once(report, "map", map_html, report.provenance)
        yield details("Traced and static", drawn, is_open=opened)
    if report.closed is not None:
        # Where the map of the source is shown, its lines are those that equations lead to.
        linked = shown_places(report.provenance) if report.provenance else None
        draw = partial(outline_html, linked=linked)
        drawn = _once(report, "jaxpr", draw, report.outline())
        yield details("jaxpr", drawn, is_open="jaxpr" in report.open)
    for section in report.sections:
        shown = section.html or pre(section.text)
        yield details(section.title, shown, is_open=section.name in report.open)


def _inputs_html(report: RunReport) -> Html:
    """The inputs; of a hit they read as at the run before, mostly."""
    inputs = [(name, "T", kind) for name, kind in report.traced.items()]
    inputs += [(name, "S", kind) for name, kind in report.static.items()]
    before = report.rendered.get("inputs")
    if before is not None and before[0] == inputs:
        return before[1]
    more = [element("div", f"… {len(inputs) - _NAMES:,} more")] * (len(inputs) > _NAMES)
    title = f"{len(inputs):,} input" + "s" * (len(inputs) != 1)
    drawn = details(title, table(("Name", "", "Type or value"), inputs[:_NAMES]), *more)
    report.rendered["inputs"] = (inputs, drawn)
    return drawn


def _once(report: RunReport, name: str, draw: Callable[[Any], Any], subject: Any) -> Any:
    """What was drawn before of the same trace, or is drawn now."""
    if name not in report.rendered:
        report.rendered[name] = draw(subject)
    return report.rendered[name]


def _stage_rows(report: RunReport) -> Sequence[tuple[str, str]]:
    times = (
        ("trace", report.trace_ns),
        ("lower", report.lower_ns),
        ("compile", report.compile_ns),
        ("run", report.run_ns),
    )
    return [(name, format_duration(time_ns)) for name, time_ns in times if time_ns]


def _once_as_data(
    report: RunReport, name: str, draw: Callable[[Any], Mapping[str, Any]], subject: Any
) -> Tidied | None:
    if subject is None:
        return None
    return _once(report, name, lambda subject: tidied(draw(subject)), subject)


def _first(inputs: Mapping[str, str]) -> dict[str, str]:
    return dict(itertools.islice(inputs.items(), _NAMES))


def _data(report: RunReport, summary: str) -> dict[str, Any]:
    return {
        "cell": report.cell,
        "function": report.function,
        "defined": list(report.defined),
        "version": report.version,
        "summary": summary,
        "hit": report.hit,
        "why": report.why(),
        "times_ns": {
            "trace": report.trace_ns,
            "lower": report.lower_ns,
            "compile": report.compile_ns,
            "run": report.run_ns,
        },
        "device": report.device,
        "traced": _first(report.traced),
        "static": _first(report.static),
        "assigned": list(report.assigned[:_NAMES]),
        "warnings": list(report.warnings),
        "open": sorted(report.open),
        "jaxpr": _once_as_data(report, "jaxpr data", outline_data, report.outline()),
        "provenance": _once_as_data(report, "map data", map_data, report.provenance),
        "sections": [
            {"name": one.name, "title": one.title, "text": one.text[:20_000], **one.data}
            for one in report.sections
        ],
    }
