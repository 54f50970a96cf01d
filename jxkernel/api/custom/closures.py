"""Closures made explicit: ``closure_convert``, and ``custom_gradient``, whose rule is a closure."""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import tree
from jxkernel.api.arguments import function_name, named_like
from jxkernel.api.custom.derivatives import custom_vjp
from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.core.avals import abstractify, kind_in_words
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.trace import Tracer
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.custom_jvp import has_tangent
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["closure_convert", "custom_gradient"]


@filtered
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Turn a function that closes over values into one that takes them as arguments.

    A function with a rule of its own (``custom_vjp`` ...) has derivatives by its arguments alone.
    Where it takes a function of the user's that closes over what is differentiated, those values
    must be its arguments too.

    Args:
      fun: a function of positional arguments.
      *example_args: arguments, whose structure, shapes and dtypes all calls share.

    Returns:
      a function that takes such arguments and then the closed-over values, and the list of these:
      the traced real and complex arrays.  Others stay closed over.

    Raises:
      TypeError: ``fun`` is not callable, or an argument or result is no array; later, the
        converted function is called with others than the examples.

    >>> import jxkernel as jx
    >>> def f(y):
    ...     converted, values = jx.closure_convert(lambda x: x * y, 1.0)
    ...     return converted(2.0, *values)
    >>> float(jx.grad(f)(3.0))
    2.0
    """
    check_callable("closure_convert", "fun", fun)
    flat, in_tree = physical.flatten(example_args)
    name = function_name(fun)
    avals = leaf_avals(f"closure_convert of {name}", "example_args", flat, in_tree)
    traced = trace_function("closure_convert", fun, fun, in_tree, avals)
    closed = traced.closed
    lifted = [isinstance(c, Tracer) and has_tangent(c.aval) for c in closed.consts]
    values = [c for c, flag in zip(closed.consts, lifted, strict=True) if flag]
    count = len(in_tree.children())
    wanted = [(aval.shape, aval.dtype) for aval in avals]

    def converted(*args_and_values: Any) -> Any:
        """Apply the function to arguments and closed-over values."""
        leaves, structure = physical.flatten(args_and_values[:count])
        given = list(args_and_values[count:])
        found = [abstractify(leaf) for leaf in leaves]
        same = [(aval.shape, aval.dtype) for aval in found] == wanted
        if structure != in_tree or not same or len(given) != len(values):
            raise TypeError(
                f"the function that closure_convert made of {name} takes arguments like its "
                f"examples, {structure_text(in_tree)} of "
                f"{' '.join(aval.short() for aval in avals)}, and then "
                f"{len(values)} closed-over values; it got {structure_text(structure)} of "
                f"{' '.join(aval.short() for aval in found)}, and {len(given)} values"
            )
        rest = iter(given)
        consts = [next(rest) if f else c for c, f in zip(closed.consts, lifted, strict=True)]
        return traced.out_tree.unflatten(eval_jaxpr(closed.jaxpr, consts, *leaves))

    return named_like(converted, fun), values


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that returns, beside its value, how to pull a cotangent back.

    Args:
      fun: a function of positional arguments that returns ``(value, pullback)``.  ``pullback``
        takes a cotangent of the value and returns one cotangent per argument, as a tuple; for one
        argument it may return the cotangent itself.

    Returns:
      a function that returns the value alone, and whose derivative on the way back is
      ``pullback``, with what it closes over.  There is no forward derivative.

    Raises:
      TypeError: ``fun`` is not callable; later, it does not return such a pair.

    It is ``custom_vjp`` with rules in the shape of a closure.

    >>> import jxkernel as jx
    >>> @jx.custom_gradient
    ... def f(x):
    ...     return x * x, lambda ct: 10.0 * x * ct
    >>> float(f(3.0)), float(jx.grad(f)(3.0))
    (9.0, 30.0)
    """
    check_callable("custom_gradient", "fun", fun)

    def value(*args: Any) -> Any:
        return _pair(fun, args)[0]

    def there(*args: Any) -> tuple[Any, Any]:
        out, pullback = _pair(fun, args)
        leaves, out_tree = physical.flatten(out)
        avals = [abstractify(leaf).tangent() for leaf in leaves]
        smooth = [has_tangent(abstractify(leaf)) for leaf in leaves]
        one = len(args) == 1

        def pull(*given: Any) -> Any:
            rest = iter(given)
            cts = [
                next(rest) if flag else instantiate(Zero(aval))
                for aval, flag in zip(avals, smooth, strict=True)
            ]
            pulled = pullback(out_tree.unflatten(cts))
            return (pulled,) if one and not isinstance(pulled, (tuple, list)) else tuple(pulled)

        moving = [aval for aval, flag in zip(avals, smooth, strict=True) if flag]
        in_tree = physical.structure((0,) * len(moving))
        traced = trace_function("custom_gradient", pull, pull, in_tree, moving)
        way = _Pullback(traced.closed, traced.out_tree, smooth)
        return out, tree.Partial(way, *traced.closed.consts)

    def back(way: Any, ct: Any) -> Any:
        return way(ct)

    named_like(value, fun)
    custom = custom_vjp(value)
    custom.defvjp(there, back)

    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            return custom(*args, **kwargs)
        except Exception as error:
            hide_internal_frames(error)
            raise

    return named_like(with_gradient, fun)


class _Pullback:
    """A pullback as a program, of its constants and a cotangent."""

    __slots__ = ("_closed", "_out_tree", "_smooth")

    def __init__(self, closed: ClosedJaxpr, out_tree: Any, smooth: Sequence[bool]) -> None:
        self._closed = closed
        self._out_tree = out_tree
        self._smooth = smooth

    def __call__(self, *consts_and_cotangent: Any) -> Any:
        *consts, cotangent = consts_and_cotangent
        leaves = physical.leaves(cotangent)
        given = [ct for ct, flag in zip(leaves, self._smooth, strict=True) if flag]
        return self._out_tree.unflatten(eval_jaxpr(self._closed.jaxpr, consts, *given))


def _pair(fun: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, Any]:
    result = fun(*args)
    if not isinstance(result, (tuple, list)) or len(result) != 2 or not callable(result[1]):
        raise TypeError(
            f"custom_gradient needs {function_name(fun)} to return a pair (value, pullback), the "
            f"latter a function, got {kind_in_words(result)}"
        )
    return result[0], result[1]
