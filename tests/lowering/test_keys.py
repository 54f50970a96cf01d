"""Keys that are made from keys are stored, so that no loop hashes them anew."""

import pytest

import jxkernel as jx
from jxkernel import config, random
from jxkernel import numpy as jnp
from jxkernel._jaxlib import version
from jxkernel.lowering import lower_program


def barriers(fun, platform="cpu"):
    program = lower_program(jx.make_jaxpr(fun)(KEY), name="f", platform=platform)
    return program.text().count("optimization_barrier")


def stored_keys(fun, platform="cpu"):
    with config.long_chains("whole"):
        others = barriers(fun, platform)
    return barriers(fun, platform) - others


def draws(key, count, size=100):
    drawn = []
    for number in range(count):
        key, own = random.split(key)
        drawn.append(random.uniform(own, (size + number,)))  # none is a copy of another
    return drawn


@jx.jit
def noise(key):
    return random.normal(key, (8,))


KEY = random.key(0)


@pytest.mark.parametrize(
    ("fun", "stored"),
    [
        (lambda key: draws(key, 5), 5),
        (lambda key: [random.uniform(own, (8,)) for own in random.split(key, 3)], 1),
        (lambda key: random.uniform(random.fold_in(key, 1), (8,)), 1),
        (lambda key: noise(random.fold_in(key, 1)), 1),
        (lambda key: jx.vmap(lambda key: draws(key, 2))(random.split(key, 4)), 3),
        (lambda key: random.normal(key, (8,)), 0),
        (lambda key: [random.normal(key, (8,)), random.uniform(key, (3,))], 0),
        (noise, 0),
        (random.split, 0),
        (lambda key: [random.uniform(own) for own in random.split(key)], 0),
    ],
    ids=[
        *("a chain", "one split", "fold_in", "a call", "vmap"),
        *(
            "an argument",
            "an argument twice",
            "an argument of a call",
            "a result",
            "single numbers",
        ),
    ],
)
def test_keys_are_stored_that_are_made_and_read(fun, stored):
    assert stored_keys(fun) == stored


def test_keys_that_a_called_program_makes_are_stored_by_who_reads_them():
    made = jx.jit(lambda key: random.split(key)[1])
    assert stored_keys(lambda key: random.uniform(made(key), (8,))) == 1


@pytest.mark.skipif(
    version < (0, 11, 2), reason="before jaxlib 0.11.2 XLA took barriers out before it fused"
)
def test_what_xla_makes_grows_in_proportion_to_the_draws():
    def size(count):
        compiled = jx.jit(lambda key: draws(key, count)).lower(KEY).compile()
        return compiled.as_text().count(" = ")

    short, medium, long = map(size, (2, 4, 8))
    assert long - medium < 2.5 * (medium - short)


def test_other_platforms_leave_keys_to_the_compiler():
    assert stored_keys(lambda key: draws(key, 3), platform="cuda") == 0


def test_stored_keys_draw_what_they_drew():
    with config.long_chains("whole"):
        whole = jx.jit(lambda key: draws(key, 3))(KEY)
    cut = jx.jit(lambda key: draws(key, 3))(KEY)
    assert all(jnp.array_equal(a, b) for a, b in zip(cut, whole, strict=True))
