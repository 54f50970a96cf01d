"""What is remembered of a function for as long as it lives: its traces.

A table keyed weakly by functions would do, were it not for traces that refer back to their
function (a callback or a derivative's rule that closes over it): a value that holds its key is
never freed.  So a plain function carries its memory as an attribute, where the collector sees the
cycle, and so does a function with a rule of its own (``Carrier``), whose traces hold the rule.
Other callables, which may be equal without being the same or take no attributes, share a
weak-keyed table.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

__all__ = ["Carrier", "FunctionMemo"]


class Carrier:
    """A callable object that carries what is remembered of it, as plain functions do."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        raise NotImplementedError


class FunctionMemo:
    """For each function a dict, made at first use; it dies with the function.

    Args:
      kind: what is remembered; it names the functions' attribute.
    """

    def __init__(self, kind: str) -> None:
        self._attribute = f"__jxkernel_{kind}__"
        self._carried: WeakSet[_Carried] = WeakSet()
        self._table: WeakKeyDictionary[Callable[..., Any], dict[Any, Any]] = WeakKeyDictionary()

    def of(self, fun: Callable[..., Any]) -> dict[Any, Any]:
        """Return the dict of a function.

        Raises:
          TypeError: it is a callable that is neither hashed nor referred to weakly.
        """
        if type(fun) is not FunctionType and not isinstance(fun, Carrier):
            return self._table.setdefault(fun, {})
        attributes = fun.__dict__
        carried = attributes.get(self._attribute)
        # ``functools.wraps`` copies attributes: what another function carries is not its own.
        if carried is None or carried.owner is None or carried.owner() is not fun:
            carried = attributes[self._attribute] = _Carried(fun)
            self._carried.add(carried)
        return carried.kept

    def items(self) -> Iterator[tuple[Callable[..., Any], dict[Any, Any]]]:
        """Yield every living function of which something is remembered, with its dict."""
        yield from list(self._table.items())
        for carried in list(self._carried):
            owner = carried.owner() if carried.owner is not None else None
            if owner is not None:
                yield owner, carried.kept

    def clear(self) -> None:
        """Forget what is remembered of every function."""
        self._table.clear()
        for carried in list(self._carried):
            carried.kept.clear()


class _Carried:
    """The attribute of a function; a pickle or copy of it remembers nothing."""

    __slots__ = ("__weakref__", "kept", "owner")

    def __init__(self, fun: Callable[..., Any] | None = None) -> None:
        self.owner = None if fun is None else ref(fun)
        self.kept: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Carried, ()
