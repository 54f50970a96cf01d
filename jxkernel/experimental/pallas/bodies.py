"""What kernels are written with: conditions, loops, memory for a while, and looking at values."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel._reprs import with_type
from jxkernel.api.callbacks import bind_debug_callback
from jxkernel.api.control_flow.branching import cond
from jxkernel.api.control_flow.looping import fori_loop
from jxkernel.api.traced import check_callable
from jxkernel.config import (
    pallas_dynamic_shapes,
    pallas_enable_debug_checks,
    pallas_poison_buffers,
)
from jxkernel.core.avals import ShapedArray
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import Tracer, place_in_source
from jxkernel.errors import CheckError, KernelError
from jxkernel.experimental.pallas.blocks import scratch
from jxkernel.experimental.pallas.grids import lasting_memory
from jxkernel.experimental.pallas.kernels import memory_types
from jxkernel.experimental.pallas.memory import as_memory
from jxkernel.experimental.pallas.sizes import cdiv
from jxkernel.higher_order.references import AbstractRef, Ref
from jxkernel.numpy import clip, where
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n

__all__ = [
    "debug_check",
    "debug_print",
    "delay",
    "empty_ref_like",
    "enable_debug_checks",
    "enable_poison_buffers",
    "get_global",
    "loop",
    "pallas_export_experimental",
    "run_scoped",
    "run_state",
    "select_ref",
    "when",
    "with_scoped",
]

enable_debug_checks = pallas_enable_debug_checks
"""Whether ``debug_check`` checks: for the thread, in a block ``with enable_debug_checks(True)``."""


enable_poison_buffers = pallas_poison_buffers
"""Whether scratch memory begins as NaN, the least integer or False, as it does where this is not
set; with ``enable_poison_buffers(False)`` it begins as zeros."""

pallas_export_experimental = pallas_dynamic_shapes
"""Whether grids may have symbolic sizes: ``with pallas_export_experimental(True):`` around
``export``.  Such a grid is one of a size that is data."""

# ---------------------------------------------------------------- control flow


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """Return a decorator that runs a function where a condition holds.

    Args:
      condition: a boolean or a number of rank 0.  One that is known decides now; one that is traced
        makes a ``lax.cond``, whose derivative is that of what was run.

    >>> from jxkernel.experimental import pallas as pl
    >>> @pl.when(2 > 1)
    ... def _():
    ...     print("run")
    run
    """

    def run(function: Callable[[], Any]) -> None:
        check_callable("when", "function", function)
        if isinstance(condition, Tracer):
            cond(condition, partial(_nothing, function), lambda: None)
        elif condition:
            function()

    return filtered(run)


def _nothing(function: Callable[[], Any]) -> None:
    function()


def loop(
    lower: Any, upper: Any, *, init_carry: Any = None, step: Any = 1, unroll: Any = None
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that runs a function for each number of a range.

    Args:
      lower: the first number, an integer of rank 0.
      upper: the end of the range, which is not in it.
      init_carry: what the function gets first beside the number; None for nothing.
      step: how far apart the numbers are: an integer of at least 1.
      unroll: how many turns one turn of the compiled loop makes, as of ``fori_loop``.

    Returns:
      a decorator: the function gets a number, and what it returned in the turn before where there
      is an ``init_carry``; the name is then what it returned last, else None.

    A range that is known has derivatives both ways; one that is traced has the forward one.

    >>> from jxkernel.experimental import pallas as pl
    >>> @pl.loop(1, 8, step=3, init_carry=0)
    ... def total(i, carry):
    ...     return carry + i
    >>> total.item()
    12
    """

    def run(function: Callable[..., Any]) -> Any:
        check_callable("loop", "function", function)

        def turn(number: Any, carry: Any) -> Any:
            at = lower + number * step
            if init_carry is None:
                function(at)
                return None
            return function(at, carry)

        return fori_loop(0, cdiv(upper - lower, step), turn, init_carry, unroll=unroll)

    return filtered(run)


# ---------------------------------------------------------------- memory


