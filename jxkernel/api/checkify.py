"""``checkify``: a function whose checks are values that it returns beside its result.

A compiled program cannot raise.  ``checkify(f)`` returns a function that carries a small state
through the program of ``f``: whether a check has failed, which, and the values its message shows.
The state is the same at every place of the program (which checks there are is known before it
runs), so it passes through loops and branches as part of what they carry.
"""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name, named_like
from jxkernel.api.checked_program import CheckedProgram, Reported, Site
from jxkernel.api.jit import JitState, jit_state
from jxkernel.api.tracing import state_of
from jxkernel.core.avals import abstractify
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import Tracer, evaluating
from jxkernel.errors import CheckError
from jxkernel.higher_order.check import Text, check_p
from jxkernel.higher_order.jit import call
from jxkernel.primitives.elementwise.bits import bitwise_not
from jxkernel.source import Frame
from jxkernel.tree import physical

__all__ = [
    "Error",
    "ErrorCategory",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "silent_index",
    "user_checks",
]


class ErrorCategory(enum.Enum):
    """What ``checkify`` looks for."""

    USER = "user"
    NAN = "nan"
    DIVISION = "division"
    INDEX = "index"


Categories = frozenset[ErrorCategory]

user_checks: Categories = frozenset([ErrorCategory.USER])
"""The checks that the user wrote."""
nan_checks: Categories = frozenset([ErrorCategory.NAN])
"""NaN in the result of any operation."""
div_checks: Categories = frozenset([ErrorCategory.DIVISION])
"""Division by zero."""
index_checks: Categories = frozenset([ErrorCategory.INDEX])
"""Indices that are computed and out of bounds."""
float_checks: Categories = nan_checks | div_checks
"""NaN and division by zero."""
automatic_checks: Categories = float_checks | index_checks
"""All that need not be written."""
all_checks: Categories = automatic_checks | user_checks
"""All."""


@tree.register_pytree_node_class
class Error:
    """Whether a check has failed, and which; a pytree, so it passes through ``jit`` and ``vmap``.

    Attributes:
      failed: a boolean array: a scalar, or one for each example of a batch.
      code: which check it was, by number; of the same shape.
      payload: the values of all checks' messages.
      sites: what each number means.
    """

    __slots__ = ("code", "failed", "payload", "sites")

    def __init__(
        self, failed: Any, code: Any, payload: Sequence[Any], sites: tuple[Site, ...]
    ) -> None:
        self.failed = failed
        self.code = code
        self.payload = tuple(payload)
        self.sites = sites

    def get(self) -> str | None:
        """Return what failed, with values and the user's line; None where nothing did.

        Raises:
          ConcretizationTypeError: the error is traced: return it, and ask outside.
        """
        failed = np.asarray(self.failed)
        found = []
        for place in np.argwhere(failed):
            at = tuple(place)
            where = f"at mapped index {', '.join(map(str, place))}: " if failed.ndim else ""
            values = [np.asarray(value)[at] for value in self.payload]
            found.append(where + self.sites[int(np.asarray(self.code)[at])].text(values))
        return "\n".join(found) or None

    def get_exception(self) -> CheckError | None:
        """Return what ``throw`` would raise; None where nothing failed."""
        message = self.get()
        return None if message is None else CheckError(message)

    def throw(self) -> None:
        """Raise if a check failed.

        Raises:
          CheckError: one did; a ValueError.
        """
        error = self.get_exception()
        if error is not None:
            raise error

    def __repr__(self) -> str:
        return f"Error({'traced' if isinstance(self.failed, Tracer) else self.get()})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Return the arrays, and what they mean."""
        return (self.failed, self.code, self.payload), self.sites

    @classmethod
    def tree_unflatten(cls, sites: Any, children: Any) -> "Error":
        """Return the error of arrays and their meaning."""
        failed, code, payload = children
        error = cls.__new__(cls)
        error.failed, error.code, error.payload, error.sites = failed, code, payload, sites
        return error


init_error = Error(np.bool_(False), np.int32(0), (), ())
"""The error of nothing having failed."""


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Require a condition, in code that may be traced.

    Args:
      pred: a boolean scalar.
      msg: what to say where it is false, a format as of ``str.format``.
      *fmt_args: arrays, numbers, or trees of them, for ``{}``.
      debug: whether the check is left out where nothing looks at it, see ``debug_check``.
      **fmt_kwargs: the same for ``{name}``.

    Raises:
      CheckError: nothing is traced, and the condition is false.
      TypeError: it is no boolean scalar, or a value is no array.
      ValueError: a function with a check was compiled that ``checkify`` has not been applied to.
    """
    try:
        _check("check", pred, msg, fmt_args, fmt_kwargs, debug)
    except Exception as error:
        hide_internal_frames(error)
        raise


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Require a condition only where ``checkify`` looks at it; otherwise do nothing.

    Args:
      pred: a boolean scalar.
      msg: what to say where it is false.
      *fmt_args: values for ``{}``.
      **fmt_kwargs: values for ``{name}``.

    Raises:
      TypeError: the condition is no boolean scalar, or a value is no array.
    """
    try:
        _check("debug_check", pred, msg, fmt_args, fmt_kwargs, True)
    except Exception as error:
        hide_internal_frames(error)
        raise


