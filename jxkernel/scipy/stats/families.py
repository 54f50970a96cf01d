"""What the distributions share: shift and scale, promotion, and the edges of the support.

A distribution is a few private functions of the standardized variable (x - loc) / scale; these
give them their public form.  A scale that is not positive gives NaN, and so does a NaN variable.
A density is 0 at an infinity, and flat.  Where a logarithm is -inf and steep, exp of it has no
slope that the chain rule could find: such densities are given themselves, and not by a logarithm.
Results of weakly typed operands are weakly typed as ``weakly`` says (see ``computed``): most where
the variable is a number, some always, those of ``ndtr`` and ``ndtri`` never.
"""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, ClassVar, TypeAlias

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.ufuncs import named
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.elementwise import computed

Weakness: TypeAlias = bool | tuple[int, ...]
"""The operands that are numbers where a result is weak, among x, loc, scale and the parameters."""

__all__ = [
    "Continuous",
    "Discrete",
    "between_ends",
    "capped_exp",
    "density",
    "log1p_square",
    "log_of_rest",
    "log_probability",
    "whole",
]


def _standardized(
    name: str,
    function: Callable[..., Any],
    finish: Callable[..., Any],
    args: tuple[Any, ...],
    loc: ArrayLike,
    scale: ArrayLike,
    weakly: Weakness,
) -> Any:
    x, *parameters = args

    def compute(x: Any, loc: Any, scale: Any, *parameters: Any) -> Any:
        z = (x - loc) / scale
        value = finish(function(z, *parameters), scale)
        return jnp.where(scale > 0, _of_numbers(value, z, *parameters), np.nan)

    return computed(name, compute, x, loc, scale, *parameters, weakly=weakly)


def _of_numbers(value: ArrayLike, *args: Any) -> Any:
    """Return a value, which is NaN, and so are its slopes, where an argument is no number."""
    total = sum(args[1:], args[0])
    unknown = jnp.any(jnp.stack([jnp.isnan(x) for x in args]), axis=0)
    return jnp.where(unknown, total * jnp.where(unknown, np.nan, 0), value)


