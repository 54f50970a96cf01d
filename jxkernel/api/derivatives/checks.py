"""Derivatives compared with finite differences: ``check_grads``, ``check_jvp``, ``check_vjp``.

Forward derivatives are compared along a direction, chosen at random with a fixed seed.  Backward
ones by the identity that makes them transposes: the pairing of a cotangent with a pushed tangent
equals that of the pulled cotangent with the tangent.  The pairing is the real part of the sum of
products, without conjugation, which is what cotangents of complex numbers mean here; so it holds
for functions that are not holomorphic too.

Differences are central.  Their error is a sum of the curvature's part, about ``eps**2``, and
rounding's, about ``u / eps`` for the unit of rounding ``u``; at ``eps = u**(1/3)`` both are
``u**(2/3)``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.api.arguments import function_name, parameter_names
from jxkernel.api.derivatives.autodiff import jvp, vjp
from jxkernel.api.traced import check_callable, leaf_avals
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words
from jxkernel.core.filtering import filtered
from jxkernel.records import record
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["check_grads", "check_jvp", "check_vjp"]

Function = Callable[..., Any]


@filtered
def check_grads(
    f: Function,
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function, up to an order, against finite differences.

    Args:
      f: a function of arrays and pytrees of them.
      args: a tuple or list of its positional arguments: the point.
      order: up to which order; at each further one the derivative along a random direction, or
        for a random cotangent, is itself checked.
      modes: ``"fwd"``, ``"rev"`` or both.
      atol: the absolute tolerance; None for one that suits the least precise dtype involved.
      rtol: the relative tolerance; likewise.
      eps: the step of the differences; likewise.

    Raises:
      AssertionError: a derivative disagrees; the message names the argument and both values.
      TypeError: ``f`` is not callable, or ``args`` is no tuple or list.
      ValueError: ``order`` is less than one, or a mode has another name.

    Integer arguments are held fixed.  At a kink differences are the mean of both sides' slopes:
    another derivative there fails the check.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.test_util import check_grads
    >>> check_grads(lambda x: jnp.sin(x) * x, (0.5,), order=2)
    """
    check_callable("check_grads", "f", f)
    _check_args("check_grads", args)
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if order < 1:
        raise ValueError(f"check_grads got order={order}: it is a positive number")
    for mode in modes:
        if mode not in ("fwd", "rev"):
            raise ValueError(f"check_grads knows the modes 'fwd' and 'rev', got {mode!r}")
    _check_orders(f, tuple(args), 1, order, modes, (atol, rtol, eps), function_name(f))


def _check_orders(
    f: Function,
    args: tuple[Any, ...],
    order: int,
    last: int,
    modes: Sequence[str],
    options: tuple[float | None, float | None, float | None],
    name: str,
) -> None:
    random = np.random.default_rng(order)
    if "fwd" in modes:
        _check_forward(f, _push(f), args, _Check.of(f, args, options, name, random))
        if order < last:
            tangents = _directions(args, random)

            def along(*x: Any) -> Any:
                return jvp(f, x, tangents)

            what = f"the derivative of {name} along a direction"
            _check_orders(along, args, order + 1, last, modes, options, what)
    if "rev" in modes:
        _check_backward(f, _pull(f), args, _Check.of(f, args, options, name, random))
        if order < last:
            cotangent = _directions(f(*args), random)

            def pulled(*x: Any) -> Any:
                return [ct for ct in physical.leaves(vjp(f, *x)[1](cotangent)) if _moves(ct)]

            what = f"the cotangents of {name}"
            _check_orders(pulled, args, order + 1, last, modes, options, what)


def _push(f: Function) -> Function:
    return lambda primals, tangents: jvp(f, primals, tangents)


def _pull(f: Function) -> Function:
    return lambda *primals: vjp(f, *primals)


