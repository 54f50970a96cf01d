"""Simulate an open quantum system."""

import dynamiqs as dq
import jax.numpy as jnp


def program():
    dq.set_progress_meter(False)
    a = dq.destroy(8)
    result = dq.mesolve(
        a.dag() @ a,
        [jnp.sqrt(0.3) * a],
        dq.coherent(8, 1.0),
        jnp.linspace(0, 1, 4),
        exp_ops=[a.dag() @ a],
    )
    return {"number": jnp.real(result.expects), "trace": jnp.real(dq.trace(result.states))}
