"""Ordinary differential equations: one method of an adaptive step, with derivatives.

The steps are those of J. Dormand and P. Prince, "A family of embedded Runge-Kutta formulae", 1980,
with their error; between steps the solution is a polynomial of degree 4 through its middle
(L. Shampine, "Some practical Runge-Kutta formulas", 1986).  Their size follows E. Hairer,
S. Norsett, G. Wanner, "Solving ordinary differential equations I", sections II.4.

The derivative is found by solving the adjoint equation backwards, so its memory does not grow with
the number of steps.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jxkernel import numpy as jnp
from jxkernel._reprs import with_type
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.api.control_flow.scanning import scan
from jxkernel.api.custom.closures import closure_convert
from jxkernel.api.custom.derivatives import custom_vjp
from jxkernel.api.derivatives.autodiff import vjp
from jxkernel.api.raveling import ravel_pytree
from jxkernel.api.vectorize import vmap
from jxkernel.tree import physical

__all__ = ["odeint"]

Function = Callable[..., Any]

_NODES = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
_WEIGHTS = [
    np.array([1 / 5]),
    np.array([3 / 40, 9 / 40]),
    np.array([44 / 45, -56 / 15, 32 / 9]),
    np.array([19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]),
    np.array([9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]),
    np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]),
]
_ERROR = np.array(
    [
        35 / 384 - 1951 / 21600,
        0,
        500 / 1113 - 22642 / 50085,
        125 / 192 - 451 / 720,
        -2187 / 6784 + 12231 / 42400,
        11 / 84 - 649 / 6300,
        -1 / 60,
    ]
)
_MIDDLE = 0.5 * np.array(
    [
        6025192743 / 30085553152,
        0,
        51252292925 / 65400821598,
        -2691868925 / 45128329728,
        187940372067 / 1594534317056,
        -1776094331 / 19743644256,
        11237099 / 235043384,
    ]
)


class _Control(NamedTuple):
    """How exact the steps are, how many there may be between two times, and how long one may be."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float


class _At(NamedTuple):
    """Where the solution has come to: its value, slope, time, the next step, and the last one.

    The last step began at ``start``; on it the solution is the polynomial ``curve`` of the part of
    it that has passed.
    """

    y: Any
    slope: Any
    t: Any
    step: Any
    start: Any
    curve: Any


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> Any:
    """Solve dy/dt = func(y, t, *args).

    Args:
      func: from a value, a time and ``args`` to the slope, a tree like ``y0``.
      y0: the value at ``t[0]``, an array or a tree of arrays of one floating dtype.
      t: the times at which the solution is wanted, in ascending order.
      *args: further arguments of ``func``, arrays or trees of arrays.
      rtol: how large the error of a step may be, relative to the value.
      atol: how large it may be in addition.
      mxstep: how many steps there may be between two times; the solution stops there.
      hmax: how long a step may be.

    Returns:
      the solution, a tree like ``y0`` whose arrays have a leading axis for the times.

    Raises:
      TypeError: an argument is no array.

    It has reverse derivatives by ``y0``, ``t``, ``args`` and by what ``func`` closes over.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental.ode import odeint
    >>> decay = odeint(lambda y, t, k: -k * y, 1.0, jnp.array([0.0, 1.0]), 2.0)
    >>> print(f"{decay[1]:.4f}")
    0.1353
    """
    for leaf in physical.leaves((y0, t, args)):
        if not isinstance(leaf, (jnp.ndarray, np.ndarray, np.generic, bool, int, float, complex)):
            raise TypeError(
                f"odeint takes arrays, or trees of them, as y0, t and args, got {with_type(leaf)}"
            )
    times = jnp.asarray(t)
    slope, constants = closure_convert(func, y0, times[0], *args)
    start, whole = ravel_pytree(y0)
    control = _Control(rtol, atol, mxstep, hmax)
    ys = _solution(slope, whole, control, start, times, (*args, *constants))
    return vmap(whole)(ys)


