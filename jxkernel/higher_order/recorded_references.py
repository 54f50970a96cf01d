"""References in programs that are looked at: ``make_jaxpr`` shows what reads and writes them.

What is compiled never has a reference in it: its values go along (``references``).  A program that
is traced to be looked at has them as variables of their own type, and an equation for each reading
and writing in its own function.  Programs inside take and give values, as they do when they run.
Evaluated, these equations read and write the references that they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.core.effects import AccumEffect, ReadEffect, WriteEffect
from jxkernel.core.jaxpr import Atom, Var
from jxkernel.core.primitive import Primitive
from jxkernel.core.slices import Slice
from jxkernel.core.trace import Tracer
from jxkernel.higher_order.references import AbstractRef, Binding, Ref, part, replace
from jxkernel.records import record
from jxkernel.transforms.stage import StageTrace, StageTracer, trace_flat
from jxkernel.tree import PyTreeDef, physical

__all__ = ["PerformedPrimitive", "Recorder"]


class PerformedPrimitive(Primitive):
    """An operation that is done at once, with what there is where it is done, such as references.

    Args:
      name: its name.
      performed: what is done; it gives a sequence.
      abstract_eval: gives the types of the results.
    """

    def __init__(
        self, name: str, performed: Callable[..., Any], abstract_eval: Callable[..., Any]
    ) -> None:
        super().__init__(name, multiple_results=True)
        del Primitive.registry[name]  # the name is free for others: none of these is compiled
        self.performed = performed
        self.abstract_eval = abstract_eval

    def bind(self, *args: Any, **params: Any) -> Any:
        """Perform the operation."""
        assert self.performed is not None, "given when it was made"
        return self.performed(*args, **params)

    def abstract(self, avals: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the types of the results; an index is not remembered."""
        return self.abstract_eval(*avals, **params)


class _Operand:
    """In an index: the next operand of the equation."""

    def __repr__(self) -> str:
        return "_"


_OPERAND = _Operand()


