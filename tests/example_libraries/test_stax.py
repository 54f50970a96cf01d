"""Layers as pairs of functions: shapes, parameters and outputs."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import random
from jxkernel.example_libraries import stax as s

# A layer, its input's shape, its output's, and the sums of what the reference implementation of
# the interface gives for the same keys, plain and of absolute values.
LAYERS = {
    "dense": (s.Dense(5), (-1, 4), (3, 5), -0.90748, 6.25803),
    "network": (
        s.serial(s.Dense(5), s.Relu, s.Dense(2), s.LogSoftmax),
        (-1, 4),
        (3, 2),
        -4.21470,
        4.21470,
    ),
    "convolution": (
        s.Conv(3, (2, 3), (2, 1), "SAME"),
        (-1, 6, 5, 2),
        (3, 3, 5, 3),
        7.42398,
        119.82117,
    ),
    "transposed": (
        s.ConvTranspose(3, (2, 2), (2, 2)),
        (-1, 4, 5, 2),
        (3, 8, 10, 3),
        1.08760,
        282.98190,
    ),
    "transposed line": (
        s.Conv1DTranspose(3, (2,), (2,), "SAME"),
        (-1, 5, 2),
        (3, 10, 3),
        8.16943,
        49.16158,
    ),
    "other axes": (
        s.GeneralConv(("NCHW", "OIHW", "NHWC"), 3, (2, 2)),
        (-1, 2, 5, 6),
        (3, 4, 5, 3),
        2.28689,
        132.34303,
    ),
    "batch": (s.BatchNorm(), (-1, 4, 4, 2), (3, 4, 4, 2), -0.00000, 79.15574),
    "batch of rows": (
        s.BatchNorm(axis=0, center=False, scale=False),
        (-1, 4),
        (3, 4),
        -0.00000,
        11.17588,
    ),
    "largest": (s.MaxPool((2, 2)), (-1, 4, 4, 2), (3, 3, 3, 2), 56.70312, 63.34449),
    "sums": (s.SumPool((2, 2), (1, 2), "SAME"), (-1, 4, 5, 2), (3, 4, 3, 2), -9.15389, 102.47463),
    "means": (
        s.AvgPool((2, 2), padding="SAME", spec="NCHW"),
        (-1, 2, 4, 4),
        (3, 2, 4, 4),
        0.18458,
        52.71251,
    ),
    "flat": (s.Flatten, (-1, 4, 4, 2), (3, 32), 1.13916, 87.23227),
    "summed": (
        s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Identity), s.FanInSum),
        (-1, 3),
        (3, 3),
        4.79929,
        9.45219,
    ),
    "joined": (
        s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Dense(2)), s.FanInConcat()),
        (-1, 3),
        (3, 5),
        2.83261,
        8.55343,
    ),
    "dropped": (
        s.serial(s.Dense(3), s.Dropout(0.6), s.Dense(2)),
        (4, 5),
        (4, 2),
        -1.84087,
        4.62507,
    ),
    "by shape": (
        s.shape_dependent(lambda shape: s.Dense(2 * shape[-1])),
        (-1, 3),
        (3, 6),
        -4.20649,
        11.90694,
    ),
    "clipped": (s.elementwise(jnp.clip, min=0.1), (-1, 3), (3, 3), 5.05920, 5.05920),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_what_they_give_elsewhere(name):
    (init, apply), shape, out_shape, total, size = LAYERS[name]
    found, params = init(random.PRNGKey(0), shape)
    x = random.normal(random.PRNGKey(1), [3 if n == -1 else n for n in shape])
    y = apply(params, x, rng=random.PRNGKey(3))
    assert y.shape == out_shape
    assert tuple(found) == (-1 if shape[0] == -1 else shape[0], *out_shape[1:])
    np.testing.assert_allclose([jnp.sum(y), jnp.sum(jnp.abs(y))], [total, size], atol=1e-3)


@pytest.mark.parametrize(
    ("layer", "function"),
    [
        (s.Elu, jx.nn.elu),
        (s.Exp, jnp.exp),
        (s.Gelu, jx.nn.gelu),
        (s.Identity, jnp.asarray),
        (s.LeakyRelu, jx.nn.leaky_relu),
        (s.LogSoftmax, jx.nn.log_softmax),
        (s.Relu, jx.nn.relu),
        (s.Selu, jx.nn.selu),
        (s.Sigmoid, jx.nn.sigmoid),
        (s.Softmax, jx.nn.softmax),
        (s.Softplus, jx.nn.softplus),
        (s.Tanh, jnp.tanh),
    ],
)
def test_activations_are_those_of_nn(layer, function):
    init, apply = layer
    x = jnp.array([[-1.0, 0.5, 2.0]])
    assert init(random.key(0), (-1, 3)) == ((-1, 3), ())
    np.testing.assert_array_equal(apply((), x), function(x))


def test_a_network_learns():
    init, apply = s.serial(s.Dense(8), s.Tanh, s.Dense(1))
    x = jnp.linspace(-1, 1, 8)[:, None]
    params = init(random.key(0), x.shape)[1]

    @jx.jit
    def step(params):
        loss, grads = jx.value_and_grad(lambda p: jnp.mean((apply(p, x) - x**2) ** 2))(params)
        return loss, jx.tree.map(lambda p, g: p - 0.3 * g, params, grads)

    first, params = step(params)
    for _ in range(30):
        last, params = step(params)
    assert last < first / 2


def test_dropout_needs_a_key_while_training():
    apply = s.Dropout(0.5)[1]
    x = jnp.ones(4)
    with pytest.raises(ValueError, match=r"apply\(params, inputs, rng=key\)"):
        apply((), x)
    assert s.Dropout(0.5, mode="test")[1]((), x) is x
