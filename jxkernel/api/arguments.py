"""How a call's arguments become the flat, traced values of a program.

Static arguments are set aside by position or name; the rest is flattened.  Names and paths of
leaves are made only for error messages and explanations.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from operator import index as as_index
from types import NoneType
from typing import Any, TypeVar

from jxkernel import dtypes, tree
from jxkernel._reprs import counted, with_type
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.errors import ArgumentTypeError, ByteOrderError, NonHashableStaticArgumentError
from jxkernel.records import record
from jxkernel.tree import physical

__all__ = [
    "Call",
    "Parameters",
    "argument_positions",
    "checked_argnums",
    "function_name",
    "leaf_names",
    "named_like",
    "split_call",
    "static_and_donated",
]

Function = TypeVar("Function", bound=Callable[..., Any])


def function_name(fun: Callable[..., Any]) -> str:
    """Return the name by which jaxprs and errors call a function."""
    name = getattr(fun, "__name__", None)
    wrapped = getattr(fun, "func", None)
    if name is None and callable(wrapped):
        return function_name(wrapped)
    if not name or not isinstance(name, str):
        name = type(fun).__name__
    # A lone surrogate is no text to C++.
    return name if name.isascii() else name.encode(errors="replace").decode()


_KINDS: dict[str, Any] = {
    "__annotations__": dict,
    "__doc__": (str, NoneType),
    "__type_params__": tuple,
}
"""What a function's attributes are; the others are texts."""


def named_like(made: Function, fun: Callable[..., Any]) -> Function:
    """Return a function made of another, with the name, documentation and attributes of that.

    An object that is called may use such names for values of its own, which are left alone.
    """
    fitting = [
        name
        for name in WRAPPER_ASSIGNMENTS
        if isinstance(getattr(fun, name, None), _KINDS.get(name, str))
    ]
    update_wrapper(made, fun, fitting)
    return made


def _signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def parameter_names(fun: Callable[..., Any]) -> list[str]:
    """Return the names of the positional parameters, as far as they are known."""
    signature = _signature(fun)
    if signature is None:
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, p in signature.parameters.items() if p.kind in kinds]


def _numbers(value: Any, what: str) -> tuple[int, ...]:
    """Return positions given as one number or several.

    Raises:
      TypeError: one is no integer.
    """
    try:
        return (as_index(value),)
    except TypeError:
        pass
    try:
        return tuple(map(as_index, value))
    except TypeError:
        raise TypeError(
            f"{what}_argnums is the position of a parameter, or a sequence of positions, got "
            f"{value!r:.100}"
        ) from None


def _names(value: Any, what: str) -> tuple[str, ...]:
    """Return names given as one string or several.

    Raises:
      TypeError: one is no string.
    """
    try:
        names: tuple[Any, ...] = (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{what}_argnames is the name of a parameter, or a sequence of names, got "
            f"{value!r:.100}: positions of parameters are given as {what}_argnums"
        )
    return names


def check_choice(numbers: Any, names: Any, what: str) -> None:
    """Check a choice of parameters of a function that is not there yet.

    Raises:
      TypeError: a position is no integer, or a name no string.
    """
    _numbers(numbers, what)
    _names(names, what)


