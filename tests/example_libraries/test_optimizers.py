"""Optimizers as triples of functions."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.example_libraries import optimizers

# Arguments, and the parameters after four steps with the reference implementation.
STEPS = {
    "sgd": ((0.1,), [0.61332, 2.35065, -3.08315, 0.22585, 0.0, 0.61332]),
    "momentum": ((0.1, 0.9), [0.15494, 2.7713, -3.18414, -0.10221, 0.0, 0.15494]),
    "nesterov": ((0.1, 0.9), [-0.04958, 3.04154, -3.18702, -0.13584, 0.0, -0.04958]),
    "adagrad": ((0.1,), [0.93016, 2.07013, -3.0666, 0.431, 0.0, 0.93016]),
    "rmsprop": ((0.1,), [0.16564, 2.90532, -3.12483, 0.00272, 0.0, 0.16564]),
    "rmsprop_momentum": ((0.1,), [-0.72231, 3.891, -2.96672, -0.44626, 0.0, -0.72231]),
    "adam": ((0.1,), [0.59937, 2.40109, -3.23289, 0.10963, 0.0, 0.59937]),
    "adamax": ((0.1,), [0.60944, 2.37615, -3.2099, 0.14957, 0.0, 0.60944]),
    "sm3": ((0.1,), [0.93016, 2.07013, -3.04661, 0.43277, 0.0, 0.93016]),
}
SCHEDULES = [
    ("constant", (0.1,), [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]),
    ("exponential_decay", (0.1, 10, 0.5), [0.1, 0.081225, 0.075786, 0.061557, 0.057435, 0.043528]),
    ("inverse_time_decay", (0.1, 10, 0.5), [0.1, 0.086957, 0.083333, 0.074074, 0.071429, 0.0625]),
    ("inverse_time_decay", (0.1, 10, 0.5, True), [0.1, 0.1, 0.1, 0.1, 0.1, 0.066667]),
    ("polynomial_decay", (0.1, 10, 0.01, 2.0), [0.1, 0.0541, 0.0424, 0.0181, 0.0136, 0.01]),
    ("piecewise_constant", ([3, 7], [0.1, 0.2, 0.3]), [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]),
]


def parameters():
    return {"w": jnp.array([[1.0, 2.0, -3.0], [0.5, 0.0, 1.0]]), "b": jnp.array([1.0, -1.0])}


def loss(p):
    return jnp.sum(jnp.sin(p["w"]) ** 2) + jnp.sum(p["b"] ** 4)


@pytest.mark.parametrize("name", STEPS)
def test_optimizers_go_the_steps_that_they_go_elsewhere(name):
    arguments, weights = STEPS[name]
    init, update, read = getattr(optimizers, name)(*arguments)
    state = init(parameters())
    for i in range(4):
        state = update(i, jx.grad(loss)(read(state)), state)
    np.testing.assert_allclose(read(state)["w"].reshape(-1), weights, atol=1e-4)


@pytest.mark.parametrize(("name", "arguments", "sizes"), SCHEDULES)
def test_schedules_give_the_sizes_of_steps(name, arguments, sizes):
    schedule = getattr(optimizers, name)(*arguments)
    np.testing.assert_allclose([schedule(i) for i in (0, 3, 4, 7, 8, 12)], sizes, atol=1e-6)


def test_schedules_and_numbers_are_sizes_of_steps():
    assert optimizers.make_schedule(0.1)(3) == 0.1
    assert optimizers.make_schedule(len) is len
    with pytest.raises(TypeError, match="a number or a function"):
        optimizers.make_schedule(jnp.ones(2))
    with pytest.raises(ValueError, match="longer by one"):
        optimizers.piecewise_constant([1, 2], [0.1, 0.2])


def test_states_are_trees_and_are_taken_apart_and_put_together():
    init, update, read = optimizers.adam(0.1)
    state = jx.jit(update)(0, parameters(), init(parameters()))
    apart = optimizers.unpack_optimizer_state(state)
    assert {type(point) for point in apart.values()} == {optimizers.JoinPoint}
    again = optimizers.pack_optimizer_state(apart)
    assert jx.tree.structure(again) == jx.tree.structure(state)
    np.testing.assert_array_equal(read(again)["b"], read(state)["b"])
    with pytest.raises(TypeError, match="leaves are JoinPoints"):
        optimizers.pack_optimizer_state({"w": 1.0})
    with pytest.raises(TypeError, match="must have the structure of the parameters"):
        update(0, {"w": jnp.ones((2, 3))}, state)


def test_gradients_are_clipped_to_a_norm_together():
    clipped = optimizers.clip_grads(parameters(), 1.0)
    np.testing.assert_allclose(optimizers.l2_norm(clipped), 1.0, rtol=1e-5)
    kept = optimizers.clip_grads(parameters(), 100.0)
    np.testing.assert_array_equal(kept["w"], parameters()["w"])
