"""Names and times of traced work: ``named_scope``, ``named_call``, ``ensure_compile_time_eval``."""

from collections.abc import Callable, Generator
from contextlib import ContextDecorator, contextmanager
from functools import wraps
from typing import Any, overload

from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.trace import set_current, state
from jxkernel.higher_order.references import AbstractRef, Ref
from jxkernel.transforms.known import KnownTrace

__all__ = ["ensure_compile_time_eval", "named_call", "named_scope", "typeof"]


class named_scope(ContextDecorator):
    """Name the operations traced in a block, or by a function.

    The name stands before those of the operations in the compiled program's metadata, which
    profiles and dumps show: ``layer1/attention/dot_general``.  Values do not depend on it, and
    operations that run eagerly have none.

    Args:
      name: the name.  Scopes inside scopes are joined by ``/``.

    Raises:
      TypeError: ``name`` is no string.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> def f(x):
    ...     with jx.named_scope("layer"):
    ...         return jnp.sin(x)
    >>> "layer/sin" in jx.jit(f).lower(1.0).as_text(debug_info=True)
    True
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope needs a string as name, got {name!r:.100}")
        self.name = name
        self._previous: list[tuple[str, ...]] = []

    def _recreate_cm(self) -> "named_scope":
        # A decorated function may run in several threads at once: each call has its own stack.
        return named_scope(self.name)

    def __enter__(self) -> None:
        self._previous.append(state.scope)
        state.scope = (*state.scope, self.name)

    def __exit__(self, *exception: object) -> None:
        state.scope = self._previous.pop()


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return a function whose operations carry its name; see ``named_scope``.

    Args:
      fun: the function.
      name: the name; None for the function's own.

    Raises:
      TypeError: ``fun`` is not callable, or ``name`` is no string.

    >>> import jxkernel as jx
    >>> f = jx.named_call(lambda x: x * 2, name="double")
    >>> f(4.0)
    8.0
    """
    check_callable("named_call", "fun", fun)
    return wraps(fun)(named_scope(function_name(fun) if name is None else name)(fun))


@contextmanager
def ensure_compile_time_eval() -> Generator[None]:
    """Compute at once, inside a traced function, what does not depend on traced values.

    Under ``jit`` everything is staged: ``jnp.arange(3).sum()`` is a traced value there though its
    value is known.  In this block it is an array, whose value Python may ask for.  Operations on
    traced values are staged as ever.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> @jx.jit
    ... def f(x):
    ...     with jx.ensure_compile_time_eval():
    ...         n = int(jnp.arange(4).sum())
    ...     return x + n
    >>> float(f(1.0))
    7.0
    """
    with set_current(KnownTrace(state.trace)):
        yield


@overload
def typeof(x: Ref) -> AbstractRef: ...  # type: ignore[overload-overlap]  # no array's type
@overload
def typeof(x: Any) -> ShapedArray: ...
def typeof(x: Any) -> ShapedArray | AbstractRef:
    """Return the type that tracing sees of an array or number: shape, dtype and weakness.

    Args:
      x: an array, a number, a traced value, or a reference, whose type is ``Ref{f32[3]}``.

    Raises:
      TypeError: it is no array and no number.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> print(jx.typeof(jnp.ones((2, 3))))
    float32[2,3]
    """
    return x.aval if isinstance(x, Ref) else abstractify(x)
