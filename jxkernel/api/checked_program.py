"""Programs whose checks are values: the transformation behind ``checkify``.

Every place where something may fail is a ``Site`` with a number.  The state of a program is:
whether a check has failed; the number of the first that did; and, for all sites, the values that
their messages show.  Each equation is applied as it stands, with the tests of its sites behind it;
an equation that holds programs is applied to checked ones, which take and give the state as well.
On the devices of a ``shard_map`` each has a state of its own, and the first that failed counts.
"""

from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.check_sites import INT32, SiteTest, any_of, automatic_tests, user_test
from jxkernel.core.avals import ShapedArray, abstractify, shape_of
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Literal, Var, eval_jaxpr, subjaxprs
from jxkernel.core.trace import place_of, state
from jxkernel.core.unfolding import operand_values
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.check import Message, check_p
from jxkernel.higher_order.checkpoint import checkpoint_p
from jxkernel.higher_order.cond import bind_cond, cond_p
from jxkernel.higher_order.custom_jvp import (
    JvpRule,
    bind_custom_jvp,
    custom_jvp_call_p,
    has_tangent,
)
from jxkernel.higher_order.custom_vjp import VjpRule, bind_custom_vjp, custom_vjp_call_p
from jxkernel.higher_order.jit import jit_p
from jxkernel.higher_order.programs import permute, pick
from jxkernel.higher_order.scan import bind_scan, scan_p
from jxkernel.higher_order.shard_map import entered_devices, shard_map_p
from jxkernel.higher_order.while_loop import bind_while, while_p
from jxkernel.primitives.collective.varying import vary
from jxkernel.primitives.elementwise.bits import bitwise_and, bitwise_not, bitwise_or
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.indexing.dynamic_slicing import (
    dynamic_index_in_dim,
)
from jxkernel.primitives.reduction.reduce import argmax
from jxkernel.primitives.shape.broadcast import broadcast_in_dim, instantiate
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.records import record
from jxkernel.sharding import PartitionSpec
from jxkernel.source import Frame, user_frame
from jxkernel.transforms.stage import trace_flat

__all__ = ["CheckedProgram", "Reported", "Site"]

Values = Sequence[Any]


@record()
class Site:
    """A place where something may fail.

    Attributes:
      kind: ``user``, ``nan``, ``division`` or ``index``.
      message: what it says.
      where: the user's line, ready to be shown.
      first: where its values begin among those of all sites.
      avals: their types; for a condition of rank above 0 the last is the place of the failure.
      shape: the condition's shape.
      frame: the user's line.
    """

    kind: str
    message: Message
    where: str
    first: int
    avals: tuple[ShapedArray, ...]
    shape: tuple[int, ...]
    frame: Frame | None

    def own(self, payload: Values) -> list[Any]:
        """Return the values of this site, given those of all."""
        return list(payload[self.first : self.first + len(self.avals)])

    def text(self, payload: Values) -> str:
        """Return the message, given the values of all sites."""
        values = self.own(payload)
        if not self.shape:
            return f"{self.message.text(values)}{self.where}"
        place = np.unravel_index(int(values.pop()), self.shape)
        return (
            f"{self.message.text(values)}, at mapped index {', '.join(map(str, place))}{self.where}"
        )


@record()
class Reported:
    """The message of an error that another ``checkify`` returned."""

    sites: tuple[Site, ...]

    def text(self, values: Values) -> str:
        """Return the message, given the number of the site and the values of all."""
        code, *payload = values
        return self.sites[int(np.asarray(code))].text(payload)


# ---------------------------------------------------------------- the program


