"""Caches of others that are emptied with this package's own: see ``extend.backend``."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

__all__ = ["clear_registered_caches", "register_backend_cache"]


class Cache(Protocol):
    """What can be emptied, as what ``functools.lru_cache`` makes."""

    def cache_clear(self) -> None:
        """Forget all that is remembered."""


_caches: list[tuple[weakref.ref[Any], str]] = []


def register_backend_cache(cache: Cache, for_what: str) -> None:
    """Have a cache emptied by ``clear_caches`` and ``clear_backends``.

    Args:
      cache: an object with a method ``cache_clear``, such as a function under
        ``functools.lru_cache``.  It is emptied as long as something else holds it.
      for_what: what it is for, in words.

    Raises:
      TypeError: it has no such method.

    >>> from functools import lru_cache
    >>> import jxkernel as jx
    >>> from jxkernel.extend import backend
    >>> @lru_cache
    ... def square(n):
    ...     return n * n
    >>> backend.register_backend_cache(square, "squares")
    >>> square(3)
    9
    >>> jx.clear_caches()
    >>> square.cache_info().currsize
    0
    """
    if not callable(getattr(cache, "cache_clear", None)):
        raise TypeError(
            f"register_backend_cache got {cache!r:.80} of type {type(cache).__name__} for "
            f"{for_what!r}: a cache has a method cache_clear(), as functools.lru_cache gives it"
        )
    _caches[:] = [one for one in _caches if one[0]() is not None]
    _caches.append((weakref.ref(cache), for_what))


def clear_registered_caches() -> None:
    """Empty the caches that are registered."""
    for ref, _ in _caches:
        cache = ref()
        if cache is not None:
            cache.cache_clear()
