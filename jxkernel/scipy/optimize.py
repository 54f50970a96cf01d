"""Minimization of functions of a vector."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.control_flow.looping import fori_loop, while_loop
from jxkernel.api.derivatives.autodiff import value_and_grad
from jxkernel.core.filtering import filtered
from jxkernel.numpy.promotion import argument_aval, inexact_dtype
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.runtime import ArrayLike

__all__ = ["OptimizeResults", "minimize"]

_LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """What a minimization found.

    Attributes:
      x: the place, of the shape and dtype of ``x0``.
      success: whether the gradient there is small.
      status: 0 for success, 1 for too many iterations, and a line search without progress is 3 of
        BFGS, 5 of L-BFGS; of that 2 is for too many evaluations of the function, 3 for too many of
        the gradient, 4 for a decrease below ``ftol``.
      fun: the function's value.
      jac: its gradient.
      hess_inv: the approximation of the inverse second derivative, where the method keeps one.
      nfev: how often the function was evaluated.
      njev: how often its gradient was.
      nit: how many iterations were made.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


# ---------------------------------------------------------------- along a line

_SUFFICIENT, _CURVATURE = 1e-4, 0.9


class _Search(NamedTuple):
    """A search along a line: the interval, the next step, and the best point seen."""

    low: Any
    f_low: Any
    rate_low: Any
    high: Any
    f_high: Any
    step: Any
    kept: Any
    f: Any
    g: Any
    done: Any
    count: Any


def _line_search(
    function: Callable[..., Any], x: Any, f: Any, g: Any, direction: Any, limit: int
) -> _Search:
    """Find a step that meets the strong Wolfe conditions, by doubling and then interpolation.

    The interval [low, high] is kept such that low meets the first condition with the lesser value
    (algorithms 3.5 and 3.6, the trial being that of ``_between``, or twice low while high is
    infinite).
    """
    slope = direction @ g
    # Rounding hides decreases smaller than this.
    noise = 4 * float(dtypes.finfo(x.dtype).eps) * abs(f)

    def goes_on(state: _Search) -> Any:
        return ~state.done & (state.count < limit)

    def attempt(state: _Search) -> _Search:
        value, gradient = function(x + state.step * direction)
        rate = direction @ gradient
        enough = value <= f + _SUFFICIENT * state.step * slope + noise
        too_far = ~enough | (value > state.f_low + noise) | ~jnp.isfinite(value)
        done = ~too_far & (abs(rate) <= -_CURVATURE * slope)
        turned = too_far | (rate >= 0)
        high = jnp.where(turned, state.step, state.high)
        f_high = jnp.where(turned, value, state.f_high)
        low = jnp.where(turned, state.low, state.step)
        f_low = jnp.where(turned, state.f_low, value)
        rate_low = jnp.where(turned, state.rate_low, rate)
        inner = _between(low, f_low, rate_low, high, f_high)
        better = done | (value < state.f)
        return _Search(
            low=low,
            f_low=f_low,
            rate_low=rate_low,
            high=high,
            f_high=f_high,
            step=jnp.where(jnp.isinf(high), 2 * state.step, inner),
            kept=jnp.where(better, state.step, state.kept),
            f=jnp.where(better, value, state.f),
            g=jnp.where(better, gradient, state.g),
            done=done,
            count=state.count + 1,
        )

    zero = jnp.zeros_like(f)
    never, none = jnp.zeros((), bool), jnp.zeros((), np.int32)
    far = zero + np.inf
    first = _Search(zero, f, slope, far, far, zero + 1, zero, f, g, never, none)
    return while_loop(goes_on, attempt, first)


def _between(low: Any, f_low: Any, rate_low: Any, high: Any, f_high: Any) -> Any:
    """Return where the parabola through both ends, with the slope at the first, is least (3.57).

    It is kept from the ends; where there is no such parabola, it is the middle.
    """
    width = high - low
    bend = f_high - f_low - rate_low * width
    open_upwards = (bend > 0) & (bend < np.inf)
    share = -0.5 * rate_low * width / jnp.where(open_upwards, bend, 1)
    return low + jnp.where(open_upwards, jnp.clip(share, 0.01, 0.9), 0.5) * width


# ---------------------------------------------------------------- descent


class _Descent(NamedTuple):
    """A minimization on its way; ``memory`` is what the method remembers."""

    x: Any
    f: Any
    g: Any
    memory: Any
    iterations: Any
    evaluations: Any
    stuck: Any
    slow: Any


