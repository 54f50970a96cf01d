"""The jaxpr explorer: a program's equations, nested and foldable, each with its source line.

Purpose: show a jaxpr as text, as folded HTML and as data.

Place in the pipeline: a view of `jupyter.display`; `%jaxpr`, `%%jit` and a notebook's `Out` use it.

Must not know: cells or magics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jxkernel import source
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, subjaxprs
from jxkernel.core.printing import Names, equation_text, jaxpr_text
from jxkernel.jupyter.display.html import Html, details, element, page
from jxkernel.jupyter.display.view import View

__all__ = ["count_equations", "jaxpr_data", "jaxpr_html", "jaxpr_rows", "jaxpr_view"]

EQUATIONS = 1_000
"""How many equations a view holds; the rest are counted."""

_LINE_LENGTH = 300


def jaxpr_view(closed: ClosedJaxpr, title: str = "jaxpr") -> View:
    """Returns the explorer of a program."""
    count = count_equations(closed.jaxpr)
    heading = f"{title} · {count:,} equation{'' if count == 1 else 's'}"
    return View(
        "jaxpr",
        jaxpr_rows(closed),
        page(details(heading, jaxpr_html(closed), is_open=count <= 60)),
        {"title": title, **jaxpr_data(closed)},
    )


def count_equations(jaxpr: Jaxpr) -> int:
    """Returns the number of equations, those of inner programs included."""
    return sum(
        1 + sum(count_equations(inner.jaxpr) for inner in subjaxprs(eqn.params))
        for eqn in jaxpr.eqns
    )


def jaxpr_rows(closed: ClosedJaxpr, limit: int = EQUATIONS) -> str:
    """Returns a program as text; of a long one the beginning."""
    jaxpr = closed.jaxpr
    if len(jaxpr.eqns) <= limit:
        return jaxpr_text(jaxpr)
    shown = jaxpr_text(jaxpr.replace(eqns=jaxpr.eqns[:limit]))
    left_out = len(jaxpr.eqns) - limit
    head, _, tail = shown.rpartition("\n")
    return f"{head}\n    … {left_out:,} more equations\n{tail}"


def jaxpr_data(closed: ClosedJaxpr) -> dict[str, Any]:
    """Returns a program as data: its equations as rows, with depth and place."""
    names = Names()
    head = _head(closed.jaxpr, names)
    rows = []
    for depth, eqn in _walk(closed.jaxpr, 0):
        if len(rows) >= EQUATIONS:
            break
        frame = source.user_frame(eqn.source)
        rows.append(
            {
                "text": _one_line(eqn, names),
                "depth": depth,
                "primitive": eqn.primitive.name,
                "file": frame.file if frame else "",
                "line": frame.line if frame else 0,
            }
        )
    return {
        "count": count_equations(closed.jaxpr),
        "inputs": head,
        "equations": rows,
        "results": _results(closed.jaxpr, names),
    }


def jaxpr_html(closed: ClosedJaxpr) -> Html:
    """Returns a program as rows; inner programs are folded."""
    left = [EQUATIONS]
    return _program(closed.jaxpr, Names(), left)


def _program(jaxpr: Jaxpr, names: Names, left: list[int]) -> Html:
    parts: list[object] = [element("span", f"λ {_head(jaxpr, names)}", class_="row m dim")]
    for number, eqn in enumerate(jaxpr.eqns):
        if left[0] <= 0:
            more = f"… {len(jaxpr.eqns) - number:,} more equations"
            parts.append(element("span", more, class_="row m dim"))
            break
        left[0] -= 1
        parts.append(_equation(eqn, names, left))
    parts.append(element("span", f"in {_results(jaxpr, names)}", class_="row m dim"))
    return element("div", *parts)


def _equation(eqn: Eqn, names: Names, left: list[int]) -> Html:
    frame = source.user_frame(eqn.source)
    place: object = ""
    if frame is not None:
        place = element("span", f"   # line {frame.line}", class_="dim", title=frame.file)
    row_class = f"row m l{frame.line}" if frame else "row m"
    inner = list(subjaxprs(eqn.params))
    text = element("span", _one_line(eqn, names), place, class_=row_class)
    if not inner:
        return text
    programs = [_program(one.jaxpr, Names(), left) for one in inner]
    return details(text, *programs)


def _walk(jaxpr: Jaxpr, depth: int) -> Iterator[tuple[int, Eqn]]:
    for eqn in jaxpr.eqns:
        yield depth, eqn
        for inner in subjaxprs(eqn.params):
            yield from _walk(inner.jaxpr, depth + 1)


def _one_line(eqn: Eqn, names: Names) -> str:
    """An equation without its inner programs, which are shown below it."""
    params = {
        name: value for name, value in eqn.params.items() if not any(subjaxprs({name: value}))
    }
    if len(params) < len(eqn.params):
        eqn = eqn.replace(params=params)
    text = equation_text(eqn, names)
    return text if len(text) <= _LINE_LENGTH else f"{text[:_LINE_LENGTH]}…"


def _head(jaxpr: Jaxpr, names: Names) -> str:
    constants = ", ".join(f"{names(var)}:{var.aval.short()}" for var in jaxpr.constvars)
    arguments = ", ".join(f"{names(var)}:{var.aval.short()}" for var in jaxpr.invars)
    return f"{constants} ; {arguments}" if constants else arguments


def _results(jaxpr: Jaxpr, names: Names) -> str:
    shown = (str(atom.val) if isinstance(atom, Literal) else names(atom) for atom in jaxpr.outvars)
    return f"({', '.join(shown)})"
