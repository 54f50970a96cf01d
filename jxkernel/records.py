"""Records: frozen, slotted dataclasses that cost little to declare.

``dataclasses.dataclass`` writes source for each class and compiles it, three million
instructions a class; for the classes declared while this package is imported, that was an eighth
of the import.  ``record`` makes the class itself, once, with methods that are closures over the
fields, and imports ``dataclasses`` only when somebody asks for what it gives: ``fields``,
``replace``, ``asdict``, ``copy`` and ``pickle`` work as ever.

It is the lowest layer of all: the standard library only.
"""

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

from jxkernel._lazy import late_module

__all__ = ["record"]

ClassT = TypeVar("ClassT", bound=type)
Fields = dict[str, tuple[Any, Any]]
"""For each field its annotation and its default."""
Setters = dict[str, Callable[[Any, Any], None]]

_put = object.__setattr__
_REQUIRED: Any = inspect.Parameter.empty
"""The default of a field that has none."""


@dataclass_transform(frozen_default=True)
def record(
    *, frozen: bool = True, eq: bool = True, kw_only: bool = False, weakref_slot: bool = False
) -> Callable[[ClassT], ClassT]:
    """Make a slotted dataclass of the decorated class, whose methods do not use ``super()``.

    A ``__repr__`` of its own stays.  Its fields have plain defaults or none: what
    ``dataclasses.field`` gives is not looked at.

    Args:
      frozen: whether its fields cannot be assigned; then it has a hash.
      eq: whether instances of equal fields are equal; else each equals only itself.
      kw_only: whether fields are given by keyword only, those of a base too.
      weakref_slot: whether instances can be referred to weakly.
    """

    def declare(cls: ClassT) -> ClassT:
        declared = vars(cls)
        added: Fields = {
            name: (annotation, declared.get(name, _REQUIRED))
            for name, annotation in cls.__annotations__.items()
        }
        own = {**getattr(cls, "__record__", {}), **added}
        positional = () if kw_only else tuple(own)
        members = {name: value for name, value in declared.items() if name not in _LEFT_OUT}
        for name in added:
            members.pop(name, None)
        members["__qualname__"] = cls.__qualname__
        members["__slots__"] = (*added, *(["__weakref__"] if weakref_slot else []))
        members["__record__"] = own
        members["__match_args__"] = positional
        setters: Setters = {}
        members["__init__"] = _initializer(cls, own, positional, setters)
        members = {**_METHODS, **members}
        members.update(_equality(own, frozen) if eq else {})
        members.update(_FROZEN if frozen else {})
        made: Any = type(cls)(cls.__name__, cls.__bases__, members)
        setters.update({name: getattr(made, name).__set__ for name in own})
        return made

    return declare


def _initializer(
    cls: type, own: Fields, positional: tuple[str, ...], setters: Setters
) -> Callable[..., None]:
    """Return the constructor of a record.

    Args:
      cls: the class that was decorated.
      own: its fields.
      positional: those that may be given by position.
      setters: what puts a value into the slot of each field, known once the record is made.
    """
    name, check = cls.__name__, getattr(cls, "__post_init__", None)
    defaults = _defaults(own)
    # Most are made of all their fields, by position.
    whole = len(positional) if positional else -1

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) == whole and not kwargs:
            for put, value in zip(setters.values(), args, strict=False):
                put(self, value)
        else:
            given = {**dict(zip(positional, args, strict=False)), **kwargs}
            if len(given) < len(args) + len(kwargs):
                raise TypeError(
                    f"{name}() takes {len(positional)} positional arguments, each given once"
                )
            values = {**defaults, **given}
            if values.keys() != setters.keys():
                raise TypeError(_mismatch(name, setters, values))
            for key, put in setters.items():
                put(self, values[key])
        if check is not None:
            check(self)

    return __init__


def _defaults(own: Fields) -> dict[str, Any]:
    return {name: default for name, (_, default) in own.items() if default is not _REQUIRED}


def _mismatch(name: str, names: Setters, values: dict[str, Any]) -> str:
    missing = [key for key in names if key not in values]
    if missing:
        return f"{name}() lacks the arguments {', '.join(missing)}"
    unknown = [key for key in values if key not in names]
    return f"{name}() has no fields named {', '.join(unknown)}"


def _equality(own: Fields, frozen: bool) -> dict[str, Any]:
    # One name more, so that the result is a tuple however many fields there are.
    key = attrgetter(*own, "__class__", "__class__")

    def __eq__(self: Any, other: Any) -> Any:
        return key(self) == key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _repr(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name in type(self).__record__]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _replace(self: Any, /, **changes: Any) -> Any:
    return late_module("dataclasses").replace(self, **changes)


def _refuse(self: Any, name: str, value: Any = None) -> None:
    error = late_module("dataclasses").FrozenInstanceError
    raise error(f"{type(self).__name__} is frozen: cannot assign to {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in type(self).__record__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(type(self).__record__, state, strict=True):
        _put(self, name, value)


class _AsDataclass:
    """An attribute that ``dataclasses`` asks a class for: had from a dataclass of its fields."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        own: Fields = owner.__record__
        hints = {name: annotation for name, (annotation, _) in own.items()}
        made: Any = type(owner.__name__, (), {"__annotations__": hints, **_defaults(own)})
        how = {"init": False, "repr": False, "eq": False, "kw_only": not owner.__match_args__}
        found = getattr(late_module("dataclasses").dataclass(**how)(made), self._name)
        setattr(owner, self._name, found)
        return found


class _Signature:
    """The signature of a record's constructor, made when someone asks for help."""

    def __get__(self, instance: Any, owner: Any) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        kind = kind if owner.__match_args__ else inspect.Parameter.KEYWORD_ONLY
        own: Fields = owner.__record__
        return inspect.Signature(
            [
                inspect.Parameter(name, kind, default=default, annotation=annotation)
                for name, (annotation, default) in own.items()
            ]
        )


_LEFT_OUT = ("__dict__", "__weakref__")
_DATACLASS = ("__dataclass_fields__", "__dataclass_params__")
_METHODS: dict[str, Any] = {
    "__repr__": _repr,
    "__replace__": _replace,
    "__signature__": _Signature(),
    **{name: _AsDataclass(name) for name in _DATACLASS},
}
_FROZEN: dict[str, Any] = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
