"""Initializers: functions that make the first values of parameters.

Each constructor returns a function of (key, shape, dtype, out_sharding): the last says how the
values are divided over devices.  Those that scale the variance read
the number of inputs and outputs of a layer off the shape.

Sources: X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural
networks", 2010; K. He et al., "Delving deep into rectifiers", 2015; Y. LeCun et al., "Efficient
BackProp", 1998; A. Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep
linear neural networks", 2014.
"""

from collections.abc import Callable, Sequence
from math import exp, expm1, pi, prod, sqrt
from typing import Any

import numpy as np

from jxkernel import dtypes, random
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import full, placed
from jxkernel.numpy.creation import ones as ones_of
from jxkernel.numpy.creation import zeros as zeros_of
from jxkernel.numpy.mathematics import cos, log1p, sin
from jxkernel.numpy.mathematics import sqrt as sqrt_of
from jxkernel.numpy.shapes import moveaxis, reshape
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.elementwise.complex import complex as with_parts

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Initializer = Callable[..., Any]
"""A function of a key, a shape, a dtype and how the values are divided over devices."""

Axes = int | Sequence[int]

_TRUNCATED_DEVIATION = 0.87962566103423978
"""The standard deviation of a standard normal number on the condition that it is within ±2."""

_TRUNCATED_COMPLEX_DEVIATION = sqrt(1 - 5 * exp(-4))
"""The same of a complex one of variance 1, where those beyond 2 count as 0."""


def _dtype(given: Any, own: Any) -> Any:
    """Return the dtype to make: as the caller of the initializer says, else its maker's."""
    chosen = own if given is None else given
    return dtypes.default_float_dtype() if chosen is None else dtypes.canonicalize_dtype(chosen)


