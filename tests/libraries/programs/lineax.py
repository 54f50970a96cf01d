"""Solve linear systems by operators, and differentiate through a solution."""

import jax
import jax.numpy as jnp
import lineax as lx


def program():
    matrix = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    vector = jnp.array([1.0, 2.0, 3.0])
    operator = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)

    def solved(m):
        return lx.linear_solve(lx.MatrixLinearOperator(m), vector, lx.LU()).value

    return {
        "cg": lx.linear_solve(operator, vector, lx.CG(rtol=1e-6, atol=1e-6)).value,
        "cholesky": lx.linear_solve(operator, vector, lx.Cholesky()).value,
        "least squares": lx.linear_solve(
            lx.MatrixLinearOperator(matrix[:, :2]), vector, lx.QR()
        ).value,
        "gradient": jax.grad(lambda m: jnp.sum(solved(m)))(matrix),
    }
