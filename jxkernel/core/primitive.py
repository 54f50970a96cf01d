"""Primitives: each operation of the IR is one object that carries all its rules.

A rule is declared beside the primitive, so a reader of the operation reads its mathematics;
the interpreters (``transforms``, ``lowering``) look the rule up on the object and never hold
tables of their own.  Array data is positional, parameters are keyword-only and hashable, in
``bind`` and in every rule.  This module must not know of any interpreter.

A primitive that a user makes may be made again, for cells and scripts are run again: the newest
of a name is the one in the registry, and programs that hold an older one keep it, rules and all.
The package's own names are taken.

========================  ==================================================================
slot                      signature
========================  ==================================================================
``abstract_eval``         ``(*avals, **params) -> aval`` (a sequence for several results)
``lower``                 ``(context, *values, **params) -> value`` (or a sequence)
``jvp``                   ``(primals, tangents, **params) -> (result, tangent)``
``transpose``             ``(cotangent, *args, **params) -> cotangents``, one per argument
``batch``                 ``(axis, args, dims, **params) -> (result, dim)``
``partial_eval``          ``(trace, args, params) -> result``; only where the general
                          treatment (known arguments are evaluated, else staged) is wrong
``stage``                 ``(args, params) -> (args, params)``; only where the equation cannot
                          be recorded as it stands, because a parameter is a function
``dce``                   ``(used_outputs, equation) -> equation | None``
``effects``               ``(*avals, **params) -> frozenset``
``evaluate``              ``(*args, **params) -> result``; only where a cached executable
                          per (primitive, parameters) is not how it runs eagerly
``cost``                  ``(avals_in, avals_out, **params) -> flops``
``sharding``              ``(out, *avals, **params) -> entries``: how results are divided where
                          operands are (see ``core.explicit_sharding``)
``unfold``                ``(*args, **params) -> generator``; only where a parameter is a program:
                          the calls of it, one by one (see ``core.unfolding``)
========================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from jxkernel.config import no_collectives, remove_size_one_mesh_axis_from_type
from jxkernel.core import trace as _trace
from jxkernel.core.avals import ShapedArray
from jxkernel.core.explicit_sharding import AS_TYPED, require_no_exchange, sharded_results
from jxkernel.dtypes import ExtendedDType
from jxkernel.errors import KeyTypeError, ShardingTypeError, UndefinedRuleError
from jxkernel.source import called_by_user

__all__ = ["Primitive", "Undefined", "clear_primitive_caches"]

RuleT = TypeVar("RuleT", bound=Callable[..., Any])

_CACHE_LIMIT = 8192


class Undefined:
    """A rule that cannot exist; ``why`` is the sentence a user who needs it will read."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __repr__(self) -> str:
        return f"Undefined({self.why!r})"


