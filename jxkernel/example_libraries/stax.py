"""Layers of networks as pairs of functions: one makes parameters, the other applies them.

``init(rng, input_shape)`` returns the shape of the layer's output and its parameters;
``apply(params, inputs, rng=None)`` its output.  -1 in a shape stands for a size that may vary.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import numpy as jnp
from jxkernel import random
from jxkernel.api.reductions import reduce_window
from jxkernel.nn.activations import (
    elu,
    gelu,
    leaky_relu,
    relu,
    selu,
    sigmoid,
    softplus,
)
from jxkernel.nn.initializers import glorot_normal, normal, ones, zeros
from jxkernel.nn.normalization import log_softmax, softmax, standardize
from jxkernel.primitives.conv.conv import conv_general_dilated
from jxkernel.primitives.conv.conv_numbers import (
    conv_general_shape_tuple,
    conv_transpose_shape_tuple,
)
from jxkernel.primitives.conv.reduce_window import reduce_window_shape_tuple
from jxkernel.primitives.conv.variants import conv_transpose
from jxkernel.primitives.elementwise.arithmetic import add
from jxkernel.primitives.elementwise.arithmetic import max as larger

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "glorot",
    "logsoftmax",
    "parallel",
    "randn",
    "serial",
    "shape_dependent",
]

Layer = tuple[Callable[..., Any], Callable[..., Any]]
"""What makes parameters, and what applies them."""
Shape = Sequence[int]

glorot = glorot_normal
randn = normal
logsoftmax = log_softmax

# ---------------------------------------------------------------- layers with parameters


def Dense(out_dim: int, W_init: Any = glorot_normal(), b_init: Any = normal()) -> Layer:  # noqa: B008
    """Return a layer that multiplies by a matrix and adds a vector.

    Args:
      out_dim: the size of the last axis of its output.
      W_init: makes the matrix.
      b_init: makes the vector.
    """

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        first, second = random.split(rng)
        weights = W_init(first, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(second, (out_dim,)))

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init, apply


def _convolution(
    spec: Sequence[str],
    channels: int,
    sizes: Sequence[int],
    makers: tuple[Any, Any],
    shape_of: Callable[[Shape, Shape], Any],
    convolve: Callable[[Any, Any], Any],
) -> Layer:
    """Return a layer that convolves with a kernel and adds a number for each channel."""
    lhs_spec, rhs_spec, out_spec = spec
    make_kernel = makers[0] or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        remaining = iter(sizes)
        named = {"O": channels, "I": input_shape[lhs_spec.index("C")]}
        kernel = [named[c] if c in named else next(remaining) for c in rhs_spec]
        # The examples may be of any number, which no size of a convolution is.
        examples = lhs_spec.index("N")
        whole = [1 if axis == examples else size for axis, size in enumerate(input_shape)]
        out_shape = list(map(int, shape_of(whole, kernel)))
        out_shape[out_spec.index("N")] = input_shape[examples]
        first, second = random.split(rng)
        bias = [channels if c == "C" else 1 for c in out_spec]
        return tuple(out_shape), (make_kernel(first, kernel), makers[1](second, bias))

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        kernel, bias = params
        return convolve(inputs, kernel) + bias

    return init, apply


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """Return a layer that convolves.

    Args:
      dimension_numbers: the axes of inputs, kernels and outputs, such as ``"NHWC"``.
      out_chan: how many channels its output has.
      filter_shape: the sizes of the kernel's spatial axes.
      strides: the steps between places; 1 where not given.
      padding: ``SAME``, ``VALID``, or (low, high) for each spatial axis.
      W_init: makes the kernel.
      b_init: makes the numbers that are added.
    """
    spec = tuple(dimension_numbers)
    steps = strides or (1,) * len(filter_shape)
    return _convolution(
        dimension_numbers,
        out_chan,
        filter_shape,
        (W_init, b_init),
        lambda x, w: conv_general_shape_tuple(x, w, steps, padding, spec),
        lambda x, w: conv_general_dilated(x, w, steps, padding, dimension_numbers=spec),
    )


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """Return a layer that convolves elements placed apart, so that the image grows.

    Its arguments are those of ``GeneralConv``.
    """
    spec = tuple(dimension_numbers)
    steps = strides or (1,) * len(filter_shape)
    return _convolution(
        dimension_numbers,
        out_chan,
        filter_shape,
        (W_init, b_init),
        lambda x, w: conv_transpose_shape_tuple(x, w, steps, padding, spec),
        lambda x, w: conv_transpose(x, w, steps, padding, dimension_numbers=spec),
    )


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Return a layer that brings a batch to mean 0 and variance 1, and scales and shifts it.

    Args:
      axis: the axes over which mean and variance are taken.
      epsilon: what is added to the variance.
      center: whether to shift.
      scale: whether to scale.
      beta_init: makes the shifts.
      gamma_init: makes the factors.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        shape = tuple(size for a, size in enumerate(input_shape) if a not in axes)
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        return tuple(input_shape), (beta, gamma_init(second, shape) if scale else ())

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        beta, gamma = params
        broadcast = tuple(None if a in axes else slice(None) for a in range(jnp.ndim(inputs)))
        y = standardize(inputs, axes, epsilon=epsilon)
        y = gamma[broadcast] * y if scale else y
        return y + beta[broadcast] if center else y

    return init, apply


# ---------------------------------------------------------------- layers without


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return a layer that applies a function to its input.

    Args:
      fun: the function.
      **fun_kwargs: further arguments of it.
    """
    return _unchanged, lambda params, inputs, **_: fun(inputs, **fun_kwargs)


