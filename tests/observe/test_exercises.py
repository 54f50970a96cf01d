"""Exercises run for real, say what each line did, and grade a prediction from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.observe import Exercise, Graded
from jxkernel.observe.teaching.quiz import EXERCISES, Quiz, clear, quiz

ANSWERS: dict[str, Any] = {
    "first-steps": 1,
    "shapes": 2,
    "prints": 2,
    "dtypes": 3,
    "static": 2,
    "lambda": 3,
    "dictionaries": 2,
    "keywords": 3,
    "loop": 10,
    "nested": 2,
    "baked-in": 10.0,
    "out-of-bounds": 4,
}


@pytest.fixture(autouse=True)
def _nothing_solved() -> Iterator[None]:
    clear()
    yield
    clear()


def graded(exercise: Any, guess: Any, **parts: Any) -> Graded:
    found = quiz(exercise, guess, **parts)
    assert isinstance(found, Graded)
    return found


def growing_batch() -> None:
    """How often is f traced?"""
    f = jx.jit(lambda x: x.sum())
    for n in (SMALL, 3, 3):
        f(jnp.ones(n))
    f(jnp.ones(3))


SMALL = 2


@pytest.mark.parametrize("name", EXERCISES)
def test_built_in_exercise_has_the_known_answer_each_time(name: str) -> None:
    for _ in range(2):
        found = graded(name, ANSWERS[name])
        assert found.correct, found
        assert found.difference() == []
        assert str(found).startswith("Yes: ")
        assert EXERCISES[name].lesson in str(found)


def test_every_built_in_exercise_is_answered_here() -> None:
    assert list(ANSWERS) == list(EXERCISES)


def test_what_each_line_did_stands_beside_it() -> None:
    story = graded("shapes", 2).outcome.story()
    assert story[-1] == (
        "  6      f(jnp.ones(n))        ← traced 2 times: first call of f, then x: f32[8] → "
        "f32[16]; reused 2 times"
    )
    assert story[0] == "  1  @jax.jit"
    nested = graded("nested", 2).outcome.story()
    assert nested[6].endswith("← traced: first call of inner; reused")
    assert nested[9].endswith("← reused")
    assert "made again at line 3" in str(graded("lambda", 3))


def test_guess_too_low_is_told_what_was_built() -> None:
    found = graded("dtypes", 1)
    assert not found.correct
    assert found.verdict() == "Not quite: you said 1, and it is 3 traces."
    assert found.difference() == [
        "More than you thought. These lines built something, and why:",
        "  line 5: first call of f",
        "  line 6: x: i32*[] → f32*[]",
        "  line 7: x: f32*[] → f32[]",
    ]
    assert "to avoid it: convert it before the call: jnp.asarray(x, 'int32')" in str(found)


def test_guess_too_high_is_told_what_was_reused() -> None:
    found = graded("first-steps", 3)
    assert found.verdict() == "Not quite: you said 3, and it is 1 trace."
    [told] = found.difference()
    assert told == "Fewer than you thought: calls on lines 6, 7 found their trace and reused it."


def test_value_and_prints_are_graded_too() -> None:
    assert graded("baked-in", 10).correct
    assert not graded("baked-in", 20.0).correct
    assert not graded("baked-in", "ten").correct
    found = graded("prints", 3)
    assert "it is 2 printed lines" in str(found)
    assert "it printed:\n  hello\n  hello" in str(found)


def test_teacher_writes_an_exercise_as_a_function() -> None:
    shown = quiz(growing_batch)
    assert isinstance(shown, Exercise)
    assert str(shown).splitlines() == [
        "How often is f traced?",
        "",
        "  1  f = jx.jit(lambda x: x.sum())",
        "  2  for n in (SMALL, 3, 3):",
        "  3      f(jnp.ones(n))",
        "  4  f(jnp.ones(3))",
        "",
        "answer with: jax.quiz(growing_batch, YOUR GUESS)",
    ]
    assert graded(growing_batch, 2).correct
    assert graded(growing_batch, 2, asks="compilations", lesson="kept").correct


def test_teacher_writes_an_exercise_as_text() -> None:
    own = Exercise(
        "own",
        """
        f = jx.jit(lambda x: x + 1)
        g = jx.jit(lambda x: x - 1)
        f(1), g(1), f(2.0)
        """,
        lesson="two functions",
    )
    assert graded(own, 3).correct
    assert own.question == "How many traces will this make?"
    assert "Remember: two functions" in str(graded(own, 1))


def test_only_one_function_counts_where_one_is_named() -> None:
    code = "@jx.jit\ndef f(x): return x\n@jx.jit\ndef g(x): return x\nf(1); g(1); g(2.0)"
    assert graded(Exercise("two", code, of="g"), 2).correct
    assert graded(Exercise("two", code), 3).correct


def test_running_an_exercise_leaves_the_learner_s_own_history_alone() -> None:
    assert graded("shapes", 2).outcome.rows[0].reasons[0].kind == "first_call"
    assert graded("prints", 2).outcome.rows[0].reasons[0].kind == "first_call"


def test_error_of_the_code_is_the_learner_s_to_see() -> None:
    with pytest.raises(ZeroDivisionError):
        quiz(Exercise("broken", "1 / 0"), 1)


def test_guesses_to_click_on_have_the_answer_among_them() -> None:
    for name, one in EXERCISES.items():
        assert any(guess == ANSWERS[name] for guess in one.offered(ANSWERS[name])), name
    own = Exercise("own", "1")
    assert own.offered(3) == (0, 1, 2, 3, 4, 5, 6)
    assert 40 in own.offered(40)
    assert len(own.offered(40)) == 7
    assert Exercise("own", "1", asks="value").offered(1) == ()
    assert Exercise("own", "1", choices=(1, 2)).offered(3) == (1, 2, 3)


def test_list_marks_what_was_answered() -> None:
    assert repr(quiz()).startswith("0 of 12 answered right\n    first-steps ")
    quiz("shapes", 2)
    quiz("static", 7)
    listed = quiz()
    assert isinstance(listed, Quiz)
    assert listed.solved == {"shapes": True, "static": False}
    assert "✓ shapes" in repr(listed)
    assert "✗ static" in repr(listed)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: quiz("shape"), ValueError, "no exercise 'shape'; there are first-steps"),
        (lambda: quiz("shapes", "two"), TypeError, "give an integer, not 'two'"),
        (lambda: quiz("shapes", True), TypeError, "give an integer"),
        (lambda: quiz(lambda x: x), TypeError, "without parameters"),
        (lambda: Exercise("x", "1", asks="size"), ValueError, "asks='size' is none of traces"),  # type: ignore[arg-type]  # what is tested
        (lambda: Exercise("x", "def"), SyntaxError, "invalid syntax|expected"),
    ],
)
def test_wrong_questions_are_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
