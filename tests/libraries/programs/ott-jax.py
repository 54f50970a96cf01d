"""Transport points optimally."""

import jax
import jax.numpy as jnp
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn


def program():
    x = jax.random.normal(jax.random.key(0), (8, 2))
    y = jax.random.normal(jax.random.key(1), (6, 2)) + 1

    def cost(x):
        geometry = pointcloud.PointCloud(x, y, epsilon=0.5)
        out = sinkhorn.Sinkhorn()(linear_problem.LinearProblem(geometry))
        return out.reg_ot_cost, out.matrix

    (value, plan), gradient = jax.jit(jax.value_and_grad(cost, has_aux=True))(x)
    return {"cost": value, "rows": jnp.sum(plan, 0), "gradient": gradient[:2]}
