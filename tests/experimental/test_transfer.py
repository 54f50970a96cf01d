"""Arrays that one server offers and another's connection pulls, by sockets of this machine."""

import numpy as np

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental import transfer
from jxkernel.sharding import PartitionSpec as P

HERE = "127.0.0.1:0"


def described(x, sharding=None):
    return jx.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)


def test_offered_arrays_are_pulled_as_trees(eight_devices):
    client = eight_devices[0].client
    servers = [transfer.start_transfer_server(client, HERE, [HERE]) for _ in range(2)]
    connection = servers[1].connect(servers[0].address())
    tree = {"x": jnp.arange(8.0), "y": (jnp.ones((2, 3), jnp.bfloat16), jnp.int8(3))}
    servers[0].await_pull(1, tree)
    found = connection.pull(1, jx.tree.map(described, tree))
    assert jx.tree.structure(found) == jx.tree.structure(tree)
    for one, other in zip(jx.tree.leaves(found), jx.tree.leaves(tree), strict=True):
        assert jx.typeof(one) == jx.typeof(other).strip_weak_type()
        np.testing.assert_array_equal(one + 1, other + 1)
    lies = jx.NamedSharding(jx.make_mesh((2,), ("i",)), P("i"))
    divided = jx.device_put(np.arange(6), lies)
    servers[0].await_pull(2, divided)
    again = connection.pull(2, described(divided, lies))
    assert again.sharding == lies
    np.testing.assert_array_equal(jx.jit(lambda x: x * 2)(again), np.arange(6) * 2)
