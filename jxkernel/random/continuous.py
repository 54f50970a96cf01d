"""Continuous distributions that come from uniform or normal numbers by a formula.

All take a key, a shape (None for that of the parameters) and a floating dtype.  The results are
differentiable with respect to the parameters, the random numbers held fixed.
"""

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.config import high_dynamic_range_gumbel
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import canonical_shape, placed
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import broadcast_to_shape, cast
from jxkernel.primitives.elementwise.arithmetic import max, min
from jxkernel.primitives.elementwise.compare import le, lt
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.primitives.elementwise.complex import sign
from jxkernel.primitives.elementwise.exponential import exp, log, log1p
from jxkernel.primitives.elementwise.exponential import sqrt as root
from jxkernel.primitives.elementwise.rounding import nextafter
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.elementwise.special import erf, erf_inv
from jxkernel.primitives.elementwise.trigonometric import tan
from jxkernel.primitives.indexing.slicing import index_in_dim
from jxkernel.primitives.shape.broadcast import reduce_sum
from jxkernel.random.drawing import float_dtype, joint_shape, uniform_floats
from jxkernel.random.generators import GENERATORS
from jxkernel.random.keys import checked_key_data
from jxkernel.runtime import ArrayLike

__all__ = [
    "cauchy",
    "double_sided_maxwell",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "rayleigh",
    "triangular",
    "truncated_normal",
    "wald",
    "weibull_min",
]

Shape = tuple[int, ...]
_static = ("name", "shape", "dtype")


def several(key_data: Any, name: str, count: int = 2) -> list[Any]:
    """Return the key data of several keys made from those of one."""
    keys = GENERATORS[name].split(key_data, (count,))
    return [index_in_dim(keys, i, 0, keepdims=False) for i in range(count)]


def finely(name: str, mode: str | None) -> bool:
    """Return whether a mode asks for two draws of bits for each number; None is the configured one.

    Raises:
      ValueError: it is neither ``"low"``, ``"high"`` nor None.
    """
    if mode not in (None, "low", "high"):
        raise ValueError(f"random.{name} got mode={mode!r}: there are 'low' and 'high'")
    return mode == "high" or (mode is None and high_dynamic_range_gumbel.value)


def check_method(name: str, method: str) -> bool:
    """Return whether a method is the exact one.

    Raises:
      ValueError: it is neither ``"exact"`` nor ``"approximate"``.
    """
    if method not in ("exact", "approximate"):
        raise ValueError(f"random.{name} got method={method!r}: there are 'exact', 'approximate'")
    return method == "exact"


def toward(start: float, end: float, dtype: DTypeLike) -> Any:
    """Return the number of a dtype next to ``start`` in the direction of ``end``."""
    return np.nextafter(dtype.type(start), dtype.type(end), dtype=dtype)


# ---------------------------------------------------------------- normal


