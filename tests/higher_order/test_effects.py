"""Effects through transforms and control flow: where they happen, how often, what is refused."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.experimental import io_callback
from tests.higher_order.checks import pruned

SCALAR = jx.ShapeDtypeStruct((), np.float64)


class Notes:
    """What callbacks were called with."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def look(self, tag: str, x: Any, *, ordered: bool = False) -> Any:
        """Note a value for debugging, and return it."""
        jx.debug.callback(lambda v: self.seen.append((tag, float(v))), x, ordered=ordered)
        return x

    def act(self, tag: str, x: Any, *, ordered: bool = False) -> Any:
        """Note a value with an effect that must happen once, and return it from the host."""

        def host(v: Any) -> Any:
            self.seen.append((tag, float(v)))
            return v

        return io_callback(host, SCALAR, lax.stop_gradient(x), ordered=ordered)

    def take(self) -> list[Any]:
        """Return what was noted since the last time, in order."""
        jx.effects_barrier()
        seen, self.seen[:] = list(self.seen), []
        return seen


@pytest.fixture
def notes():
    return Notes()


# ---------------------------------------------------------------- jaxprs


def _branches(notes: Notes, x: Any) -> Any:
    return lax.cond(x > 0, lambda x: notes.look("T", x), lambda x: x, x)


def _custom_jvp(notes: Notes) -> Any:
    f = jx.custom_jvp(lambda x: notes.look("", x))
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    return f


def _custom_vjp(notes: Notes) -> Any:
    f = jx.custom_vjp(lambda x: notes.look("", x))
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    return f


