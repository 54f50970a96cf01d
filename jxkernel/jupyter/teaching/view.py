"""Exercises as views: a question with the code, and below it, folded, what really happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jxkernel.jupyter.views.html import (
    Html,
    anchor,
    details,
    element,
    escape,
    page,
    pre,
    row,
    table,
)
from jxkernel.jupyter.views.view import View
from jxkernel.observe.teaching.exercises import Exercise, Graded, LineStory, Outcome
from jxkernel.observe.teaching.quiz import EXERCISES, Quiz

__all__ = ["exercise_view", "graded_view", "quiz_view"]

_STYLE = (
    "%s .guesses{display:flex;flex-wrap:wrap;gap:.3em .6em;align-items:baseline;margin:.5em 0}"
    "%s .guesses details{margin:0}"
    "%s .guesses summary{list-style:none;padding:.1em .8em;border-radius:3px;"
    "border:1px solid color-mix(in srgb,currentColor 45%,transparent)}"
    "%s .guesses summary::-webkit-details-marker{display:none}"
    "%s .guesses details[open]{display:contents}"
    "%s .guesses details[open] summary{background:color-mix(in srgb,#2a78d6 24%,transparent)}"
    "%s .guesses details[open]::details-content{flex-basis:100%;order:1}"
)
"""Guesses in one row, like buttons; the verdict of the one that is open stands below them."""


def exercise_view(exercise: Exercise) -> View:
    """Return the question, the code, and the answer folded away; the code is run for it."""
    outcome = exercise.run()
    answer = Graded(exercise, outcome.answer, outcome)
    html = page(
        element("div", element("b", exercise.question)),
        pre(exercise.code),
        _answering(exercise, outcome),
        details("What really happens", element("b", answer.amount()), *_story(answer)),
        style=_STYLE,
    )
    return View("quiz", str(exercise), html, _data(exercise, outcome))


def _answering(exercise: Exercise, outcome: Outcome) -> Html:
    """Guesses to click on, each with its verdict folded; how to hand one in where there is none."""
    offered = exercise.offered(outcome.answer)
    if not offered:
        return element("div", "answer with ", element("code", exercise.call("YOUR GUESS")))
    guesses = [_guess(Graded(exercise, one, outcome)) for one in offered]
    return element("div", element("div", "Your guess:"), *guesses, class_="guesses")


def _guess(graded: Graded) -> Html:
    """A guess; the lab extension tells the kernel which was clicked on."""
    return element(
        "details",
        element("summary", graded.guess),
        element("div", _verdict(graded), *_overlooked(graded)),
        name=anchor("guess"),
        data_quiz=graded.exercise.name,
        data_right="yes" if graded.correct else "no",
    )


def _verdict(graded: Graded) -> Html:
    return element("div", element("b", f"{'✓' if graded.correct else '✗'} {graded.verdict()}"))


def _overlooked(graded: Graded) -> Iterator[Html]:
    difference = graded.difference()
    if difference:
        yield element("div", difference[0])
        yield from (element("div", line, class_="in") for line in difference[1:])


def graded_view(graded: Graded) -> View:
    """Return the verdict, and what each line did."""
    html = page(_verdict(graded), *_overlooked(graded), *_story(graded))
    data = {
        **_data(graded.exercise, graded.outcome),
        "guess": str(graded.guess),
        "correct": graded.correct,
    }
    return View("quiz", str(graded), html, data)


def quiz_view(quiz: Quiz) -> View:
    """Return the list of exercises."""
    marks = {True: "✓", False: "✗", None: ""}
    rows = [
        (marks[quiz.solved.get(name)], element("code", f"%jx quiz {name}"), exercise.question)
        for name, exercise in EXERCISES.items()
    ]
    html = page(
        element("div", repr(quiz).partition("\n")[0]), table(("", "Show it with", "Question"), rows)
    )
    listed = [
        {"name": name, "question": one.question, "solved": quiz.solved.get(name)}
        for name, one in EXERCISES.items()
    ]
    return View("quiz", repr(quiz), html, {"exercises": listed})


def _story(graded: Graded) -> Iterator[Html]:
    outcome = graded.outcome
    yield table(("", "Code", "What it did"), [_row(line) for line in outcome.lines], numeric=(0,))
    if graded.exercise.asks == "prints":
        yield element("div", "it printed:", pre(outcome.printed))
    for fix in outcome.fixes():
        yield element("div", "to avoid it: ", escape(fix, 300), class_="dim")
    if graded.exercise.lesson:
        yield element("div", "remember: ", escape(graded.exercise.lesson, 500), class_="warn")


def _row(line: LineStory) -> tuple[object, ...]:
    return (line.number, row(escape(line.code, 500)), escape(line.remark(), 500))


def _data(exercise: Exercise, outcome: Outcome) -> dict[str, Any]:
    return {
        "name": exercise.name,
        "question": exercise.question,
        "asks": exercise.asks,
        "code": exercise.code,
        "lesson": exercise.lesson,
        "answer": str(outcome.answer),
        "lines": [
            {"number": line.number, "code": line.code, "remark": line.remark()}
            for line in outcome.lines
        ],
        "printed": outcome.printed,
        "fixes": outcome.fixes(),
    }
