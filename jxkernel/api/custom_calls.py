"""Calls of functions with derivatives of their own, taken apart.

Arguments that are not differentiated may be anything: functions, strings, sizes.  Those among
them that are traced travel as operands beside the differentiated ones, so that rules get the
values that are current when they run.  This module must not know which derivative is given.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from jxkernel import tree
from jxkernel.api.arguments import Parameters, function_name
from jxkernel.api.traced import leaf_avals
from jxkernel.core.avals import ShapedArray
from jxkernel.core.trace import Tracer

__all__ = ["CustomCall", "closes_over_tracers", "positional_arguments"]


def positional_arguments(
    kind: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all arguments by position, defaults filled in, as rules get them.

    Raises:
      TypeError: they do not fit the function's signature, or one can be given by keyword only.
    """
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(
                f"{kind} passes arguments by position, and the signature of {function_name(fun)} "
                f"is not known: give {', '.join(kwargs)} by position"
            ) from None
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{kind} passes arguments by position, and {function_name(fun)} takes "
            f"{', '.join(bound.kwargs)} by keyword only"
        )
    return bound.args


class CustomCall:
    """One call: what is differentiated, flat, and the rest.

    Attributes:
      hidden: the traced values among the arguments that are not differentiated.
      leaves: the leaves of the differentiated arguments.
      in_tree: the structure of their tuple.
      avals: the types of the leaves.
    """

    __slots__ = ("_args", "_nondiff", "_places", "_rest", "avals", "hidden", "in_tree", "leaves")

    def __init__(
        self, kind: str, fun: Callable[..., Any], args: tuple[Any, ...], nondiff: Parameters
    ) -> None:
        self._nondiff = sorted(nondiff.positions(len(args)))
        self._args = args
        kept = tuple([arg for place, arg in enumerate(args) if place not in self._nondiff])
        self.leaves, self.in_tree = tree.flatten(kept)
        name = function_name(fun)
        self.avals: list[ShapedArray] = leaf_avals(
            f"the {kind} function {name}", "args", self.leaves, self.in_tree
        )
        leaves, self._rest = tree.flatten([args[place] for place in self._nondiff])
        self._places = leaves
        self.hidden = [leaf for leaf in leaves if isinstance(leaf, Tracer)]

    def nondiff(self, hidden: Sequence[Any]) -> list[Any]:
        """Return the arguments that are not differentiated, with the given traced values."""
        values = iter(hidden)
        leaves = [next(values) if isinstance(leaf, Tracer) else leaf for leaf in self._places]
        return self._rest.unflatten(leaves)

    def arguments(self, hidden: Sequence[Any], leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return all arguments with the given values."""
        nondiff = iter(self.nondiff(hidden))
        diff = iter(self.in_tree.unflatten(leaves))
        return tuple(
            [next(nondiff if place in self._nondiff else diff) for place in range(len(self._args))]
        )

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the hidden values and the leaves among operands."""
        count = len(self.hidden)
        return operands[:count], operands[count:]


def closes_over_tracers(*functions: Any) -> bool:
    """Whether a function holds a tracer in its closure, as far as can be seen.

    It looks through nested functions, partial applications, bound methods, and pytrees.
    """
    seen: set[int] = set()
    pending: list[Any] = list(functions)
    while pending:
        value = pending.pop()
        if isinstance(value, Tracer):
            return True
        if id(value) not in seen:
            seen.add(id(value))
            pending.extend(_held_by(value))
    return False


def _held_by(value: Any) -> Iterable[Any]:
    """Return what a function or container holds."""
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    held: list[Any] = []
    for cell in getattr(value, "__closure__", None) or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:
            # The cell of a name that is not assigned yet.
            continue
    held += getattr(value, "__defaults__", None) or ()
    for attribute in ("__self__", "__wrapped__"):
        if hasattr(value, attribute):
            held.append(getattr(value, attribute))
    if not callable(value) and tree.is_tree_node(value):
        held += [leaf for leaf in tree.leaves(value) if leaf is not value]
    return held