class Primitive:
    """An operation of the IR with all its rules.

    Args:
      name: the name jaxprs print; the registry knows the newest primitive of a name.
      multiple_results: whether ``bind`` and the rules return sequences.
      element_work: what an element of a result costs, in additions, to a compiler that computes
        it in each loop that reads it; 0 where results are stored.

    ``axis_names``, of a collective, is a function from its parameters to the named axes it uses;
    a call of programs that binds names gives here those that remain.

    ``varies`` says along which tracked mesh axes the results vary, where that is not simply along
    those of any argument: of collectives, and of calls of programs, whose types know it.  It is a
    function ``(avals, outs, params) -> outs``.

    Raises:
      ValueError: a primitive of this package has the name.

    >>> from jxkernel.core.primitive import Primitive
    >>> halve_p = Primitive("halve")
    >>> halve_p.define(abstract_eval=lambda x: x, evaluate=lambda x: x / 2)
    halve
    >>> float(halve_p.bind(3.0))
    1.5
    """

    registry: ClassVar[dict[str, Primitive]] = {}
    exchanges = True
    """Of a collective: whether data go between devices, which ``no_collectives`` may forbid."""
    casts = False
    """Whether it only changes how a value is divided."""
    performed: Callable[..., Any] | None = None
    """Of operations on references: the function that runs at once, also in a trace."""
    takes_key_data: ClassVar[bool] = False
    call_primitive: ClassVar[bool] = False
    map_primitive: ClassVar[bool] = False
    """Whether a function is an operand, which older interpreters of programs ask.  Here none is."""
    RULES: ClassVar[tuple[str, ...]] = (
        "abstract_eval",
        "lower",
        "jvp",
        "transpose",
        "batch",
        "partial_eval",
        "stage",
        "dce",
        "effects",
        "evaluate",
        "cost",
        "sharding",
        "unfold",
    )

    def __init__(self, name: str, *, multiple_results: bool = False, element_work: int = 0) -> None:
        built_in = not called_by_user()
        taken = Primitive.registry.get(name)
        if taken is not None and (built_in or taken.built_in):
            raise ValueError(f"a primitive named {name!r} exists already: choose another name")
        self.name = name
        self.built_in = built_in
        self.multiple_results = multiple_results
        self.abstract_eval: Any = None
        self.lower: Any = None
        self.jvp: Any = None
        self.transpose: Any = None
        self.batch: Any = None
        self.partial_eval: Any = None
        self.stage: Any = None
        self.dce: Any = None
        self.effects: Any = None
        self.evaluate: Any = None
        self.cost: Any = None
        self.sharding: Any = None
        self.unfold: Any = None
        self.reference: Any = None
        self.accepted: tuple[tuple[type, ...], ...] | None = None
        self.axis_names: Callable[[dict[str, Any]], Any] | None = None
        self.element_work = element_work
        self.varies: Callable[[Any, Any, dict[str, Any]], Any] | None = None
        self._aval_cache: dict[Any, Any] = {}
        self.eager_cache: dict[tuple[Any, ...], Any] = {}
        Primitive.registry[name] = self

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive to arrays under the current trace."""
        return _trace.state.trace.process(self, args, params)

    @property
    def impl(self) -> Callable[..., Any]:
        """What computes arrays at once, whatever is traced: ``evaluate``, or what is compiled."""

        def apply(*args: Any, **params: Any) -> Any:
            return _trace.base_trace().process(self, args, params)

        return apply

    def rule(self, name: str) -> Any:
        """Return a declared rule.

        Raises:
          UndefinedRuleError: the rule is missing, or is ``Undefined`` for a reason.
        """
        found = getattr(self, name)
        if found is None or type(found) is Undefined:
            parts = {"instead": _skeleton(self, name)} if found is None else {}
            why = "" if found is None else found.why
            raise UndefinedRuleError(self.name, name, why, **parts)
        return found

    def define(self, **rules: Any) -> Primitive:
        """Declare several rules at once and return the primitive.

        Raises:
          ValueError: a rule is declared twice, or no rule has that name.
        """
        for name, rule in rules.items():
            self._declare(name, rule)
        return self

    def _declare(self, name: str, rule: Any) -> None:
        if name not in Primitive.RULES:
            raise ValueError(f"{name!r} names no rule: there are {', '.join(Primitive.RULES)}")
        found = getattr(self, name)
        if found is None:
            setattr(self, name, rule)
        elif self.built_in or not _is_rerun(found, rule):
            raise ValueError(
                f"primitive {self.name!r} has a rule {name!r} already{_instead(found)}"
            )
        else:
            self.replace_rule(name, rule)

    def replace_rule(self, name: str, rule: Any) -> None:
        """Set a rule, whether or not there is one: the newest counts for what is traced from now.

        Raises:
          ValueError: the primitive is one of this package's.
        """
        found = getattr(self, name)
        if found is not None and self.built_in:
            raise ValueError(f"the rule {name!r} of {self.name!r} is this package's own")
        setattr(self, name, rule)
        if found is not None:
            self.clear_caches()

    def def_impl(self, impl: RuleT) -> RuleT:
        """Declare, as a decorator, how arrays are computed while nothing is traced.

        Without it the primitive is compiled by its ``lower`` rule, eagerly too.  A primitive that
        is not this package's may be given another: libraries do so on purpose.
        """
        if self.built_in:
            self._declare("evaluate", impl)
        else:
            self.replace_rule("evaluate", impl)
        return impl

    def def_abstract_eval(self, abstract_eval: RuleT) -> RuleT:
        """Declare, as a decorator, how result types follow from argument types."""
        self._declare("abstract_eval", abstract_eval)
        return abstract_eval

    def def_effectful_abstract_eval(self, rule: RuleT) -> RuleT:
        """Declare, as a decorator, how result types and effects follow from argument types.

        The rule returns both: the type (a sequence for several results), and a set of effects.

        >>> from jxkernel.core.effects import IO
        >>> from jxkernel.core.primitive import Primitive
        >>> sent_p = Primitive("sent")
        >>> _ = sent_p.def_effectful_abstract_eval(lambda x: (x, {IO}))
        >>> import jxkernel as jx
        >>> jx.make_jaxpr(sent_p.bind)(1.0).effects == {IO}
        True
        """

        def types(*avals: Any, **params: Any) -> Any:
            return rule(*avals, **params)[0]

        def effects(*avals: Any, **params: Any) -> frozenset[Any]:
            return frozenset(rule(*avals, **params)[1])

        self._declare("abstract_eval", types)
        self._declare("effects", effects)
        return rule

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return what ``bind`` takes beside operands to repeat an equation with such parameters.

        That is functions, which come before the operands and are none here, and parameters:
        ``bind(*functions, *operands, **params)``.
        """
        return [], params

    def def_lower(self, rule: RuleT) -> RuleT:
        """Declare, as a decorator, the StableHLO of one application."""
        self._declare("lower", rule)
        return rule

    def def_jvp(self, rule: RuleT) -> RuleT:
        """Declare, as a decorator, the forward derivative."""
        self._declare("jvp", rule)
        return rule

    def def_transpose(self, rule: RuleT) -> RuleT:
        """Declare, as a decorator, the transpose with respect to linear arguments."""
        self._declare("transpose", rule)
        return rule

    def def_batch(self, rule: RuleT) -> RuleT:
        """Declare, as a decorator, the rule that ``vmap`` uses."""
        self._declare("batch", rule)
        return rule

    def abstract(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> Any:
        """Return the result type(s), remembered per (avals, params).

        Parameters that hold programs or functions are not remembered, so that no cache keeps
        them alive.
        """
        key: Any = (avals, tuple(params.items())) if params else avals
        try:
            return self._aval_cache[key]
        except KeyError:
            pass
        settings = no_collectives.value, remove_size_one_mesh_axis_from_type.value
        plain, key = key, (key, settings)
        try:
            return self._aval_cache[key]
        except KeyError:
            pass
        varying = divided = extended = False
        for aval in avals:
            varying = varying or bool(aval.vma)
            divided = divided or aval.explicit_sharding is not None
            extended = extended or isinstance(aval.dtype, ExtendedDType)
        if extended and not self.takes_key_data:
            raise KeyTypeError(self.name, ", ".join([aval.short() for aval in avals]))
        out = self.rule("abstract_eval")(*avals, **params)
        if self.varies is not None:
            out = self.varies(avals, out, params)
        elif varying:
            out = self._varying(avals, out)
        if divided:
            place = _trace.place_in_source
            out = sharded_results(self.name, self.sharding, avals, out, params, place)
        if settings[0]:
            self._require_no_exchange(avals, out, params, settings[0])
        if not divided and self.axis_names is None and self.sharding is not AS_TYPED:
            key = plain  # the settings change nothing
        if not self.multiple_results or all(_is_plain(value) for value in params.values()):
            if len(self._aval_cache) >= _CACHE_LIMIT:
                self._aval_cache.clear()
            self._aval_cache[key] = out
        return out

    def _require_no_exchange(
        self, avals: tuple[ShapedArray, ...], out: Any, params: dict[str, Any], forbidden: Any
    ) -> None:
        """Refuse a collective, and results of which data go along forbidden mesh axes.

        Raises:
          ShardingTypeError: it is such an operation.
        """
        place = _trace.place_in_source
        if self.axis_names is not None and self.exchanges:
            for name in forbidden.intersection(self.axis_names(params)):
                operands = ", ".join([aval.short() for aval in avals])
                why = f"and sends data along {name!r}, which no_collectives forbids"
                raise ShardingTypeError(self.name, operands, why, **place())
        if self.sharding is not AS_TYPED or self.casts:
            outs = out if self.multiple_results else [out]
            require_no_exchange(self.name, avals, outs, forbidden, place)

    def _varying(self, avals: tuple[ShapedArray, ...], out: Any) -> Any:
        """Return result types that vary wherever an argument does."""
        axes = avals[0].vma.union(*[aval.vma for aval in avals])
        if self.multiple_results:
            return [each.update(vma=each.vma | axes) for each in out]
        return out.update(vma=out.vma | axes)

    def clear_caches(self) -> None:
        """Forget remembered result types and eager executables."""
        self._aval_cache.clear()
        self.eager_cache.clear()


_SKELETONS = {
    "abstract_eval": "def rule(*avals, **params): return ShapedArray(shape, dtype)",
    "lower": (
        "def rule(context, *values, **params): "
        "return context.value('stablehlo.add', context.out_type, values)"
    ),
    "jvp": "def rule(primals, tangents, **params): return result, tangent",
    "transpose": "def rule(ct, *args, **params): return [cotangent_or_None_for_each_arg]",
    "batch": "def rule(axis, args, dims, **params): return result, batch_dim",
}


def _skeleton(primitive: Primitive, name: str) -> tuple[str, ...]:
    """Return what to write to declare a rule."""
    text = _SKELETONS.get(name)
    if text is None:
        return (f"{primitive.name}_p.define({name}=rule)",)
    return (f"@{primitive.name}_p.def_{name}", text)


def _is_rerun(found: Any, rule: Any) -> bool:
    """Whether a rule is an older one anew: the cell that declares it has been run again."""
    places = [
        (getattr(one, "__module__", None), getattr(one, "__qualname__", None))
        for one in (found, rule)
    ]
    return places[0] == places[1] and places[0][0] == "__main__"


def _instead(found: Any) -> str:
    """Say how a rule that a cell declared is replaced by another."""
    name = getattr(found, "__qualname__", "")
    of_cell = getattr(found, "__module__", None) == "__main__"
    return f": give the new rule the old one's name, {name}, to replace it" if of_cell else ""


def _is_plain(value: Any) -> bool:
    if value.__class__ is tuple:
        return all(map(_is_plain, value))
    return not hasattr(value, "remember") and (isinstance(value, type) or not callable(value))


def clear_primitive_caches() -> None:
    """Forget every remembered result type and eager executable."""
    for primitive in Primitive.registry.values():
        primitive.clear_caches()
