"""The search for the equation that first gave a NaN or an infinity.

With ``debug_nans`` or ``debug_infs`` on, every program's results are looked at when it has run.
If one is bad, the program runs again, equation by equation: nested programs are run as a whole
first and entered only where their results are bad, so a long loop costs one run per turn and not
one per equation.  The culprit is not simply the first equation with a bad result (a ``where`` may
drop that one) but the one from which the bad values lead to the program's results.

It must not know of any particular primitive, nor how programs are run: it is given ``execute``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.config import debug_infs, debug_nans
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Literal, Var
from jxkernel.core.printing import Names, equation_text
from jxkernel.core.summaries import value_summary
from jxkernel.core.trace import place_of, state
from jxkernel.core.unfolding import Call, Unfolding, operand_values, unfolding
from jxkernel.errors import NonFiniteError
from jxkernel.records import record
from jxkernel.source import current_user_frame, runs_backwards, user_frame

__all__ = ["nonfinite_error", "report_nonfinite"]


def report_nonfinite(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    outs: Sequence[Any],
    *,
    name: str,
    execute: Callable[..., list[Any]],
    depth: float = 0,
) -> None:
    """Raise if a result of a program that has run is bad.

    Args:
      closed: the program.
      args: its flat arguments.
      outs: its results.
      name: its name.
      execute: runs a program: ``execute(closed, args, name=...)``.
      depth: how deep inside nested programs equations' sources are to be trusted.  A program that
        callers share (an operation of the NumPy API) was traced for the first of them.

    Raises:
      NonFiniteError: one is.
    """
    kinds = [kind for kind, option in (("nan", debug_nans), ("inf", debug_infs)) if option.value]
    error = nonfinite_error(closed, args, outs, kinds, name=name, execute=execute, depth=depth)
    if error is not None:
        raise error


def nonfinite_error(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    outs: Sequence[Any],
    kinds: Sequence[str],
    *,
    name: str,
    execute: Callable[..., list[Any]],
    depth: float = 0,
    arguments: Sequence[str] = (),
) -> NonFiniteError | None:
    """Return the error that names what made a result of a program bad; None where none is.

    Args:
      closed: the program, which has run.
      args: its flat arguments.
      outs: its results.
      kinds: what to look for, the worst first: ``nan``, ``inf``.
      name: its name.
      execute: see ``report_nonfinite``, as for ``depth``.
      depth: see there.
      arguments: the names of the flat arguments, where they are known.
    """
    for kind in kinds:
        if any(_is_bad(kind, out) for out in outs):
            with debug_nans(False), debug_infs(False):
                search = _Search(kind, name, execute)
                again = search.run(closed, args, (name,))
                birth = search.culprit(again)
                if birth is None:
                    return _unborn(search, closed, args, outs, arguments)
                return _born(kind, birth, depth, _infinity_before(search, birth, closed, args))
    return None


def _infinity_before(
    search: _Search, birth: _Birth, closed: ClosedJaxpr, args: Sequence[Any]
) -> _Birth | None:
    """Return where the infinity came from that became a NaN; None where there was none."""
    if search.kind != "nan" or not any(_is_bad("inf", value) for value in birth.values):
        return None
    second = _Search("nonfinite", search.name, search.execute, watched=birth.eqn)
    second.run(closed, args, (search.name,))
    return second.before_watched


def _is_bad(kind: str, value: Any) -> bool:
    """Whether a value holds a NaN, or an infinity."""
    if isinstance(value, (bool, int)):
        return False
    dtype = getattr(value, "dtype", None)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        return False
    array = np.asarray(value)
    if kind == "nonfinite":
        return not bool(np.isfinite(array).all())
    return bool((np.isnan if kind == "nan" else np.isinf)(array).any())


@record(eq=False)
class _Birth:
    """An equation that gave a bad result of good operands.

    Attributes:
      eqn: the equation.
      values: its operands' values.
      outs: its results.
      path: what it was called from, outermost first.
    """

    eqn: Eqn
    values: tuple[Any, ...]
    outs: tuple[Any, ...]
    path: tuple[str, ...]


class _Search:
    """One run of a program, equation by equation, that follows bad values to where they began.

    Attributes:
      births: the equations that made something bad, in order.
      origins: for bad values, by identity, the value (which keeps it alive) and its birth; None
        where it came in from outside.
      before_watched: where the bad operands of the watched equation began, once it was met.
    """

    __slots__ = ("before_watched", "births", "execute", "kind", "name", "origins", "watched")

    def __init__(
        self,
        kind: str,
        name: str,
        execute: Callable[..., list[Any]],
        watched: Eqn | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.execute = execute
        self.watched = watched
        self.before_watched: _Birth | None = None
        self.births: list[_Birth] = []
        self.origins: dict[int, tuple[Any, _Birth | None]] = {}

    def run(self, closed: ClosedJaxpr, args: Sequence[Any], path: tuple[str, ...]) -> list[Any]:
        """Run a program equation by equation and return its results."""
        jaxpr = closed.jaxpr
        environment: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        environment.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            if not eqn.outvars:
                continue
            values = operand_values(eqn, environment)
            environment.update(zip(eqn.outvars, self._apply(eqn, values, path), strict=True))
        return [a.val if type(a) is Literal else environment[a] for a in jaxpr.outvars]

    def _apply(self, eqn: Eqn, values: tuple[Any, ...], path: tuple[str, ...]) -> Sequence[Any]:
        result = eqn.primitive.bind(*values, **eqn.params)
        outs: Sequence[Any] = result if eqn.primitive.multiple_results else (result,)
        if not self._any_bad(outs):
            return outs
        known = len(self.births)
        origin = self._origin_of(values)
        if eqn is self.watched and self.before_watched is None:
            self.before_watched = origin
        calls = unfolding(eqn, values)
        if calls is not None and origin is None:
            outs = self._drive(calls, path)
            if len(self.births) > known:
                origin = self.births[known]
        if origin is None and not self._any_bad(values):
            origin = _Birth(eqn, values, tuple(outs), path)
            self.births.append(origin)
        for out in outs:
            if id(out) not in self.origins and _is_bad(self.kind, out):
                self.origins[id(out)] = (out, origin)
        return outs

    def _drive(self, calls: Unfolding, path: tuple[str, ...]) -> Sequence[Any]:
        results: list[Any] | None = None
        while True:
            try:
                call = calls.send(results) if results is not None else next(calls)
            except StopIteration as end:
                return end.value
            results = self._call(call, path)

    def _call(self, call: Call, path: tuple[str, ...]) -> list[Any]:
        """Run a nested program as a whole, and once more in steps if that gives something bad."""
        outs = self.execute(call.program, call.args, name=call.program.jaxpr.name or "fun")
        if not self._any_bad(outs):
            return outs
        origin = self._origin_of(call.args)
        if origin is None:
            return self.run(call.program, call.args, (*path, call.label))
        self.origins.update({id(out): (out, origin) for out in outs if _is_bad(self.kind, out)})
        return outs

    def _any_bad(self, values: Sequence[Any]) -> bool:
        return any(_is_bad(self.kind, value) for value in values)

    def _origin_of(self, values: Sequence[Any]) -> _Birth | None:
        found = (self.origins.get(id(value)) for value in values)
        return next((entry[1] for entry in found if entry is not None and entry[1]), None)

    def culprit(self, again: Sequence[Any]) -> _Birth | None:
        """Return the equation from which bad values led to the results; None where none did."""
        birth = self._origin_of(again)
        if birth is None and self._any_bad(again):
            return next(iter(self.births), None)
        return birth


def _unborn(
    search: _Search,
    closed: ClosedJaxpr,
    args: Sequence[Any],
    outs: Sequence[Any],
    arguments: Sequence[str],
) -> NonFiniteError:
    """Return the error where no equation made a bad value of good ones."""
    kind, name = search.kind, search.name
    place = place_of(_calling_frame())
    held = [_is_bad(kind, value) for value in (*closed.consts, *args)]
    if any(held):
        named = arguments or [f"argument {number}" for number in range(len(args))]
        details = [f"    {a} = {value_summary(v)}" for a, v in zip(named, args, strict=True)]
        how = "is in the arguments of"
        return NonFiniteError(kind, name, how, details=tuple(details), **place)
    number = next(i for i, out in enumerate(outs) if _is_bad(kind, out))
    details = [
        f"Result {number} holds it: {value_summary(outs[number])}",
        "Run equation by equation, no result does: the compiler's rearrangement of the "
        "arithmetic brings it about.",
    ]
    return NonFiniteError(kind, name, details=tuple(details), **place)


def _calling_frame() -> Any:
    """Return the user's line that is running, or of the equation that is being replayed."""
    replayed = state.replayed_source
    return user_frame(replayed) if replayed is not None else current_user_frame()


