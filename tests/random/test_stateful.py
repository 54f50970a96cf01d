"""Generators that count their draws; the numbers are those recorded from JAX."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax, random
from jxkernel.experimental.random import StatefulPRNG, stateful_rng


def words(keys):
    return random.key_data(keys).tolist()


def close(found, recorded):
    np.testing.assert_allclose(np.asarray(found, np.float64), recorded, rtol=3e-7)


def test_draws_in_turn_are_those_recorded():
    rng = stateful_rng(42)
    assert words(rng.key()) == [1832780943, 270669613]
    assert words(rng.key()) == [64467757, 2916123636]
    close(rng.uniform(size=2), [0.6672406196594238, 0.7214866876602173])
    close(rng.normal(), -0.281894713640213)
    assert int(rng.integers(10)) == 9
    close(rng.random(2), [0.41425955295562744, 0.023416757583618164])
    recorded = [[2494647183, 4076531018], [3204329507, 4228560771]]
    assert words(rng.key((2,))) == recorded
    assert words(rng.key(2)) == [[1029767004, 2691955506], [3913626572, 2520847663]]
    several = rng.split((2,))
    assert words(several._base_key) == [[3672728935, 1414176076], [693197797, 1495815361]]
    pairs = jx.vmap(lambda rng: (rng.uniform(), rng.uniform()))(several)
    close(pairs, [[0.7198955, 0.57160366], [0.70125294, 0.40741754]])
    assert several._counter[...].tolist() == [2, 2]
    spawned = [words(one._base_key) for one in rng.spawn(2)]
    assert spawned == [[2640205290, 2341582657], [1520857337, 4010142990]]
    drawn = lax.scan(lambda carry, _: (carry, rng.uniform()), 0, jnp.arange(3))[1]
    close(drawn, [0.5238946676254272, 0.517725944519043, 0.16487693786621094])
    assert rng._counter[...] == 13


@pytest.mark.parametrize(
    ("draw", "recorded"),
    [
        (lambda rng: rng.normal(1, 2, size=3, dtype="bfloat16"), [3.3125, 0.29296875, 3.875]),
        (
            lambda rng: rng.normal(loc=jnp.zeros(3), scale=2),
            [2.008028507232666, -1.8126744031906128, -1.4963444471359253],
        ),
        (lambda rng: rng.integers(2, jnp.array([3, 4, 5]), dtype="int8"), [2, 3, 3]),
        (lambda rng: rng.integers(jnp.array([3, 4, 5])), [1, 1, 2]),
        (
            lambda rng: rng.uniform(low=jnp.zeros(3), high=2, size=(2, 3)),
            [
                [1.6846282482147217, 0.3647572994232178, 0.45435619354248047],
                [0.24145126342773438, 0.38362693786621094, 1.4440300464630127],
            ],
        ),
        (lambda rng: rng.uniform(1, jnp.array([2.0]), size=0), np.zeros(0)),
    ],
)
def test_parameters_give_what_was_recorded(draw, recorded):
    close(draw(stateful_rng(0)), recorded)


def test_kinds_of_keys_may_be_chosen():
    assert random.key_impl(stateful_rng(1, impl="rbg").key()) == "rbg"


def test_compiled_functions_count_on():
    rng = stateful_rng(42)
    first = jx.jit(lambda rng, x: x + rng.uniform())(rng, 1.0)
    second = jx.jit(lambda: rng.uniform())()
    close([first - 1.0, second], [0.5302608, 0.72766423])
    assert jx.jit(lambda seed: stateful_rng(seed).random(2))(3).shape == (2,)
    close(
        jx.vmap(lambda s: stateful_rng(s).random())(jnp.arange(3)),
        [0.8423141, 0.70261526, 0.63629305],
    )


def test_one_generator_has_no_draws_for_each_example():
    rng = stateful_rng(0)
    with pytest.raises(jx.errors.RefError, match="its batch axis or its derivative would be lost"):
        jx.vmap(lambda x: x * rng.uniform())(jnp.arange(2.0))


def test_slopes_pass_through_draws():
    rng = stateful_rng(0)
    slopes = jx.grad(lambda low: rng.uniform(low, 1.0))(0.5)
    close(slopes, 1 - 0.8423141)


def test_a_generator_is_a_tree_known_by_itself():
    rng = stateful_rng(1)
    (key, count), structure = jx.tree.flatten(rng)
    again = structure.unflatten([key, count])
    assert isinstance(again, StatefulPRNG)
    assert again._counter is rng._counter
    assert rng != stateful_rng(1)
    assert {rng: 1}[rng] == 1
    assert repr(rng).startswith("StatefulPRNG(_base_key=")
    assert stateful_rng().random() != stateful_rng().random()


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda: stateful_rng(random.key(1)), TypeError, "takes an integer as seed, got a key"),
        (lambda: stateful_rng(1.5), TypeError, "integer"),
        (lambda: stateful_rng(0).split(2).uniform(), ValueError, "draws inside vmap alone"),
        (lambda: stateful_rng(0).split(2).spawn(1), ValueError, "draws inside vmap alone"),
        (lambda: stateful_rng(0).spawn(-1), ValueError, "0 or more generators"),
        (lambda: StatefulPRNG(1, 2), ValueError, "takes a typed key, got 1"),
        (lambda: jx.jit(lambda: stateful_rng().key())(), TypeError, "give it a seed"),
        (lambda: jx.jit(lambda: stateful_rng(1))(), TypeError, "reference"),
    ],
)
def test_uses_that_make_no_sense_are_refused(use, error, said):
    with pytest.raises(error, match=said):
        use()
