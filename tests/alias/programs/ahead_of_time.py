"""Stages: trace, lower, compile; looking at programs without running them."""

import jax
import jax.numpy as jnp


def f(x, y):
    """Multiply and add."""
    return 2 * x + y


traced = jax.jit(f).trace(jnp.ones(3), 1.0)
lowered = traced.lower()
assert "stablehlo.multiply" in lowered.as_text()
compiled = lowered.compile()
assert compiled(jnp.ones(3), 1.0).tolist() == [3, 3, 3]
assert "HloModule" in compiled.as_text()
assert compiled.cost_analysis()
jaxpr = jax.make_jaxpr(f)(1.0, 2.0)
assert str(jaxpr).startswith("{ lambda ; a:f32[] b:f32[]. let")
assert jax.eval_shape(f, jax.ShapeDtypeStruct((5,), jnp.float32), 1.0).shape == (5,)