@record()
class Parameters:
    """A choice of parameters, by position and by name.

    Attributes:
      numbers: positions, as given and as found for ``names`` in the signature.
      names: names, as given and as found for ``numbers``.
    """

    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @staticmethod
    def of(
        fun: Callable[..., Any],
        numbers: int | Iterable[int] | None,
        names: str | Iterable[str] | None,
        what: str,
        *,
        complete: bool = True,
    ) -> "Parameters":
        """Return the choice for a function.

        Args:
          fun: the function.
          numbers: the positions.
          names: the names.
          what: what the parameters are, for messages.
          complete: whether positions and names are completed from each other.

        Raises:
          TypeError: a position is no integer, or a name no string.
          ValueError: a position or name is not a parameter of the function.
        """
        given_numbers = () if numbers is None else _numbers(numbers, what)
        given_names = () if names is None else _names(names, what)
        if not given_numbers and not given_names:
            return Parameters()
        signature = _signature(fun)
        if signature is None:
            return Parameters(given_numbers, given_names)
        _check_parameters(fun, signature, given_numbers, given_names, what)
        if not complete:
            return Parameters(given_numbers, given_names)
        positional = parameter_names(fun)
        found_names = tuple(
            positional[n] for n in given_numbers if -len(positional) <= n < len(positional)
        )
        found_numbers = tuple(positional.index(name) for name in given_names if name in positional)
        return Parameters(
            tuple(dict.fromkeys(given_numbers + found_numbers)),
            tuple(dict.fromkeys(given_names + found_names)),
        )

    def positions(self, count: int) -> frozenset[int]:
        """Return the chosen positions among ``count`` arguments; -1 is the last."""
        return frozenset(n % count for n in self.numbers if -count <= n < count)


def _check_parameters(
    fun: Callable[..., Any],
    signature: inspect.Signature,
    numbers: tuple[int, ...],
    names: tuple[str, ...],
    what: str,
) -> None:
    parameters = signature.parameters
    kinds = {p.kind for p in parameters.values()}
    count = len(parameter_names(fun))
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        for number in numbers:
            if not -count <= number < count:
                raise ValueError(
                    f"{what}_argnums={numbers} names position {number}, and "
                    f"{function_name(fun)} takes {counted(count, 'positional argument')}: "
                    f"{', '.join(parameters)}"
                )
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in names:
            if name not in parameters:
                raise ValueError(
                    f"{what}_argnames={names} names {name!r}, which is not a parameter of "
                    f"{function_name(fun)}: it has {', '.join(parameters)}"
                )


def static_and_donated(
    fun: Callable[..., Any], static_given: tuple[Any, Any], donate_given: tuple[Any, Any]
) -> tuple[Parameters, Parameters]:
    """Return the parameters that are static and those donated, of (positions, names) of each.

    Raises:
      TypeError: a position is no integer, or a name no string.
      ValueError: one does not exist, or is both.
    """
    static = _completed(fun, *static_given, "static")
    donate = _completed(fun, *donate_given, "donate")
    names = [name for name in static.names if name in donate.names]
    both = names or [number for number in static.numbers if number in donate.numbers]
    if both:
        raise ValueError(
            f"jit({function_name(fun)}) has {', '.join(map(str, both))} both static and donated: a "
            "static argument has no buffer to give"
        )
    return static, donate