def _initializer(
    name: str, make: Callable[[Any, tuple[int, ...], Any], Any], own: Any
) -> Initializer:
    """Return the initializer that a function of a key, a shape and a dtype makes values for.

    Args:
      name: what makes it, for messages.
      make: the function.
      own: the dtype where the caller of the initializer gives none.
    """

    def init(
        key: Any, shape: Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Any:
        return placed(name, make(key, tuple(shape), _dtype(dtype, own)), None, out_sharding)

    return init


def zeros(key: Any, shape: Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None) -> Any:
    """Return zeros; the key is not used.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> initializers.zeros(random.key(0), (2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return zeros_of(shape, dtype, out_sharding=out_sharding)


def ones(key: Any, shape: Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None) -> Any:
    """Return ones; the key is not used.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> initializers.ones(random.key(0), (2,), "int32").tolist()
    [1, 1]
    """
    return ones_of(shape, dtype, out_sharding=out_sharding)


def constant(value: Any, dtype: DTypeLike = None) -> Initializer:
    """Return an initializer that fills with a value.

    The value is converted to the dtype, and broadcasts to the shape.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> initializers.constant(0.5)(random.key(0), (2,)).tolist()
    [0.5, 0.5]
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return full(shape, value, dtype)

    return _initializer("constant", make, dtype)


def uniform(scale: Any = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Return an initializer with numbers uniform in [0, scale).

    The initializer raises a ``ValueError`` for a dtype that is not floating.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> x = initializers.uniform(0.1)(random.key(0), (4, 3))
    >>> x.shape, bool((x >= 0).all() and (x < 0.1).all())
    ((4, 3), True)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return random.uniform(key, shape, dtype) * np.asarray(scale, dtype)

    return _initializer("uniform", make, dtype)


def normal(stddev: Any = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Return an initializer with normal numbers of a standard deviation.

    The initializer raises a ``ValueError`` for a dtype that is not floating.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> initializers.normal(0.1)(random.key(0), (4, 3)).shape
    (4, 3)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return random.normal(key, shape, dtype) * np.asarray(stddev, dtype)

    return _initializer("normal", make, dtype)


def truncated_normal(
    stddev: Any = 1e-2, dtype: DTypeLike = None, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Return an initializer with normal numbers cut off at bounds.

    Args:
      stddev: the standard deviation before they are cut off.
      dtype: the dtype where the caller gives none.
      lower: the lower bound, in standard deviations.
      upper: the upper bound.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> x = initializers.truncated_normal(0.5)(random.key(0), (4, 3))
    >>> bool((abs(x) <= 1).all())
    True
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        drawn = random.truncated_normal(key, lower, upper, shape, dtype)
        return drawn * np.asarray(stddev, dtype)

    return _initializer("truncated_normal", make, dtype)


# ---------------------------------------------------------------- variance by fan


def _sizes(shape: Sequence[int], axes: Axes) -> int:
    return prod(shape[axis] for axis in ((axes,) if isinstance(axes, int) else axes))


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return the numbers of inputs and outputs that meet in one place of a layer.

    Raises:
      ValueError: the shape has fewer than two axes.
    """
    if len(shape) < 2:
        raise ValueError(
            f"the numbers of inputs and outputs are read off two axes, got shape {tuple(shape)}"
        )
    inputs, outputs = _sizes(shape, in_axis), _sizes(shape, out_axis)
    field = prod(shape) / inputs / outputs / _sizes(shape, batch_axis)
    return inputs * field, outputs * field


def _denominator(mode: str, fan_in: float, fan_out: float) -> float:
    modes = {
        "fan_in": fan_in,
        "fan_out": fan_out,
        "fan_avg": (fan_in + fan_out) / 2,
        "fan_geo_avg": sqrt(fan_in * fan_out),
    }
    if mode not in modes:
        raise ValueError(f"variance_scaling got mode {mode!r}: there are {', '.join(modes)}")
    return modes[mode]


def _scaled_draw(key: Any, shape: Any, dtype: Any, variance: float, distribution: str) -> Any:
    if distribution == "normal":
        return random.normal(key, shape, dtype) * np.asarray(sqrt(variance), dtype)
    if dtype in dtypes.COMPLEX and distribution in ("uniform", "truncated_normal"):
        return _on_a_disk(key, shape, dtype, variance, distribution)
    if distribution == "uniform":
        bound = np.asarray(sqrt(3 * variance), dtype)
        return random.uniform(key, shape, dtype, -1) * bound
    if distribution == "truncated_normal":
        scale = np.asarray(sqrt(variance) / _TRUNCATED_DEVIATION, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * scale
    raise ValueError(
        f"variance_scaling got distribution {distribution!r}: there are 'truncated_normal', "
        "'normal' and 'uniform'"
    )


def _on_a_disk(key: Any, shape: Any, dtype: Any, variance: float, distribution: str) -> Any:
    """Draw complex numbers of a variance, uniform on a disk or normal and within twice its radius.

    The square of the distance is uniform, or exponential up to 4; the angle is uniform.
    """
    part = dtypes.to_floating_dtype(dtype)
    distance_key, angle_key = random.split(key)
    drawn = random.uniform(distance_key, shape, part)
    if distribution == "uniform":
        square, deviation = drawn, sqrt(0.5)
    else:
        square, deviation = -log1p(drawn * part.type(expm1(-4))), _TRUNCATED_COMPLEX_DEVIATION
    distance = sqrt_of(square) * part.type(sqrt(variance) / deviation)
    angle = random.uniform(angle_key, shape, part) * part.type(2 * pi)
    return with_parts(distance * cos(angle), distance * sin(angle))


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Return an initializer whose variance is ``scale`` by the number of inputs or outputs.

    Args:
      scale: the factor.
      mode: what to divide by: ``"fan_in"``, ``"fan_out"``, ``"fan_avg"`` (their mean) or
        ``"fan_geo_avg"`` (their geometric mean).
      distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
      in_axis: the axes of the inputs.
      out_axis: the axes of the outputs.
      batch_axis: axes along which there are several layers.
      dtype: the dtype where the caller gives none.

    Raises:
      ValueError: (by the initializer) the mode or distribution is unknown, or the shape too short.

    >>> from jxkernel import random
    >>> from jxkernel.nn import initializers
    >>> init = initializers.variance_scaling(3.0, "fan_in", "uniform")
    >>> x = init(random.key(0), (100, 10))
    >>> x.shape, bool((abs(x) <= 0.3).all())
    ((100, 10), True)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        fans = _fans(shape, in_axis, out_axis, batch_axis)
        variance = scale / max(1.0, _denominator(mode, *fans))
        return _scaled_draw(key, shape, dtype, variance, distribution)

    return _initializer("variance_scaling", make, dtype)


_FORM = """Return ``variance_scaling`` with scale {}, mode ``{}`` and distribution ``{}``.

Args and errors are those of ``variance_scaling``.

>>> from jxkernel import nn, random
>>> nn.initializers.{}()(random.key(0), (4, 2)).shape
(4, 2)
"""


def _constructor(
    name: str, scale: float, mode: str, distribution: str
) -> Callable[..., Initializer]:
    def constructor(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    constructor.__name__ = constructor.__qualname__ = name
    constructor.__doc__ = _FORM.format(scale, mode, distribution, name)
    return constructor


glorot_uniform = xavier_uniform = _constructor("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _constructor("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _constructor("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _constructor("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _constructor("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _constructor("he_normal", 2.0, "fan_in", "truncated_normal")


# ---------------------------------------------------------------- orthogonal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """Return an initializer with orthonormal columns, or rows where there are fewer of these.

    Args:
      scale: the length of the columns.
      column_axis: the axis that counts the columns; all others together count the rows.
      dtype: the dtype where the caller gives none.

    Raises:
      ValueError: (by the initializer) the shape has fewer than two axes.

    >>> from jxkernel import nn, random
    >>> nn.initializers.orthogonal()(random.key(0), (3, 2)).shape
    (3, 2)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        if len(shape) < 2:
            raise ValueError(f"orthogonal needs a shape of two axes or more, got {shape}")
        sizes = list(shape)
        columns = sizes.pop(column_axis)
        drawn = random.orthogonal(key, prod(sizes), (), dtype, columns)
        drawn = moveaxis(reshape(drawn, (*sizes, columns)), -1, column_axis)
        return drawn * np.asarray(scale, dtype)

    return _initializer("orthogonal", make, dtype)


def delta_orthogonal(
    scale: Any = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Return an initializer of convolutions that keep lengths: orthogonal in the middle, else 0.

    Args:
      scale: the length of the rows.
      column_axis: as for ``orthogonal``.
      dtype: the dtype where the caller gives none.

    Raises:
      ValueError: (by the initializer) the shape is not (*window, inputs, outputs) with one to
        three window axes, or has more inputs than outputs.

    L. Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

    >>> from jxkernel import nn, random
    >>> nn.initializers.delta_orthogonal()(random.key(0), (3, 1, 1))[0, 0]
    Array([0.], dtype=float32)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal needs a shape of 3, 4 or 5 axes, got {shape}")
        if shape[-2] > shape[-1]:
            raise ValueError(
                f"delta_orthogonal got shape {shape}: there are at least as many outputs (the "
                "last axis) as inputs (the last but one)"
            )
        middle = tuple([(size - 1) // 2 for size in shape[:-2]])
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        return IndexUpdater(zeros_of(shape, dtype))[middle].set(matrix)

    return _initializer("delta_orthogonal", make, dtype)
