"""Export: a compiled program as bytes, for other processes and other sizes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import export


def f(x):
    return jnp.sin(x) * 2


exported = export.export(jax.jit(f))(jax.ShapeDtypeStruct((3,), jnp.float32))
assert exported.in_avals[0].shape == (3,)
assert "stablehlo" in exported.mlir_module()
again = export.deserialize(exported.serialize())
x = jnp.arange(3.0)
np.testing.assert_allclose(again.call(x), f(x), rtol=1e-6)
np.testing.assert_allclose(jax.jit(lambda x: again.call(x) + 1)(x), f(x) + 1, rtol=1e-6)

with_gradient = export.deserialize(exported.serialize(vjp_order=1))
slope = jax.grad(lambda x: with_gradient.call(x).sum())(x)
np.testing.assert_allclose(slope, 2 * np.cos(x), rtol=1e-6)

mesh = jax.sharding.AbstractMesh((4,), ("a",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
for_four = export.export(jax.jit(f))(jax.ShapeDtypeStruct((8,), jnp.float32, sharding=rows))
assert for_four.nr_devices == 4
assert export.deserialize(for_four.serialize()).in_shardings_jax(mesh) == (rows,)

(n,) = export.symbolic_shape("n")
any_size = export.export(jax.jit(f))(jax.ShapeDtypeStruct((n,), jnp.float32))
for size in (2, 5):
    x = jnp.arange(float(size))
    np.testing.assert_allclose(any_size.call(x), f(x), rtol=1e-6)