@filtered
def run_scoped(
    f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Any:
    """Call a function with references to memory that lives as long as the call.

    Args:
      f: the function.
      *types: types of memory, such as ``pltpu.VMEM((8, 128), jnp.float32)``, or trees of them.
      collective_axes: must be empty: the steps of a grid come one after the other here.
      **kw_types: the same, for keyword arguments of the function.

    Returns:
      what the function returns.  What the references hold first is undefined: NaN, the least
      integer, or False.

    Raises:
      KernelError: a type is none.
      NotImplementedError: ``collective_axes`` is given.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import pallas as pl
    >>> def body(ref):
    ...     ref[...] = jnp.ones(3)
    ...     return ref[...].sum()
    >>> pl.run_scoped(body, pl.ANY((3,), jnp.float32)).item()
    3.0
    """
    if collective_axes:
        raise NotImplementedError(
            "run_scoped shares memory between programs of an accelerator that run at once; here "
            "the steps of a grid come one after the other: use scratch_shapes, which stays"
        )
    given, named = tree.map(_made, memory_types((types, kw_types)))
    return f(*given, **named)


def _made(aval: AbstractRef) -> Any:
    return as_memory(aval, Ref(scratch(aval.inner_aval)))


def with_scoped(
    *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a function memory that lives as long as its call.

    Args:
      *types: types of memory; the references come after the arguments.
      collective_axes: must be empty, as of ``run_scoped``.
      **kw_types: types of memory, for keyword arguments.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        def scoped(*args: Any) -> Any:
            how = {"collective_axes": collective_axes, **kw_types}
            return run_scoped(partial(f, *args), *types, **how)

        return filtered(scoped)

    return decorate


def run_state(f: Callable[[Any], None]) -> Callable[[Any], Any]:
    """Return a function of arrays from one that takes references to them and writes to them.

    Args:
      f: takes a tree of references, and returns None.

    Returns:
      from a tree of arrays to what the references hold afterwards.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import pallas as pl
    >>> def double(ref):
    ...     ref[...] = ref[...] * 2
    >>> pl.run_state(double)(jnp.arange(3)).tolist()
    [0, 2, 4]
    """

    def applied(values: Any) -> Any:
        refs = tree.map(Ref, values)
        f(refs)
        return tree.map(Ref.read, refs)

    return filtered(applied)


@filtered
def get_global(what: Any) -> Any:
    """Return a reference to memory that stays: from step to step, whatever the kernel was run for.

    Args:
      what: a type of memory, such as ``pltpu.VMEM((8,), jnp.float32)`` or a semaphore's.

    Returns:
      a reference, another for each call in the kernel's text.  It is the same for all steps of the
      grid, and all cores of a mesh, of one call of the kernel.  What it holds first is undefined;
      semaphores begin at 0.

    Raises:
      KernelError: no kernel is traced, or ``what`` is no type of memory.
    """
    return lasting_memory(memory_types(what))


@filtered
def select_ref(idx: Any, *refs: Any) -> SelectedRef:
    """Return what stands for one of some references, whichever a number says when the kernel runs.

    Args:
      idx: an integer of rank 0; one out of range counts as the nearest in range.
      *refs: references, or parts ``ref.at[...]``, of one shape and dtype.

    Returns:
      what is read, written and copied as the reference that was chosen.  Its derivative is that.

    Raises:
      KernelError: there is none, or they differ in shape or dtype.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental import pallas as pl
    >>> one, two = jx.new_ref(1.0), jx.new_ref(2.0)
    >>> pl.select_ref(1, one, two)[...] = 5.0
    >>> one[...].item(), two[...].item(), pl.select_ref(0, one, two)[...].item()
    (1.0, 5.0, 1.0)
    """
    kinds = [ref.aval.short() for ref in refs]
    if not kinds or len(set(kinds)) > 1:
        raise KernelError(
            f"select_ref got references of types {kinds}: it takes at least one, all of one type.",
            **place_in_source(),
        )
    return SelectedRef(idx, refs)


class SelectedRef:
    """One of some references, chosen when the kernel runs: see ``select_ref``.

    Args:
      idx: which, an integer of rank 0.
      refs: the references.
    """

    __slots__ = ("_idx", "_refs")

    def __init__(self, idx: Any, refs: Sequence[Any]) -> None:
        self._idx = clip(convert_element_type(idx, "int32"), 0, len(refs) - 1)
        self._refs = tuple(refs)

    @property
    def aval(self) -> Any:
        """The type of a reference."""
        return self._refs[0].aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._refs[0].shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self._refs[0].dtype

    @property
    def at(self) -> _SelectedParts:
        """References to parts: ``ref.at[idx]`` reads and writes ``ref[idx]``."""
        return _SelectedParts(self)

    def part(self, index: Any) -> SelectedRef:
        """Return what stands for a part of the one that is chosen."""
        return SelectedRef(self._idx, [ref.at[index] for ref in self._refs])

    def __getitem__(self, index: Any) -> Any:
        return select_n(self._idx, *[ref[index] for ref in self._refs])

    def __setitem__(self, index: Any, value: Any) -> None:
        for number, ref in enumerate(self._refs):
            ref[index] = where(self._idx == number, value, ref[index])

    def __repr__(self) -> str:
        return f"select_ref({self._idx!r}, {', '.join(map(repr, self._refs))})"


class _SelectedParts:
    """What ``at`` of a chosen reference is."""

    __slots__ = ("_ref",)

    def __init__(self, ref: SelectedRef) -> None:
        self._ref = ref

    def __getitem__(self, index: Any) -> SelectedRef:
        return self._ref.part(index)


@filtered
def empty_ref_like(x: Any) -> Any:
    """Return references to undefined arrays, with the types of what has a shape and a dtype.

    Args:
      x: a tree of such things: ``ShapeDtypeStruct``, ``pl.MemoryRef``, arrays.

    Raises:
      KernelError: one has no type.
    """
    return tree.map(_empty_ref, x)


def _empty_ref(x: Any) -> Ref:
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        raise KernelError(
            f"empty_ref_like got {with_type(x)}, which has no shape and no dtype.",
            **place_in_source(),
        )
    return Ref(scratch(ShapedArray(tuple(x.shape), x.dtype)))


# ---------------------------------------------------------------- time


@filtered
def delay(nanos: Any) -> None:
    """Let time pass where the kernel runs, each time that it comes here.

    Args:
      nanos: how many billionths of a second, an integer of rank 0; at least these pass.  Less than
        none is none.

    ``vmap`` waits for each example.  Nothing else of the program waits for it.
    """
    bind_debug_callback(_let_pass, "delay", (nanos,), {}, ordered=False)


def _let_pass(nanos: Any) -> None:
    time.sleep(max(int(nanos), 0) / 1e9)


# ---------------------------------------------------------------- looking


@filtered
def debug_print(fmt: str, *args: Any) -> None:
    """Print values when the kernel runs, for each step of its grid.

    Args:
      fmt: a format as of ``str.format``; without a field, the values come after it.
      *args: arrays and numbers.

    Derivatives print what the function prints; ``vmap`` prints for each example.
    """
    if not isinstance(fmt, str):
        raise TypeError(f"debug_print takes a format, got {with_type(fmt)}")
    whole = fmt if "{" in fmt else fmt + " {}" * len(args)
    whole.format(*[0] * len(args))  # a field without a value is said here, where it is written
    bind_debug_callback(partial(_print, whole), "debug_print", args, {}, ordered=False)


def _print(whole: str, *values: Any) -> None:
    sys.stdout.write(whole.format(*map(np.asarray, values)) + "\n")


@filtered
def debug_check(condition: Any, message: str) -> None:
    """Require a condition when the kernel runs, where ``enable_debug_checks`` is set.

    Args:
      condition: a boolean of rank 0.
      message: what to say where it is false.

    Raises:
      JaxRuntimeError: the condition is false: where a result of the kernel is awaited, or
        ``effects_barrier``.

    Without ``enable_debug_checks`` it does nothing.
    """
    if enable_debug_checks.value:
        require = partial(_require, message)
        bind_debug_callback(require, "debug_check", (condition,), {}, ordered=False)


def _require(message: str, condition: Any) -> None:
    if not np.all(condition):
        raise CheckError(message)
