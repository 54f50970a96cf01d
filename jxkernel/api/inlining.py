"""``Inline``: when a nested jitted function is written out instead of called."""

from enum import Enum

__all__ = ["Inline"]


class Inline(Enum):
    """When a jitted function that another one calls is written out where it is called.

    ``JAX_EARLY`` is ``jit(inline=True)``: its equations join the trace at hand.  All others are
    ``inline=False``: the call stays in programs and modules, and XLA writes it out as it compiles.

    >>> import jxkernel as jx
    >>> double = jx.jit(lambda x: x + x, inline=jx.Inline.JAX_EARLY)
    >>> jx.make_jaxpr(double)(1.0)
    { lambda ; a:f32[]. let b:f32[] = add a a in (b,) }
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"
