"""Evaluate, fit and integrate orthogonal polynomials, and find their roots."""

import jax
import jax.numpy as jnp
import orthax

FAMILIES = {"chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "laguerre": "lag"}


def program():
    x = jnp.linspace(-1, 1, 9)
    c = jnp.array([1.0, 0.5, -0.25, 0.125])
    found = {}
    for family, prefix in FAMILIES.items():
        module = getattr(orthax, family)
        value = getattr(module, f"{prefix}val")
        found[family] = {
            "values": value(x, c),
            "derivative": getattr(module, f"{prefix}der")(c),
            "roots": jnp.sort(getattr(module, f"{prefix}roots")(c).real),
            "product": getattr(module, f"{prefix}mul")(c, c),
            "slope": jax.grad(lambda c, value=value: value(x, c).sum())(c),
        }
    found["fit"] = orthax.chebyshev.chebfit(x, jnp.exp(x), 4)
    nodes, weights = orthax.legendre.leggauss(5)
    found["gauss"] = jnp.sum(weights * jnp.exp(nodes))
    return found
