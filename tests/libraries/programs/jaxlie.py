"""Compose rigid transformations, and optimize over them."""

import jax
import jax.numpy as jnp
import jaxlie


def program():
    pose = jaxlie.SE3.exp(jnp.array([0.1, 0.2, 0.3, 0.3, -0.2, 0.1]))
    turn = jaxlie.SO3.from_x_radians(0.4)
    point = jnp.array([1.0, 2.0, 3.0])
    gradient = jaxlie.manifold.grad(lambda p: jnp.sum((p @ point) ** 2))(pose)
    moved = jaxlie.manifold.rplus(pose, -0.01 * gradient)
    return {
        "point": (pose @ pose.inverse() @ pose) @ point,
        "turn": (turn @ turn).as_matrix(),
        "log": pose.log(),
        "gradient": gradient,
        "moved": moved.wxyz_xyz,
        "batch": jax.vmap(lambda t: jaxlie.SO2.exp(t).as_matrix())(jnp.ones((2, 1))),
    }
