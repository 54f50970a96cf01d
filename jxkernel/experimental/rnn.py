"""Recurrent networks of the LSTM kind, with their weights packed in one vector.

The gates are those of PyTorch's ``LSTM``: with σ the logistic function, for each step
``i, f, g, o = W_ih x + b_ih + W_hh h + b_hh``, ``c ← σ(f) c + σ(i) tanh(g)`` and
``h ← σ(o) tanh(c)``.  The packing is cuDNN's: all matrices, then all biases, layer by layer, in
each layer the forward direction before the backward one; ``W_ih`` before ``W_hh``.
Here every platform computes them as programs of matrix products, none by cuDNN.
"""

from collections.abc import Iterator, Mapping
from math import prod, sqrt
from typing import Any

import numpy as np

from jxkernel.api.control_flow.scanning import scan
from jxkernel.core.avals import shape_of
from jxkernel.core.filtering import filtered
from jxkernel.nn.activations import sigmoid
from jxkernel.numpy.contractions import matmul
from jxkernel.numpy.joining import concatenate, split, stack
from jxkernel.numpy.mathematics import tanh
from jxkernel.numpy.ranges import arange
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import swapaxes
from jxkernel.random.drawing import uniform

__all__ = [
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_ref",
    "swap_lstm_gates",
    "unpack_lstm_weights",
]

Weights = Mapping[int, Any]
"""For each layer and direction, counted together, a matrix or a vector."""

Sizes = tuple[int, int, int, bool]
"""Of the input and the state; how many layers; whether each runs backwards too."""


def _shapes(sizes: Sizes) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Yield the name, the place and the shape of each packed array, in order."""
    inputs, hidden, layers, bidirectional = sizes
    directions = 2 if bidirectional else 1
    for place in range(layers * directions):
        taken = inputs if place < directions else hidden * directions
        yield "W_ih", place, (4 * hidden, taken)
        yield "W_hh", place, (4 * hidden, hidden)
    for place in range(layers * directions):
        yield "b_ih", place, (4 * hidden,)
        yield "b_hh", place, (4 * hidden,)


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Return how many weights an LSTM has.

    >>> from jxkernel.experimental import rnn
    >>> rnn.get_num_params_in_lstm(3, 4, 1, False)
    144
    """
    sizes = (input_size, hidden_size, num_layers, bidirectional)
    return sum([prod(shape) for _, _, shape in _shapes(sizes)])


