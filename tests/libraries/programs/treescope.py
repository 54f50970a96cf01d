"""Render arrays and functions as text."""

import jax
import jax.numpy as jnp
import treescope


def program():
    tree = {"x": jnp.arange(3), "f": jax.nn.relu, "s": jax.ShapeDtypeStruct((2,), "float32")}
    text = treescope.render_to_text(tree)
    return {"lines": len(text.splitlines()), "array": "[0 1 2]" in text or "0, 1, 2" in text}