def _born(kind: str, birth: _Birth, depth: float, before: _Birth | None = None) -> NonFiniteError:
    frame = _frame_of(birth, depth)
    details = _value_lines(birth)
    if before is not None:
        place = _frame_of(before, depth)
        at = f" ({place.file}:{place.line})" if place is not None else ""
        details.append(f"The infinity came out of: {equation_text(before.eqn, Names())}{at}")
        details += _value_lines(before)
    details.append(f"In {' > '.join(birth.path)}.")
    called_backwards = any(label.startswith("transpose") for label in birth.path)
    if state.transposing or called_backwards or runs_backwards(birth.eqn.source):
        details.append("It belongs to the backward pass of the line shown.")
    text = equation_text(birth.eqn, Names())
    return NonFiniteError(kind, text, details=details, **place_of(frame))


def _frame_of(birth: _Birth, depth: float) -> Any:
    own = len(birth.path) > depth
    return (user_frame(birth.eqn.source) if own else None) or _calling_frame()


def _value_lines(birth: _Birth) -> list[str]:
    names = Names()
    eqn = birth.eqn
    equation_text(eqn, names)  # gives the variables the names that they have in it
    operands = zip(eqn.invars, birth.values, strict=True)
    lines = [f"    {names(a)} = {value_summary(v)}" for a, v in operands if type(a) is Var]
    results = zip(eqn.outvars, birth.outs, strict=True)
    lines += [f"    {names(var)} = {value_summary(out)}" for var, out in results]
    return list(dict.fromkeys(lines))
