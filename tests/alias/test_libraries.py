"""Libraries written for JAX, as they are on PyPI, on top of jxkernel."""

import sys

import numpy as np
import pytest

import jxkernel


@pytest.fixture(autouse=True)
def _alias():
    with jxkernel.alias("jax"):
        yield
    for name in [n for n in sys.modules if n.partition(".")[0] in ("einops", "optax")]:
        del sys.modules[name]


def test_einops_rearranges_reduces_and_repeats():
    import jax
    import jax.numpy as jnp
    from einops import einsum, pack, rearrange, reduce, repeat

    x = jnp.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(rearrange(x, "a b c -> c (a b)"), np.reshape(x, (6, 4)).T)
    np.testing.assert_array_equal(reduce(x, "a (b) c -> a c", "mean"), np.mean(x, 1))
    np.testing.assert_array_equal(repeat(x[0, 0], "c -> n c", n=2), np.tile(x[0, 0], (2, 1)))
    np.testing.assert_array_equal(einsum(x, x, "a b c, a b c -> a"), np.sum(x * x, (1, 2)))
    assert pack([x, x], "* b c")[0].shape == (4, 3, 4)
    total = jax.jit(jax.grad(lambda y: reduce(y * y, "a b c -> ", "sum")))
    np.testing.assert_array_equal(total(x), 2 * x)
    batched = jax.vmap(lambda y: rearrange(y, "b c -> c b"))(x)
    np.testing.assert_array_equal(batched, np.swapaxes(x, 1, 2))


# After thirty steps on one network, with the reference implementation of the library's interface.
LOSSES = {
    "adabelief": (0.02, 0.014810726),
    "adafactor": (0.02, 0.041158911),
    "adagrad": (0.1, 0.027665472),
    "adam": (0.02, 0.018649239),
    "adamax": (0.02, 0.038916837),
    "adamw": (0.02, 0.018650176),
    "amsgrad": (0.02, 0.038019855),
    "fromage": (0.02, 0.028312625),
    "lamb": (0.02, 0.036574390),
    "lion": (0.005, 0.114529639),
    "nadam": (0.02, 0.013826333),
    "novograd": (0.02, 0.018388316),
    "radam": (0.02, 0.308181226),
    "rmsprop": (0.01, 0.034894273),
    "rprop": (0.01, 0.008775458),
    "sm3": (0.05, 0.035112001),
    "yogi": (0.02, 0.021822134),
}
CHAINED = {"clipped and scheduled": 0.018488482, "every other step": 0.030724721}


def test_optax_trains_a_network_as_it_does_on_jax():
    import jax
    import jax.numpy as jnp
    import optax

    def trained(optimizer):
        keys = jax.random.split(jax.random.key(0), 3)
        params = {
            "w1": jax.random.normal(keys[0], (4, 8)) * 0.5,
            "b1": jnp.zeros(8),
            "w2": jax.random.normal(keys[1], (8, 1)) * 0.5,
        }
        x = jax.random.normal(keys[2], (16, 4))
        y = jnp.sin(x.sum(1, keepdims=True))

        def loss(p):
            return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)

        @jax.jit
        def step(carry, _):
            params, state = carry
            value, gradient = jax.value_and_grad(loss)(params)
            updates, state = optimizer.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), value

        return float(jax.lax.scan(step, (params, optimizer.init(params)), None, length=30)[1][-1])

    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.05, 5, 30)
    clipped = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
    found = {name: trained(getattr(optax, name)(rate)) for name, (rate, _) in LOSSES.items()}
    chained = [trained(clipped), trained(optax.MultiSteps(optax.adam(0.05), 2))]
    found.update(zip(CHAINED, chained, strict=True))
    wanted = {**{name: loss for name, (_, loss) in LOSSES.items()}, **CHAINED}
    assert found == pytest.approx(wanted, rel=5e-3)
