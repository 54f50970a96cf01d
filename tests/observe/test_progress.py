"""Progress bars: what they show, and that loops give what they give without them."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.config import progress_display
from jxkernel.observe.progress import Bar, Progress

Loops = tuple[Callable[..., Any], Callable[..., Any]]


@pytest.fixture
def shown() -> Any:
    """The states that bars show, one list for each run."""
    runs: list[list[Progress]] = []

    def make() -> Callable[[Progress], None]:
        runs.append([])
        return runs[-1].append

    before = progress_display.value
    progress_display.set_global(make)
    yield runs
    progress_display.set_global(before)


def decay(scan: Callable[..., Any], fori_loop: Callable[..., Any], x: Any) -> Any:
    """A scan and a counted loop, one after the other."""
    carry, ys = scan(lambda c, v: (jnp.sin(c) + v, c), x, jnp.arange(12.0))
    return fori_loop(2, 9, lambda i, c: jnp.cos(c) * i, carry) + ys.sum()


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "eager": lambda f: f(0.5),
    "jit": lambda f: jx.jit(f)(0.5),
    "grad": lambda f: jx.grad(f)(0.5),
    "jvp": lambda f: jx.jvp(f, (0.5,), (1.0,)),
    "vmap": lambda f: jx.vmap(f)(jnp.arange(3.0)),
    "vmap of grad": lambda f: jx.jit(jx.vmap(jx.grad(f)))(jnp.arange(3.0)),
    "forward over reverse": lambda f: jx.jacfwd(jx.jacrev(f))(0.5),
    "checkpoint": lambda f: jx.grad(jx.checkpoint(f))(0.5),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_results_are_those_without_a_bar(
    transform: Callable[[Callable[..., Any]], Any], shown: list[list[Progress]]
) -> None:
    plain = transform(lambda x: decay(lax.scan, lax.fori_loop, x))
    barred = transform(lambda x: decay(jx.progress(lax.scan), jx.progress(lax.fori_loop), x))
    jx.effects_barrier()
    for a, b in zip(jx.tree.leaves(plain), jx.tree.leaves(barred), strict=True):
        np.testing.assert_array_equal(a, b)
    totals = {run[-1].total for run in shown}
    assert totals == {12, 7}
    assert all(run[-1].done == run[-1].total for run in shown)


def test_a_bar_begins_anew_with_each_run(shown: list[list[Progress]]) -> None:
    f = jx.jit(lambda n, x: jx.progress(lax.fori_loop)(0, n, lambda i, c: c + i, x))
    for n in (5, 3, 3):
        f(n, 0)
        jx.effects_barrier()
    assert [run[0].done for run in shown] == [1, 1, 1]
    assert [(run[-1].done, run[-1].total) for run in shown] == [(5, 5), (3, 3), (3, 3)]


def test_loops_of_a_batch_are_one_bar(shown: list[list[Progress]]) -> None:
    loop = jx.progress(lax.fori_loop)
    sums = jx.vmap(lambda n: loop(0, n, lambda i, c: c + i, 0))(jnp.array([4, 9, 6]))
    jx.effects_barrier()
    assert sums.tolist() == [6, 36, 15]
    assert len(shown) == 1
    assert (shown[0][-1].done, shown[0][-1].total) == (9, 9)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((0.0, jnp.arange(6.0)), {}),
        ((0.0, jnp.arange(6.0)), {"reverse": True}),
        ((0.0, jnp.arange(6.0)), {"unroll": 2}),
        ((0.0, {"a": jnp.arange(6.0), "b": jnp.ones((6, 2))}), {}),
        ((0.0, None, 6), {}),
    ],
)
def test_every_form_of_scan(
    arguments: tuple[Any, ...], keywords: dict[str, Any], shown: list[list[Progress]]
) -> None:
    def body(carry: Any, x: Any) -> tuple[Any, Any]:
        return carry + 1, (carry, x)

    plain = lax.scan(body, *arguments, **keywords)
    barred = jx.progress(lax.scan)(body, *arguments, **keywords)
    jx.effects_barrier()
    jx.tree.map(np.testing.assert_array_equal, plain, barred)
    assert [(run[-1].done, run[-1].total) for run in shown] == [(6, 6)]


def test_an_empty_loop_shows_nothing(shown: list[list[Progress]]) -> None:
    carry, ys = jx.progress(lax.scan)(lambda c, x: (c, x), 1.0, jnp.zeros((0, 2)))
    assert (float(carry), ys.shape) == (1.0, (0, 2))
    assert jx.progress(lax.fori_loop)(3, 3, lambda i, c: c + 1, 7) == 7
    assert shown == []


def test_a_long_loop_reports_as_often_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []
    monkeypatch.setattr(Bar, "reach", lambda bar, done, *rest: reached.append(int(done)))
    jx.progress(lax.fori_loop, updates=4)(0, 100, lambda i, c: c + i, 0)
    jx.effects_barrier()
    assert reached == [1, 26, 51, 76, 100]


def test_python_loops_show_a_bar(shown: list[list[Progress]]) -> None:
    assert list(jx.progress(3)) == [0, 1, 2]
    assert list(jx.progress("ab", label="letters")) == ["a", "b"]
    assert list(jx.progress(iter("ab"))) == ["a", "b"]
    assert [run[-1].total for run in shown] == [3, 2, None]
    assert shown[1][-1].label == "letters"


def test_the_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    jx.progress(lax.scan, label="fit")(lambda c, x: (c, x), 0.0, jnp.arange(8.0))
    jx.effects_barrier()
    written = capsys.readouterr().err
    assert written.endswith("\n")
    assert re.search(r"\rfit  12% ▕███ +▏ 1/8 · 0\.0 s", written)
    assert "\rfit 100% ▕████████████████████████▏ 8/8 · " in written


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (Progress("", 0, 4, 0.0), "  0% ▕                        ▏ 0/4 · 0.0 s"),
        (Progress("a", 1, 4, 2.0), "a  25% ▕██████                  ▏ 1/4 · 2.0 s · 6.0 s left"),
        (Progress("", 1500, None, 75.0), "1,500 · 1:15 min"),
        (Progress("", 3, 2, 1.0), "100% ▕████████████████████████▏ 3/2 · 1.0 s"),
    ],
)
def test_how_a_state_reads(state: Progress, text: str) -> None:
    assert str(state) == text


def test_a_display_that_fails_does_not_fail_the_loop() -> None:
    def make() -> Callable[[Progress], None]:
        def show(state: Progress) -> None:
            raise OSError("the front end is gone")

        return show

    before = progress_display.value
    progress_display.set_global(make)
    try:
        assert jx.progress(lax.fori_loop)(0, 4, lambda i, c: c + i, 0) == 6
        jx.effects_barrier()
    finally:
        progress_display.set_global(before)


@pytest.mark.parametrize("wrong", [lax.while_loop, 3.5, None, True])
def test_what_is_no_loop_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"progress shows lax\.scan, lax\.fori_loop, iterables"):
        jx.progress(wrong)


def test_errors_are_those_of_the_loop() -> None:
    with pytest.raises(TypeError, match="scan must return a carry of the type it gets"):
        jx.progress(lax.scan)(lambda c, x: (c.astype("int8"), x), 0.0, jnp.zeros(3))
    with pytest.raises(ValueError, match="scan"):
        jx.progress(lax.scan)(lambda c, x: (c, x), 0.0)


def test_values_are_those_at_the_end_of_a_turn(shown: list[list[Progress]]) -> None:
    def values(carry: Any) -> dict[str, Any]:
        return {"loss": carry["loss"], "norm": jnp.linalg.norm(carry["w"]), "n": carry["n"]}

    def body(carry: dict[str, Any], x: Any) -> tuple[dict[str, Any], Any]:
        return {"loss": carry["loss"] / 2, "w": carry["w"] * 2, "n": carry["n"] + 1}, x

    start = {"loss": jnp.float32(8.0), "w": jnp.ones(4), "n": 0}
    jx.progress(lax.scan, values=values)(body, start, jnp.arange(3.0))
    jx.effects_barrier()
    [[*_, last]] = shown
    assert {curve.name: curve.points for curve in last.values} == {
        "loss": ((1, 4.0), (2, 2.0), (3, 1.0)),
        "norm": ((1, 4.0), (2, 8.0), (3, 16.0)),
        "n": ((1, 1.0), (2, 2.0), (3, 3.0)),
    }
    assert str(last).endswith(" · loss 1 · norm 16 · n 3")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_results_are_those_without_values(
    transform: Callable[[Callable[..., Any]], Any], shown: list[list[Progress]]
) -> None:
    def values(carry: Any) -> dict[str, Any]:
        return {"c": carry, "root": jnp.sqrt(jnp.abs(carry))}

    plain = transform(lambda x: decay(lax.scan, lax.fori_loop, x))
    with_values = [jx.progress(loop, values=values) for loop in (lax.scan, lax.fori_loop)]
    barred = transform(lambda x: decay(*with_values, x))
    jx.effects_barrier()
    for a, b in zip(jx.tree.leaves(plain), jx.tree.leaves(barred), strict=True):
        np.testing.assert_array_equal(a, b)
    assert all(len(run[-1].values) == 2 for run in shown)
    assert all(run[-1].done == run[-1].total for run in shown)


def test_values_of_a_batch_are_means_in_one_bar(shown: list[list[Progress]]) -> None:
    loop = jx.progress(lax.fori_loop, values=lambda c: {"c": c})
    sums = jx.vmap(lambda n, x: loop(0, n, lambda i, c: c + x, 0.0))(
        jnp.array([1, 3, 2]), jnp.array([1.0, 2.0, 6.0])
    )
    jx.effects_barrier()
    assert sums.tolist() == [1.0, 6.0, 12.0]
    assert len(shown) == 1
    assert (shown[0][-1].done, shown[0][-1].total) == (3, 3)
    [curve] = shown[0][-1].values
    assert curve.points == ((1, 3.0), (2, 8.0), (3, 6.0))


def test_values_of_nested_batches_are_means(shown: list[list[Progress]]) -> None:
    loop = jx.progress(lax.fori_loop, values=lambda c: {"c": c})
    rows = jx.vmap(
        lambda n: jx.vmap(lambda x: loop(0, n, lambda i, c: c + x, 0.0))(jnp.arange(2.0))
    )
    assert rows(jnp.array([1, 2])).tolist() == [[0.0, 1.0], [0.0, 2.0]]
    jx.effects_barrier()
    [[*_, last]] = shown
    assert (last.done, last.total, last.values[0].points) == (2, 2, ((1, 0.5), (2, 1.0)))


def test_many_reports_are_thinned_evenly(shown: list[list[Progress]]) -> None:
    jx.progress(lax.fori_loop, updates=1000, values=lambda c: {"c": c})(
        0, 1000, lambda i, c: c + 1, 0
    )
    jx.effects_barrier()
    [curve] = shown[0][-1].values
    turns = [turn for turn, _ in curve.points]
    assert len(turns) <= 129
    assert (turns[0], turns[-1]) == (1, 1000)
    assert len({b - a for a, b in itertools.pairwise(turns[:-1])}) == 1
    assert all(turn == value for turn, value in curve.points)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda c: {"w": c}, r"got .*\[3\].* for 'w': each value is a real scalar"),
        (lambda c: {"z": c.sum() * 1j}, r"for 'z': each value is a real scalar"),
        (lambda c: {"name": "text"}, r"'text' for 'name': each value is a real scalar"),
        (lambda c: c.sum(), r"its function gives a dict of names and scalars"),
    ],
)
def test_values_that_are_no_scalars_are_named(values: Callable[..., Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        jx.progress(lax.scan, values=values)(lambda c, x: (c, x), jnp.ones(3), jnp.ones(2))


def test_values_of_a_python_loop_are_refused() -> None:
    with pytest.raises(TypeError, match="a loop in Python prints its own values"):
        jx.progress(3, values=lambda i: {"i": i})


def test_errors_are_those_of_the_loop_with_values() -> None:
    with pytest.raises(TypeError, match="scan"):
        jx.progress(lax.scan, values=lambda c: {"c": c})(lambda c, x: c, 0.0, jnp.zeros(3))