class _Method(NamedTuple):
    """How a method chooses directions: from memory and gradient, and what it remembers."""

    start: Callable[[Any], Any]
    direction: Callable[[Any, Any], Any]
    remember: Callable[[Any, Any, Any], Any]


def _descend(
    function: Callable[..., Any], x: Any, method: _Method, options: Mapping[str, Any]
) -> tuple[_Descent, Any]:
    """Step along the method's directions until the gradient is small; return whether it is."""

    def small(g: Any) -> Any:
        return jnp.linalg.norm(g, options["norm"]) <= options["gtol"]

    most = jnp.minimum(options["maxfun"], options["maxgrad"])

    def goes_on(state: _Descent) -> Any:
        goes = ~small(state.g) & ~state.stuck & ~state.slow
        return goes & (state.iterations < options["maxiter"]) & (state.evaluations < most)

    def step(state: _Descent) -> _Descent:
        direction = method.direction(state.memory, state.g)
        # Where memory gives no descent, the steepest one is taken.
        direction = jnp.where(direction @ state.g < 0, direction, -state.g)
        found = _line_search(
            function, state.x, state.f, state.g, direction, options["line_search_maxiter"]
        )
        moved = found.kept * direction
        change, decrease = found.g - state.g, state.f - found.f
        return _Descent(
            state.x + moved,
            found.f,
            found.g,
            method.remember(state.memory, moved, change),
            state.iterations + 1,
            state.evaluations + found.count,
            found.kept == 0,
            decrease <= options["ftol"] * jnp.maximum(jnp.maximum(abs(state.f), abs(found.f)), 1),
        )

    f, g = function(x)
    one = jnp.ones((), np.int32)
    start = _Descent(x, f, g, method.start(x), one - 1, one, ~jnp.isfinite(f), one < 1)
    last = while_loop(goes_on, step, start)
    return last, small(last.g)


def _full() -> _Method:
    """Return BFGS, which remembers the inverse second derivative (6.17)."""

    def remember(inverse: Any, moved: Any, change: Any) -> Any:
        product = moved @ change
        usable = product > 0
        rho = 1 / jnp.where(usable, product, 1)
        eye = jnp.eye(moved.size, dtype=moved.dtype)
        left = eye - rho * jnp.outer(moved, change)
        updated = left @ inverse @ left.T + rho * jnp.outer(moved, moved)
        return jnp.where(usable, updated, inverse)

    return _Method(
        lambda x: jnp.eye(x.size, dtype=x.dtype), lambda inverse, g: -inverse @ g, remember
    )


def _limited(count: int) -> _Method:
    """Return L-BFGS, which remembers the last steps and changes of the gradient (7.4, 7.5)."""

    def start(x: Any) -> Any:
        rows = jnp.zeros((count, x.size), x.dtype)
        return rows, rows, jnp.zeros(count, x.dtype)

    def direction(memory: Any, g: Any) -> Any:
        steps, changes, rhos = memory

        def backward(i: Any, state: Any) -> Any:
            q, shares = state
            place = count - 1 - i
            share = rhos[place] * (steps[place] @ q)
            return q - share * changes[place], shares.at[place].set(share)

        q, shares = fori_loop(0, count, backward, (g, jnp.zeros(count, g.dtype)))
        squares = changes[-1] @ changes[-1]
        known = squares > 0
        scale = jnp.where(known, (steps[-1] @ changes[-1]) / jnp.where(known, squares, 1), 1)

        def forward(i: Any, r: Any) -> Any:
            return r + steps[i] * (shares[i] - rhos[i] * (changes[i] @ r))

        return -fori_loop(0, count, forward, scale * q)

    def remember(memory: Any, moved: Any, change: Any) -> Any:
        product = moved @ change
        usable = product > 0
        new = (moved, change, 1 / jnp.where(usable, product, 1))
        return tuple(
            jnp.where(usable, jnp.concatenate([old[1:], item[None]]), old)
            for old, item in zip(memory, new, strict=True)
        )

    return _Method(start, direction, remember)


_DEFAULTS: dict[str, dict[str, Any]] = {
    "bfgs": {"maxiter": None, "norm": np.inf, "gtol": 1e-5, "line_search_maxiter": 10},
    _LBFGS: {
        "maxiter": None,
        "norm": np.inf,
        "gtol": 1e-5,
        "maxcor": 10,
        "maxls": 20,
        "ftol": None,
        "maxfun": None,
        "maxgrad": None,
    },
}


