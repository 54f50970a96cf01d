"""Functions whose derivative the user gives: ``custom_jvp`` and ``custom_vjp``."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel._reprs import with_type
from jxkernel.api.arguments import Parameters, function_name, named_like
from jxkernel.api.custom.calls import (
    CustomCall,
    closed_over_references,
    closes_over_tracers,
    positional_arguments,
)
from jxkernel.api.custom.perturbations import CustomVJPPrimal
from jxkernel.api.custom.references import ReferencesOfCall, has_references
from jxkernel.api.derivatives.key_tangents import per_key, per_word
from jxkernel.api.jit import check_result
from jxkernel.api.memo import Carrier
from jxkernel.api.traced import check_callable
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.key_data import ExtendedArray, key_data_axes
from jxkernel.core.trace import evaluating, place_in_source
from jxkernel.core.zeros import Zero
from jxkernel.errors import NondiffTracerError
from jxkernel.higher_order.custom_jvp import JvpRule, bind_custom_jvp, has_tangent
from jxkernel.higher_order.custom_vjp import Forward, Pull, VjpRule, bind_custom_vjp
from jxkernel.higher_order.references import CapturedReferences, Ref, staging
from jxkernel.higher_order.remat_opt import optimized_forward
from jxkernel.primitives.elementwise.convert import convert_element_type, stage
from jxkernel.primitives.shape.broadcast import add_tangents, instantiate
from jxkernel.records import record
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["custom_jvp", "custom_vjp"]

_DEEPEST = 2
"""How many times a rule that closes over tracers is traced inside itself: second derivatives."""


class _Custom(Carrier):
    """What both decorators share: the function, and how calls reach it.

    Attributes:
      fun: the function.
      nondiff: the arguments that are not differentiated.
    """

    kind = ""
    rule_name = ""
    first_rule, given_back = "", ""

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Iterable[int] = (),
        nondiff_argnames: str | Iterable[str] = (),
    ) -> None:
        check_callable(self.kind, "fun", fun)
        named_like(self, fun)
        self.fun = fun
        self.name = function_name(fun)
        self.nondiff = Parameters.of(fun, nondiff_argnums, nondiff_argnames, "nondiff")
        self._depth = 0
        self._lent: set[int] = set()

    def __repr__(self) -> str:
        return f"<{self.kind} function {self.name}>"

    def __getattr__(self, name: str) -> Any:
        """Return what a function with rules of its own has: so it is given them through this."""
        fun = self.__dict__.get("fun")
        if isinstance(fun, Carrier) and not name.startswith("_"):
            return getattr(fun, name)
        raise AttributeError(
            f"the {self.kind} function {self.__dict__.get('name')} has no {name!r}"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; its derivative, where one is taken, is that of the rule.

        Raises:
          AttributeError: no rule has been given.
          TypeError: the arguments do not fit the function, or its rule does not.
        """
        if None in self._rules():
            raise AttributeError(
                f"the {self.kind} function {self.name} has no rule yet: give it one with "
                f"{self.name}.{self.rule_name}(...)"
            )
        try:
            given = positional_arguments(self.kind, self.fun, args, kwargs)
            if evaluating():
                return self.fun(*given)
            try:
                return self._traced(given)
            except CapturedReferences as found:
                if found.outside is not staging():
                    raise
                captured = found.refs
            return self._lend(self._references(given, captured))
        except Exception as error:
            hide_internal_frames(error)
            raise

    def _traced(self, given: tuple[Any, ...]) -> Any:
        functions = [leaf for leaf in physical.leaves(given) if callable(leaf)]
        closed = closed_over_references(self.fun, *self._rules(), *functions)
        closed = [ref for ref in closed if id(ref) not in self._lent]
        if closed or has_references(given):
            return self._lend(self._references(given, closed))
        return self._bind(*CustomCall.take_apart(self.kind, self.fun, given, self.nondiff))

    def _references(self, given: Sequence[Any], closed: Sequence[Ref]) -> ReferencesOfCall:
        static = self.nondiff.positions(len(given))
        return ReferencesOfCall(self.kind, self.name, given, static, closed)

    def _pair(self, rule: Callable[..., Any], pair: Any) -> Any:
        """Return what a rule returned, which must be a pair.

        Raises:
          TypeError: it is none.
        """
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"the {self.first_rule} rule {function_name(rule)} of {self.name} must return a "
                f"pair {self.given_back}, got {kind_in_words(pair)}"
            )
        return pair

    def _lend(self, refs: ReferencesOfCall) -> Any:
        raise NotImplementedError

    def _call_lent(self, function: "_Custom", refs: ReferencesOfCall, *args: Any) -> Any:
        """Call a function of the values of references, to which these are known."""
        function._lent = self._lent | {id(ref) for ref in refs.refs}
        return function(*args)

    def _bind(self, call: CustomCall, hidden: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """Bind a call, and count how deep the rule calls the function again.

        A rule that closes over tracers is traced together with the function.  It may call the
        function, whose rule is then traced too, and so on: there must be an end.
        """
        captures = self._depth < _DEEPEST and closes_over_tracers(
            self.fun, *self._rules(), *call.functions()
        )
        results = _Results()
        self._depth += captures
        try:
            outs = self._bind_flat(_Bound(call, results, hidden, leaves, captures))
        finally:
            self._depth -= captures
        return results.structure.unflatten(outs)

    def _rules(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _bind_flat(self, bound: "_Bound") -> list[Any]:
        raise NotImplementedError

    def _flat(self, call: CustomCall, results: "_Results") -> Callable[..., Sequence[Any]]:
        """Return the function of flat operands."""

        def flat(*operands: Any) -> Sequence[Any]:
            out = self.fun(*call.arguments(*call.split(operands)))
            return results.flatten(self.name, out)

        return flat


@record()
class _Bound:
    """A call that is being bound: what it calls, where its results go, and its operands."""

    call: CustomCall
    results: "_Results"
    hidden: Sequence[Any]
    leaves: Sequence[Any]
    captures: bool


class _Results:
    """Flattens what the function, or its rule, returns, and remembers the structure."""

    __slots__ = ("structure",)

    def __init__(self) -> None:
        self.structure: Any = None

    def flatten(self, name: str, out: Any, rule: str = "") -> list[Any]:
        """Return the leaves of a result.

        Raises:
          TypeError: one is no array and no number, or the structure is not that of an earlier
            result.
        """
        leaves, structure = physical.flatten(out)
        for index, leaf in enumerate(leaves):
            check_result(name, structure, index, leaf)
        if self.structure is not None and structure != self.structure:
            raise TypeError(
                f"{rule or name} must return a result of the structure that {name} returns, "
                f"{structure_text(self.structure)}, and returned {structure_text(structure)}"
            )
        self.structure = structure
        return leaves


class custom_jvp(_Custom):
    """Decorate a function with a forward derivative of its own, which serves the way back too.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are not differentiated: functions, sizes, or
        arrays that are constant.  The rule gets them first.
      nondiff_argnames: their names.

    Raises:
      TypeError: ``fun`` is not callable.
      ValueError: such a parameter does not exist.

    ``@f.defjvp`` then gives the rule: from ``(primals, tangents)``, each a tuple with an entry per
    differentiated argument, to ``(result, tangent)``, the latter linear in the tangents.  Rules
    may be differentiated, batched and compiled themselves.  Arguments given by keyword reach the
    rule by position, defaults filled in.  An argument that is a reference comes with a reference
    as its tangent, which the rule may write.

    >>> import jxkernel as jx
    >>> @jx.custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), 10.0 * x * t
    >>> float(jx.grad(f)(3.0))
    30.0
    """

    kind = "custom_jvp"
    rule_name = "defjvp"
    first_rule, given_back = "jvp", "(result, tangent)"

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Iterable[int] = (),
        nondiff_argnames: str | Iterable[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Give the rule, from (primals, tangents) to (result, tangent), and return it.

        Args:
          jvp: the rule.
          symbolic_zeros: whether a tangent that is known to be zero reaches the rule as a
            ``custom_derivatives.SymbolicZero``, so that the rule can skip work for it, and may
            be returned as one; else it is an array of zeros.

        Raises:
          TypeError: the rule is not callable.
        """
        check_callable("defjvp", "jvp", jvp)
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule per argument: ``(tangent, result, *primals) -> tangent``; None for zero.

        Raises:
          TypeError: there are arguments that are not differentiated; use ``defjvp``.
        """
        if self.nondiff.numbers:
            raise TypeError("defjvps cannot be used with nondiff_argnums: use defjvp")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            out = self(*primals)
            total = physical.map(Zero.tangent_of, out)
            for rule, tangent in zip(jvps, tangents, strict=True):
                if rule is not None:
                    part = rule(tangent, out, *primals)
                    total = physical.map(add_tangents, total, part)
            return out, physical.map(instantiate, total)

        self.defjvp(jvp)

    def _rules(self) -> tuple[Any, ...]:
        return (self.jvp,)

    def _lend(self, refs: ReferencesOfCall) -> Any:
        """Call the function as one that takes the values of references and returns others."""
        rule = self.jvp
        assert rule is not None, "checked by the call"

        def fun(values: Any, *args: Any) -> Any:
            return refs.run(values, lambda: self.fun(*refs.full(args)))

        def jvp(*args: Any) -> Any:
            *nondiff, (values, *primals), (moving, *tangents) = args
            if not self.symbolic_zeros:
                leaves, structure = physical.flatten(primals)
                explicit = [instantiate(t) for t in structure.flatten_up_to(tangents)]
                avals = [abstractify(x) for x in leaves]
                tangents = per_key(structure, avals, structure.unflatten(explicit))

            def call(tangent_of: Callable[[Ref], Ref]) -> Any:
                first = refs.nondiff(nondiff)
                return self._pair(
                    rule, rule(*first, refs.diff(primals), refs.diff(tangents, tangent_of))
                )

            (out, tangent), after, moved = refs.run_moving(values, moving, call)
            return (out, after), (tangent, moved)

        fun.__name__ = self.name
        lent = custom_jvp(fun, [place + 1 for place in refs.static])
        lent.defjvp(jvp, symbolic_zeros=True)
        out, after = self._call_lent(lent, refs, refs.values(), *refs.rest)
        refs.write(after)
        return out

    def _bind_flat(self, bound: _Bound) -> list[Any]:
        rule = self._flat_rule(bound.call, bound.results)
        return bind_custom_jvp(
            self._flat(bound.call, bound.results),
            JvpRule(rule, self.name, symbolic=self.symbolic_zeros),
            bound.hidden,
            bound.leaves,
            captures=bound.captures,
        )

    def _flat_rule(
        self, call: CustomCall, results: _Results
    ) -> Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]:
        rule = self.jvp
        assert rule is not None, "checked by the call"

        def flat(operands: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            hidden, leaves = call.split(operands)
            primals, moving = call.in_tree.unflatten(leaves), call.in_tree.unflatten(tangents)
            avals = [abstractify(x) for x in leaves]
            moving = per_key(call.in_tree, avals, moving, symbolic=self.symbolic_zeros)
            pair = self._pair(rule, rule(*call.nondiff(hidden), primals, moving))
            outs = results.flatten(self.name, pair[0], function_name(rule))
            return outs, self._tangents(rule, pair[1], outs, results.structure)

        return flat

    def _tangents(
        self, rule: Callable[..., Any], tangent: Any, outs: Sequence[Any], structure: Any
    ) -> list[Any]:
        what = f"the jvp rule {function_name(rule)} of {self.name}"
        avals = [abstractify(out) for out in outs]
        tangent = per_word("result's tangent", what, structure, avals, tangent)
        leaves, found = physical.flatten(tangent)
        if found != structure:
            raise TypeError(
                f"{what} must return a result and a tangent of one structure, got "
                f"{structure_text(structure)} and "
                f"{structure_text(found)}"
            )
        return [
            _fitting(what, "tangent", leaf, aval.tangent())
            for leaf, aval in zip(leaves, avals, strict=True)
        ]


def _fitting(
    what: str,
    kind: str,
    leaf: Any,
    wanted: ShapedArray,
    path: str = "",
    error: type[Exception] = TypeError,
) -> Any:
    """Return a tangent or cotangent that a rule gave, of the type it must have.

    Raises:
      TypeError: it is no array and no number, or has another type.
      ValueError: it has another type, where ``error`` says so.
    """
    if wanted.dtype == dtypes.float0:
        return np.zeros(wanted.shape, dtypes.float0)
    if type(leaf) is Zero and leaf.shape == wanted.shape:
        return Zero(wanted)
    try:
        aval = leaf.aval if type(leaf) is Zero else abstractify(leaf)
    except TypeError:
        raise TypeError(
            f"{what} must return arrays or numbers, got {with_type(leaf)} as the {kind}{path}"
        ) from None
    if aval.shape == wanted.shape and (aval.dtype == wanted.dtype or aval.weak_type):
        if not aval.vma <= wanted.vma:
            axes = tuple(sorted(map(str, aval.vma - wanted.vma)))
            raise error(
                f"{what} must return a {kind} of type {wanted.short()}{path}, got {aval.short()}: "
                f"its value is the same on all devices along {axes} and the {kind} is not. Sum "
                f"the devices' shares: jxkernel.lax.psum(x, {axes})"
            )
        same = aval.dtype == wanted.dtype
        return leaf if same else convert_element_type(leaf, wanted.dtype)
    raise error(
        f"{what} must return a {kind} of type {wanted.short()}{path}, got {aval.short()}: a "
        f"{kind} has the shape and dtype of its value"
    )


class custom_vjp(_Custom):
    """Decorate a function with a backward derivative of its own.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are not differentiated: functions, sizes, or
        arrays that are constant; no traced values.  ``fwd`` gets them at their places, ``bwd``
        first.
      nondiff_argnames: their names.

    Raises:
      TypeError: ``fun`` is not callable.
      ValueError: such a parameter does not exist.

    ``f.defvjp(fwd, bwd)`` then gives the rule.  ``fwd`` takes the arguments and returns ``(result,
    residuals)``; ``bwd`` takes the residuals and a cotangent of the result and returns a tuple with
    a cotangent per differentiated argument, None for zero.  One array or None may stand for all of
    a subtree, and cotangents are converted to their arguments' dtypes.  Both may be differentiated,
    batched and compiled themselves.  There is no forward derivative: ``jvp`` is a TypeError.

    References may be arguments: ``bwd`` may write to them, or to those that it gets as residuals,
    and returns None for them.  What ``fwd`` writes leaves the derivative of their values as it was.

    >>> import jxkernel as jx
    >>> @jx.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (ct.clip(-1.0, 1.0),))
    >>> float(jx.grad(lambda x: 5.0 * clipped(x))(3.0))
    1.0
    """

    kind = "custom_vjp"
    rule_name = "defvjp"
    first_rule, given_back = "fwd", "(result, residuals)"

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Iterable[int] = (),
        nondiff_argnames: str | Iterable[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the rule: the way there, with residuals, and the way back.

        Args:
          fwd: the way there.
          bwd: the way back.
          symbolic_zeros: whether to tell the rule what is not differentiated.  Each array in the
            arguments of ``fwd`` then comes as a ``custom_derivatives.CustomVJPPrimal``, a pair of
            ``value`` and ``perturbed`` (whether it is differentiated by), and a cotangent that
            is known to be zero reaches ``bwd`` as a ``custom_derivatives.SymbolicZero``.
          optimize_remat: whether the function itself runs in place of ``fwd`` where nothing
            needs the residuals, as on the first way through a ``checkpoint``.

        Raises:
          TypeError: one is not callable.
        """
        check_callable("defvjp", "fwd", fwd)
        check_callable("defvjp", "bwd", bwd)
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    def _lend(self, refs: ReferencesOfCall) -> Any:
        """Call the function as one that takes the values of references and returns others.

        ``bwd`` writes to the references themselves, or to those that it gets as residuals.
        """
        own_fwd, own_bwd = self.fwd, self.bwd
        assert own_fwd is not None, "checked by the call"
        assert own_bwd is not None, "given together"
        held: list[Any] = []

        def fun(values: Any, *args: Any) -> Any:
            return refs.run(values, lambda: self.fun(*refs.full(args)))

        def fwd(values: Any, *args: Any) -> tuple[Any, list[Any]]:
            values = physical.map(_without_flag, values, is_leaf=_is_flagged)
            pair, after = refs.run(values, lambda: own_fwd(*refs.full(args)))
            result, residuals = self._pair(own_fwd, pair)
            leaves, structure = physical.flatten(residuals)
            held[:] = structure, [leaf if type(leaf) is Ref else None for leaf in leaves]
            return (result, after), [leaf for leaf in leaves if type(leaf) is not Ref]

        def bwd(*args: Any) -> Any:
            *nondiff, kept, (cotangent, _) = args
            structure, known = held
            others = iter(kept)
            residuals = structure.unflatten([next(others) if x is None else x for x in known])
            pulled = own_bwd(*refs.nondiff(nondiff), residuals, cotangent)
            if not refs.fits(pulled):
                return pulled
            what = f"the bwd rule {function_name(own_bwd)} of {self.name}"
            return (None, *refs.without(pulled, partial(_shaped_like, what)))

        fun.__name__ = self.name
        lent = custom_vjp(fun, [place + 1 for place in refs.static])
        lent.defvjp(fwd, bwd, self.symbolic_zeros, self.optimize_remat)
        before = refs.values()
        out, after = self._call_lent(lent, refs, before, *refs.rest)
        refs.write_past(before, after)
        return out

    def _rules(self) -> tuple[Any, ...]:
        return (self.fwd, self.bwd)

    def _bind_flat(self, bound: _Bound) -> list[Any]:
        if bound.hidden:
            parameter = bound.call.traced_parameter(self.fun)
            raise NondiffTracerError(self.name, str(parameter), **place_in_source())
        fun = self._flat(bound.call, bound.results)
        forward = self._flat_forward(bound.call, bound.results)
        if self.optimize_remat:
            forward = optimized_forward(fun, forward, self.name)
        return bind_custom_vjp(
            fun,
            VjpRule(forward, self.name),
            (),
            bound.leaves,
            captures=bound.captures,
        )

    def _flat_forward(self, call: CustomCall, results: _Results) -> Forward:
        fwd = self.fwd
        assert fwd is not None, "checked by the call"

        def flat(
            operands: Sequence[Any], active: Sequence[bool]
        ) -> tuple[list[Any], list[Any], Pull]:
            given = operands
            if self.symbolic_zeros:
                given = [CustomVJPPrimal(*each) for each in zip(operands, active, strict=True)]
            args = call.arguments((), given)
            if self.symbolic_zeros:
                args = tree.map(_marked_whole, args)
            pair = self._pair(fwd, fwd(*args))
            outs = results.flatten(self.name, pair[0], function_name(fwd))
            residuals, structure = physical.flatten(pair[1])
            for index, leaf in enumerate(residuals):
                check_result(f"{function_name(fwd)} (its residuals)", structure, index, leaf)
            back = _WayBack(self, call, results.structure, structure, outs, operands)
            return outs, residuals, back

        return flat


def _is_flagged(value: Any) -> bool:
    return isinstance(value, CustomVJPPrimal)


def _marked_whole(leaf: Any) -> Any:
    """Return keys whose key data is marked as marked keys, and any other leaf as it is."""
    if not isinstance(leaf, ExtendedArray):
        return leaf
    marked = leaf.key_data
    return CustomVJPPrimal(leaf.with_key_data(marked.value), marked.perturbed)


def _without_flag(value: Any) -> Any:
    """Return a value that came with whether it is differentiated by."""
    return value.value if _is_flagged(value) else value


class _WayBack:
    """The second half of a rule as a function of flat residuals and cotangents."""

    __slots__ = ("_arg_avals", "_call", "_custom", "_out_avals", "_out_tree", "_residual_tree")

    def __init__(
        self,
        custom: custom_vjp,
        call: CustomCall,
        out_tree: Any,
        residual_tree: Any,
        outs: Sequence[Any],
        leaves: Sequence[Any],
    ) -> None:
        self._custom = custom
        self._call = call
        self._out_tree = out_tree
        self._residual_tree = residual_tree
        self._out_avals = [abstractify(out) for out in outs]
        self._arg_avals = [abstractify(leaf) for leaf in leaves]

    def __call__(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        bwd = self._custom.bwd
        assert bwd is not None, "given together with the first half"
        symbolic = self._custom.symbolic_zeros
        given = iter([_as_array(ct if symbolic else instantiate(ct)) for ct in cts])
        full = [
            next(given)
            if has_tangent(aval)
            else (Zero(aval.cotangent()) if symbolic else np.zeros(aval.shape, dtypes.float0))
            for aval in self._out_avals
        ]
        cotangent = self._out_tree.unflatten(full)
        cotangent = per_key(self._out_tree, self._out_avals, cotangent, symbolic=symbolic)
        pulled = bwd(*self._call.nondiff(()), self._residual_tree.unflatten(residuals), cotangent)
        return self._checked(bwd, pulled)

    def _checked(self, bwd: Callable[..., Any], pulled: Any) -> list[Any]:
        """Return a cotangent for each leaf of the arguments; ``Zero`` for None and integers."""
        what = f"the bwd rule {function_name(bwd)} of {self._custom.name}"
        in_tree = self._call.in_tree
        count = len(in_tree.children())
        if not isinstance(pulled, (tuple, list)) or len(pulled) != count:
            of_each = (
                "the differentiated argument"
                if count == 1
                else (f"each of the {count} differentiated arguments")
            )
            form = "(ct,)" if count == 1 else "one for each, None for those it does not depend on"
            raise TypeError(
                f"{what} must return a tuple with one cotangent for {of_each}, got "
                f"{kind_in_words(pulled)}: return {form}"
            )
        leaves = physical.leaves(_shaped_like(what, in_tree, tuple(pulled)))
        paths = physical.leaf_paths(in_tree)
        return [
            self._cotangent(what, leaf, aval, path)
            for leaf, aval, path in zip(leaves, self._arg_avals, paths, strict=True)
        ]

    def _cotangent(self, what: str, leaf: Any, aval: ShapedArray, path: Any) -> Any:
        if leaf is _ZERO or type(leaf) is Zero or not has_tangent(aval):
            return Zero(aval.cotangent())
        place = f" for args{tree.keystr(path)}"
        wanted = aval.cotangent()
        return _fitting(what, "cotangent", _cast(leaf, wanted), wanted, place, ValueError)


def _as_array(ct: Any) -> Any:
    """Return a cotangent as rules get it: a number that was written as such is an array too."""
    return stage(ct) if type(ct) in (float, complex) else ct


def _cast(leaf: Any, wanted: ShapedArray) -> Any:
    """Return a cotangent as its argument's dtype; a complex one does not become real."""
    try:
        aval = abstractify(leaf)
    except TypeError:
        return leaf
    found = aval.dtype
    narrowed = dtypes.is_complex(found) and not dtypes.is_complex(wanted.dtype)
    if narrowed or not (dtypes.is_numeric(found) or dtypes.is_boolean(found)):
        return leaf
    return leaf if found == wanted.dtype else convert_element_type(leaf, wanted.dtype)


_ZERO = object()
"""What stands for a zero cotangent, as None is no leaf."""


def _shaped_like(what: str, structure: Any, cotangents: Any) -> Any:
    """Return cotangents with the structure of their arguments.

    Raises:
      TypeError: they have another.
    """
    full = _broadcast(structure, cotangents)
    for mismatch in physical.mismatches(structure, full, exact=True):
        raise TypeError(
            f"{what} must return cotangents shaped like the arguments. "
            f"{mismatch.describe('the arguments', 'the result')}"
        )
    return full


def _broadcast(structure: Any, cotangents: Any) -> Any:
    """Return a tree of cotangents in which None and a leaf stand for all leaves of a subtree."""
    if cotangents is None:
        return structure.unflatten([_ZERO] * structure.num_leaves)
    node = structure.node_data()
    if getattr(cotangents, "dtype", None) == dtypes.float0 and key_data_axes(structure) == [1]:
        # What has no tangent, such as keys, may be one array of them or a tree of its key data.
        return structure.unflatten([_ZERO])
    if node is None:
        return cotangents
    if type(cotangents) is not node[0]:
        whole = tree.is_tree_node(type(cotangents))
        return cotangents if whole else structure.unflatten([cotangents] * structure.num_leaves)
    parts, level = physical.flatten(cotangents, is_leaf=lambda x: x is not cotangents)
    children = structure.children()
    if len(parts) != len(children):
        return cotangents
    return level.unflatten([_broadcast(*each) for each in zip(children, parts, strict=True)])