def _flat_slope(func: Function, whole: Function) -> Function:
    return lambda y, t, args: ravel_pytree(func(whole(y), t, *args))[0]


@partial(custom_vjp, nondiff_argnums=(0, 1, 2))
def _solution(
    func: Function, whole: Function, control: _Control, y0: Any, ts: Any, args: Any
) -> Any:
    slope = _flat_slope(func, whole)

    def f(y: Any, t: Any) -> Any:
        return slope(y, t, args)

    first = f(y0, ts[0])
    step = jnp.clip(_first_step(f, ts[0], y0, first, control), 0.0, control.hmax)
    curve = jnp.stack([y0] * 5)
    begin = _At(y0, first, ts[0], step.astype(ts.dtype), ts[0], curve)
    _, ys = scan(partial(_to_time, f, control), begin, ts[1:])
    return jnp.concatenate([y0[None], ys])


def _to_time(f: Function, control: _Control, at: _At, target: Any) -> tuple[_At, Any]:
    """Go on until a time is passed, and return the solution there."""

    def going(state: tuple[_At, Any]) -> Any:
        here, count = state
        return (here.t < target) & (count < control.mxstep) & (here.step > 0)

    def go(state: tuple[_At, Any]) -> tuple[_At, Any]:
        return _stepped(f, control, state[0]), state[1] + 1

    at, _ = while_loop(going, go, (at, 0))
    passed = (target - at.start) / (at.t - at.start)
    return at, jnp.polyval(at.curve, passed.astype(at.y.dtype))


def _stepped(f: Function, control: _Control, at: _At) -> _At:
    """Try one step: it counts if its error is small, and the next is as long as that allows."""
    y, slopes = _runge_kutta(f, at)
    error = at.step * jnp.tensordot(_like(_ERROR, y), slopes, 1)
    ratio = _root_mean_square(error / (control.atol + control.rtol * _larger(at.y, y)))
    good = ratio <= 1
    curve = _curve(at, y, slopes)
    least = jnp.where(ratio < 1, 1.0, 0.2)
    factor = jnp.where(ratio == 0, 10.0, jnp.clip(0.9 * ratio**-0.2, least, 10.0))
    step = jnp.clip(at.step * factor.astype(at.step.dtype), 0.0, control.hmax)
    done = _At(y, slopes[-1], at.t + at.step, step, at.t, curve)
    return physical.map(partial(jnp.where, good), done, at._replace(step=step))


def _runge_kutta(f: Function, at: _At) -> tuple[Any, Any]:
    slopes = [at.slope]
    y = at.y
    for node, weights in zip(_NODES[1:], _WEIGHTS, strict=True):
        y = at.y + at.step * jnp.tensordot(_like(weights, at.y), jnp.stack(slopes), 1)
        slopes.append(f(y, at.t + at.step * node))
    return y, jnp.stack(slopes)


def _curve(at: _At, y: Any, slopes: Any) -> Any:
    """Return the polynomial with the values and slopes at both ends, and the value amid them."""
    h, first, last = at.step, slopes[0], slopes[-1]
    middle = at.y + h * jnp.tensordot(_like(_MIDDLE, y), slopes, 1)
    return jnp.stack(
        [
            2 * h * (last - first) - 8 * (at.y + y) + 16 * middle,
            h * (5 * first - 3 * last) + 18 * at.y + 14 * y - 32 * middle,
            h * (last - 4 * first) - 11 * at.y - 5 * y + 16 * middle,
            h * first,
            at.y,
        ]
    )


