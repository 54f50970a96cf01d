"""LSTMs: packed weights, layers, directions and lengths, against numbers recorded from JAX."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental import rnn


def problem(layers, both):
    count = rnn.get_num_params_in_lstm(2, 3, layers, both)
    places = layers * (2 if both else 1)
    weights = jnp.sin(jnp.arange(float(count))) * 0.5
    x = jnp.cos(jnp.arange(16.0)).reshape(2, 4, 2)
    h = jnp.sin(jnp.arange(places * 6.0)).reshape(places, 2, 3)
    return x, h, h * 0.5, weights


def test_weights_are_counted():
    sizes = [(3, 4, 1, False), (3, 4, 2, False), (3, 4, 2, True), (1, 1, 1, True)]
    assert [rnn.get_num_params_in_lstm(*each) for each in sizes] == [144, 304, 736, 32]


def test_first_weights_are_those_recorded():
    weights = rnn.init_lstm_weight(jx.random.key(0), 3, 4, 2, True)
    assert weights.shape == (736,)
    recorded = [
        0.4476670026779175,
        0.47857987880706787,
        -0.16770851612091064,
        -0.031331539154052734,
    ]
    np.testing.assert_allclose(weights[:4], recorded, rtol=1e-6)


def test_weights_are_packed_layer_by_layer():
    count = rnn.get_num_params_in_lstm(2, 3, 2, True)
    unpacked = rnn.unpack_lstm_weights(jnp.arange(count), 2, 3, 2, True)
    assert [int(arrays[2].ravel()[0]) for arrays in unpacked] == [120, 192, 384, 396]
    assert [arrays[3].shape for arrays in unpacked] == [(12, 6), (12, 3), (12,), (12,)]
    with pytest.raises(ValueError, match=r"a vector of 432 weights, got an array of shape \(3,\)"):
        rnn.unpack_lstm_weights(jnp.ones(3), 2, 3, 2, True)


def test_gates_are_exchanged():
    swapped = rnn.swap_lstm_gates(jnp.arange(16), 1, 1, 1, False)
    assert swapped.tolist() == [0, 1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14]
    more = rnn.swap_lstm_gates(jnp.arange(224), 2, 2, 2, True)
    assert more[8:16].tolist() == [12, 13, 14, 15, 8, 9, 10, 11]
    assert more[-8:].tolist() == [216, 217, 218, 219, 222, 223, 220, 221]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("layers", "both", "lengths", "first", "sums"),
    [
        (
            1,
            False,
            [4, 4],
            [-0.07201016694307327, 0.2869361340999603, 0.08770295232534409],
            [3.98262619972229, 0.998489260673523, 1.7469669580459595],
        ),
        (
            1,
            False,
            [2, 4],
            [-0.07201016694307327, 0.2869361340999603, 0.08770295232534409],
            [3.2702698707580566, 0.8354418277740479, 1.4081141948699951],
        ),
        (
            2,
            False,
            [2, 4],
            [-0.14798693358898163, -0.10630489140748978, 0.1532459557056427],
            [2.9035260677337646, 2.2952961921691895, 4.699300765991211],
        ),
        (
            1,
            True,
            [2, 4],
            [-0.1661263108253479, 0.23393262922763824, 0.029893850907683372],
            [5.166984558105469, 2.0160293579101562, 5.0880126953125],
        ),
        (
            2,
            True,
            [4, 4],
            [-0.253068745136261, 0.12152867764234543, 0.11848027259111404],
            [7.3856353759765625, 3.88999080657959, 10.255860328674316],
        ),
        (
            2,
            True,
            [2, 4],
            [-0.25574517250061035, 0.12125014513731003, 0.11551393568515778],
            [5.328724384307861, 3.727264404296875, 9.734386444091797],
        ),
    ],
)
def test_sequences_give_what_was_recorded(layers, both, lengths, first, sums):
    x, h, c, weights = problem(layers, both)
    sizes = {"input_size": 2, "hidden_size": 3, "num_layers": layers, "bidirectional": both}
    lengths = jnp.array(lengths)
    unpacked = rnn.unpack_lstm_weights(weights, **sizes)
    found = rnn.lstm_ref(x, h, c, *unpacked, seq_lengths=lengths, dropout=0.0, **sizes)
    np.testing.assert_allclose(found[0].ravel()[:3], first, rtol=1e-5)
    np.testing.assert_allclose([float(jnp.abs(each).sum()) for each in found], sums, rtol=1e-5)
    packed = jx.jit(lambda w: rnn.lstm(x, h, c, w, lengths, dropout=0.0, **sizes))(weights)
    for one, other in zip(found, packed, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_weights_have_slopes():
    x, h, c, weights = problem(1, True)

    def loss(weights):
        y, _, _ = rnn.lstm(x, h, c, weights, jnp.array([2, 4]), 2, 3, 1, 0.0, True, "highest")
        return (y**2).sum()

    jx.test_util.check_grads(loss, (weights,), order=1, modes=("rev",), atol=2e-2, rtol=2e-2)


def test_nothing_is_dropped():
    x, h, c, weights = problem(1, False)
    with pytest.raises(NotImplementedError, match=r"lstm got dropout=0.5"):
        rnn.lstm(x, h, c, weights, jnp.array([4, 4]), 2, 3, 1, 0.5, False)
