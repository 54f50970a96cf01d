"""Bugs that random programs, or compositions tried by hand, have found: each once, by name."""

import numpy as np

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import config, dtypes


def test_gradients_are_arrays_even_where_the_cotangent_passes_through_untouched() -> None:
    assert isinstance(jx.grad(lambda x: x)(2.0), jx.Array)


def test_primitives_run_eagerly_under_disable_jit() -> None:
    with config.disable_jit(True):
        assert float(jnp.sin(0.0) + jx.jit(lambda x: x + 1)(2.0)) == 3
        assert jx.device_put(np.arange(3.0))[1:].shape == (2,)


def test_zero_tangents_of_integers_pass_through_jit_and_vmap() -> None:
    gradient = jx.grad(lambda n, x: n * x, argnums=(0, 1), allow_int=True)
    batched = jx.vmap(gradient)(np.arange(3), np.ones(3, np.float32))
    assert (batched[0].dtype, batched[0].shape) == (dtypes.float0, (3,))
    assert jx.jit(gradient)(3, 2.0)[0].dtype == dtypes.float0
    assert jx.jit(lambda: np.zeros(3, dtypes.float0))().dtype == dtypes.float0