def _unchanged(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
    return input_shape, ()


Elu = elementwise(elu)
Exp = elementwise(jnp.exp)
Gelu = elementwise(gelu)
Identity = elementwise(lambda x: x)
LeakyRelu = elementwise(leaky_relu)
LogSoftmax = elementwise(log_softmax, axis=-1)
Relu = elementwise(relu)
Selu = elementwise(selu)
Sigmoid = elementwise(sigmoid)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Tanh = elementwise(jnp.tanh)


def _pooling(reducer: Any, start: float, rescale: Any = None) -> Callable[..., Layer]:
    def pool(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """Return a layer that takes one number from each window.

        Args:
          window_shape: the sizes of windows along spatial axes.
          strides: the steps between windows; 1 where not given.
          padding: ``SAME`` or ``VALID``.
          spec: the axes, such as ``"NHWC"``, where channels are not last.
        """
        channels = spec.index("C") if spec else len(window_shape) + 1
        examples = spec.index("N") if spec else 0

        def full(sizes: Sequence[int]) -> tuple[int, ...]:
            remaining = iter(sizes)
            ones_at = (examples, channels)
            return tuple(1 if a in ones_at else next(remaining) for a in range(len(sizes) + 2))

        window, steps = full(window_shape), full(strides or (1,) * len(window_shape))

        def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
            known = [1 if a == examples else size for a, size in enumerate(input_shape)]
            out = list(reduce_window_shape_tuple(known, window, steps, padding))
            out[examples] = input_shape[examples]
            return tuple(out), ()

        def apply(params: Any, inputs: Any, **_: Any) -> Any:
            y = reduce_window(inputs, start, reducer, window, steps, padding)
            return y if rescale is None else rescale(y, inputs, (window, steps, padding))

        return init, apply

    return pool


def _by_count(sums: Any, inputs: Any, how: Any) -> Any:
    """Divide sums by how many elements each window has, which are fewer at padded edges."""
    return sums / reduce_window(jnp.ones_like(inputs), 0.0, add, *how)


MaxPool = _pooling(larger, -float("inf"))
SumPool = _pooling(add, 0.0)
AvgPool = _pooling(add, 0.0, _by_count)


def _flat(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
    return (input_shape[0], functools.reduce(lambda a, b: a * b, input_shape[1:], 1)), ()


Flatten = (_flat, lambda params, inputs, **_: jnp.reshape(inputs, (inputs.shape[0], -1)))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Return a layer that keeps each element with probability ``rate``, and sets others to 0.

    Args:
      rate: how many are kept.
      mode: ``train``; in any other nothing is dropped.
    """

    def apply(params: Any, inputs: Any, rng: Any = None, **_: Any) -> Any:
        if mode != "train":
            return inputs
        if rng is None:
            raise ValueError("a Dropout layer draws numbers: call apply(params, inputs, rng=key)")
        kept = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(kept, inputs / rate, 0)

    return _unchanged, apply


# ---------------------------------------------------------------- layers made of layers


def FanOut(num: int) -> Layer:
    """Return a layer that gives its input ``num`` times."""
    return lambda rng, shape: ([shape] * num, ()), lambda params, inputs, **_: [inputs] * num


def _summed(params: Any, inputs: Any, **_: Any) -> Any:
    return sum(inputs)


FanInSum = (lambda rng, shapes: (shapes[0], ()), _summed)


def FanInConcat(axis: int = -1) -> Layer:
    """Return a layer that joins its inputs along an axis."""

    def init(rng: Any, shapes: Sequence[Shape]) -> tuple[Shape, Any]:
        out = list(shapes[0])
        out[axis] = sum(shape[axis] for shape in shapes)
        return tuple(out), ()

    return init, lambda params, inputs, **_: jnp.concatenate(inputs, axis)


def _keys(rng: Any, count: int) -> Any:
    return [None] * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Return the layer that applies layers one after the other.

    >>> import jxkernel as jx
    >>> from jxkernel.example_libraries import stax
    >>> init, apply = stax.serial(stax.Dense(3), stax.Relu, stax.Dense(2))
    >>> shape, params = init(jx.random.key(0), (-1, 4))
    >>> shape, apply(params, jx.numpy.ones((5, 4))).shape
    ((-1, 2), (5, 2))
    """

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        params = []
        for init_layer, _ in layers:
            rng, key = random.split(rng)
            input_shape, made = init_layer(key, input_shape)
            params.append(made)
        return input_shape, params

    def apply(params: Any, inputs: Any, rng: Any = None, **how: Any) -> Any:
        for (_, apply_layer), one, key in zip(layers, params, _keys(rng, len(layers)), strict=True):
            inputs = apply_layer(one, inputs, rng=key, **how)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Return the layer that applies each layer to one of as many inputs."""

    def init(rng: Any, input_shapes: Sequence[Shape]) -> tuple[Any, Any]:
        keys = random.split(rng, len(layers))
        made = [one[0](key, s) for one, key, s in zip(layers, keys, input_shapes, strict=True)]
        shapes, params = zip(*made, strict=True)
        return shapes, params

    def apply(params: Any, inputs: Any, rng: Any = None, **how: Any) -> Any:
        parts = zip(layers, params, inputs, _keys(rng, len(layers)), strict=True)
        return [one[1](p, x, rng=key, **how) for one, p, x, key in parts]

    return init, apply


def shape_dependent(make_layer: Callable[[Shape], Layer]) -> Layer:
    """Return a layer that is made when the shape of its input is known.

    Args:
      make_layer: from the shape to the layer.
    """

    def init(rng: Any, input_shape: Shape) -> tuple[Shape, Any]:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply(params: Any, inputs: Any, **how: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **how)

    return init, apply