def init_lstm_weight(
    rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """Return random weights, uniform between ± 1 / √(size of the state), packed in one vector.

    Args:
      rng: a key.
      input_size: the size of an input.
      hidden_size: the size of the state.
      num_layers: the number of layers.
      bidirectional: whether each layer runs backwards too.
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = sqrt(1.0 / hidden_size)
    return uniform(rng, (count,), np.float32, -bound, bound)


def unpack_lstm_weights(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any], dict[int, Any]]:
    """Return ``(W_ih, W_hh, b_ih, b_hh)`` of packed weights.

    Each is a dict with an array for each layer and direction, counted together; its first axis is
    that of the gates i, f, g, o.

    Args:
      weights: a vector of as many weights as ``get_num_params_in_lstm`` says.
      input_size: the size of an input.
      hidden_size: the size of the state.
      num_layers: the number of layers.
      bidirectional: whether each layer runs backwards too.

    Raises:
      ValueError: there are more or fewer weights.
    """
    sizes = (input_size, hidden_size, num_layers, bidirectional)
    count = get_num_params_in_lstm(*sizes)
    if shape_of(weights) != (count,):
        raise ValueError(
            f"an LSTM of these sizes has a vector of {count} weights, got an array of shape "
            f"{shape_of(weights)}"
        )
    found: dict[str, dict[int, Any]] = {"W_ih": {}, "W_hh": {}, "b_ih": {}, "b_hh": {}}
    start = 0
    for name, place, shape in _shapes(sizes):
        end = start + prod(shape)
        found[name][place] = weights[start:end].reshape(shape)
        start = end
    return found["W_ih"], found["W_hh"], found["b_ih"], found["b_hh"]


def swap_lstm_gates(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """Return packed weights with the last two gates, g and o, exchanged.

    Libraries for other accelerators have them in that order.

    Args:
      weights: a vector of as many weights as ``get_num_params_in_lstm`` says.
      input_size: the size of an input.
      hidden_size: the size of the state.
      num_layers: the number of layers.
      bidirectional: whether each layer runs backwards too.

    Raises:
      ValueError: there are more or fewer weights.
    """
    sizes = (input_size, hidden_size, num_layers, bidirectional)
    unpacked = unpack_lstm_weights(weights, *sizes)
    arrays: dict[str, dict[int, Any]] = {}
    arrays.update(zip(("W_ih", "W_hh", "b_ih", "b_hh"), unpacked, strict=True))
    swapped: list[Any] = []
    for name, place, _ in _shapes(sizes):
        i, f, g, o = split(arrays[name][place], 4)
        swapped += [part.reshape(-1) for part in (i, f, o, g)]
    return concatenate(swapped)


@filtered
def lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: Any,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Any, Any, Any]:
    """Return what an LSTM with packed weights makes of sequences; see ``lstm_ref``.

    Args:
      x: the inputs, (batch, steps, input_size).
      h_0: the first states, (layers and directions, batch, hidden_size).
      c_0: the first cells, of that shape.
      weights: a vector of as many weights as ``get_num_params_in_lstm`` says.
      seq_lengths: how many steps of each sequence count, integers (batch,).
      input_size: the size of an input.
      hidden_size: the size of the state.
      num_layers: the number of layers.
      dropout: 0.
      bidirectional: whether each layer runs backwards too.
      precision: the precision of matrix products, as ``numpy.matmul`` takes it.

    Returns:
      (outputs, last states, last cells).

    Raises:
      NotImplementedError: ``dropout`` is not 0.
      ValueError: there are more or fewer weights.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import rnn
    >>> sizes = {"input_size": 3, "hidden_size": 4, "num_layers": 1, "bidirectional": True}
    >>> weights = jnp.ones(rnn.get_num_params_in_lstm(**sizes))
    >>> x, state = jnp.ones((2, 5, 3)), jnp.zeros((2, 2, 4))
    >>> y, h, c = rnn.lstm(x, state, state, weights, jnp.array([5, 3]), dropout=0.0, **sizes)
    >>> y.shape, h.shape
    ((2, 5, 8), (2, 2, 4))
    """
    sizes = (input_size, hidden_size, num_layers, bidirectional)
    unpacked = unpack_lstm_weights(weights, *sizes)
    return _layers(x, h_0, c_0, unpacked, seq_lengths, sizes, dropout, precision)


@filtered
def lstm_ref(
    x: Any,
    h_0: Any,
    c_0: Any,
    W_ih: Weights,
    W_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Any, Any, Any]:
    """Return what an LSTM makes of sequences.

    Steps that do not count leave the state as it is, and give zeros; the backward direction begins
    at the last step that counts.

    Args:
      x: the inputs, (batch, steps, input_size).
      h_0: the first states, (layers and directions, batch, hidden_size).
      c_0: the first cells, of that shape.
      W_ih: as ``unpack_lstm_weights`` returns them.
      W_hh: likewise.
      b_ih: likewise.
      b_hh: likewise.
      seq_lengths: how many steps of each sequence count, integers (batch,).
      input_size: the size of an input.
      hidden_size: the size of the state.
      num_layers: the number of layers.
      dropout: 0.
      bidirectional: whether each layer runs backwards too.

    Returns:
      (outputs (batch, steps, directions · hidden_size), last states, last cells).

    Raises:
      NotImplementedError: ``dropout`` is not 0.
    """
    sizes = (input_size, hidden_size, num_layers, bidirectional)
    weights = (W_ih, W_hh, b_ih, b_hh)
    return _layers(x, h_0, c_0, weights, seq_lengths, sizes, dropout, None)


def _layers(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: tuple[Weights, Weights, Weights, Weights],
    lengths: Any,
    sizes: Sizes,
    dropout: float,
    precision: Any,
) -> tuple[Any, Any, Any]:
    if dropout != 0:
        raise NotImplementedError(
            f"lstm got dropout={dropout}: between layers nothing is dropped here; run one layer at "
            "a time, and drop with random.bernoulli between them"
        )
    directions = 2 if sizes[3] else 1
    counts = (arange(shape_of(x)[1])[:, None] < lengths)[..., None]
    sequence = swapaxes(x, 0, 1)
    states: list[Any] = []
    cells: list[Any] = []
    for layer in range(sizes[2]):
        made: list[Any] = []
        for place in range(layer * directions, (layer + 1) * directions):
            own = tuple([each[place] for each in weights])
            first = (h_0[place], c_0[place])
            backwards = place % directions == 1
            (h, c), y = _direction(sequence, first, own, counts, backwards, precision)
            states.append(h)
            cells.append(c)
            made.append(y)
        sequence = concatenate(made, axis=-1)
    return swapaxes(sequence, 0, 1), stack(states), stack(cells)


def _direction(
    sequence: Any,
    first: tuple[Any, Any],
    weights: tuple[Any, ...],
    counts: Any,
    backwards: bool,
    precision: Any,
) -> tuple[tuple[Any, Any], Any]:
    """Run one direction of one layer over (steps, batch, size); return the last pair and all h."""
    w_ih, w_hh, b_ih, b_hh = weights
    entering = matmul(sequence, w_ih.T, precision=precision) + b_ih + b_hh

    def step(pair: tuple[Any, Any], now: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        h, c = pair
        enters, count = now
        gates = enters + matmul(h, w_hh.T, precision=precision)
        i, f, g, o = split(gates, 4, axis=-1)
        cell = sigmoid(f) * c + sigmoid(i) * tanh(g)
        state = sigmoid(o) * tanh(cell)
        return (where(count, state, h), where(count, cell, c)), where(count, state, 0)

    return scan(step, first, (entering, counts), reverse=backwards)