def log_density(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return a standard logarithmic density at (x - loc)/scale, less log(scale)."""
    return _standardized(name, function, lambda y, s: y - jnp.log(s), args, loc, scale, weakly)


def density(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return the density whose standard logarithm is given, which is 0 at infinities."""

    def vanishing(z: Any, *parameters: Any) -> Any:
        endless = jnp.isinf(z)
        value = jnp.exp(function(jnp.where(endless, 1, z), *parameters))
        return jnp.where(endless & ~jnp.isnan(value), 0, value)

    return linear_density(name, vanishing, *args, loc=loc, scale=scale, weakly=weakly)


def linear_density(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return the density whose standard form is given."""
    return _standardized(name, function, lambda y, s: y / s, args, loc, scale, weakly)


def at_standard(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return a function of (x - loc)/scale that the scale does not change further."""
    return _standardized(name, function, lambda y, s: y, args, loc, scale, weakly)


def quantiles(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return loc + scale · function(q), NaN where q is no probability."""
    q, *parameters = args

    def compute(q: Any, loc: Any, scale: Any, *parameters: Any) -> Any:
        valid = (q >= 0) & (q <= 1) & (scale > 0)
        value = function(jnp.where(valid, q, 0.5), *parameters)
        located = jnp.where(valid, loc + scale * value, np.nan)
        return _of_numbers(located, q, loc, scale, *parameters)

    return computed(name, compute, q, loc, scale, *parameters, weakly=weakly)


def shifted(
    name: str,
    function: Callable[..., Any],
    k: ArrayLike,
    *parameters: Any,
    loc: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return a function of k - loc."""

    def compute(k: Any, loc: Any, *parameters: Any) -> Any:
        return _of_numbers(function(k - loc, *parameters), k - loc, *parameters)

    return computed(name, compute, k, loc, *parameters, weakly=weakly)


def probabilities(
    name: str,
    function: Callable[..., Any],
    k: ArrayLike,
    *parameters: Any,
    loc: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return the probabilities at k - loc whose logarithms are given."""

    def compute(k: Any, loc: Any, *parameters: Any) -> Any:
        value = jnp.exp(function(k - loc, *parameters))
        return _of_numbers(value, k - loc, *parameters)

    return computed(name, compute, k, loc, *parameters, weakly=weakly)


def whole(k: ArrayLike) -> Any:
    """Return where a number is whole."""
    return k == jnp.floor(k)


def between_ends(function: Callable[..., Any], a: Any, z: Any, low: float, high: float) -> Any:
    """Return function(a, z) for 0 < z < ∞, and its limits where z lies beyond.

    There the function's derivative may be infinite, so it is not applied.
    """
    inside = (z > 0) & (z < np.inf)
    value = function(a, jnp.where(inside, z, 1))
    value = jnp.where(inside, value, jnp.where(z > 0, high, low))
    return jnp.where(a > 0, value, np.nan)


def log_of_rest(log_p: Any) -> Any:
    """Return log(1 - exp(log_p)) for log_p ≤ 0.

    Source: M. Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    near = log_p > -0.6931471805599453
    small = jnp.where(near, log_p, -1)
    large = jnp.where(near, -1, log_p)
    return jnp.where(near, jnp.log(-jnp.expm1(small)), jnp.log1p(-jnp.exp(large)))


def log1p_square(z: Any, over: Any) -> Any:
    """Return log(1 + z²/over), also where the square is beyond the dtype."""
    far = z * z / over == np.inf
    near = jnp.where(far, 0, z)
    beyond = 2 * jnp.log(jnp.where(far, abs(z), 1)) - jnp.log(over)
    return jnp.where(far, beyond, jnp.log1p(near * near / over))


def capped_exp(y: Any) -> Any:
    """Return exp(y), and a large number where that is beyond the dtype: times 0 it is 0."""
    return jnp.exp(jnp.minimum(y, 0.99 * float(np.log(dtypes.finfo(y.dtype).max))))


def log_probability(p: ArrayLike) -> Any:
    """Return log(p), and at 0 one without a derivative."""
    never = p == 0
    return jnp.where(never, -np.inf, jnp.log(jnp.where(never, 1, p)))


_UNSHIFTED = {"loc": 0, "scale": 1}
_EVALUATED = ("x", "where to evaluate it.")
_COUNTED = ("k", "where to evaluate it: whole numbers, others have no weight.")
_PROBABILITY = ("q", "probabilities; NaN results outside [0, 1].")
_RESULT = """The result has the shape of the arguments, broadcast, and their floating dtype.

Where an argument is NaN it is NaN, and so are its slopes; at ends of the support slopes are limits
from within, and 0 beyond it.

Raises:
  TypeError: an argument is complex, or no array and no number.
  ShapeMismatchError: the shapes do not broadcast."""
_DOCUMENTED = {"loc": "the shift.", "scale": "the scale, positive."}


class _Distribution:
    """A distribution, whose formulas in the standard variable become its public functions.

    Args:
      name: the name of its module.
      title: what it is called.
      **parameters: for each parameter, in order, what it is.
    """

    functions: ClassVar[dict[str, tuple[Callable[..., Any], tuple[str, str], str]]]
    """Of each function: what makes it of a formula, its variable, and its first sentence."""

    linear: ClassVar[Callable[..., Any]]
    """What makes a density of a formula that gives it, not its logarithm."""

    located: tuple[str, ...]
    """What shifts and scales the variable."""

    def __init__(self, name: str, title: str, **parameters: str) -> None:
        self.name = name
        self.title = title
        self.parameters = parameters

    def __call__(
        self,
        function: str,
        formula: Callable[..., Any],
        *,
        at: str,
        shows: str,
        note: str = "",
        weakly: Weakness = (0,),
        located: tuple[str, ...] | None = None,
        variable: str = "",
        linear: bool = False,
    ) -> Any:
        """Return a public function.

        Args:
          function: its name, such as ``pdf``.
          formula: what it computes, of the standard variable and the parameters; for a density
            the logarithm of that, where it is not ``linear``.
          at: the arguments of its example.
          shows: what an interpreter shows of the example.
          note: a sentence of its docstring.
          weakly: see ``Weakness``.
          located: what shifts and scales the variable, where that is not all.
          variable: its name, where it is another.
          linear: whether the formula gives a density itself.
        """
        finish, (usual, meaning), summary = self.functions[function]
        finish = type(self).linear if linear else finish
        variable = variable or usual
        located = self.located if located is None else located
        shifts = {name: _UNSHIFTED[name] for name in self.located}
        signature = _signature((variable, *self.parameters), located)
        label = f"{self.name}.{function}"

        def body(*args: Any, **kwargs: Any) -> Any:
            try:
                values = signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise TypeError(f"{label}: {error}") from None
            given = {name: values.pop(name, shift) for name, shift in shifts.items()}
            return finish(label, formula, *values.values(), **given, weakly=weakly)

        meanings = {variable: meaning, **self.parameters, **{n: _DOCUMENTED[n] for n in located}}
        arguments = "\n".join([f"  {name}: {text}" for name, text in meanings.items()])
        module = f"jxkernel.scipy.stats.{self.name}"
        example = (
            f">>> from jxkernel.scipy.stats import {self.name}\n>>> {label}({at}).round(4)\n{shows}"
        )
        first = (summary.format(self.title), f"Args:\n{arguments}")
        parts = [*first, *([note] if note else ()), _RESULT]
        public = named(body, function, "\n\n".join([*parts, f"{example}\n"]), module)
        public.__signature__ = signature  # type: ignore[attr-defined]  # functions may have one
        return fused(public)


def _signature(required: tuple[str, ...], located: tuple[str, ...]) -> Signature:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter(name, kind, annotation=Any) for name in required]
    parameters += [
        Parameter(name, kind, default=_UNSHIFTED[name], annotation=Any) for name in located
    ]
    return Signature(parameters, return_annotation=Any)


class Continuous(_Distribution):
    """A distribution of real numbers: formulas of (x - loc)/scale, and quantiles of q."""

    located = ("loc", "scale")
    linear = staticmethod(linear_density)
    functions: ClassVar = {
        "pdf": (density, _EVALUATED, "Return the density of {}."),
        "logpdf": (log_density, _EVALUATED, "Return the logarithm of the density of {}."),
        "cdf": (at_standard, _EVALUATED, "Return the distribution function of {}."),
        "logcdf": (
            *(at_standard, _EVALUATED),
            "Return the logarithm of the distribution function of {}.",
        ),
        "sf": (at_standard, _EVALUATED, "Return the survival function of {}."),
        "logsf": (
            *(at_standard, _EVALUATED),
            "Return the logarithm of the survival function of {}.",
        ),
        "ppf": (quantiles, _PROBABILITY, "Return the quantiles of {}."),
        "isf": (quantiles, _PROBABILITY, "Return where the survival function of {} is q."),
    }


class Discrete(_Distribution):
    """A distribution of whole numbers: formulas of k - loc."""

    located = ("loc",)
    linear = staticmethod(shifted)
    functions: ClassVar = {
        "pmf": (probabilities, _COUNTED, "Return the probabilities of {}."),
        "logpmf": (shifted, _COUNTED, "Return the logarithms of the probabilities of {}."),
        "cdf": (shifted, _COUNTED, "Return the distribution function of {}."),
        "sf": (shifted, _COUNTED, "Return the survival function of {}."),
        "ppf": (shifted, _PROBABILITY, "Return the quantiles of {}."),
    }