def normal_floats(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
    """Return standard normal numbers: √2 · erf⁻¹ of uniform ones in (-1, 1)."""
    numbers = uniform_floats(key_data, name, shape, dtype, toward(-1, 0, dtype), 1.0)
    return dtype.type(sqrt(2)) * erf_inv(numbers)


@fused(static=_static, name="normal")
def _normal(key_data: Any, name: str, shape: Shape, dtype: Any) -> Any:
    if dtype not in dtypes.COMPLEX:
        return normal_floats(key_data, name, shape, dtype)
    part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    first, second = (normal_floats(key, name, shape, part) for key in several(key_data, name))
    return with_parts(first, second) / dtype.type(part.type(sqrt(2)))


def normal(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the standard normal distribution.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: a floating dtype, or a complex one, for parts of variance one half.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is neither.

    >>> from jxkernel import random
    >>> random.normal(random.key(0), (3,)).shape
    (3,)
    """
    key_data, generator = checked_key_data("normal", key)
    if dtype is not None and dtype is not float and dtypes.as_dtype(dtype) in dtypes.COMPLEX:
        found = dtypes.check_and_canonicalize_user_dtype(dtype, "random.normal")
    else:
        found = float_dtype("normal", dtype)
    result = _normal(key_data, generator.name, canonical_shape(shape, "random.normal"), found)
    return placed("random.normal", result, None, out_sharding)


def _truncated(key_data: Any, name: str, shape: Shape, dtype: Any, lower: Any, upper: Any) -> Any:
    """Draw between the two bounds' places in the distribution, and keep rounding inside."""
    scale = dtype.type(sqrt(2))
    places = uniform_floats(key_data, name, shape, dtype, erf(lower / scale), erf(upper / scale))
    inside = max(scale * erf_inv(places), nextafter(lower, dtype.type(np.inf)))
    return min(inside, nextafter(upper, dtype.type(-np.inf)))


# ---------------------------------------------------------------- the form of the others


_PLAIN = """
Args:
  key: a key.
  shape: the result's shape.
  dtype: a floating dtype; the default one where not given.
  out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

>>> from jxkernel import random
>>> random.{0}(random.key(0), (3,)).shape
(3,)
"""
"""How the docstring of a distribution without parameters goes on."""


def _without_parameters(name: str, transform: Callable[[Any], Any], low: Any, doc: str) -> Any:
    """Return a distribution made of uniform numbers in [low(dtype), 1) by a formula."""

    @fused(static=_static, name=name)
    def drawn(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
        return transform(uniform_floats(key_data, name, shape, dtype, low(dtype), 1.0))

    def distribution(
        key: Any,
        shape: int | Sequence[int] = (),
        dtype: DTypeLike = None,
        *,
        out_sharding: Any = None,
    ) -> Any:
        key_data, generator = checked_key_data(name, key)
        sizes = canonical_shape(shape, f"random.{name}")
        result = drawn(key_data, generator.name, sizes, float_dtype(name, dtype))
        return placed(f"random.{name}", result, None, out_sharding)

    distribution.__name__ = distribution.__qualname__ = name
    distribution.__doc__ = f"{doc}\n{_PLAIN.format(name)}"
    return distribution


def drawing_with(name: str, draw: Callable[..., Any], methods: bool = False) -> Callable[..., Any]:
    """Return a function that draws with parameters: (key, shape, dtype, *parameters).

    Args:
      name: the distribution's name.
      draw: from key data, generator name, shape, dtype, and the parameters in that dtype and shape.
      methods: whether ``draw`` also takes ``exact``, whether the method is the exact one.
    """

    @fused(static=(*_static, "options"), name=name)
    def drawn(
        key_data: Any,
        parameters: tuple[Any, ...],
        name: str,
        shape: Shape,
        dtype: DTypeLike,
        options: tuple[bool, ...],
    ) -> Any:
        spread = [broadcast_to_shape(cast(p, dtype), shape) for p in parameters]
        return draw(key_data, name, shape, dtype, *spread, *options)

    def checked(
        key: Any, shape: Any, dtype: DTypeLike, *parameters: Any, method: str = "exact"
    ) -> Any:
        options = (check_method(name, method),) if methods else ()
        key_data, generator = checked_key_data(name, key)
        found = float_dtype(name, dtype)
        sizes = joint_shape(name, shape, *parameters)
        return drawn(key_data, parameters, generator.name, sizes, found, options)

    return checked


def _zero(dtype: Any) -> float:
    return 0.0


def _least_normal(dtype: Any) -> Any:
    return dtypes.finfo(dtype).tiny


def standard_exponential(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
    """Return numbers of the exponential distribution of rate 1."""
    return -log1p(-uniform_floats(key_data, name, shape, dtype))


def standard_gumbel(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
    """Return numbers of the standard Gumbel distribution."""
    return -log(-log(uniform_floats(key_data, name, shape, dtype, _least_normal(dtype), 1.0)))


exponential = _without_parameters(
    "exponential",
    lambda u: -log1p(-u),
    _zero,
    "Return random numbers of the exponential distribution of rate 1.",
)
_gumbel = _without_parameters("gumbel", lambda u: -log(-log(u)), _least_normal, "")


def fine_gumbel(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
    """Return standard Gumbel numbers from two draws each: the greatest ones are resolved finely.

    A second uniform number fills the places below the first one's last.
    """
    pair = uniform_floats(key_data, name, (2, *shape), dtype)
    high, low = (index_in_dim(pair, i, 0, keepdims=False) for i in range(2))
    place = high + low * dtype.type(2.0 ** -dtypes.finfo(dtype).nmant)
    return -log(-log1p(-max(place, dtype.type(_least_normal(dtype)))))


_fine_gumbel = fused(static=_static, name="gumbel")(fine_gumbel)
laplace = _without_parameters(
    "laplace",
    lambda u: sign(u) * log1p(-abs(u)),
    lambda dtype: toward(-1, 0, dtype),
    "Return random numbers of the standard Laplace distribution, of density exp(-|x|) / 2.",
)
logistic = _without_parameters(
    "logistic",
    lambda u: log(u) - log1p(-u),
    _least_normal,
    "Return random numbers of the standard logistic distribution.",
)
cauchy = _without_parameters(
    "cauchy",
    lambda u: tan((u - 0.5) * pi),
    lambda dtype: dtypes.finfo(dtype).eps,
    "Return random numbers of the standard Cauchy distribution.",
)


def gumbel(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the standard Gumbel distribution.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: a floating dtype; the default one where not given.
      mode: ``"low"``, the default, for one word of bits each, or ``"high"`` for two, which resolve
        the upper tail finely.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: there is no such mode.

    >>> from jxkernel import random
    >>> random.gumbel(random.key(0), (2,), mode="high").shape
    (2,)
    """
    if not finely("gumbel", mode):
        return placed("random.gumbel", _gumbel(key, shape, dtype), None, out_sharding)
    key_data, generator = checked_key_data("gumbel", key)
    found = float_dtype("gumbel", dtype)
    sizes = canonical_shape(shape, "random.gumbel")
    return placed(
        "random.gumbel", _fine_gumbel(key_data, generator.name, sizes, found), None, out_sharding
    )


# ---------------------------------------------------------------- with parameters


def _rayleigh(key_data: Any, name: str, shape: Shape, dtype: Any, scale: Any) -> Any:
    return scale * root(log(uniform_floats(key_data, name, shape, dtype)) * -2.0)


def _pareto(key_data: Any, name: str, shape: Shape, dtype: Any, b: Any) -> Any:
    return exp(standard_exponential(key_data, name, shape, dtype) / b)


def _weibull(
    key_data: Any, name: str, shape: Shape, dtype: Any, scale: Any, concentration: Any
) -> Any:
    return scale * standard_exponential(key_data, name, shape, dtype) ** (1.0 / concentration)


def _lognormal(key_data: Any, name: str, shape: Shape, dtype: Any, sigma: Any) -> Any:
    return exp(sigma * normal_floats(key_data, name, shape, dtype))


def standard_maxwell(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
    """Return the lengths of standard normal vectors of three components."""
    vectors = normal_floats(key_data, name, (*shape, 3), dtype)
    return root(reduce_sum(vectors * vectors, (len(shape),)))


def signs(key_data: Any, name: str, shape: Shape, dtype: DTypeLike) -> Any:
    """Return -1 or 1, each with probability one half: the same ones for each dtype."""
    chosen = lt(uniform_floats(key_data, name, shape, dtypes.default_float_dtype()), 0.5)
    return 2 * cast(chosen, dtype) - 1


def _double_maxwell(
    key_data: Any, name: str, shape: Shape, dtype: Any, loc: Any, scale: Any
) -> Any:
    first, second = several(key_data, name)
    lengths = standard_maxwell(first, name, shape, dtype)
    return signs(second, name, shape, dtype) * lengths * scale + loc


def _wald(key_data: Any, name: str, shape: Shape, dtype: Any, mean: Any) -> Any:
    """Draw the lesser root of the transformed quadratic, or the greater in its place.

    Source: J. Michael, W. Schucany, R. Haas, "Generating random variates using transformations
    with multiple roots", The American Statistician 30, 1976.
    """
    first, second = several(key_data, name)
    square = normal_floats(first, name, shape, dtype) ** 2
    place = uniform_floats(second, name, shape, dtype)
    spread = root(4 * mean * square + mean**2 * square**2)
    lesser = mean + mean**2 * square / 2 - mean / 2 * spread
    return select(le(place, mean / (mean + lesser)), lesser, mean**2 / lesser)


def _triangular(
    key_data: Any, name: str, shape: Shape, dtype: Any, left: Any, mode: Any, right: Any
) -> Any:
    place = uniform_floats(key_data, name, shape, dtype)
    width = right - left
    rising = left + root(place * width * (mode - left))
    falling = right - root((1 - place) * width * (right - mode))
    return select(lt(place, (mode - left) / width), rising, falling)


_draw_truncated = drawing_with("truncated_normal", _truncated)
_draw_rayleigh = drawing_with("rayleigh", _rayleigh)
_draw_pareto = drawing_with("pareto", _pareto)
_draw_weibull = drawing_with("weibull_min", _weibull)
_draw_lognormal = drawing_with("lognormal", _lognormal)
_draw_maxwell = drawing_with("maxwell", standard_maxwell)
_draw_double_maxwell = drawing_with("double_sided_maxwell", _double_maxwell)
_draw_wald = drawing_with("wald", _wald)
_draw_triangular = drawing_with("triangular", _triangular)


def truncated_normal(
    key: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return standard normal numbers on the condition that they lie between two bounds.

    Args:
      key: a key.
      lower: the lower bound, a number or array.
      upper: the upper bound; all results lie strictly between the two.
      shape: the result's shape; that of the bounds where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.truncated_normal(random.key(2), -1.0, 0.5, (100,))
    >>> bool((x > -1).all() and (x < 0.5).all())
    True
    """
    return placed(
        "random.truncated_normal",
        _draw_truncated(key, shape, dtype, lower, upper),
        None,
        out_sharding,
    )


def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Any:
    """Return random numbers of the Rayleigh distribution: lengths of normal vectors in a plane.

    Args:
      key: a key.
      scale: the standard deviation of the components.
      shape: the result's shape; that of ``scale`` where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.rayleigh(random.key(0), 2.0, (4,))
    >>> x.shape, bool((x > 0).all())
    ((4,), True)
    """
    return placed("random.rayleigh", _draw_rayleigh(key, shape, dtype, scale), None, out_sharding)


def pareto(
    key: Any, b: ArrayLike, shape: Any = None, dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Any:
    """Return random numbers of the Pareto distribution of density b / x^(b+1) for x ≥ 1.

    Args:
      key: a key.
      b: the exponent, positive.
      shape: the result's shape; that of ``b`` where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.pareto(random.key(0), 3.0, (4,))
    >>> x.shape, bool((x >= 1).all())
    ((4,), True)
    """
    return placed("random.pareto", _draw_pareto(key, shape, dtype, b), None, out_sharding)


def weibull_min(
    key: Any, scale: Any, concentration: ArrayLike, shape: Any = None, dtype: DTypeLike = None
) -> Any:
    """Return random numbers of the Weibull distribution.

    Args:
      key: a key.
      scale: the scale, positive.
      concentration: the exponent, positive.
      shape: the result's shape; that of the parameters where not given.
      dtype: a floating dtype.

    >>> from jxkernel import random
    >>> x = random.weibull_min(random.key(0), 2.0, 1.5, (4,))
    >>> x.shape, bool((x >= 0).all())
    ((4,), True)
    """
    return _draw_weibull(key, shape, dtype, scale, concentration)


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return exp of normal numbers of standard deviation ``sigma``.

    Args:
      key: a key.
      sigma: the standard deviation of the logarithm.
      shape: the result's shape; that of ``sigma`` where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.lognormal(random.key(0), 0.5, (4,))
    >>> x.shape, bool((x > 0).all())
    ((4,), True)
    """
    return placed("random.lognormal", _draw_lognormal(key, shape, dtype, sigma), None, out_sharding)


def maxwell(key: Any, shape: Any = (), dtype: DTypeLike = None, *, out_sharding: Any = None) -> Any:
    """Return lengths of standard normal vectors of three components.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.maxwell(random.key(0), (4,))
    >>> x.shape, bool((x > 0).all())
    ((4,), True)
    """
    return placed("random.maxwell", _draw_maxwell(key, shape, dtype), None, out_sharding)


def double_sided_maxwell(
    key: Any, loc: Any, scale: Any, shape: Any = None, dtype: DTypeLike = None
) -> Any:
    """Return ``loc`` plus or minus ``scale`` times numbers of ``maxwell``.

    Args:
      key: a key.
      loc: the centre.
      scale: the factor of the distances from it.
      shape: the result's shape; that of the parameters where not given.
      dtype: a floating dtype.

    Raises:
      ValueError: the dtype is not floating, or the parameters do not broadcast to the shape.

    >>> from jxkernel import random
    >>> random.double_sided_maxwell(random.key(1), 0.0, 2.0, (3,)).shape
    (3,)
    """
    return _draw_double_maxwell(key, shape, dtype, loc, scale)


def wald(
    key: Any,
    mean: ArrayLike,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the inverse Gaussian distribution of a mean and scale 1.

    Args:
      key: a key.
      mean: the mean, positive.
      shape: the result's shape; that of ``mean`` where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.wald(random.key(0), 1.5, (4,))
    >>> x.shape, bool((x > 0).all())
    ((4,), True)
    """
    return placed("random.wald", _draw_wald(key, shape, dtype, mean), None, out_sharding)


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random numbers whose density rises from ``left`` to ``mode`` and falls to ``right``.

    Args:
      key: a key.
      left: the least value.
      mode: the most frequent one.
      right: the greatest.
      shape: the result's shape; that of the parameters where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.triangular(random.key(0), 1.0, 2.0, 4.0, (5,))
    >>> bool((x >= 1).all() and (x <= 4).all())
    True
    """
    return placed(
        "random.triangular",
        _draw_triangular(key, shape, dtype, left, mode, right),
        None,
        out_sharding,
    )
