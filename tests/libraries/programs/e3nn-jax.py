"""Products and rotations of irreducible representations."""

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp


def program():
    x = e3nn.normal("2x0e + 1x1o", jax.random.key(0))
    rotation = e3nn.angles_to_matrix(0.3, 0.2, -0.4)
    turned = x.transform_by_matrix(rotation)
    product = e3nn.tensor_product(x, x)
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", jnp.array([1.0, 2.0, 3.0]), True)
    return {
        "turned": turned.array,
        "product": product.array,
        "harmonics": harmonics.array,
        "norm": e3nn.norm(product).array,
    }
