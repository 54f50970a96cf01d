"""Calls of functions with derivatives of their own, taken apart.

Arguments that are not differentiated may be anything: functions, strings, sizes.  Those among
them that are traced travel as operands beside the differentiated ones, so that rules get the
values that are current when they run.  This module must not know which derivative is given.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from jxkernel.api.arguments import Parameters, function_name, static_name
from jxkernel.api.traced import leaf_avals
from jxkernel.core.avals import ShapedArray
from jxkernel.core.trace import Tracer
from jxkernel.higher_order.references import Ref
from jxkernel.tree import physical

__all__ = [
    "CustomCall",
    "closed_over_references",
    "closes_over_tracers",
    "positional_arguments",
]

_TRACED = object()


def positional_arguments(
    kind: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all arguments by position, defaults filled in, as rules get them.

    Parameters that are given by keyword only keep their defaults, of which rules hear nothing.

    Raises:
      TypeError: the arguments do not fit the signature, or one can be given by keyword only.
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
    given = [name for name in bound.kwargs if name in kwargs]
    if given:
        raise TypeError(
            f"{kind} passes arguments by position, and {function_name(fun)} takes "
            f"{', '.join(given)} by keyword only"
        )
    return bound.args


class CustomCall:
    """How the arguments of one call lie, without the traced values: rules outlive those.

    Attributes:
      in_tree: the structure of the tuple of differentiated arguments.
      avals: the types of their leaves.
    """

    __slots__ = ("_count", "_hidden", "_nondiff", "_places", "_rest", "avals", "in_tree")

    def __init__(
        self, count: int, nondiff: Sequence[int], places: Any, in_tree: Any, avals: Any
    ) -> None:
        self._count = count
        self._nondiff = nondiff
        leaves, self._rest = places
        self._places = [_TRACED if isinstance(leaf, Tracer) else leaf for leaf in leaves]
        self._hidden = sum([leaf is _TRACED for leaf in self._places])
        self.in_tree = in_tree
        self.avals: list[ShapedArray] = avals

    @classmethod
    def take_apart(
        cls, kind: str, fun: Callable[..., Any], args: tuple[Any, ...], nondiff: Parameters
    ) -> tuple["CustomCall", list[Any], list[Any]]:
        """Return how the arguments lie, what is traced of the rest, and what is differentiated.

        The last two are flat.
        """
        where = sorted(nondiff.positions(len(args)))
        kept = tuple([arg for place, arg in enumerate(args) if place not in where])
        leaves, in_tree = physical.flatten(kept)
        avals = leaf_avals(f"the {kind} function {function_name(fun)}", "args", leaves, in_tree)
        places = physical.flatten([args[place] for place in where])
        hidden = [leaf for leaf in places[0] if isinstance(leaf, Tracer)]
        return cls(len(args), where, places, in_tree, avals), hidden, leaves

    def traced_parameter(self, fun: Callable[..., Any]) -> str | None:
        """Return the name of the first parameter that is not differentiated and is traced."""
        held = zip(self._nondiff, self._rest.unflatten(self._places), strict=True)
        for place, value in held:
            if any(leaf is _TRACED for leaf in physical.leaves(value)):
                return static_name(fun, place)
        return None

    def nondiff(self, hidden: Sequence[Any]) -> list[Any]:
        """Return the arguments that are not differentiated, with the given traced values."""
        values = iter(hidden)
        leaves = [next(values) if leaf is _TRACED else leaf for leaf in self._places]
        return self._rest.unflatten(leaves)

    def functions(self) -> list[Any]:
        """Return the functions among the arguments that are not differentiated."""
        return [leaf for leaf in self._places if callable(leaf)]

    def arguments(self, hidden: Sequence[Any], leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return all arguments with the given values."""
        nondiff = iter(self.nondiff(hidden))
        diff = iter(self.in_tree.unflatten(leaves))
        return tuple(
            [next(nondiff if place in self._nondiff else diff) for place in range(self._count)]
        )

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the hidden values, which come first, and the other operands."""
        return operands[: self._hidden], operands[self._hidden :]


def closes_over_tracers(*functions: Any) -> bool:
    """Whether a function holds a tracer in its closure, as far as can be seen."""
    return any(isinstance(value, Tracer) for value in _all_held_by(functions))


def closed_over_references(*functions: Any) -> list[Ref]:
    """Return the references to traced values in closures of functions, as far as can be seen."""
    found = [value for value in _all_held_by(functions) if type(value) is Ref]
    return [ref for ref in found if ref.holds_tracers()]


def _all_held_by(functions: Sequence[Any]) -> Iterator[Any]:
    """Yield functions and all that they hold.

    It looks through nested functions, partial applications, methods and callable objects with
    their attributes, and pytrees.
    """
    seen: set[int] = set()
    pending: list[Any] = list(functions)
    while pending:
        value = pending.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            if not isinstance(value, (Tracer, Ref)):
                pending.extend(_held_by(value))


def _is_users_object(value: Any) -> bool:
    """Whether a callable is an object of a user's class, or a method of one."""
    owner = getattr(value, "__self__", value)
    ours = type(owner).__module__.partition(".")[0] in (
        "builtins",
        "functools",
        "jaxlib",
        "jxkernel",
    )
    return callable(value) and not ours and not inspect.isclass(owner)


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
    if _is_users_object(value):
        held += getattr(getattr(value, "__self__", value), "__dict__", {}).values()
    if isinstance(value, dict):
        held += value.values()
    elif not callable(value):
        held += [leaf for leaf in physical.leaves(value) if leaf is not value]
    return held