class CheckedProgram:
    """A program made into one that takes and gives the state as well.

    Args:
      closed: the program.
      kinds: which kinds of sites to look at.

    Attributes:
      sites: all places where something may fail, by number.
      avals: the types of the state.
      program: from the state, the constants and the arguments to the state and the results.
    """

    def __init__(self, closed: ClosedJaxpr, kinds: frozenset[str]) -> None:
        self._kinds = kinds
        self._tests: dict[int, list[tuple[int, SiteTest]]] = {}
        self._has_sites: dict[int, bool] = {}
        self._checked: dict[tuple[int, frozenset[Any]], tuple[ClosedJaxpr, ClosedJaxpr]] = {}
        self._varies: frozenset[Any] = frozenset()
        self._payload: list[ShapedArray] = []
        self.sites: list[Site] = []
        whole = closed.hoisted()
        self._collect(whole)
        self.avals = [ShapedArray((), np.dtype(np.bool_)), INT32, *self._payload]
        self.program = self.checked(whole)

    def start(self) -> list[Any]:
        """Return the state of nothing having failed."""
        return [np.zeros(aval.shape, aval.dtype) for aval in self.avals]

    def _collect(self, closed: ClosedJaxpr) -> bool:
        """Number the sites of a program and of those inside; say whether to enter it."""
        known = self._has_sites.get(id(closed))
        if known is not None:
            return known
        found = False
        for eqn in closed.eqns:
            inner = [self._collect(program) for program in _entered(eqn)]
            for test in self._asked(eqn):
                found = True
                self._add(eqn, test)
            # A check that is not asked for is taken out, so its program is entered too.
            found = found or any(inner) or eqn.primitive is check_p
        self._has_sites[id(closed)] = found
        return found

    def _asked(self, eqn: Eqn) -> list[SiteTest]:
        if eqn.primitive is check_p:
            return [user_test(eqn)] if "user" in self._kinds else []
        if _entered(eqn):
            return []
        return automatic_tests(eqn, self._kinds)

    def _add(self, eqn: Eqn, test: SiteTest) -> None:
        avals = (*test.avals, INT32) if test.shape else test.avals
        where = _where(eqn)
        first, frame = len(self._payload), user_frame(eqn.source)
        site = Site(test.kind, test.message, where, first, avals, test.shape, frame)
        self._tests.setdefault(id(eqn), []).append((len(self.sites), test))
        self.sites.append(site)
        self._payload.extend(avals)

    def checked(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """Return a program, without constants, with the state before its arguments and results."""
        key = id(closed), self._varies
        found = self._checked.get(key)
        if found is None:
            size = len(self.avals)

            def run(*flat: Any) -> list[Any]:
                outs = self._run(closed, flat[:size], flat[size:])
                return [*self._varied(outs[:size]), *outs[size:]]

            made = trace_flat(run, self._taken(closed), name=closed.jaxpr.name)
            found = self._checked[key] = (closed, made)
        return found[1]

    def _taken(self, closed: ClosedJaxpr) -> list[ShapedArray]:
        """Return the types of the state and of a program's arguments."""
        return [*[aval.update(vma=self._varies) for aval in self.avals], *closed.in_avals]

    def _varied(self, found: Values) -> list[Any]:
        """Return the state as one that varies over the devices whose program is checked."""
        return [vary(value, self._varies) for value in found]

    def on_devices(self, params: dict[str, Any]) -> ClosedJaxpr:
        """Return the program of a ``shard_map``, checked: a state comes, and one of each device."""
        closed, size, before = params["jaxpr"], len(self.avals), self._varies

        def run(*flat: Any) -> list[Any]:
            outs = eval_program(program, [*self._varied(flat[:size]), *flat[size:]])
            return [*[reshape(out, (1, *shape_of(out))) for out in outs[:size]], *outs[size:]]

        taken = self._taken(closed)
        with entered_devices(params):
            try:
                if params["check_vma"]:
                    self._varies = before.union(params["manual_axes"])
                program = self.checked(closed)
                return trace_flat(run, taken, name=closed.jaxpr.name)
            finally:
                self._varies = before

    def _run(self, closed: ClosedJaxpr, start: Values, args: Values) -> list[Any]:
        jaxpr = closed.jaxpr
        environment: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        environment.update(zip(jaxpr.invars, args, strict=True))
        found: Values = start
        outer = state.replayed_source
        try:
            for eqn in jaxpr.eqns:
                state.replayed_source = eqn.source or outer
                values = operand_values(eqn, environment)
                found, outs = self._apply(eqn, found, values)
                environment.update(zip(eqn.outvars, outs, strict=True))
        finally:
            state.replayed_source = outer
        results = [a.val if type(a) is Literal else environment[a] for a in jaxpr.outvars]
        return [*found, *results]

    def _apply(self, eqn: Eqn, found: Values, values: Values) -> tuple[Values, Values]:
        """Apply an equation; return the state behind it, and its results."""
        if eqn.primitive is check_p:
            outs: Values = ()
        elif any(self._has_sites.get(id(program)) for program in _entered(eqn)):
            results = _ENTER[eqn.primitive](self, eqn, list(found), list(values))
            size = len(self.avals)
            return results[:size], results[size:]
        else:
            out = eqn.primitive.bind(*values, **eqn.params)
            outs = out if eqn.primitive.multiple_results else (out,)
        for number, test in self._tests.get(id(eqn), ()):
            failed, shown = test.failed(values, outs)
            found = self._updated(found, number, test, failed, shown)
        return found, outs

    def _updated(
        self, found: Values, number: int, test: SiteTest, failed: Any, shown: Values
    ) -> list[Any]:
        """Return the state, changed where this is the first failure."""
        if test.shape:
            failed, shown = _first_failure(failed, shown, test.shape)
        before, code, *payload = found
        is_first = bitwise_and(failed, bitwise_not(before))
        site = self.sites[number]
        for index, value, aval in zip(count(site.first), shown, site.avals, strict=False):
            flag = broadcast_in_dim(is_first, aval.shape, ()) if aval.shape else is_first
            payload[index] = select(flag, convert_element_type(value, aval.dtype), payload[index])
        return [bitwise_or(before, failed), select(is_first, np.int32(number), code), *payload]


def _first_failure(failed: Any, shown: Values, shape: tuple[int, ...]) -> tuple[Any, Values]:
    """Return whether any example failed, and the values of the first one with its place."""
    size = prod(shape)
    flat = reshape(failed, (size,))
    place = argmax(flat, 0, np.int32)
    rows = [reshape(value, (size, *shape_of(value)[len(shape) :])) for value in shown]
    own = [dynamic_index_in_dim(row, place, 0, keepdims=False) for row in rows]
    return any_of(failed), [*own, place]


def _where(eqn: Eqn) -> str:
    frame = user_frame(eqn.source)
    if frame is None:
        return ""
    parts = place_of(frame)
    code = parts["code"].strip()
    return f"\n{parts['where']}:\n    {code}" if code else f"\n{parts['where']}"


# ---------------------------------------------------------------- equations that hold programs


def _enter_jit(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    params = {**eqn.params, "jaxpr": self.checked(eqn.params["jaxpr"]), "donated": ()}
    return jit_p.bind(*found, *values, **params)


def _enter_checkpoint(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    params = {**eqn.params, "jaxpr": self.checked(eqn.params["jaxpr"])}
    return checkpoint_p.bind(*found, *values, **params)


def _enter_cond(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    branches = [self.checked(branch) for branch in eqn.params["branches"]]
    return bind_cond(values[0], branches, [*found, *values[1:]])


def _enter_scan(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    params = eqn.params
    consts, carry = params["num_consts"], params["num_carry"]
    body = self.checked(params["jaxpr"])
    size = len(found)
    own, shared = range(size), range(size, size + consts)
    rest = range(size + consts, len(body.in_avals))
    return bind_scan(
        permute(body, (*shared, *own, *rest), None),
        values[:consts],
        [*found, *values[consts : consts + carry]],
        values[consts + carry :],
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )


def _enter_while(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    """Run a loop whose carry is the state, whether to go on, and the carry it had."""
    params = eqn.params
    first = params["cond_nconsts"]
    second = first + params["body_nconsts"]
    condition = self.checked(params["cond_jaxpr"])
    body = self.checked(params["body_jaxpr"])
    size = len(found)
    condition_consts, body_consts, carry = values[:first], values[first:second], values[second:]

    def asked(own: Values, consts: Values, kept: Values) -> list[Any]:
        return eval_program(condition, [*own, *consts, *kept])

    def turn(*flat: Any) -> list[Any]:
        consts, others = flat[:first], flat[first:second]
        own, kept = flat[second : second + size], flat[second + size + 1 :]
        results = eval_program(body, [*own, *others, *kept])
        return [*asked(results[:size], consts, results[size:]), *results[size:]]

    kept_avals = body.in_avals[size + second - first :]
    carry_avals = [*body.in_avals[:size], condition.out_avals[-1], *kept_avals]
    going = trace_flat(lambda *flat: [flat[size]], carry_avals)
    const_avals = condition.in_avals[size : size + first]
    const_avals += body.in_avals[size : size + second - first]
    step = trace_flat(turn, [*const_avals, *carry_avals])
    start = [*asked(found, condition_consts, carry), *carry]
    outs = bind_while(going, step, (), [*condition_consts, *body_consts], start)
    return [*outs[:size], *outs[size + 1 :]]


def _enter_shard_map(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    params, size = eqn.params, len(found)
    whole, each = PartitionSpec(), PartitionSpec(params["manual_axes"])
    outs = shard_map_p.bind(
        *found,
        *values,
        **{
            **params,
            "jaxpr": self.on_devices(params),
            "in_specs": (*[whole] * size, *params["in_specs"]),
            "out_specs": (*[each] * size, *params["out_specs"]),
        },
    )
    device = argmax(outs[0], 0, np.int32)
    own = [dynamic_index_in_dim(out, device, 0, keepdims=False) for out in outs[:size]]
    return [*own, *outs[size:]]


def eval_program(closed: ClosedJaxpr, args: Values) -> list[Any]:
    """Apply a program under the current trace."""
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def _enter_custom_jvp(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    """Call a function with a rule; the state has no derivative."""
    size, skipped = len(found), eqn.params["num_consts"]
    program, rule = self.checked(eqn.params["call_jaxpr"]), eqn.params["jvp"]

    def run(*operands: Any) -> list[Any]:
        consts, own, args = _parts(operands, skipped, size)
        return eval_program(program, [*own, *consts, *args])

    def derivative(operands: Values, tangents: Values) -> tuple[Values, Values]:
        consts, _, args = _parts(operands, skipped, size)
        flags = [has_tangent(aval) for aval in program.out_avals[size:]]

        def ruled(*flat: Any) -> list[Any]:
            moved = _merged(tangents[size:], flat[skipped + len(args) :])
            _, out_tangents = rule(flat[: skipped + len(args)], moved)
            return [instantiate(t) for t in pick(out_tangents, flags)]

        given = [t for t in tangents[size:] if has_tangent(abstractify(t))]
        moving = iter(_without_checks(ruled, [*consts, *args, *given]))
        zeros = _zeros(program.out_avals[size:])
        out_tangents = [next(moving) if flag else z for flag, z in zip(flags, zeros, strict=True)]
        return run(*operands), [*_zeros(self.avals), *out_tangents]

    return bind_custom_jvp(
        run,
        JvpRule(derivative, rule.name),
        values[:skipped],
        [*found, *values[skipped:]],
        captures=False,
    )


def _enter_custom_vjp(self: CheckedProgram, eqn: Eqn, found: Values, values: Values) -> list[Any]:
    size, skipped = len(found), eqn.params["num_consts"]
    program, rule = self.checked(eqn.params["call_jaxpr"]), eqn.params["vjp"]
    moving = sum(dtypes.issubdtype(aval.dtype, np.inexact) for aval in self.avals)

    def run(*operands: Any) -> list[Any]:
        consts, own, args = _parts(operands, skipped, size)
        return eval_program(program, [*own, *consts, *args])

    def forward(operands: Values, active: Sequence[bool]) -> tuple[Values, Values, Any]:
        state_after = run(*operands)[:size]
        consts, _, args = _parts(operands, skipped, size)
        pulls: list[Any] = []

        def there(*flat: Any) -> list[Any]:
            outs, residuals, pull = rule(flat, active[size:])
            pulls.append(pull)
            return [*outs, *residuals]

        results = _without_checks(there, [*consts, *args])
        given = len(program.out_avals) - size

        def back(kept: Values, cts: Values) -> list[Any]:
            zeros = [Zero(aval.tangent()) for aval in self.avals]
            return [*zeros, *_pulled(pulls[0], kept, cts[moving:])]

        return [*state_after, *results[:given]], results[given:], back

    return bind_custom_vjp(
        run,
        VjpRule(forward, rule.name),
        values[:skipped],
        [*found, *values[skipped:]],
        captures=False,
    )


def _merged(tangents: Values, moving: Values) -> list[Any]:
    """Return tangents with others in the places of those that are not ``float0``."""
    rest = iter(moving)
    return [next(rest) if has_tangent(abstractify(t)) else t for t in tangents]


def _pulled(pull: Any, kept: Values, cts: Values) -> list[Any]:
    """Return the cotangents that a rule gives, without the checks in it."""
    zeros: list[Any] = []

    def back(*flat: Any) -> list[Any]:
        rest = iter(flat[len(kept) :])
        full = [ct if type(ct) is Zero else next(rest) for ct in cts]
        pulled = pull(flat[: len(kept)], full)
        zeros.extend([ct if type(ct) is Zero else None for ct in pulled])
        return [ct for ct in pulled if type(ct) is not Zero]

    given = [ct for ct in cts if type(ct) is not Zero]
    pulled = iter(_without_checks(back, [*kept, *given]))
    return [next(pulled) if zero is None else zero for zero in zeros]


def _without_checks(function: Callable[..., Values], args: Values) -> list[Any]:
    """Apply a function of flat values without the checks in it.

    A derivative's rule computes what the function has computed, whose checks were looked at.
    """
    closed = trace_flat(function, [abstractify(arg) for arg in args])
    program = CheckedProgram(closed, frozenset())
    outs = eval_program(program.program, [*program.start(), *closed.consts, *args])
    return outs[len(program.avals) :]


def _parts(operands: Values, skipped: int, size: int) -> tuple[Values, Values, Values]:
    """Return constants, state and arguments."""
    return operands[:skipped], operands[skipped : skipped + size], operands[skipped + size :]


def _zeros(avals: Sequence[ShapedArray]) -> list[Any]:
    return [np.zeros(aval.shape, aval.tangent().dtype) for aval in avals]


_ENTER: dict[Any, Callable[..., list[Any]]] = {
    jit_p: _enter_jit,
    checkpoint_p: _enter_checkpoint,
    cond_p: _enter_cond,
    scan_p: _enter_scan,
    while_p: _enter_while,
    shard_map_p: _enter_shard_map,
    custom_jvp_call_p: _enter_custom_jvp,
    custom_vjp_call_p: _enter_custom_vjp,
}


def _entered(eqn: Eqn) -> list[ClosedJaxpr]:
    """Return the programs of an equation that are checked; of others only results are."""
    return list(subjaxprs(eqn.params)) if eqn.primitive in _ENTER else []