def _completed(fun: Callable[..., Any], numbers: Any, names: Any, what: str) -> Parameters:
    """Return parameters; where both positions and names are given, those are all of them."""
    return Parameters.of(fun, numbers, names, what, complete=numbers is None or names is None)


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Return positions of donated arguments, counted among those that are not static.

    Args:
      donate_argnums: their positions among all arguments.
      static_argnums: the positions of static ones.

    Raises:
      ValueError: an argument is both.

    >>> from jxkernel import api_util
    >>> api_util.rebase_donate_argnums((3, 4), (0, 1))
    (1, 2)
    """
    donated, static = sorted(set(donate_argnums)), set(static_argnums)
    both = [number for number in donated if number in static]
    if both:
        raise ValueError(f"arguments {both} are both donated and static: no buffer is theirs")
    return tuple([number - sum(other < number for other in static) for number in donated])


def donation_vector(
    donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree: Any, kws: bool = True
) -> tuple[bool, ...]:
    """Say of each leaf of a call's arguments whether its buffer is given away.

    Args:
      donate_argnums: the positions of donated arguments.
      donate_argnames: the names of donated keyword arguments.
      in_tree: the structure of the pair of positional and keyword arguments; that of the positional
        ones alone where ``kws`` is False.
      kws: whether there are keyword arguments.

    >>> import jxkernel as jx
    >>> from jxkernel import api_util
    >>> structure = jx.tree.structure((((1, 2), 3), {"scale": 4}))
    >>> api_util.donation_vector((0,), (), structure)
    (True, True, False, False)
    """
    numbers, names = set(donate_argnums), set(donate_argnames)
    whole = in_tree.unflatten([None] * in_tree.num_leaves)
    args, named = whole if kws else (whole, {})
    chosen = [(arg, number in numbers) for number, arg in enumerate(args)]
    chosen += [(named[name], name in names) for name in sorted(named)]
    return tuple(
        [given for arg, given in chosen for _ in physical.leaves(arg, is_leaf=lambda x: x is None)]
    )


@record(frozen=False)
class Call:
    """One call, taken apart.

    Attributes:
      flat: the dynamic leaves.
      in_tree: the structure of (dynamic positional, dynamic keyword) arguments.
      static: (position or name, value) of each static argument.
    """

    flat: list[Any]
    in_tree: Any
    static: tuple[tuple[Any, Any], ...]

    def standing(self, stand_in: Callable[[Any], Any]) -> "Call":
        """Return the call with other leaves, or trees, in the place of the dynamic ones."""
        leaves = list(map(stand_in, self.flat))
        if all(new is old for new, old in zip(leaves, self.flat, strict=True)):
            return self
        flat, in_tree = physical.flatten(self.in_tree.unflatten(leaves))
        return Call(flat, in_tree, self.static)

    def static_key(self) -> tuple[Any, ...]:
        """Return what the static arguments add to a cache key: values by type and equality."""
        return tuple([(key, type(value), value) for key, value in self.static])


def rebuild(
    in_tree: Any, static: tuple[tuple[Any, Any], ...], leaves: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments from leaves and static values."""
    args, kwargs = in_tree.unflatten(leaves)
    args = list(args)
    for key, value in static:
        if isinstance(key, str):
            kwargs[key] = value
        else:
            args.insert(key, value)
    return args, kwargs


def split_call(args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Parameters) -> Call:
    """Set static arguments aside and flatten the rest."""
    if not chosen.numbers and not chosen.names:
        flat, in_tree = physical.flatten((args, kwargs))
        return Call(flat, in_tree, ())
    positions = chosen.positions(len(args))
    static: list[tuple[Any, Any]] = [(i, args[i]) for i in sorted(positions)]
    static += [(name, kwargs[name]) for name in sorted(kwargs) if name in chosen.names]
    dynamic = tuple([arg for i, arg in enumerate(args) if i not in positions])
    named = {name: value for name, value in kwargs.items() if name not in chosen.names}
    flat, in_tree = physical.flatten((dynamic, named))
    return Call(flat, in_tree, tuple(static))


def check_hashable(fun: Callable[..., Any], call: Call) -> None:
    """Check that static arguments can key a cache.

    Raises:
      NonHashableStaticArgumentError: one cannot; the message names it.
    """
    for key, value in call.static:
        try:
            hash(value)
        except Exception as error:
            raise static_argument_error(fun, key, value, error) from error


def incomparable(
    fun: Callable[..., Any], call: Call, keys: Iterable[tuple[Any, ...]], error: Exception
) -> Exception:
    """Return the error of a call whose static arguments failed to be compared with earlier ones.

    Args:
      fun: the function.
      call: the call.
      keys: what ``static_key`` returned for the calls that it was compared with.
      error: what was raised.
    """
    for known in keys:
        for (key, value), (_, _, other) in zip(call.static, known, strict=False):
            if _fails_to_compare(value, other):
                return static_argument_error(fun, key, value, error)
    return error


def _fails_to_compare(value: Any, other: Any) -> bool:
    try:
        bool(value == other)
    except Exception:
        return True
    return False