@filtered
def check_jvp(
    f: Function,
    f_jvp: Function,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a forward derivative against finite differences of the function.

    Args:
      f: a function of arrays and pytrees of them.
      f_jvp: from (primals, tangents), each a tuple, to (value, tangent of the value).
      args: a tuple or list of positional arguments: the point.
      atol: the absolute tolerance; None for one that suits the least precise dtype involved.
      rtol: the relative tolerance; likewise.
      eps: the step of the differences; likewise.
      err_msg: what the message of a failure begins with.

    Raises:
      AssertionError: value or derivative disagrees; the message names the argument and both
        values.
      TypeError: a function is not callable, or ``args`` is no tuple or list.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.test_util import check_jvp
    >>> check_jvp(jnp.sin, lambda x, t: (jnp.sin(x[0]), jnp.cos(x[0]) * t[0]), (0.5,))
    """
    check_callable("check_jvp", "f", f)
    check_callable("check_jvp", "f_jvp", f_jvp)
    _check_args("check_jvp", args)
    random = np.random.default_rng(1)
    check = _Check.of(f, args, (atol, rtol, eps), function_name(f), random, err_msg)
    _check_forward(f, f_jvp, tuple(args), check)


@filtered
def check_vjp(
    f: Function,
    f_vjp: Function,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a backward derivative against finite differences of the function.

    Args:
      f: a function of arrays and pytrees of them.
      f_vjp: from positional arguments to (value, pullback), as ``vjp`` returns.
      args: a tuple or list of positional arguments: the point.
      atol: the absolute tolerance; None for one that suits the least precise dtype involved.
      rtol: the relative tolerance; likewise.
      eps: the step of the differences; likewise.
      err_msg: what the message of a failure begins with.

    Raises:
      AssertionError: value or derivative disagrees; the message names the argument and both
        values.
      TypeError: a function is not callable, or ``args`` is no tuple or list.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.test_util import check_vjp
    >>> check_vjp(jnp.sin, lambda x: jx.vjp(jnp.sin, x), (0.5,))
    """
    check_callable("check_vjp", "f", f)
    check_callable("check_vjp", "f_vjp", f_vjp)
    _check_args("check_vjp", args)
    random = np.random.default_rng(1)
    check = _Check.of(f, args, (atol, rtol, eps), function_name(f), random, err_msg)
    _check_backward(f, f_vjp, tuple(args), check)


def _check_args(name: str, args: Any) -> None:
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"{name} takes args as a tuple or list, one entry per argument, got "
            f"{kind_in_words(args)}: write (x,) for one"
        )


# ---------------------------------------------------------------- the comparisons


@record()
class _Check:
    """What one check is made with.

    Attributes:
      name: what is checked, in words.
      names: a name for each leaf of the arguments.
      avals: the type of each leaf.
      atol: the absolute tolerance.
      rtol: the relative tolerance.
      eps: the step of the differences.
      random: where directions come from.
      opening: what a failure's message begins with.
    """

    name: str
    names: list[str]
    avals: list[ShapedArray]
    atol: float
    rtol: float
    eps: float
    random: np.random.Generator
    opening: str

    @staticmethod
    def of(
        f: Function,
        args: Sequence[Any],
        options: tuple[float | None, float | None, float | None],
        name: str,
        random: np.random.Generator,
        opening: str = "",
    ) -> "_Check":
        """Return the check of a function at a point, with what is None chosen by precision."""
        leaves, structure = physical.flatten(tuple(args))
        avals = leaf_avals("check_grads", "args", leaves, structure)
        unit = max([_unit(aval) for aval in avals] or [_unit(abstractify(1.0))])
        atol, rtol, eps = options
        # Sixty times what central differences of unit curvature are wrong by.
        tolerance = 60 * unit ** (2 / 3)
        return _Check(
            name,
            _leaf_names(f, structure),
            avals,
            tolerance if atol is None else atol,
            tolerance if rtol is None else rtol,
            unit ** (1 / 3) if eps is None else eps,
            random,
            f"{opening}: " if opening else "",
        )

    def agree(self, actual: Any, expected: Any, what: str) -> None:
        """Compare two arrays.

        Raises:
          AssertionError: they differ by more than the tolerances allow.
        """
        actual, expected = np.asarray(actual), np.asarray(expected)
        if actual.shape == expected.shape and self.near(actual, expected):
            return
        raise AssertionError(
            f"{self.opening}{self.name}: {what}: got {actual}, and finite differences give "
            f"{expected} (within atol={self.atol:.3g}, rtol={self.rtol:.3g})"
        )

    def near(self, actual: Any, expected: Any) -> bool:
        """Whether two arrays of one shape agree, by the magnitude of the whole array."""
        scale = np.max(np.abs(expected), initial=0.0)
        wide = np.complex128 if np.iscomplexobj(expected) else np.float64
        distance = np.abs(np.asarray(actual, wide) - np.asarray(expected, wide))
        return bool(np.all(distance <= self.atol + self.rtol * scale))


def _unit(aval: ShapedArray) -> float:
    inexact = dtypes.issubdtype(aval.dtype, np.inexact)
    return float(dtypes.finfo(aval.dtype).eps) if inexact else 0.0


def _leaf_names(f: Function, structure: Any) -> list[str]:
    known = parameter_names(f)
    names = []
    for path in physical.leaf_paths(structure):
        entry: Any = path[0]
        root = known[entry.idx] if entry.idx < len(known) else f"args[{entry.idx}]"
        names.append(root + tree.keystr(path[1:]))
    return names


def _moves(x: Any) -> bool:
    return dtypes.issubdtype(abstractify(x).dtype, np.inexact)


def _directions(values: Any, random: np.random.Generator) -> Any:
    """Return a random tangent (or cotangent) for each array; ``float0`` zeros for integers."""
    return physical.map(lambda x: _direction(abstractify(x), random), values)


