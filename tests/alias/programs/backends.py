"""Devices: which there are, and putting data on them."""

import jax
import jax.numpy as jnp

assert jax.default_backend() == jax.devices()[0].platform
assert jax.device_count() >= jax.local_device_count() >= 1
assert jax.process_index() == 0
device = jax.devices("cpu")[0]
x = jax.device_put(jnp.arange(3), device)
assert x.devices() == {device}
with jax.default_device(device):
    assert jnp.ones(2).device == device
assert jax.device_get({"x": x})["x"].tolist() == [0, 1, 2]
try:
    jax.devices("abacus")
except RuntimeError as error:
    assert "abacus" in str(error)
