"""The quiz: exercises that ask what tracing will do, and grade themselves from the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jxkernel.observe.teaching.exercises import Exercise, Graded

__all__ = ["EXERCISES", "Quiz", "quiz"]

EXERCISES: dict[str, Exercise] = {
    one.name: one
    for one in (
        Exercise(
            "first-steps",
            """
            @jax.jit
            def f(x):
                return jnp.sin(x) * 2

            f(1.0)
            f(2.0)
            f(3.0)
            """,
            lesson="the type of an argument is part of the key, its value is not",
        ),
        Exercise(
            "shapes",
            """
            @jax.jit
            def f(x):
                return x.sum()

            for n in (8, 16, 8, 16):
                f(jnp.ones(n))
            """,
            lesson="each shape has a program of its own; it is kept",
        ),
        Exercise(
            "prints",
            """
            @jax.jit
            def f(x):
                print("hello")
                return x + 1

            f(jnp.ones(3))
            f(jnp.zeros(3))
            f(jnp.ones(4))
            """,
            asks="prints",
            lesson="Python's print runs while tracing; jax.debug.print runs with the program",
        ),
        Exercise(
            "dtypes",
            """
            @jax.jit
            def f(x):
                return x * 2

            f(1)
            f(1.0)
            f(jnp.float32(1.0))
            f(np.float32(7.0))
            """,
            lesson="Python numbers are weakly typed: 1.0 and jnp.float32(1.0) are two types",
        ),
        Exercise(
            "static",
            """
            @functools.partial(jax.jit, static_argnames="n")
            def power(x, n):
                return x ** n

            for n in (2, 3, 2):
                power(1.5, n)
            """,
            lesson="the value of a static argument is part of the key",
        ),
        Exercise(
            "lambda",
            """
            x = jnp.ones(3)
            for _ in range(3):
                jax.jit(lambda v: v + 1)(x)
            """,
            lesson="a lambda in a loop is a new function each time: jit once, outside the loop",
        ),
        Exercise(
            "dictionaries",
            """
            @jax.jit
            def f(params):
                return params["w"] * 2

            w = jnp.ones(3)
            f({"w": w})
            f({"w": w, "b": w})
            f({"b": w, "w": w})
            """,
            lesson="the structure of containers is part of the key; the order in a dict is not",
        ),
        Exercise(
            "keywords",
            """
            @jax.jit
            def f(x, y):
                return x + y

            f(1.0, 2.0)
            f(1.0, y=2.0)
            f(x=1.0, y=2.0)
            """,
            lesson="an argument by keyword and one by position are two ways to call",
        ),
        Exercise(
            "loop",
            """
            @jax.jit
            def f(x):
                for _ in range(10):
                    x = jnp.sin(x)
                return x

            f(1.0)
            """,
            asks="equations",
            choices=(1, 9, 10, 11, 20),
            lesson="a Python loop is unrolled while tracing; lax.fori_loop stays one equation",
        ),
        Exercise(
            "nested",
            """
            @jax.jit
            def inner(x):
                return x + 1

            @jax.jit
            def outer(x):
                return inner(x) * inner(2 * x)

            outer(jnp.ones(3))
            inner(jnp.ones(3))
            """,
            lesson="a jitted function inside another is traced once for each kind of arguments too",
        ),
        Exercise(
            "baked-in",
            """
            scale = 10.0

            @jax.jit
            def f(x):
                return x * scale

            f(1.0)
            scale = 20.0
            float(f(1.0))
            """,
            asks="value",
            choices=(10.0, 20.0),
            lesson="what is no argument is baked in while tracing; pass it as one to change it",
        ),
        Exercise(
            "out-of-bounds",
            """
            x = jnp.arange(5)
            int(x[jnp.array([10])][0])
            """,
            asks="value",
            choices=(0, 4, 10, "an error"),
            lesson="a computed index is never an error; a read gives the nearest element",
        ),
    )
}
"""The built-in exercises, in the order of a workshop."""


class Quiz:
    """The list of the built-in exercises, with those that were answered."""

    def __init__(self, solved: dict[str, bool]) -> None:
        self.solved = dict(solved)

    def __repr__(self) -> str:
        width = max(map(len, EXERCISES))
        lines = [f"{sum(self.solved.values())} of {len(EXERCISES)} answered right"]
        for name, one in EXERCISES.items():
            lines.append(f"  {_mark(self.solved.get(name))} {name.ljust(width)}  {one.question}")
        return "\n".join([*lines, f"see one: jax.quiz({next(iter(EXERCISES))!r})"])


_solved: dict[str, bool] = {}


def quiz(
    exercise: str | Exercise | Callable[[], object] | None = None,
    guess: Any = None,
    **parts: Any,
) -> Quiz | Exercise | Graded:
    r"""Ask what tracing will do, or grade a prediction by running the code.

    Args:
      exercise: the name of a built-in exercise, one of your own, or a function without parameters
        whose body is the code and whose docstring is the question; without it, all are listed.
      guess: the prediction; without it the exercise is shown.
      **parts: for a function, further attributes of its ``Exercise``, such as ``asks="prints"``.

    Returns:
      the list, the exercise, or the graded prediction: what each line did, what the guess has
      overlooked, and how to avoid what the ledger counts.

    Raises:
      ValueError: no exercise has that name.
      TypeError: a count is asked for, and the guess is no integer.

    >>> import jxkernel as jx
    >>> print(jx.quiz("shapes", 4).verdict())
    Not quite: you said 4, and it is 2 traces.
    >>> from jxkernel.observe import Exercise
    >>> own = Exercise("own", "f = jx.jit(abs)\nf(1); f(2)", question="How many traces?")
    >>> jx.quiz(own, 1).correct
    True
    """
    if exercise is None:
        return Quiz(_solved)
    if isinstance(exercise, str):
        if exercise not in EXERCISES:
            raise ValueError(f"quiz: no exercise {exercise!r}; there are {', '.join(EXERCISES)}")
        exercise = EXERCISES[exercise]
    elif not isinstance(exercise, Exercise):
        exercise = Exercise.of_function(exercise, **parts)
    if guess is None:
        return exercise
    graded = exercise.check(guess)
    if EXERCISES.get(exercise.name) is exercise:
        answered(exercise.name, correct=graded.correct)
    return graded


def answered(name: str, *, correct: bool) -> None:
    """Note how a built-in exercise was answered; answers to others are not kept."""
    if name in EXERCISES:
        _solved[name] = correct


def clear() -> None:
    """Forget which exercises were answered."""
    _solved.clear()


def _mark(solved: bool | None) -> str:
    return " " if solved is None else "✓" if solved else "✗"