def _direction(aval: ShapedArray, random: np.random.Generator) -> Any:
    if not dtypes.issubdtype(aval.dtype, np.inexact):
        return np.zeros(aval.shape, dtypes.float0)
    values: Any = random.standard_normal(aval.shape)
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        values = values + 1j * random.standard_normal(aval.shape)
    return np.asarray(values).astype(aval.dtype)


def _alone(tangents: Sequence[Any], place: int) -> list[Any]:
    """Return tangents of which all but one are zero."""
    return [t if i == place else np.zeros_like(t) for i, t in enumerate(tangents)]


def _differences(f: Function, args: Any, tangents: Any, eps: float) -> list[Any]:
    """Return the derivative of each result along a direction, by central differences."""

    def moved(x: Any, t: Any, step: float) -> Any:
        if not _moves(x):
            return x
        x = np.asarray(x)
        wide = x.astype(np.result_type(x.dtype, np.float64) if x.dtype.kind in "fc" else np.float64)
        return (wide + step * np.asarray(t).astype(wide.dtype)).astype(x.dtype)

    ahead, behind = (
        physical.leaves(f(*physical.map(lambda x, t, step=step: moved(x, t, step), args, tangents)))
        for step in (eps, -eps)
    )
    return [
        (_wide(a) - _wide(b)) / (2 * eps) if _moves(a) else None
        for a, b in zip(ahead, behind, strict=True)
    ]


def _wide(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _check_forward(f: Function, f_jvp: Function, args: tuple[Any, ...], check: _Check) -> None:
    tangents = _directions(args, check.random)
    value, moved = f_jvp(args, tangents)
    _check_value(f, args, value, check)
    if _first_wrong(f, args, moved, tangents, check) is None:
        return
    flat, structure = physical.flatten(tangents)
    for place, name in enumerate(check.names):
        if not _moves(flat[place]):
            continue
        alone = structure.unflatten(_alone(flat, place))
        moved = f_jvp(args, alone)[1]
        _raise_wrong(_first_wrong(f, args, moved, alone, check), f"argument {name}", check)
    every = f_jvp(args, tangents)[1]
    _raise_wrong(_first_wrong(f, args, every, tangents, check), "all arguments together", check)


def _raise_wrong(wrong: tuple[str, Any, Any] | None, moving: str, check: _Check) -> None:
    if wrong is not None:
        what = f"the forward derivative of result{wrong[0]} along {moving}"
        check.agree(wrong[1], wrong[2], what)


def _first_wrong(
    f: Function, args: tuple[Any, ...], moved: Any, tangents: Any, check: _Check
) -> tuple[str, Any, Any] | None:
    """Return path and both derivatives of the first result whose derivative is wrong."""
    leaves, structure = physical.flatten(moved)
    expected = _differences(f, args, tangents, check.eps)
    for path, got, wanted in zip(physical.leaf_paths(structure), leaves, expected, strict=True):
        if wanted is not None and not check.near(got, wanted):
            return tree.keystr(path), got, wanted
    return None


def _check_value(f: Function, args: tuple[Any, ...], value: Any, check: _Check) -> None:
    expected, structure = physical.flatten(f(*args))
    found, found_structure = physical.flatten(value)
    if structure != found_structure:
        raise AssertionError(
            f"{check.opening}{check.name}: the derivative's value has structure "
            f"{structure_text(found_structure)}, "
            f"and the function's {structure_text(structure)}"
        )
    for path, got, wanted in zip(physical.leaf_paths(structure), found, expected, strict=True):
        if not _moves(wanted) or check.near(got, np.asarray(wanted)):
            continue
        raise AssertionError(
            f"{check.opening}{check.name}: the value beside the derivative at "
            f"result{tree.keystr(path)} is {np.asarray(got)}, and the function's is "
            f"{np.asarray(wanted)}"
        )


def _check_backward(f: Function, f_vjp: Function, args: tuple[Any, ...], check: _Check) -> None:
    value, pullback = f_vjp(*args)
    _check_value(f, args, value, check)
    cotangent = _directions(value, check.random)
    pulled = physical.leaves(pullback(cotangent))
    if len(pulled) != len(check.names):
        raise AssertionError(
            f"{check.opening}{check.name}: the pullback gives {len(pulled)} cotangents for "
            f"{len(check.names)} arguments ({', '.join(check.names)})"
        )
    flat, structure = physical.flatten(_directions(args, check.random))
    for place, name in enumerate(check.names):
        if not _moves(flat[place]):
            continue
        alone = structure.unflatten(_alone(flat, place))
        moved = _differences(f, args, alone, check.eps)
        expected = _paired(physical.leaves(cotangent), moved)
        got = _paired([pulled[place]], [flat[place]])
        what = f"the backward derivative by argument {name} (cotangent paired with a direction)"
        check.agree(got, expected, what)


def _paired(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Return the real part of the sum of products of two lists of arrays; None for no tangent."""
    total = 0.0
    for a, b in zip(left, right, strict=True):
        if b is not None:
            total += float(np.sum(_wide(a) * _wide(b)).real)
    return np.float64(total)
