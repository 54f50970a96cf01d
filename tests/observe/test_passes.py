"""What each pass of XLA changed: told from its dumps, by step and by equation."""

from collections import Counter

import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.observe import Recorder, outline, passes


@jx.jit
def loss(w, x):
    h = jnp.tanh(x @ w)
    return (h / 2.0).sum()


def traced():
    return loss.trace(jnp.ones((16, 16)), jnp.ones((8, 16)))


def test_the_steps_lead_from_the_first_module_to_the_last():
    found = passes(traced())
    instructions = Counter(one.text for one in found.before)
    for step in found.steps:
        gone, new = (Counter(one.text for one in side) for side in (step.gone, step.new))
        assert gone <= instructions
        instructions = instructions - gone + new
        assert instructions.total() == step.instructions
        assert (gone.total(), new.total()) == (step.gone_count, step.new_count)
    assert found.steps
    assert instructions == Counter(one.text for one in found.after)


def test_a_division_by_a_constant_is_followed_to_a_product():
    listed = {one.number: one.primitive for _, one in outline(traced()).walk()}
    assert listed[3] == "div"
    found = passes(traced(), equation=3)
    assert any(" divide(" in one.text for one in found.before)
    first = found.steps[0]
    assert first.name == "algsimp"
    assert any(" divide(" in one.text for one in first.gone)
    assert any(" multiply(" in one.text for one in first.new)
    assert not any(" divide(" in one.text for one in found.after)
    assert any(" multiply(" in one.text for one in found.after)


def test_equations_of_one_line_are_told_apart():
    @jx.jit
    def waves(x):
        for _ in range(4):
            x = jnp.sin(x)
        return x

    stage = waves.trace(jnp.ones(8))
    starts = [passes(stage, equation=number).before for number in range(1, 5)]
    assert all(len(one) == 1 and " sine(" in one[0].text for one in starts)
    assert len({one[0].text for one in starts}) == 4


def test_equations_inside_a_loop_are_followed():
    @jx.jit
    def looped(x):
        return lax.fori_loop(0, 5, lambda _, c: jnp.cos(c) * 2.0, x)

    stage = looped.trace(jnp.ones(8))
    numbers = [one.number for _, one in outline(stage).walk() if one.primitive == "cos"]
    found = passes(stage, equation=numbers[0])
    assert [" cosine(" in one.text for one in found.before] == [True]
    assert numbers[0] in passes(stage).changed_by


def test_an_equation_that_is_not_there_is_refused():
    for number in (0, 5):
        with pytest.raises(ValueError, match=f"no equation {number}: loss has 4"):
            passes(traced(), equation=number)


def test_looking_is_in_no_ledger():
    stage = traced()
    with Recorder() as recorder:
        passes(stage)
    assert not recorder.records()