HOLDERS = {
    "jit": lambda n, x: jx.jit(lambda x: n.look("", x))(x),
    "cond": _branches,
    "scan": lambda n, x: lax.scan(lambda c, _: (n.look("", c), None), x, None, length=2)[0],
    "while condition": lambda n, x: lax.while_loop(lambda c: n.look("", c) < 3, lambda c: c + 1, x),
    "while body": lambda n, x: lax.while_loop(lambda c: c < 3, lambda c: n.look("", c) + 1, x),
    "checkpoint": lambda n, x: jx.checkpoint(lambda x: n.look("", x))(x),
    "custom_jvp": lambda n, x: _custom_jvp(n)(x),
    "custom_vjp": lambda n, x: _custom_vjp(n)(x),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_programs_carry_the_effects_of_programs_inside_and_keep_them_when_unused(notes, holder):
    closed = jx.make_jaxpr(lambda x: HOLDERS[holder](notes, x))(1.0)
    assert [effect.name for effect in closed.effects] == ["Debug"]
    last = pruned(lambda x: HOLDERS[holder](notes, x), [False], 1.0)
    assert [effect.name for effect in last.effects] == ["Debug"]
    jx.jit(lambda x: (HOLDERS[holder](notes, x), None)[1])(1.0)
    assert notes.take()


def test_unordered_and_ordered_effects_are_told_apart(notes):
    def f(x):
        notes.look("", x, ordered=True)
        notes.act("", x)
        notes.act("", x, ordered=True)

    effects = jx.make_jaxpr(f)(1.0).effects
    assert sorted(effect.name for effect in effects) == ["IO", "OrderedDebug", "OrderedIO"]


# ---------------------------------------------------------------- derivatives


def test_effects_of_known_values_happen_once_however_often_the_linear_part_runs(notes):
    @jx.jit
    def f(x):
        notes.act("known", x)
        return jx.numpy.sin(notes.look("look", x))

    _, pull = jx.vjp(f, 2.0)
    assert sorted(notes.take()) == [("known", 2.0), ("look", 2.0)]
    pull(1.0)
    pull(1.0)
    assert notes.take() == []


def test_effect_of_a_known_call_without_results_happens(notes):
    nothing = jx.jit(lambda x: (notes.look("in", x), None)[1])

    def f(x, y):
        nothing(x)
        return x * y

    assert jx.grad(f)(2.0, 3.0) == 3
    assert notes.take() == [("in", 2.0)]
    assert jx.linearize(lambda y: jx.jit(f)(2.0, y), 3.0)[1](1.0) == 2
    assert notes.take() == [("in", 2.0)]


def test_effects_of_a_rule_happen_instead_of_those_of_the_function(notes):
    f = jx.custom_jvp(lambda x: notes.look("function", x))

    @f.defjvp
    def rule(primals, tangents):
        return notes.look("primal", primals[0]), 2 * notes.look("tangent", tangents[0])

    assert jx.jit(f)(1.0) == 1
    assert notes.take() == [("function", 1.0)]
    assert jx.jvp(jx.jit(f), (1.0,), (3.0,))[1] == 6
    assert sorted(notes.take()) == [("primal", 1.0), ("tangent", 3.0)]
    # On the way back there is no tangent to show.
    assert jx.grad(jx.jit(f))(1.0) == 2
    assert notes.take() == [("primal", 1.0)]


def test_custom_vjp_shows_in_both_directions(notes):
    f = jx.custom_vjp(lambda x: notes.look("function", x))
    f.defvjp(
        lambda x: (notes.look("forward", x), None), lambda _, ct: (2 * notes.look("back", ct),)
    )
    assert jx.jit(jx.grad(f))(1.0) == 2
    assert notes.take() == [("forward", 1.0), ("back", 1.0)]


def test_checkpoint_looks_again_and_acts_once(notes):
    @jx.checkpoint
    def f(x):
        y = notes.act("act", x)
        notes.look("look", x)
        lax.scan(lambda c, _: (c + notes.act("turn", c), None), 1.0, None, length=2)
        return jx.numpy.sin(jx.numpy.sin(x * y))

    expected = jx.grad(lambda x: jx.numpy.sin(jx.numpy.sin(x * 2.0)))(2.0)
    for way in (jx.grad(f), jx.jit(jx.grad(f)), jx.grad(jx.jit(f))):
        assert way(2.0) == pytest.approx(float(expected))
        assert sorted(notes.take()) == [
            ("act", 2.0),
            ("look", 2.0),
            ("look", 2.0),
            ("turn", 1.0),
            ("turn", 2.0),
        ]


ACTING = {
    "jit": (lambda act, x: jx.jit(lambda x: jnp.sin(x) * act(x))(x), 1),
    "scan": (lambda act, x: lax.scan(lambda c, _: (c * act(c), None), x, None, length=2)[0], 2),
    "cond": (lambda act, x: lax.cond(x > 0, lambda x: jnp.sin(x) * act(x), jnp.sin, x), 1),
}


@pytest.mark.parametrize("name", ACTING)
def test_checkpoint_acts_once_inside_programs_that_it_computes_again(notes, name):
    f, times = ACTING[name]
    expected = jx.grad(lambda x: f(lambda y: notes.act("", y), x))(0.5)
    notes.take()
    again = jx.grad(jx.checkpoint(lambda x: f(lambda y: notes.act("", y), x)))
    for way in (again, jx.jit(again)):
        assert way(0.5) == pytest.approx(float(expected))
        assert len(notes.take()) == times


def test_scan_hoists_no_effect_out_of_the_loop(notes):
    def f(w, x):
        def turn(c, _):
            notes.look("w", w)
            return c * jx.numpy.sin(w), None

        return lax.scan(turn, x, None, length=3)[0]

    jx.grad(f)(2.0, 1.0)
    assert notes.take() == [("w", 2.0)] * 3


def test_linearized_while_loop_shows_its_known_part_once(notes):
    def f(x):
        def turn(state):
            i, x = state
            notes.look("i", i)
            return i + 1, x * jx.numpy.cos(0.0 * i)

        return lax.while_loop(lambda s: notes.look("?", s[0]) < 2, turn, (0.0, x))[1]

    y, forward = jx.linearize(f, 3.0)
    assert y == 3
    assert notes.take() == [("?", 0), ("i", 0), ("?", 1), ("i", 1), ("?", 2)]
    assert forward(1.0) == 1
    assert notes.take() == []


def test_linearized_while_loop_refuses_effects_whose_results_it_needs_again(notes):
    def f(x):
        return lax.while_loop(
            lambda s: s[0] < 2, lambda s: (notes.act("", s[0]) + 1, s[1] * s[0]), (0.0, x)
        )[1]

    with pytest.raises(NotImplementedError, match="io_callback gives a value inside a while_loop"):
        jx.linearize(f, 3.0)
    assert jx.jvp(f, (3.0,), (1.0,))[1] == 0


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("ordered", [False, True])
def test_vmapped_callback_is_called_for_each_example(notes, ordered):
    f = jx.vmap(jx.vmap(lambda x: notes.look("x", x, ordered=ordered)))
    jx.jit(f)(np.arange(4.0).reshape(2, 2))
    assert notes.take() == [("x", x) for x in (0, 1, 2, 3)]


def test_callback_of_what_all_examples_share_is_called_once(notes):
    jx.vmap(lambda x: x + notes.look("shared", 5.0))(np.arange(3.0))
    assert notes.take() == [("shared", 5.0)]


@pytest.mark.parametrize("ordered", [False, True])
def test_vmapped_cond_shows_both_branches_in_order(notes, ordered):
    def f(x):
        return lax.cond(
            x > 1,
            lambda x: notes.look("T", x, ordered=ordered),
            lambda x: notes.look("F", x, ordered=ordered),
            x,
        )

    x = np.arange(3.0)
    np.testing.assert_array_equal(jx.jit(jx.vmap(f))(x), x)
    seen = notes.take()
    expected = [("F", 0), ("F", 1), ("F", 2), ("T", 0), ("T", 1), ("T", 2)]
    assert (seen if ordered else sorted(seen)) == expected


def test_vmapped_cond_does_nothing_for_a_loop_that_nobody_chose(notes):
    def endless(x):
        return lax.while_loop(lambda x: x > 0, lambda x: notes.look("loop", x), x)

    f = jx.vmap(lambda x: lax.cond(x > 5, endless, lambda x: -x, x))
    np.testing.assert_array_equal(jx.jit(f)(np.arange(3.0)), -np.arange(3.0))
    assert notes.take() == []


def test_vmapped_while_shows_examples_until_the_last_has_ended(notes):
    f = jx.vmap(lambda x: lax.while_loop(lambda x: x < 2, lambda x: notes.look("x", x) + 1, x))
    np.testing.assert_array_equal(jx.jit(f)(np.array([0.0, 1.0])), [2, 2])
    assert notes.take() == [("x", 0), ("x", 1), ("x", 1), ("x", 2)]


REFUSED = {
    "cond": (
        lambda n: lambda x: lax.cond(x > 1, lambda x: n.act("", x), lambda x: x, x),
        "vmap of cond or switch .* the effect IO",
    ),
    "while": (
        lambda n: lambda x: lax.while_loop(lambda x: x < 2, lambda x: n.act("", x) + 1, x),
        "vmap of a while_loop with the effect IO",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_acting_where_examples_part_is_refused(notes, case):
    make, message = REFUSED[case]
    with pytest.raises(NotImplementedError, match=message):
        jx.vmap(make(notes))(np.arange(3.0))
    # Where all examples go the same way, it is called for each of them.
    jx.vmap(lambda x: lax.cond(True, lambda x: notes.act("x", x), lambda x: x, x))(np.arange(2.0))
    assert notes.take() == [("x", 0), ("x", 1)]
