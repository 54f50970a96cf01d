"""The order of effects from one program to the next, and waiting for those under way.

A program with effects gives, as its last result, a *token*: a scalar that exists when the program
has run.  One whose effects are ordered also takes the token of the ordered program before it, so
it does not begin earlier.  Each thread has its own chain, as it has its own order.  For a program
that calls back without effects, any of its results serves as the token to wait for.

This module must not know what the effects are, nor how programs are made.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from typing import Any

import numpy as np

from jxkernel._jaxlib import batched_block_until_ready, batched_device_put
from jxkernel.core.effects import TOKEN
from jxkernel.runtime.clients import sharding_on
from jxkernel.runtime.failures import (
    exception_behind,
    has_unseen_failures,
    surfacing,
    unseen_failures,
)
from jxkernel.sharding.named import is_single

__all__ = [
    "effects_barrier",
    "effects_under_way",
    "issue_token",
    "previous_token",
    "wait_for_effects",
    "wait_for_order",
]


class _Chain(threading.local):
    """The token of this thread's latest ordered program; None where there is none."""

    latest: Any = None


_chain = _Chain()
_pending: deque[Any] = deque()


def _first_token(device: Any) -> Any:
    zero = np.zeros((), np.uint32)
    return batched_device_put(TOKEN, sharding_on(device), [zero], [device], False)


def previous_token(device: Any) -> Any:
    """Return the token that an ordered program on a device has to take.

    One that exists already, or that failed, says nothing about order any more: the program before
    is over.
    """
    latest = _chain.latest
    if latest is None or latest.is_ready():
        return _first_token(device)
    if not is_single(latest.sharding):
        latest = latest._arrays[0]
    elif latest.sharding._device == device:
        return latest
    return batched_device_put(TOKEN, sharding_on(device), [latest], [device], False)


def issue_token(token: Any, *, ordered: bool) -> None:
    """Remember the token of a program that was dispatched just now."""
    if ordered:
        _chain.latest = token
    while _pending and _is_over(_pending[0]):
        _pending.popleft()
    if not token.is_ready():
        _pending.append(token)


def _is_over(token: Any) -> bool:
    return token.is_deleted() or token.is_ready()


def effects_under_way() -> bool:
    """Whether there is anything to wait for, or to tell, of the programs dispatched so far."""
    return bool(_pending) or has_unseen_failures()


def wait_for_order() -> None:
    """Wait for this thread's ordered effects: what comes next is not run by the device.

    Raises:
      BaseException: what a callback among them raised.
    """
    latest, _chain.latest = _chain.latest, None
    if latest is not None:
        surfacing(batched_block_until_ready, [latest])


def wait_for_effects() -> None:
    """Wait until every program with callbacks that was dispatched so far is over, failed or not."""
    while _pending:
        try:
            batched_block_until_ready([_pending.popleft()])
        except (RuntimeError, IndexError):
            # What a callback raised is kept; a result may be deleted, or another thread be first.
            continue


def effects_barrier() -> None:
    """Wait until the effects of every program dispatched so far have happened.

    Results of programs that call no Python function are not waited for.

    Raises:
      CallbackError: a callback raised an exception that was not raised here yet: the first one is
        the cause, with a note for each further one.
      BaseException: an interrupt in a callback, or a result of one that is not what it must be.

    >>> import jxkernel as jax
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.print("x is {}", x)
    ...     return 2 * x
    >>> y = f(3)
    x is 3
    >>> jax.effects_barrier()
    """
    wait_for_effects()
    failures = unseen_failures()
    if failures:
        for other in map(exception_behind, failures[1:]):
            failures[0].add_note(f"Another callback failed: {type(other).__name__}: {other}")
        raise failures[0]


atexit.register(effects_barrier)
