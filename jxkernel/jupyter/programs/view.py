"""The jaxpr explorer: a program's equations, nested and foldable, beside the source they are of.

Without JavaScript: each equation links to its source line and the line to its first equation;
pointing at one lights up the other; inner programs fold; one click selects the text to copy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from jxkernel._reprs import counted
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.jupyter.code.magics import as_typed
from jxkernel.jupyter.programs.graphs import Node, graph_svg
from jxkernel.jupyter.views.html import (
    Html,
    anchor,
    details,
    element,
    escape,
    join,
    line_class,
    linking_style,
    page,
    pre,
    row,
)
from jxkernel.jupyter.views.view import View, capped
from jxkernel.observe.costs import Cost, format_flops
from jxkernel.observe.explain import format_size
from jxkernel.observe.programs import Equation, Outline, Placed, Program, SourceLine, outline

__all__ = [
    "equation_columns",
    "jaxpr_view",
    "outline_data",
    "outline_html",
    "outline_view",
    "program_data",
    "source_html",
    "stack_html",
]

_OPEN = 60
_NODES = 60
_TEXT = 30_000
_ENDS = 3_000
"""Characters of a program's list of inputs, or of results."""
_COLUMNS = (
    *("depth", "named", "text", "primitive", "operands", "results", "file", "line"),
    *("flops", "bytes"),
)

Place = tuple[str, int]
"""A file and a line."""


def jaxpr_view(closed: ClosedJaxpr, title: str = "jaxpr") -> View:
    """Return the explorer of a program."""
    return outline_view(outline(closed, title=title))


def outline_view(program: Outline, *, is_open: bool = False, current: int = 0) -> View:
    """Return the explorer of a program's outline.

    Args:
      program: what to show.
      is_open: whether it is unfolded however long it is.
      current: the number of an equation to light up, with its source line.
    """
    heading = f"{program.title} · {_count(program.count)} · {_cost_text(program.cost)}"
    inside = outline_html(program)
    body = details(heading, inside, is_open=is_open or program.count <= _OPEN)
    style = linking_style(line_class(one.file, one.line) for one in program.source)
    style += _lit(program, current)
    return View("jaxpr", str(program), page(body, style=style), outline_data(program))


def _lit(program: Outline, current: int) -> str:
    """The style that lights up an equation and its source line."""
    found = next((one for _, one in program.walk() if one.number == current), None)
    if found is None:
        return ""
    mark = "{outline:2px solid #c98500;outline-offset:-1px}"
    places = [f"e{current}", *[f"s{line_class(found.file, found.line)}"] * bool(found.line)]
    return "".join(f"%s{place}{mark}" for place in places)


def outline_html(program: Outline, *, linked: Collection[Place] | None = None) -> Html:
    """Return the inside of the explorer.

    Args:
      program: what to show.
      linked: the source lines that are shown elsewhere in the view; by default they are shown here.
    """
    parts: list[object] = []
    if program.is_transformed:
        parts.append(stack_html(program.stack))
    places = {(one.file, one.line) for one in program.source} if linked is None else linked
    equations = _program(program.program, places)
    equations = element("div", equations, role="group", aria_label="equations")
    if linked is None and program.source:
        equations = element("div", source_html(program.source, program), equations, class_="side")
    parts.append(equations)
    drawing = _graph(program.program)
    if drawing:
        parts.append(details("Graph", drawing))
    parts.append(details("Text to copy", pre(str(program), limit=_TEXT)))
    return element("div", *parts)


def outline_data(program: Outline) -> dict[str, Any]:
    """Return a program as data: its equations as rows, with depth and place."""
    return {
        "title": program.title,
        "token": program.token,
        "stack": list(program.stack),
        "count": program.count,
        "flops": program.cost.flops,
        "bytes": program.cost.bytes,
        "inputs": capped(program.program.head, _ENDS),
        "equations": [_equation_data(depth, one) for depth, one in program.walk()],
        "programs": [program_data(one) for one in program.programs()],
        "results": capped(program.program.tail, _ENDS),
        "source": [
            {
                "file": one.file,
                "line": one.line,
                "text": as_typed(one.text),
                "equations": one.equations,
                "flops": one.cost.flops,
            }
            for one in program.source
        ],
    }


def _equation_data(depth: int, one: Equation) -> dict[str, Any]:
    return {
        "number": one.number,
        "depth": depth,
        "named": one.is_named,
        "text": one.text,
        "primitive": one.primitive,
        "operands": list(one.operands),
        "results": [result.name for result in one.results],
        "file": one.file,
        "line": one.line,
        "flops": one.cost.flops,
        "bytes": one.cost.bytes,
    }


def equation_columns(first: int, equations: Iterable[tuple[int, Equation]]) -> dict[str, Any]:
    """Return equations that follow each other as data by columns.

    Args:
      first: the number of the first one.
      equations: each with its depth; none is kept.
    """
    files: dict[str, int] = {}
    rows = [
        (
            depth,
            one.is_named,
            one.text,
            one.primitive,
            " ".join(one.operands),
            " ".join([result.name for result in one.results]),
            files.setdefault(one.file, len(files)),
            one.line,
            one.cost.flops,
            one.cost.bytes,
        )
        for depth, one in equations
    ]
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in _COLUMNS)
    return {"first": first, **dict(zip(_COLUMNS, columns, strict=True)), "files": list(files)}


def program_data(placed: Placed) -> dict[str, Any]:
    """Return a program of an outline as data, without its equations."""
    program = placed.program
    return {
        "label": program.label,
        "head": capped(program.head, _ENDS),
        "tail": capped(program.tail, _ENDS) if placed.is_whole else "",
        "inputs": [one.name for one in (*program.constants, *program.inputs)],
        "results": list(program.results),
        "equation": placed.equation,
        "depth": placed.depth,
        "first": placed.first,
        "end": placed.end,
        "left_out": program.left_out,
    }