def _first_step(f: Function, t: Any, y: Any, slope: Any, control: _Control) -> Any:
    """Return a step over which value and slope change by about a hundredth."""
    scale = control.atol + control.rtol * jnp.abs(y)
    value, speed = _root_mean_square(y / scale), _root_mean_square(slope / scale)
    unclear = (value < 1e-5) | (speed < 1e-5)
    guess = jnp.where(unclear, 1e-6, 0.01 * value / jnp.where(unclear, 1, speed))
    next_slope = f(y + guess * slope, t + guess)
    bend = _root_mean_square((next_slope - slope) / scale) / guess
    fastest = jnp.maximum(speed, bend)
    straight = fastest <= 1e-15
    wanted = (0.01 / jnp.where(straight, 1, fastest)) ** (1 / 5)
    return jnp.minimum(100 * guess, jnp.where(straight, jnp.maximum(1e-6, 1e-3 * guess), wanted))


def _like(numbers: Any, y: Any) -> Any:
    return jnp.asarray(numbers, jnp.real(y).dtype)


def _larger(x: Any, y: Any) -> Any:
    return jnp.maximum(jnp.abs(x), jnp.abs(y))


def _root_mean_square(x: Any) -> Any:
    return jnp.sqrt(jnp.mean(jnp.real(x) ** 2 + jnp.imag(x) ** 2))


# ---------------------------------------------------------------- the way back


def _solution_fwd(
    func: Function, whole: Function, control: _Control, y0: Any, ts: Any, args: Any
) -> tuple[Any, Any]:
    ys = _solution(func, whole, control, y0, ts, args)
    return ys, (ys, ts, args)


def _solution_bwd(
    func: Function, whole: Function, control: _Control, kept: Any, cts: Any
) -> tuple[Any, Any, Any]:
    """Solve for the cotangents backwards in time, which then runs as ``-t`` does forwards.

    Between two times d(ct)/dt = -ct df/dy, and the cotangent of ``args`` gathers ct df/dargs.
    """
    ys, ts, args = kept
    slope = _flat_slope(func, whole)
    floating, joined = _floating_leaves(args)

    def backwards(state: Any, minus_t: Any, parts: Any) -> Any:
        y, ct, _, _ = state
        f, pull = vjp(lambda y, t, parts: slope(y, t, joined(parts)), y, -minus_t, parts)
        ct_y, ct_t, ct_parts = pull(ct)
        return -f, ct_y, ct_t, ct_parts

    def between(carry: Any, span: Any) -> tuple[Any, Any]:
        ct, ct_start, ct_parts = carry
        y, t, t_before, ct_here, ct_before = span
        ct_time = jnp.real(jnp.vdot(jnp.conj(slope(y, t, args)), ct_here)).astype(ts.dtype)
        state = (y, ct, ct_start - ct_time, ct_parts)
        past = odeint(backwards, state, jnp.stack([-t, -t_before]), floating, **control._asdict())
        _, ct, ct_start, ct_parts = physical.map(lambda x: x[1], past)
        return (ct + ct_before, ct_start, ct_parts), ct_time

    begin = (cts[-1], jnp.zeros((), ts.dtype), physical.map(jnp.zeros_like, floating))
    spans = (ys[1:], ts[1:], ts[:-1], cts[1:], cts[:-1])
    (ct, ct_start, ct_parts), ct_times = scan(between, begin, spans, reverse=True)
    return ct, jnp.concatenate([ct_start[None], ct_times]), _cotangents(args, ct_parts)


def _floating_leaves(args: Any) -> tuple[list[Any], Function]:
    """Return the leaves that have derivatives, and what puts the arguments together of them."""
    leaves, structure = physical.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if _is_inexact(leaf)]

    def joined(parts: list[Any]) -> Any:
        named = dict(zip(places, parts, strict=True))
        return structure.unflatten([named.get(i, leaf) for i, leaf in enumerate(leaves)])

    return [jnp.asarray(leaves[i]) for i in places], joined


def _cotangents(args: Any, parts: list[Any]) -> Any:
    """Return cotangents like the arguments: None for those without derivatives."""
    remaining = iter(parts)
    return physical.map(lambda leaf: next(remaining) if _is_inexact(leaf) else None, args)


def _is_inexact(leaf: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


_solution.defvjp(_solution_fwd, _solution_bwd)
