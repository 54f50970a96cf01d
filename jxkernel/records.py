"""Records: frozen, slotted dataclasses that cost little to declare.

``dataclasses.dataclass`` writes source for each class and compiles it, three million
instructions a class; for the classes declared while this package is imported, that was an eighth
of the import.  ``record`` leaves it the fields and the slots and adds methods that are closures
over them.  ``dataclasses.fields``, ``replace``, ``asdict``, ``copy`` and ``pickle`` work as ever.

It is the lowest module of all: the standard library only.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

__all__ = ["record"]

ClassT = TypeVar("ClassT", bound=type)

_put = object.__setattr__


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    *, frozen: bool = True, eq: bool = True, kw_only: bool = False, weakref_slot: bool = False
) -> Callable[[ClassT], ClassT]:
    """Make a slotted dataclass of the decorated class.

    Args:
      frozen: whether its fields cannot be assigned; then it has a hash.
      eq: whether instances of equal fields are equal; else each equals only itself.
      kw_only: whether fields are given by keyword only.
      weakref_slot: whether instances can be referred to weakly.
    """

    def declare(cls: ClassT) -> ClassT:
        made: Any = dataclass(
            init=False, repr=False, eq=False, slots=True, kw_only=kw_only, weakref_slot=weakref_slot
        )(cls)
        own = fields(made)
        made.__init__ = _initializer(made, own)
        made.__repr__ = _repr
        made.__signature__ = _Signature()
        if eq:
            _add_equality(made, own, frozen)
        if frozen:
            made.__setattr__ = made.__delattr__ = _refuse
            made.__getstate__, made.__setstate__ = _get_state, _set_state
        return made

    return declare


def _initializer(made: Any, own: tuple[Field[Any], ...]) -> Callable[..., None]:
    name: str = made.__name__
    check: Callable[[Any], None] | None = getattr(made, "__post_init__", None)
    names = [f.name for f in own]
    positional = [f.name for f in own if not f.kw_only]
    defaults = {f.name: f.default for f in own if f.default is not MISSING}
    factories = {f.name: f.default_factory for f in own if f.default_factory is not MISSING}
    known = frozenset(names)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(positional, args, strict=False))
        if len(args) > len(positional) or not given.keys().isdisjoint(kwargs):
            raise TypeError(
                f"{name}() takes {len(positional)} positional arguments, each given once"
            )
        values = {**defaults, **given, **kwargs}
        for key, factory in factories.items():
            if key not in values:
                values[key] = factory()
        if values.keys() != known:
            raise TypeError(_mismatch(name, names, values))
        for key, value in values.items():
            _put(self, key, value)
        if check is not None:
            check(self)

    return __init__


def _mismatch(name: str, names: list[str], values: dict[str, Any]) -> str:
    missing = [key for key in names if key not in values]
    if missing:
        return f"{name}() lacks the arguments {', '.join(missing)}"
    unknown = [key for key in values if key not in names]
    return f"{name}() has no fields named {', '.join(unknown)}"


def _add_equality(made: Any, own: tuple[Field[Any], ...], frozen: bool) -> None:
    compared = [f.name for f in own if f.compare]
    # One name more, so that the result is a tuple however many fields there are.
    key = attrgetter(*compared, "__class__", "__class__")

    def __eq__(self: Any, other: Any) -> Any:
        return key(self) == key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(key(self))

    made.__eq__ = __eq__
    made.__hash__ = __hash__ if frozen else None


def _repr(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise FrozenInstanceError(f"{type(self).__name__} is frozen: cannot assign to {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        _put(self, f.name, value)


class _Signature:
    """The signature of a record's constructor, made when someone asks for help."""

    def __get__(self, instance: Any, owner: Any) -> inspect.Signature:
        return inspect.Signature([_parameter(f) for f in fields(owner)])


def _parameter(given: Field[Any]) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    default: Any = inspect.Parameter.empty
    if given.default is not MISSING:
        default = given.default
    elif given.default_factory is not MISSING:
        default = ...
    return inspect.Parameter(
        given.name,
        inspect.Parameter.KEYWORD_ONLY if given.kw_only else kind,
        default=default,
        annotation=given.type,
    )