def _check(
    name: str, pred: Any, msg: str, args: tuple[Any, ...], kwargs: dict[str, Any], debug: bool
) -> None:
    aval = abstractify(pred) if not isinstance(pred, (list, tuple)) else None
    if aval is None or aval.shape or aval.dtype != np.bool_:
        found = repr(pred)[:60] if aval is None else aval.short()
        raise TypeError(
            f"{name} takes a boolean scalar, got {found}: reduce an array with .all(), and compare "
            "a number"
        )
    values, structure = physical.flatten((args, kwargs))
    for value in values:
        try:
            abstractify(value)
        except TypeError:
            raise TypeError(
                f"{name} shows arrays and numbers, got {with_type(value)}: write it into the "
                f"message"
            ) from None
    if debug and evaluating():
        return
    check_p.bind(pred, *values, message=Text(msg, structure), debug=debug)


def check_error(error: Error) -> None:
    """Raise an error, or hand it on to the ``checkify`` around the code that is traced.

    Args:
      error: an error that ``checkify`` returned.

    Raises:
      CheckError: nothing is traced, and it says that something failed.
      TypeError: it is no error.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error, got {error!r:.60}")
    if not isinstance(error.failed, Tracer):
        error.throw()
        return
    check_p.bind(
        bitwise_not(error.failed),
        error.code,
        *error.payload,
        message=Reported(error.sites),
        debug=False,
    )


def checkify(
    f: Callable[..., Any], errors: Categories = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Return a function that also returns whether a check failed in it.

    Args:
      f: a function of arrays.
      errors: what to look for: ``user_checks``, ``nan_checks``, ``div_checks``, ``index_checks``,
        ``float_checks``, ``automatic_checks``, ``all_checks``, or sets joined by ``|``.

    Returns:
      a function of the same arguments that returns an ``Error``, of the first check that failed,
      and the result.

    Raises:
      TypeError: ``f`` is not callable, or ``errors`` no set of categories.

    The derivative is that of ``f``.  On the devices of a ``shard_map`` or ``pmap`` the first that
    failed counts.  Under ``vmap``, checks inside a ``cond`` on which examples
    differ work as ``vmap(checkify(f))``, not the other way round: there every branch runs.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental import checkify
    >>> def f(x):
    ...     checkify.check(x > 0, "{} must be positive", x)
    ...     return jx.numpy.log(x)
    >>> error, y = jx.jit(checkify.checkify(f))(-1.0)
    >>> print(error.get().splitlines()[0])
    -1.0 must be positive (`check` failed)
    """
    if not callable(f):
        raise TypeError(f"checkify needs a callable, got {f!r:.100}")
    wanted = frozenset(errors)
    if not all(isinstance(one, ErrorCategory) for one in wanted):
        raise TypeError(f"checkify takes a set of categories such as user_checks, got {errors!r}")
    kinds = frozenset([one.value for one in wanted])
    state = jit_state(f) or state_of(f)

    def check(state: JitState, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Error, Any]:
        flat, entry = state.trace_call(args, kwargs)
        name = f"checkify({function_name(f)})"
        closed = entry.closed
        checked = closed.remember(CheckedProgram, kinds)
        error, outs = _run_checked(checked, closed.consts, flat.flat, name)
        return error, entry.out_tree.unflatten(outs)

    @filtered
    def checked_call(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        return state.applied(check, args, kwargs)

    named_like(checked_call, f)
    return checked_call


def _run_checked(
    checked: CheckedProgram, consts: Sequence[Any], args: Sequence[Any], name: str
) -> tuple[Error, list[Any]]:
    """Run a checked program on flat arguments and return its error and its results."""
    outs = call(checked.program, [*checked.start(), *consts, *args], name=name)
    count = len(checked.avals)
    failed, code, *payload = outs[:count]
    return Error(failed, code, payload, tuple(checked.sites)), outs[count:]


def _quiet(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program without those of its own equations that have effects and no results."""
    eqns = [eqn for eqn in closed.eqns if not eqn.effects or eqn.outvars]
    effects = frozenset[Any]().union(*[eqn.effects for eqn in eqns])
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, effects=effects), closed.consts)


def silent_index(
    closed: ClosedJaxpr, args: Sequence[Any], name: str
) -> tuple[str, Frame | None] | None:
    """Run a program to see whether an index is out of bounds where nothing shows it.

    Args:
      closed: the program. Callbacks without results are left out; one with others is not run.
      args: its flat arguments.
      name: its name.

    Returns:
      which index, of which array, and on which of the user's lines; None where there is none.
    """
    quiet = closed.remember(_quiet) if closed.effects else closed
    checked = None if quiet.effects else quiet.remember(CheckedProgram, frozenset(["silent index"]))
    if checked is None or not checked.sites:
        return None
    error, _ = _run_checked(checked, closed.consts, args, f"check({name})")
    if not np.asarray(error.failed):
        return None
    site = error.sites[int(np.asarray(error.code))]
    return site.message.text([np.asarray(one) for one in site.own(error.payload)]), site.frame