def stack_html(stack: Sequence[str]) -> Html:
    """Return a function and the transforms applied to it as a row of names."""
    names = [element("span", escape(name, 80), class_="chip m") for name in stack]
    return element(
        "div", join(names, " → "), role="group", aria_label="transforms, innermost first"
    )


def source_html(lines: Sequence[SourceLine], program: Outline | None = None) -> Html:
    """Return source lines, each linked to the first equation that it made."""
    first: dict[tuple[str, int], int] = {}
    for _, one in program.walk() if program else ():
        first.setdefault((one.file, one.line), one.number)
    rows: list[object] = []
    before: SourceLine | None = None
    for one in lines:
        if before is None or before.file != one.file:
            rows.append(element("div", escape(one.file, 120), class_="dim"))
        elif one.line > before.line + 1:
            rows.append(row("   ⋯", class_="dim"))
        rows.append(_source_row(one, first.get((one.file, one.line), 0)))
        before = one
    return element("div", *rows, role="group", aria_label="source")


def _source_row(one: SourceLine, equation: int) -> Html:
    of_line = line_class(one.file, one.line)
    number: object = str(one.line)
    padding = "\u00a0" * (4 - len(str(one.line)))
    if equation:
        number = element("a", number, href=_to(f"e{equation}"), title="to its equations")
    note = ""
    if one.equations:
        flops = f", {format_flops(one.cost.flops)}" if one.cost.flops else ""
        note = f"   {_count(one.equations, 'eqn')}{flops}"
    text = escape(as_typed(one.text) or " ", 300)
    told = element("span", note, class_="dim")
    name = anchor(f"s{of_line}")
    return row(padding, number, " ", text, told, class_=of_line, id=name)


def _program(program: Program, places: Collection[Place]) -> Html:
    label = f"{program.label}: " if program.label else ""
    head, tail = capped(program.head, _ENDS), capped(program.tail, _ENDS)
    parts: list[object] = [row(f"{label}λ {head}", class_="dim")]
    parts += [_equation(one, places) for one in program.equations]
    if program.left_out:
        more = f"… {counted(program.left_out, 'more equation')}"
        parts.append(row(more, class_="dim"))
    parts.append(row(f"in {tail}", class_="dim"))
    return element("div", *parts)


def _equation(one: Equation, places: Collection[Place]) -> Html:
    names: list[object] = []
    for result in one.results:
        names += [element("b", result.name) if one.is_named else result.name, f":{result.type} "]
    inner = f" · {_count(one.inside, 'eqn')} inside" if one.inside else ""
    flops = f" · {format_flops(one.cost.flops)}" if one.cost.flops else ""
    row_class = line_class(one.file, one.line) if one.line else ""
    is_linked = bool(one.line) and (one.file, one.line) in places
    where = f"line {one.line}" if one.line else ""
    title = escape(one.file, 120)
    link = element("a", where, href=_to(f"s{row_class}"), title=title)
    shown = link if is_linked and not one.programs else element("span", where, title=title)
    told = element("span", *(["   ", shown] if where else []), inner, flops, class_="dim")
    number = anchor(f"e{one.number}")
    text = escape(f"{'' if names else '_ '}= {one.right_side}", 600)
    line = row(*names, text, told, class_=row_class, id=number)
    if not one.programs:
        return line
    # What is pressed to open the programs inside holds no link; it stands before them.
    to_line = [row(link, class_="dim")] if is_linked else []
    return details(line, *to_line, *(_program(each, places) for each in one.programs))


def _to(name: str) -> Html:
    return Html(f"#{anchor(name)}")


def _graph(program: Program) -> Html | None:
    """The drawing of the program's own equations; of a long one the beginning."""
    shown = program.equations[:_NODES]
    if len(shown) < 2:
        return None
    nodes: list[Node] = []
    edges: list[tuple[int, int]] = []
    made_by: dict[str, int] = {}
    used = {name for one in shown for name in one.operands} | set(program.results)
    for variable in (*program.constants, *program.inputs):
        if variable.name in used:
            made_by[variable.name] = len(nodes)
            nodes.append(Node(variable.name, variable.type, "input"))
    for one in shown:
        edges += [(made_by[name], len(nodes)) for name in one.operands if name in made_by]
        made_by.update((result.name, len(nodes)) for result in one.results)
        nodes.append(_node(one))
    for name in dict.fromkeys(program.results):
        if name in made_by:
            edges.append((made_by[name], len(nodes)))
            nodes.append(Node(name, "result", "result"))
    left = program.left_out + len(program.equations) - len(shown)
    more = [element("div", f"… {left:,} more equations are not drawn", class_="dim")] * bool(left)
    legend = "round: arguments and results · box: operation · double box: holds programs"
    drawing = graph_svg(nodes, edges, "graph of the equations")
    return element("div", element("div", legend, class_="dim"), drawing, *more)


def _node(one: Equation) -> Node:
    name = f"{one.results[0].name} = " if one.is_named and len(one.results) == 1 else ""
    types = " ".join(result.type for result in one.results)
    kind = "program" if one.programs else "operation"
    mark = line_class(one.file, one.line) if one.line else ""
    return Node(f"{name}{one.primitive}", types, kind, mark, one.text)


def _cost_text(cost: Cost) -> str:
    return f"{format_flops(cost.flops)}, {format_size(cost.bytes)} before fusion"


def _count(number: int, noun: str = "equation") -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
