"""Functions that XLA makes one kernel of: what it knows of their arguments ends nothing.

XLA ends the process where an argument of such a function is read by nothing once it has simplified
the function, as where the argument is a number that it knows.
"""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp

WHOLE = np.arange(5000, dtype=np.int32)

KNOWN = {
    "an integer times 0": lambda call: jx.jit(lambda i: call(i * 0))(WHOLE),
    "a constant": lambda call: jx.jit(lambda: call(jnp.zeros(5000, np.int32)))(),
    "a constant of a jitted function": lambda call: jx.jit(
        lambda: jx.jit(call)(jnp.zeros(5000, np.int32))
    )(),
    "a loop of one turn": lambda call: lax.scan(
        lambda carry, _: (carry + 1, call(carry * 0)), jnp.asarray(WHOLE), None, 1
    )[1][0],
}

CALLS = {
    "argmax": (jnp.argmax, np.argmax),
    "max": (jnp.max, np.max),
    "cumsum": (jnp.cumsum, np.cumsum),
    "nonzero": (lambda x: jnp.nonzero(x == 0, size=2)[0], lambda x: [0, 1]),
    "nonzero of one": (lambda x: jnp.nonzero(x[:1] == 0, size=1)[0], lambda x: [0]),
    "sort": (lambda x: jnp.sort(jnp.tile(x, 4)), lambda x: np.tile(x, 4)),
    "median": (lambda x: jnp.median(jnp.tile(x, 4)), np.median),
}


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("name", CALLS)
def test_what_xla_knows_of_an_argument_ends_nothing(name, known):
    call, expected = CALLS[name]
    result = KNOWN[known](call)
    np.testing.assert_array_equal(result, expected(np.zeros(5000, np.int32)))
