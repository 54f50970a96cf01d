"""Differential equations against their solutions in closed form, and derivatives of these."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental.ode import odeint

TIMES = jnp.linspace(0.0, 2.0, 5)


def decay(y, t, rate):
    return -rate * y


def test_solutions_are_those_in_closed_form():
    ys = odeint(decay, jnp.array([1.0, 3.0]), TIMES, 0.7)
    np.testing.assert_allclose(ys, np.exp(-0.7 * TIMES)[:, None] * [1, 3], rtol=1e-5)
    turning = odeint(lambda y, t: 1j * y, jnp.complex64(1), TIMES, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(turning, np.exp(1j * TIMES), atol=1e-4)


def test_values_may_be_trees_and_slopes_depend_on_time():
    def slope(state, t, by):
        return {"x": (state["x"][1], -state["x"][0]), "t": by["two"] * t}

    start = {"x": (1.0, 0.0), "t": 0.0}
    ys = odeint(slope, start, TIMES, {"two": 2.0}, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ys["x"][0], np.cos(TIMES), atol=1e-4)
    np.testing.assert_allclose(ys["t"], TIMES**2, atol=1e-4)


def test_derivatives_are_those_of_the_closed_form():
    def solved(y0, ts, rate):
        return jnp.sum(odeint(decay, y0, ts, rate, rtol=1e-7, atol=1e-7) ** 2)

    def closed(y0, ts, rate):
        return jnp.sum((y0 * jnp.exp(-rate * (ts - ts[0]))) ** 2)

    at = (1.5, TIMES, 0.7)
    found = jx.jit(jx.grad(solved, (0, 1, 2)))(*at)
    for one, wanted in zip(found, jx.grad(closed, (0, 1, 2))(*at), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-3)


def test_derivatives_by_what_is_closed_over_and_through_whole_numbers():
    def last(rate):
        ys = odeint(lambda y, t, by: -rate * y / by["two"], 1.0, TIMES, {"two": 2}, rtol=1e-6)
        return ys[-1]

    np.testing.assert_allclose(jx.grad(last)(1.5), -np.exp(-1.5), rtol=1e-3)
    batched = jx.vmap(last)(jnp.array([0.5, 1.0]))
    np.testing.assert_allclose(batched, np.exp([-0.5, -1.0]), rtol=1e-4)


def test_the_number_and_the_length_of_steps_may_be_bounded():
    def last(**bounds):
        return odeint(decay, 1.0, jnp.array([0.0, 1.0]), 1.0, rtol=1e-3, atol=1e-3, **bounds)[1]

    np.testing.assert_allclose(last(hmax=0.05), np.exp(-1), rtol=1e-4)
    assert abs(float(last(mxstep=1)) - np.exp(-1)) > 1e-4


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"odeint takes arrays, .* got 'fast' of type str"):
        odeint(decay, 1.0, TIMES, "fast")
