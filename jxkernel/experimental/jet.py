"""Higher derivatives along a path: the Taylor series of a function of a series.

Each order is the derivative of the one before it along the path, so every function that can be
differentiated forwards has its series, with the cost of as many ``jvp`` inside each other: it
doubles with each order.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import factorial
from operator import mul
from typing import Any

from jxkernel.api.arguments import function_name
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.api.traced import check_function
from jxkernel.core.avals import abstractify
from jxkernel.core.filtering import filtered
from jxkernel.numpy.creation import asarray
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["jet"]


@filtered
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return a function's value and the higher derivatives of it along a path.

    Args:
      fun: the function.
      primals: a tuple or list, one tree of arrays per positional argument: the point.
      series: for each argument a list of its first, second ... derivative by the path's parameter,
        each of the argument's structure, shapes and dtypes.  All lists have one length, n.
      factorial_scaled: whether ``series``, and the result, have derivatives; if not, Taylor
        coefficients: the k-th derivative divided by k!.

    Returns:
      (value, list of its n derivatives along the path).

    Raises:
      ValueError: the lists are of several lengths or there is not one per argument, or a
        derivative has not the structure or shape of its argument.

    The cost doubles with each order.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental.jet import jet
    >>> y, (first, second) = jet(lambda x: x**3, (2.0,), ((1.0, 0.0),))
    >>> float(y), float(first), float(second)
    (8.0, 12.0, 12.0)
    """
    check_function("jet", fun)
    flat, in_tree = physical.flatten(tuple(primals))
    coefficients = _coefficients(function_name(fun), primals, series)
    order = len(coefficients[0]) if coefficients else 0
    if not factorial_scaled:
        coefficients = [_scaled(given, factorial) for given in coefficients]

    def along(t: Any) -> list[Any]:
        leaves = [_path(t, x, *given) for x, given in zip(flat, coefficients, strict=True)]
        return [fun(*in_tree.unflatten(leaves))]

    value, *terms = reduce(lambda path, _: _with_derivative(path), range(order), along)(0.0)
    if not factorial_scaled:
        terms = _scaled(terms, lambda k: 1 / factorial(k))
    return value, terms


@custom_jvp
def _path(t: Any, *terms: Any) -> Any:
    """Return the first term: a value on the path, whose derivative by ``t`` is the next."""
    return terms[0]


@_path.defjvp
def _path_jvp(primals: Any, tangents: Any) -> Any:
    t, *terms = primals
    moved, own, *_ = tangents
    # Transforms around this one have derivatives of their own by t, so it is a path again.
    here = _path(t, *terms)
    if len(terms) == 1:
        return here, own
    ahead = _path(t, *terms[1:])
    return here, own + _converted(moved * ahead, ahead)


def _with_derivative(function: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    def longer(t: Any) -> list[Any]:
        found, moved = jvp(function, (t,), (1.0,))
        return [*found, moved[-1]]

    return longer


def _scaled(terms: Sequence[Any], factor: Callable[[int], float]) -> list[Any]:
    return [physical.map(partial(mul, factor(k)), term) for k, term in enumerate(terms, 1)]


def _coefficients(name: str, primals: Sequence[Any], series: Sequence[Any]) -> list[list[Any]]:
    """Return, for each leaf of the arguments, its derivatives along the path."""
    if len(primals) != len(series):
        raise ValueError(
            f"jet of {name} needs a list of derivatives per argument, got {len(series)} for "
            f"{len(primals)}"
        )
    orders = {len(terms) for terms in series}
    if len(orders) > 1:
        raise ValueError(
            f"jet of {name} needs as many derivatives of each argument, got {sorted(orders)}: fill "
            "up with zeros"
        )
    found = []
    for position, (primal, terms) in enumerate(zip(primals, series, strict=True)):
        leaves, structure = physical.flatten(primal)
        given = [_term(name, position, structure, leaves, term) for term in terms]
        found += [list(of_leaf) for of_leaf in zip(*given, strict=True)] or [[]] * len(leaves)
    return found


def _term(name: str, position: int, structure: Any, leaves: list[Any], term: Any) -> list[Any]:
    """Return the leaves of a derivative of an argument, of the argument's types."""
    given, own = physical.flatten(term)
    shapes = [abstractify(leaf).shape for leaf in leaves]
    if own != structure or [abstractify(leaf).shape for leaf in given] != shapes:
        raise ValueError(
            f"jet of {name}: a derivative of argument {position} has not the argument's structure "
            f"and shapes, {structure_text(structure)} of {shapes}"
        )
    return [_converted(leaf, like) for leaf, like in zip(given, leaves, strict=True)]


def _converted(leaf: Any, like: Any) -> Any:
    dtype = abstractify(like).dtype
    return leaf if abstractify(leaf).dtype == dtype else asarray(leaf, dtype)