def static_argument_error(
    fun: Callable[..., Any], key: Any, value: Any, error: Exception
) -> NonHashableStaticArgumentError:
    """Return the error that a static argument, given by position or name, cannot key a cache."""
    return NonHashableStaticArgumentError(
        function_name(fun),
        static_name(fun, key),
        type(value).__name__,
        position=None if isinstance(key, str) else key,
        given=f"{value!r:.100}",
        failure=f"{type(error).__name__}: {error}",
    )


def static_name(fun: Callable[..., Any], key: Any) -> str:
    """Return the name of a static argument, or of one like it, given by position or name."""
    names = parameter_names(fun)
    return str(key) if isinstance(key, str) or key >= len(names) else names[key]


def checked_argnums(argnums: Any) -> int | tuple[int, ...]:
    """Return which arguments to differentiate by: a number, or a tuple of numbers.

    Raises:
      TypeError: one is no integer.
    """
    try:
        return as_index(argnums)
    except TypeError:
        pass
    try:
        return tuple(map(as_index, argnums))
    except TypeError:
        raise TypeError(
            f"argnums is the position, or a sequence of positions, of the arguments to "
            f"differentiate by, got {argnums!r:.100}: arguments are named by number"
        ) from None


def argument_positions(
    fun: Callable[..., Any], argnums: int | tuple[int, ...], count: int
) -> tuple[int, ...]:
    """Return the positions of the arguments to differentiate by, counted from the front.

    Raises:
      TypeError: the call has no such positional argument.
      ValueError: a position is named twice.
    """
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    for number in numbers:
        if not -count <= number < count:
            least = counted(number + 1 if number >= 0 else -number, "positional argument")
            raise TypeError(
                f"differentiating {function_name(fun)} by argnums={argnums} needs at least "
                f"{least}, and the call has {count}: arguments to differentiate by are passed by "
                "position"
            )
    positions = tuple([number % count for number in numbers])
    if len(set(positions)) < len(positions):
        raise ValueError(
            f"differentiating {function_name(fun)} by argnums={argnums} names one argument twice"
        )
    return positions


def leaf_names(fun: Callable[..., Any], call: Call) -> list[str]:
    """Return a name for each dynamic leaf, such as ``x`` or ``params['w']``."""
    names = parameter_names(fun)
    static_positions = {key for key, _ in call.static if not isinstance(key, str)}
    dynamic_names = [name for i, name in enumerate(names) if i not in static_positions]
    paths = []
    for path in physical.leaf_paths(call.in_tree):
        which, entry, *rest = path
        if which.idx == 0:
            position = entry.idx
            known = position < len(dynamic_names)
            root = dynamic_names[position] if known else f"args[{position}]"
        else:
            root = str(entry.key)
        paths.append(root + tree.keystr(tuple(rest)))
    return paths


def abstract_leaves(fun: Callable[..., Any], call: Call) -> tuple[ShapedArray, ...]:
    """Return the types of the dynamic leaves.

    Raises:
      ArgumentTypeError: one is no array or number; the message names it.
      OverflowError: one is a Python integer that no integer array holds.
    """
    try:
        for leaf in call.flat:
            if type(leaf) is int:
                dtypes.coerce_scalar(leaf)  # which says that it does not fit
        return tuple([abstractify(leaf) for leaf in call.flat])
    except ByteOrderError:
        raise
    except TypeError:
        for name, leaf in zip(leaf_names(fun, call), call.flat, strict=True):
            _check_leaf(fun, name, leaf)
        raise


def _check_leaf(fun: Callable[..., Any], name: str, leaf: Any) -> None:
    try:
        abstractify(leaf)
    except TypeError:
        parts = {}
        if any(hasattr(one, "dtype") for one in getattr(leaf, "__dict__", {}).values()):
            kind = type(leaf).__name__
            pytree = f"register {kind} as a pytree, with tree_util.register_dataclass: its arrays "
            parts["instead"] = (f"{pytree}are traced then",)
        raise ArgumentTypeError(function_name(fun), f"{name}", with_type(leaf), **parts) from None
