"""Save a tree of arrays, and restore it."""

import tempfile
from pathlib import Path

import jax.numpy as jnp
import orbax.checkpoint as ocp


def program():
    tree = {"w": jnp.arange(6.0).reshape(2, 3), "step": jnp.int32(7)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        with ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(path, tree)
            checkpointer.wait_until_finished()
            found = checkpointer.restore(path, tree)
    return found
