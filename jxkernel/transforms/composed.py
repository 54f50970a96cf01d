"""Primitives that are made of other operations, and stand in programs by their own name.

A function of arrays says what such a primitive means.  Its type, its StableHLO, its derivatives
and its batched form are those of the function, so no rule of it can disagree with another.
Transforms that keep an operation as it is keep the name; the others leave what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from jxkernel._jaxlib import trace_context
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis, axis_environment
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import evaluating, set_current, state
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.primitives.shape.broadcast import add_tangents, instantiate
from jxkernel.transforms.batching import batch_flat
from jxkernel.transforms.jvp import jvp_flat
from jxkernel.transforms.stage import trace_flat
from jxkernel.transforms.transpose import pull_back

__all__ = ["Composed", "without_sources"]

_LIMIT = 1024


def without_sources(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program whose equations come from no line: that of the call it stands for counts."""
    eqns = [eqn.replace(source=None) for eqn in closed.jaxpr.eqns]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


class Composed(Primitive):
    """A primitive that means a function of arrays.

    Args:
      name: its name.
      meaning: a function of arrays, with the parameters as keywords.
      multiple_results: whether it returns a sequence.
      linear: the operands, by their positions, in each of which the function is linear; their
        tangents go through the primitive itself, which then has one result.
      lower: its lowering rule, where there is a better one than to lower the function.
    """

    def __init__(
        self,
        name: str,
        meaning: Callable[..., Any],
        *,
        multiple_results: bool = False,
        linear: Sequence[int] = (),
        lower: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(name, multiple_results=multiple_results)
        self.meaning = meaning
        self.linear = frozenset(linear)
        self._programs: dict[Any, ClosedJaxpr] = {}
        # The results of the function know along which axes they vary.
        self.varies = lambda avals, outs, params: outs
        self.define(
            abstract_eval=self._types,
            lower=lower or self._lowered,
            jvp=self._differentiated,
            transpose=self._pulled_back,
            batch=self._batched,
            sharding=AS_TYPED,
        )
        if multiple_results:
            self.define(partial_eval=self._partly_known)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace; to random keys what it is made of."""
        if any(isinstance(arg, ExtendedArray) for arg in args):
            return self._given(self._flat(*args, **params))
        return state.trace.process(self, args, params)

    def program(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
        """Return what an application means, in other operations; traced once and remembered.

        Args:
          avals: the types of the operands.
          params: the parameters.
        """
        key = (tuple(avals), tuple(params.items()), trace_context(), axis_environment())
        found = self._programs.get(key)
        if found is None:
            meaning = partial(self._flat, **params)
            found = without_sources(trace_flat(meaning, avals, name=self.name))
            if len(self._programs) >= _LIMIT:
                self._programs.clear()
            self._programs[key] = found
        return found

    def clear_caches(self) -> None:
        """Forget what is remembered: programs, result types and eager executables."""
        self._programs.clear()
        super().clear_caches()

    def _flat(self, /, *args: Any, **params: Any) -> list[Any]:
        out = self.meaning(*args, **params)
        return list(out) if self.multiple_results else [out]

    def _given(self, outs: Sequence[Any]) -> Any:
        return list(outs) if self.multiple_results else outs[0]

    def _types(self, /, *avals: ShapedArray, **params: Any) -> Any:
        return self._given(self.program(avals, params).out_avals)

    def _lowered(self, context: Any, /, *values: Any, **params: Any) -> Any:
        return self._given(context.inline(self.program(context.avals_in, params), values))

    def _differentiated(
        self, primals: Sequence[Any], tangents: Sequence[Any], /, **params: Any
    ) -> tuple[Any, Any]:
        """Where f(..., x, ...) is linear in x: f(..., t, ...), added up over such operands."""
        moving = [i for i, t in enumerate(tangents) if type(t) is not Zero]
        if not self.linear.issuperset(moving):
            outs, moved = jvp_flat(partial(self._flat, **params), primals, tangents)
            return self._given(outs), self._given(moved)
        parts = [self.bind(*primals[:i], tangents[i], *primals[i + 1 :], **params) for i in moving]
        return self.bind(*primals, **params), reduce(add_tangents, parts)

    def _partly_known(self, trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """Apply the function: a result that depends on known operands alone is known."""
        with set_current(trace):
            return self._flat(*args, **params)

    def _pulled_back(self, ct: Any, /, *args: Any, **params: Any) -> Sequence[Any]:
        cts = [instantiate(one) for one in (ct if self.multiple_results else [ct])]
        marks = tuple([is_linear(arg) for arg in args])
        avals = [
            arg.aval if mark else abstractify(arg) for arg, mark in zip(args, marks, strict=True)
        ]
        known = [arg for arg, mark in zip(args, marks, strict=True) if not mark]
        if evaluating():
            given = {"of": self, "avals": tuple(avals), "marks": marks}
            pulled = iter(transposed_p.bind(*known, *cts, **given, params=tuple(params.items())))
        else:
            pulled = iter(pull_back(self.program(avals, params), marks, known, cts))
        return [next(pulled) if mark else None for mark in marks]

    def _batched(
        self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], /, **params: Any
    ) -> tuple[Any, Any]:
        outs, places = batch_flat(partial(self._flat, **params), args, dims, axis)
        return self._given(outs), self._given(places)


def _transposed(
    *values: Any,
    of: Composed,
    avals: tuple[ShapedArray, ...],
    marks: tuple[bool, ...],
    params: tuple[tuple[str, Any], ...],
) -> list[Any]:
    count = marks.count(False)
    program = of.program(avals, dict(params))
    return [instantiate(ct) for ct in pull_back(program, marks, values[:count], values[count:])]


transposed_p = Composed("transposed", _transposed, multiple_results=True)
"""What pulls cotangents back through another, so that doing it eagerly is one dispatch."""