def _options(method: str, size: int, tol: float | None, given: Mapping[str, Any] | None) -> Any:
    """Return a method's options, those given in place of the usual ones.

    Raises:
      ValueError: there is no such method.
      TypeError: it has no such option.
    """
    known = _DEFAULTS.get(method.lower())
    if known is None:
        raise ValueError(f"minimize got method={method!r}: there are 'BFGS' and {_LBFGS!r}")
    for name in given or {}:
        if name not in known:
            raise TypeError(f"minimize({method!r}) has no option {name!r}: {', '.join(known)}")
    options = {**known, **(given or {})}
    if tol is not None and "gtol" not in (given or {}):
        options["gtol"] = tol
    if options["maxiter"] is None:
        options["maxiter"] = size * 200
    options.setdefault("line_search_maxiter", options.get("maxls"))
    endless = int(np.iinfo(np.int32).max)
    for name, none in (("maxfun", endless), ("maxgrad", endless), ("ftol", -np.inf)):
        if options.get(name) is None:
            options[name] = none
    return options


def _status(last: _Descent, success: Any, full: bool, options: Mapping[str, Any]) -> Any:
    """Return the number that says why a minimization ended; see ``OptimizeResults``."""
    if full:
        return jnp.where(success, 0, jnp.where(last.stuck, 3, 1))
    ends = (
        (success, 0),
        (last.stuck, 5),
        (last.slow, 4),
        (last.evaluations >= options["maxfun"], 2),
        (last.evaluations >= options["maxgrad"], 3),
    )
    return jnp.select([end for end, _ in ends], [number for _, number in ends], 1)


def _identity(x: Any) -> Any:
    return x


def _joined(parts: Any) -> Any:
    """Return the complex vector of which the real parts, then the imaginary ones, are given."""
    half = parts.size // 2
    return with_parts(parts[:half], parts[half:])


@filtered
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Return a place where a function of a vector has a local minimum.

    Args:
      fun: a function of a vector (and ``args``) to a real scalar, differentiable.
      x0: the vector to start from, of shape (n,).  Of a complex one, real and imaginary parts are
        the variables: ``hess_inv`` is of both, one after the other.
      args: further arguments of ``fun``.
      method: ``"BFGS"``, or, remembering little, ``"l-bfgs-experimental-do-not-rely-on-this"``.
      tol: how small the gradient's norm must get, in place of the option ``gtol``.
      options: ``maxiter``, ``norm``, ``gtol`` and ``line_search_maxiter`` of BFGS; ``maxiter``,
        ``norm``, ``gtol``, ``maxcor`` (how many steps are remembered), ``maxls``, ``maxfun``,
        ``maxgrad`` and ``ftol`` (the least decrease, relative to values above 1) of L-BFGS.

    Raises:
      TypeError: ``args`` is no tuple, or there is no such option.
      ValueError: ``x0`` is no vector, or there is no such method.

    The result is computed by a loop of unknown length, so it has a derivative in forward mode
    alone, which is that of the steps; for the one of the minimum see ``lax.custom_root``.

    Source: J. Nocedal and S. Wright, "Numerical optimization", 2006: algorithms 6.1, 7.5, 3.5, 3.6.

    >>> import jxkernel as jx
    >>> found = jx.scipy.optimize.minimize(
    ...     lambda x: ((x - 1) ** 2).sum(), jx.numpy.zeros(2), method="BFGS"
    ... )
    >>> bool(found.success), found.x.round(3)
    (True, Array([1., 1.], dtype=float32))
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize takes args as a tuple, got {args!r:.60}: write ({args!r:.20},)")
    aval = argument_aval("minimize", x0, 1)
    if aval.ndim != 1:
        raise ValueError(f"minimize takes a vector x0, got shape {aval.shape}: flatten it")
    found = _options(method, aval.shape[0], tol, options)
    full = method.lower() == "bfgs"
    x = jnp.asarray(x0, inexact_dtype(aval.dtype))
    given: Callable[[Any], Any] = _identity
    if x.dtype in dtypes.COMPLEX:
        x, given = jnp.concatenate([x.real, x.imag]), _joined
    last, success = _descend(
        value_and_grad(lambda x: fun(given(x), *args)),
        x,
        _full() if full else _limited(found["maxcor"]),
        found,
    )
    status = _status(last, success, full, found)
    return OptimizeResults(
        given(last.x),
        success,
        status,
        last.f,
        jnp.conj(given(last.g)),
        last.memory if full else None,
        last.evaluations,
        last.evaluations,
        last.iterations,
    )
