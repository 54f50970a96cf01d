"""NumPy values of 64 bits have the dtype that arrays have, also where they are passed on."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax

VALUES = {"array": np.arange(3.0), "scalar": np.float64(2.5), "integers": np.arange(3)}
PASSING = {
    "vjp": lambda x: jx.vjp(lambda v: v, x)[0],
    "linearize": lambda x: jx.linearize(lambda v: v, x)[0],
    "aux of vjp": lambda x: jx.vjp(lambda v: (v * 1.0, v), x, has_aux=True)[2],
    "aux of grad": lambda x: jx.grad(lambda v: (0.0, v), has_aux=True, allow_int=True)(x)[1],
    "checkpoint": lambda x: jx.checkpoint(lambda v: v)(x),
    "stop_gradient": lax.stop_gradient,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("passing", PASSING.values(), ids=PASSING)
def test_what_is_passed_on_has_the_dtype_of_arrays(passing, value):
    found = passing(value)
    assert found.dtype == jx.numpy.asarray(value).dtype
    np.testing.assert_array_equal(found, value)


BY_TRANSFORMS = {
    "vjp": PASSING["vjp"],
    "linearize": PASSING["linearize"],
    "jvp": lambda x: jx.jvp(lambda v: v, (x,), (np.zeros_like(x),))[0],
    "tangent": lambda x: jx.jvp(lambda v: v, (np.zeros_like(x),), (x,))[1],
    "vmap": lambda x: jx.vmap(lambda v: v)(x),
    "vmap of a copy": lambda x: jx.vmap(jx.numpy.array)(x),
    "vmap of what does nothing": lambda x: jx.vmap(jx.nn.identity)(x),
}


@pytest.mark.parametrize("passing", BY_TRANSFORMS.values(), ids=BY_TRANSFORMS)
def test_what_a_transform_gives_is_an_array_of_its_own(passing):
    value = np.arange(3.0)
    found = passing(value)
    value[0] = 7.0
    assert isinstance(found, jx.Array)
    assert (found.dtype, found.tolist()) == (np.float32, [0.0, 1.0, 2.0])


def test_rules_see_the_dtype_of_arrays():
    seen = []

    @jx.custom_vjp
    def double(x):
        return 2 * x.sum()

    def forward(x):
        seen.append(x.dtype.name)
        return double(x), x

    double.defvjp(forward, lambda x, ct: (seen.append(x.dtype.name) or 2 * ct + 0 * x,))
    assert jx.grad(double)(np.arange(3.0)).tolist() == [2.0, 2.0, 2.0]
    assert seen == ["float32", "float32"]
