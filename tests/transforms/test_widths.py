"""64-bit values inside of functions that are transformed while 64 bits are off."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp

A = np.array([[2.0, 1.0], [1.0, 3.0]])
X = np.array([0.5, 1.5], np.float32)


def _squared(u):
    return u**2


_squared_forward = jx.custom_jvp(_squared)
_squared_forward.defjvp(lambda p, t: (p[0] ** 2, 2 * p[0] * t[0]))
_squared_backward = jx.custom_vjp(_squared)
_squared_backward.defvjp(lambda u: (u**2, u), lambda u, ct: (2 * u * ct,))

# Each function of an array of 64 bits, and its gradient at X.
FUNCTIONS = {
    "polynomial": (lambda u: jnp.sum(u**2), 2 * X),
    "constants": (lambda u: jnp.sum(u * jnp.arange(2.0) + jnp.log1p(u)), [2 / 3, 1.4]),
    "choice": (lambda u: jnp.sum(jnp.where(u > 1, u, 0.0)) + jnp.max(u), [0, 2]),
    "places": (lambda u: u[jnp.argmax(u)] * u[0] + jnp.sort(u)[0], [2.5, 0.5]),
    "loop": (lambda u: lax.fori_loop(0, 3, lambda i, c: c + i * u[0], 0.0), [3, 0]),
    "scan": (lambda u: lax.scan(lambda c, a: (c * a + 1, c), 1.0, u)[0], [1.5, 1.5]),
    "branch": (lambda u: lax.cond(u[0] > 0, lambda: u[1] * 2.0, lambda: 1.0), [0, 2]),
    "solve": (lambda u: jnp.sum(jnp.linalg.solve(jnp.asarray(A), u)), [0.4, 0.2]),
    "jit": (lambda u: jnp.sum(jx.jit(lambda a: jnp.cumsum(a) * jnp.arange(2.0))(u)), [1, 1]),
    "inner gradient": (lambda u: jnp.sum(jx.grad(lambda a: jnp.sum(a**3))(u)), 6 * X),
    "forward rule": (lambda u: jnp.sum(_squared_forward(u)), 2 * X),
    "backward rule": (lambda u: jnp.sum(_squared_backward(u)), 2 * X),
    "softmax": (lambda u: jx.nn.softmax(u)[0], [0.19661193, -0.19661193]),
    "complex": (lambda u: jnp.sum(jnp.abs(u + 1j * u[::-1]) ** 2), 4 * X),
}
TRANSFORMS = {
    "grad": jx.grad,
    "grad of jit": lambda f: jx.grad(jx.jit(f)),
    "vmap of grad": lambda f: lambda x: jx.vmap(jx.grad(f))(jnp.stack([x]))[0],
    "grad of checkpoint": lambda f: jx.grad(jx.checkpoint(f)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_what_is_computed_in_64_bits(name, transform):
    function, expected = FUNCTIONS[name]

    def narrow(x):
        with jx.enable_x64(True):
            return function(x.astype(jnp.float64))

    found = TRANSFORMS[transform](narrow)(jnp.asarray(X))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, np.asarray(expected, np.float32), rtol=2e-6)


def test_a_turn_of_a_loop_may_compute_in_64_bits():
    def turn(c, a):
        with jx.enable_x64(True):
            c = (c.astype(jnp.float64) * a + 1).astype(jnp.float32)
        return c, c

    def f(x):
        return lax.scan(turn, jnp.float32(1), x)[0]

    assert jx.grad(f)(jnp.asarray(X)).tolist() == [1.5, 1.5]
    assert jx.vmap(f)(jnp.asarray([X])).tolist() == [3.25]


def test_transforms_of_values_that_outlive_the_block():
    with jx.enable_x64(True):
        w = jnp.array([0.5, 1.5])
        places = jnp.array([1, 0])
        _, pullback = jx.vjp(lambda u: jnp.sum(u * u[::-1]), w)
        _, derivative = jx.linearize(jnp.cumsum, w)
    assert pullback(w[0])[0].tolist() == [1.5, 0.5]
    assert derivative(w).tolist() == [0.5, 2]
    for found in (
        jx.grad(lambda u: u[0] * u[1])(w),
        jx.jacrev(jnp.cumsum)(w)[1],
        jx.vmap(jx.grad(lambda a: jnp.tanh(a) * a))(w),
        jx.nn.relu(w),
        jx.nn.softmax(w),
        jnp.hypot(w, w),
        w[places],
    ):
        assert found.dtype == jnp.float64
    assert jnp.asarray(X)[places].tolist() == [1.5, 0.5]
    assert (jnp.asarray(X) * np.float64(1)).dtype == jnp.float32
