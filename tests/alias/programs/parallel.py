"""Many devices: named axes, pmap, meshes, shard_map and sharded programs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

x = jnp.arange(4.0)
normalized = jax.vmap(lambda v: v / jax.lax.psum(v, "i"), axis_name="i")(x)
np.testing.assert_allclose(normalized, x / x.sum(), rtol=1e-6)

count = jax.local_device_count()
rows = jnp.arange(2.0 * count).reshape(count, 2)
sums = jax.pmap(lambda r: jax.lax.psum(r, "d"), axis_name="d")(rows)
np.testing.assert_allclose(sums, np.broadcast_to(rows.sum(0), rows.shape))

mesh = Mesh(np.array(jax.devices()), ("d",))
sharding = NamedSharding(mesh, P("d"))
placed = jax.device_put(rows, sharding)
assert placed.sharding == sharding
assert len(placed.addressable_shards) == count
np.testing.assert_allclose(jax.jit(lambda r: r * 2)(placed), rows * 2)


@partial(jax.shard_map, mesh=mesh, in_specs=P("d"), out_specs=P())
def total(block):
    return jax.lax.psum(block.sum(0), "d")


np.testing.assert_allclose(total(placed), rows.sum(0))
np.testing.assert_allclose(jax.jit(total)(rows), rows.sum(0))
np.testing.assert_allclose(jax.grad(lambda r: total(r).sum())(rows), np.ones_like(rows))


@jax.jit
def constrained(r):
    return jax.lax.with_sharding_constraint(r + 1, sharding)


np.testing.assert_allclose(constrained(rows), rows + 1)
