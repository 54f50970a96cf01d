"""`find_nonfinite`: looks at one call, switches nothing on, takes nothing away."""

from functools import partial

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.observe import find_nonfinite


def test_a_good_call_finds_nothing() -> None:
    assert find_nonfinite(jnp.sin, jnp.ones(3)) is None


def test_a_nan_comes_before_an_infinity() -> None:
    found = find_nonfinite(lambda x: (1.0 / x, jnp.log(x - 1.0)), 0.0)
    assert found is not None
    assert (found.kind, "log" in found.equation) == ("nan", True)
    assert "jnp.log(x - 1.0)" in found.code


def test_static_and_donated_arguments_and_loops() -> None:
    @partial(jx.jit, static_argnames="times", donate_argnums=0)
    def shrink(x: jx.Array, *, times: int) -> jx.Array:
        return jx.lax.fori_loop(0, times, lambda _, value: jnp.sqrt(value) - 1.0, x)

    x = jnp.array([1.0, 9.0])
    found = find_nonfinite(shrink, x, times=3)
    assert found is not None
    assert found.details[-1] == "In shrink > turn 2."
    assert not x.is_deleted()
    assert not jx.config.jax_debug_nans


def test_arguments_are_named_where_they_hold_it_already() -> None:
    def step(params: dict[str, jx.Array], x: jx.Array) -> jx.Array:
        return params["w"] * x

    found = find_nonfinite(step, {"w": jnp.array([jnp.inf])}, jnp.ones(1))
    assert found is not None
    assert found.details == ("    params['w'] = f32[1] [inf]", "    x = f32[1] [1]")
