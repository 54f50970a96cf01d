"""Pass messages in a graph."""

import jax
import jax.numpy as jnp
import jraph


def program():
    graph = jraph.GraphsTuple(
        nodes=jnp.arange(6.0).reshape(3, 2),
        edges=jnp.array([[1.0], [2.0], [3.0]]),
        senders=jnp.array([0, 1, 2]),
        receivers=jnp.array([1, 2, 0]),
        n_node=jnp.array([3]),
        n_edge=jnp.array([3]),
        globals=jnp.array([[1.0]]),
    )
    net = jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, g: jnp.concatenate([e + g, s * r], -1),
        update_node_fn=lambda n, s, r, g: jnp.concatenate([n, s[:, :1], r[:, :1]], -1),
        update_global_fn=lambda n, e, g: n.sum(-1, keepdims=True) + e.sum(-1, keepdims=True),
    )
    out = jax.jit(net)(graph)
    batch = jraph.batch([graph, graph])
    return {"nodes": out.nodes, "globals": out.globals, "senders": batch.senders}