class _Index:
    """The index of a part: what is known of it; what is traced is an operand of the equation.

    Args:
      items: the entries, with ``_OPERAND`` where an operand goes.
    """

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = tuple(items)

    def of(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Return the index with the operands in their places."""
        given = iter(operands)
        return tuple([_filled(item, given) for item in self._items])

    def __repr__(self) -> str:
        return f"[{','.join(map(_item_text, self._items))}]"


def _filled(item: Any, operands: Iterator[Any]) -> Any:
    if item is _OPERAND:
        return next(operands)
    if isinstance(item, Slice) and item.start is _OPERAND:
        return Slice(next(operands), item.size, item.stride)
    return item


def _item_text(item: Any) -> str:
    if item is Ellipsis:
        return "..."
    if isinstance(item, slice):
        ends = [_end_text(end) for end in (item.start, item.stop)]
        step = "" if item.step is None else f":{item.step}"
        return f"{':'.join(ends)}{step}"
    if isinstance(item, Slice):
        return f"{item.start!r}:+{item.size}"
    shape = np.shape(item) if hasattr(item, "shape") else ()
    return f"array{list(shape)}" if shape else repr(item)


def _end_text(end: object) -> str:
    return "" if end is None else str(end)


def _split(index: Any) -> tuple[_Index, list[Any]]:
    """Return an index without what is traced in it, and that."""
    operands: list[Any] = []
    items: list[Any] = []
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, Tracer):
            operands.append(item)
            items.append(_OPERAND)
        elif isinstance(item, Slice) and isinstance(item.start, Tracer):
            operands.append(item.start)
            items.append(Slice(_OPERAND, item.size, item.stride))
        else:
            items.append(item)
    return _Index(items), operands


# ---------------------------------------------------------------- primitives


@record()
class _Kind:
    """The kind of an array that is made of others, such as a random key, in a reference."""

    structure: Any
    aval: ShapedArray

    def __repr__(self) -> str:
        return self.aval.dtype.name


def _make(*leaves: Any, kind: _Kind | None) -> list[Ref]:
    return [Ref(leaves[0] if kind is None else kind.structure.unflatten(leaves))]


def _make_type(*avals: ShapedArray, kind: _Kind | None) -> list[AbstractRef]:
    return [AbstractRef(avals[0] if kind is None else kind.aval, avals)]


def _get(ref: Ref, *operands: Any, index: _Index | None) -> list[Any]:
    return physical.leaves(ref.read() if index is None else part(ref, index.of(operands)))


def _get_type(ref: AbstractRef, *avals: ShapedArray, index: _Index | None) -> list[ShapedArray]:
    if index is None:
        return ref.leaf_avals

    def read(value: Any, *operands: Any) -> list[Any]:
        return [value[index.of(operands)]]

    return trace_flat(read, [ref.inner_aval, *avals]).out_avals


def _put(ref: Ref, *values: Any, index: _Index | None, adding: bool) -> list[Any]:
    if index is None and not adding:
        ref.write(ref.whole(values))
    else:
        value, *operands = values
        replace(ref, ... if index is None else index.of(operands), value, adding=adding)
    return []


def _set(ref: Ref, *values: Any, index: _Index | None) -> list[Any]:
    return _put(ref, *values, index=index, adding=False)


def _addupdate(ref: Ref, *values: Any, index: _Index | None) -> list[Any]:
    return _put(ref, *values, index=index, adding=True)


def _nothing(*avals: Any, **params: Any) -> list[Any]:
    return []


def _freeze(ref: Ref) -> list[Any]:
    return physical.leaves(ref.end())


def _freeze_type(ref: AbstractRef) -> list[ShapedArray]:
    return ref.leaf_avals


_new_p = PerformedPrimitive("new_ref", _make, _make_type)
_get_p = PerformedPrimitive("get", _get, _get_type)
_set_p = PerformedPrimitive("set", _set, _nothing)
_addupdate_p = PerformedPrimitive("addupdate", _addupdate, _nothing)
_freeze_p = PerformedPrimitive("freeze", _freeze, _freeze_type)


# ---------------------------------------------------------------- recording


class _Recorded(Binding):
    """The place of a reference in a program: reading and writing the value are equations."""

    __slots__ = ("_ref", "recorder", "variable")

    def __init__(self, recorder: Recorder, ref: Ref, variable: Var) -> None:
        self.recorder = recorder
        self.variable = variable
        self._ref = ref
        self.trace = recorder.trace
        self.is_written = False

    @property
    def value(self) -> Any:
        """What is read."""
        return self._ref.whole(self.recorder.record(_get_p, self.variable, index=None))

    @value.setter
    def value(self, value: Any) -> None:
        leaves = physical.leaves(value)
        self.recorder.record(_set_p, self.variable, *leaves, index=None)

    def end(self) -> Any:
        """Return what is frozen."""
        return self._ref.whole(self.recorder.record(_freeze_p, self.variable))


_ARRAY = physical.flatten(0)[1]
"""The structure of an array."""


class Recorder:
    """Makes equations, in one trace, of what is done to references.

    Args:
      trace: the trace.
    """

    def __init__(self, trace: StageTrace) -> None:
        self.trace = trace

    def record(self, primitive: Primitive, *operands: Any, **params: Any) -> Any:
        """Record an equation of a reference's variable and values, and return its results."""
        atoms = [self._atom(one) for one in operands]
        outs = self.trace.record(primitive, atoms, tuple([one.aval for one in atoms]), params)
        kinds = _EFFECTS.get(primitive)
        if kinds is not None:
            equation = self.trace.eqns[-1]
            equation.effects = frozenset([kind(operands[0]) for kind in kinds])
            if operands[0] in (*self.trace.invars, *self.trace.constvars.values()):
                self.trace.effects = self.trace.effects | equation.effects
        return outs

    def _atom(self, value: Any) -> Atom:
        if isinstance(value, Var):
            return value
        own = type(value) is StageTracer and value.owner is self.trace
        return value.variable if own else self.trace.lift(value)

    def made(self, ref: Ref, leaves: Sequence[Any]) -> Binding:
        """Return the place of a reference that the program makes."""
        kind = _Kind(ref.structure, ref.aval.inner_aval) if self._holds_parts(ref) else None
        [made] = self.record(_new_p, *leaves, kind=kind)
        return _Recorded(self, ref, made.variable)

    def argument(self, ref: Ref, variable: Var) -> Ref:
        """Return a reference for an argument of the program, of the type of another."""
        return ref.like(lambda own: _Recorded(self, own, variable))

    def parameter(self, aval: AbstractRef, variable: Var, structure: PyTreeDef = _ARRAY) -> Ref:
        """Return a reference for an argument of the program, by its type.

        Args:
          aval: the type.
          variable: the argument.
          structure: how a value is made of arrays.
        """
        return Ref.of_type(aval, structure, lambda own: _Recorded(self, own, variable))

    def captured(self, ref: Ref) -> Binding:
        """Return the place of a reference of outside: a constant of the program."""
        variable = Var(ref.aval)  # type: ignore[arg-type]  # only programs to be looked at
        self.trace.constvars[id(ref)] = variable
        self.trace.const_values.append(ref)
        return _Recorded(self, ref, variable)

    def part(self, ref: Ref, index: Any) -> Any:
        """Return a part that is read."""
        if self._holds_parts(ref):
            return ref.read()[index]
        known, operands = _split(index)
        [found] = self.record(_get_p, self._variable(ref), *operands, index=known)
        return found

    def part_aval(self, ref: Ref, index: Any) -> ShapedArray:
        """Return the type of a part."""
        known, operands = _split(index)
        avals = [self._atom(one).aval for one in operands]
        [found] = _get_type(ref.aval, *avals, index=known)
        return found

    def replace(self, ref: Ref, index: Any, value: Any, *, adding: bool) -> None:
        """Record that a value is put in the place of a part, or added to it."""
        if self._holds_parts(ref):
            ref.binding().value = value if _is_whole(index) else ref.read().at[index].set(value)
            return
        known, operands = (None, []) if _is_whole(index) else _split(index)
        primitive = _addupdate_p if adding else _set_p
        self.record(primitive, self._variable(ref), value, *operands, index=known)
        ref.binding().is_written = True

    def _holds_parts(self, ref: Ref) -> bool:
        """Whether what a reference holds is made of other arrays, as a random key is."""
        return ref.leaf_avals != [ref.aval.inner_aval]

    def _variable(self, ref: Ref) -> Var:
        binding = ref.binding()
        assert isinstance(binding, _Recorded), "what has a recorder is recorded"
        return binding.variable


def _is_whole(index: object) -> bool:
    return index is Ellipsis or (isinstance(index, tuple) and not index)


_EFFECTS: dict[Primitive, tuple[Any, ...]] = {
    _get_p: (ReadEffect,),
    _set_p: (WriteEffect,),
    _addupdate_p: (ReadEffect, AccumEffect),
    _freeze_p: (ReadEffect,),
}
