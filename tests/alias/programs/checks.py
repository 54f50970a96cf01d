"""Errors inside compiled programs: checkify and the search for NaNs."""

import jax
import jax.numpy as jnp
from jax.experimental import checkify


@jax.jit
def root(x):
    checkify.check(x >= 0, "the root of {x}", x=x)
    return jnp.sqrt(x)


checked = checkify.checkify(root)
error, y = checked(4.0)
error.throw()
assert error.get() is None
assert y == 2.0
error, _ = checked(-1.0)
assert "the root of -1.0" in error.get()
try:
    checkify.check_error(error)
except checkify.JaxRuntimeError as raised:
    assert "the root of -1.0" in str(raised)
else:
    raise AssertionError("the error was lost")

safe = checkify.checkify(
    lambda x, i: jnp.log(x)[i], errors=checkify.float_checks | checkify.index_checks
)
x = jnp.array([1.0, 2.0])
assert safe(x, 1)[0].get() is None
assert "out-of-bounds" in safe(x, 5)[0].get()
assert "nan" in safe(-x, 0)[0].get()


def halve_to(x, bound):
    checkify.check(bound > 0, "it would never end")
    return jax.lax.while_loop(lambda x: x > bound, lambda x: x / 2, x)


loops = jax.jit(checkify.checkify(halve_to))
assert loops(8.0, 1.0)[1] == 1.0
assert loops(0.0, 0.0)[0].get() == checkify.checkify(halve_to)(0.0, 0.0)[0].get()

with jax.debug_nans(True):
    try:
        jax.jit(lambda x: jnp.log(x) + 1)(-1.0)
    except FloatingPointError as raised:
        assert "nan" in str(raised)
    else:
        raise AssertionError("a NaN went unseen")
with jax.debug_infs(True):
    try:
        jnp.ones(2) / jnp.zeros(2)
    except FloatingPointError as raised:
        assert "inf" in str(raised)
    else:
        raise AssertionError("an infinity went unseen")
