"""What each pass of XLA changed: a table of steps, each folded with its instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jxkernel._reprs import counted
from jxkernel.jupyter.views.html import Html, details, element, join, page, row, table
from jxkernel.jupyter.views.view import View
from jxkernel.observe.passes import Instruction, Passes, PassStep

__all__ = ["passes_view"]

_STEPS = 200
_LINES = 30
_EQUATIONS = 100
_TEXT = 300


def passes_view(found: Passes, title: str) -> View:
    """Return what the passes did to a program, or to what came of one of its equations."""
    steps = found.steps[:_STEPS]
    left_out = len(found.steps) - len(steps)
    more = f"… {counted(left_out, 'more step')}" if left_out else ""
    head = f"XLA's passes over {title}"
    if found.equation is not None:
        head += f", equation {found.equation}"
    text = [head, *_texts(found, steps), *([more] if more else [])]
    parts = [_step(found, one) for one in steps]
    if found.equation is None:
        parts.append(_equations(found))
    else:
        parts.insert(0, _fold("given to XLA", found.before, is_open=True))
        parts.append(_fold("in the end", found.after, is_open=True))
    notes = [element("div", more, class_="dim")] * bool(more)
    legend = element("div", "− no longer there · + not there before", class_="dim")
    html = page(details(head, legend, *parts, *notes, is_open=True))
    data = {
        "title": title,
        "equation": found.equation or 0,
        "steps": [[one.name, one.pipeline, one.gone_count, one.new_count] for one in steps],
    }
    return View("passes", "\n".join(text), html, data)


def _texts(found: Passes, steps: Sequence[PassStep]) -> Iterator[str]:
    if found.equation is not None:
        yield from ("given to XLA", *_indented(found.before))
        for one in steps:
            yield from (_head(one), *(f"  {sign} {text}" for sign, text in _signed(one)))
        yield from ("in the end", *_indented(found.after))
        return
    yield from map(_head, steps)
    yield "by equation"
    for number, text, changed in _rows(found):
        yield f"{number:>5}  {text}  {changed}"


def _indented(instructions: Iterable[Instruction]) -> list[str]:
    return [f"    {one}" for one in instructions] or ["    nothing"]


def _head(one: PassStep) -> str:
    return f"{one.number}  {one.name} · {one.pipeline} · −{one.gone_count:,} +{one.new_count:,}"


def _signed(one: PassStep) -> Iterator[tuple[str, str]]:
    """The instructions with their signs, and a line for those that are not listed."""
    yield from (("−", str(each)) for each in one.gone[:_LINES])
    yield from (("+", str(each)) for each in one.new[:_LINES])
    left_out = one.gone_count + one.new_count
    left_out -= len(one.gone[:_LINES]) + len(one.new[:_LINES])
    if left_out:
        yield "…", f"{left_out:,} more"


def _step(found: Passes, one: PassStep) -> Html:
    colours = {"−": "gone", "+": "new"}
    rows = [
        row(f"{sign} {text[:_TEXT]}", class_=colours.get(sign, "dim"))
        for sign, text in _signed(one)
    ]
    return details(_head(one), *rows, is_open=found.equation is not None)


def _fold(title: str, instructions: Sequence[Instruction], *, is_open: bool) -> Html:
    rows = [row(str(one)[:_TEXT]) for one in instructions] or [element("div", "nothing")]
    return details(title, *rows, is_open=is_open)


def _rows(found: Passes) -> Iterator[tuple[int, str, str]]:
    """The equations of which instructions came, and the steps that changed some."""
    for depth, equation in found.program.walk():
        steps = found.changed_by.get(equation.number)
        if steps and equation.number <= _EQUATIONS:
            changed = f"{'step' if len(steps) == 1 else 'steps'} {', '.join(map(str, steps))}"
            yield equation.number, f"{'  ' * depth}{equation.text}", changed


def _equations(found: Passes) -> Html:
    rows = [
        (str(number), join([element("code", text[:_TEXT])]), changed)
        for number, text, changed in _rows(found)
    ]
    return details("By equation", table(("", "Equation", "Changed by"), rows, (0,)))
