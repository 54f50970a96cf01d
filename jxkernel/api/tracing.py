"""Looking without running: ``make_jaxpr`` and ``eval_shape``."""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.api.arguments import Parameters, function_name, named_like
from jxkernel.api.jit import JitOptions, JitState, jit_state
from jxkernel.api.traced import check_function
from jxkernel.core.axes import extend_axes
from jxkernel.core.filtering import filtered

__all__ = ["eval_shape", "make_jaxpr", "state_of"]


def state_of(fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> JitState:
    """Return what traces a function as ``jit`` would, without compiling it."""
    static = Parameters.of(fun, static_argnums, None, "static")
    return JitState(fun, JitOptions(static, Parameters(), False, False, None, ()))


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return a function that traces ``fun`` and returns its jaxpr.

    Args:
      fun: the function to look at.
      static_argnums: positions of arguments that are constants of the trace.
      axis_env: axis names that collectives in ``fun`` may use, with their sizes.
      return_shape: whether to return the result's shapes as well.

    Raises:
      TypeError: ``fun`` is not callable.

    >>> import jxkernel as jx
    >>> jx.make_jaxpr(lambda x: x * 2.0)(1.0)
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    check_function("make_jaxpr", fun)
    state = state_of(fun, static_argnums)

    @filtered
    def traced(*args: Any, **kwargs: Any) -> Any:
        with extend_axes(tuple(axis_env or ())):
            stage = state.trace(*args, **kwargs)
        return (stage.jaxpr, stage.out_info) if return_shape else stage.jaxpr

    named_like(traced, fun)
    traced.__name__ = f"make_jaxpr({function_name(fun)})"
    return traced


@filtered
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes that ``fun(*args, **kwargs)`` would have, without computing it.

    Args:
      fun: the function.
      *args: arrays, or anything with ``shape`` and ``dtype`` such as ``ShapeDtypeStruct``.
      **kwargs: likewise.

    Returns:
      the result's tree with a ``ShapeDtypeStruct`` for each array, with the sharding that ``jit``
      was asked for.

    Raises:
      TypeError: ``fun`` is not callable, or an argument describes no array.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.eval_shape(jnp.outer, jnp.ones(3), jnp.ones(4))
    ShapeDtypeStruct(shape=(3, 4), dtype=float32)
    """
    check_function("eval_shape", fun)
    state = jit_state(fun) or state_of(fun)
    return state.eval_shape(*args, **kwargs)
