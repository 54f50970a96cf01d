"""The way back of a ``custom_vjp`` for many examples.

A result without the batch axis is one value for all examples, and gets one cotangent, where each
example of the others gets its own.  What it sends back must then be one value as well: a rule
that mixes it with what differs between examples, or that sends it to an argument of theirs, asks
for a cotangent from each example, so such results get the axis all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis, extend_axes
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.programs import keep_results
from jxkernel.primitives.shape.broadcast import (
    add_tangents,
    batch_to_front,
    instantiate,
    reduce_sum,
)
from jxkernel.transforms.batching import batch_flat, batch_program, batched_aval, example_aval
from jxkernel.transforms.stage import trace_flat

__all__ = ["BatchedPull", "Pull"]

Pull = Callable[[Sequence[Any], Sequence[Any]], list[Any]]
"""From residuals and the cotangents of the results that have some to one for each argument.

Cotangents known to be zero are ``Zero``, both ways.
"""


class BatchedPull:
    """A way back for all examples."""

    __slots__ = ("_axis", "_has", "_outs", "_pull", "_stacked")

    def __init__(
        self,
        pull: Pull,
        axis: Axis,
        stacked: tuple[bool, ...],
        has: tuple[bool, ...],
        outs: tuple[bool, ...],
    ) -> None:
        """Make it.

        Args:
          pull: the way back for one example.
          axis: the batch axis.
          stacked: which residuals have it, in front.
          has: which arguments have it; the cotangents of the others are summed over examples.
          outs: which of the results that have cotangents have it.
        """
        self._pull = pull
        self._axis = axis
        self._stacked = stacked
        self._has = has
        self._outs = outs

    def of_examples(self) -> BatchedPull:
        """Return the way back that takes a cotangent of each result from each example."""
        every = (True,) * len(self._outs)
        return BatchedPull(self._pull, self._axis, self._stacked, self._has, every)

    def sends_apart(self, residuals: Sequence[ShapedArray], cts: Sequence[ShapedArray]) -> bool:
        """Whether results without the axis need cotangents from each example all the same.

        Args:
          residuals: the types of one example's residuals.
          cts: the types of one example's cotangents.
        """
        if all(self._outs):
            return False
        try:
            program = self._of_one(residuals, cts)
        except Exception:
            # It may need values: with a cotangent from each example nothing can go wrong.
            return True
        alone = (*self._stacked, *(False,) * len(cts))
        _, differs = batch_program(program, self._axis, alone, False)
        return any(
            (apart or has) and self._reads_shared(program, place)
            for place, (apart, has) in enumerate(zip(differs, self._has, strict=True))
        )

    def _of_one(self, residuals: Sequence[ShapedArray], cts: Sequence[ShapedArray]) -> ClosedJaxpr:
        """Return the way back for one example as a program."""
        count = len(residuals)

        def one(*values: Any) -> list[Any]:
            return [instantiate(ct) for ct in self._pull(values[:count], values[count:])]

        name = self._axis.name
        with extend_axes([] if name is None else [(name, self._axis.size)]):
            return trace_flat(one, [*residuals, *cts], name="bwd")

    def _reads_shared(self, program: ClosedJaxpr, place: int) -> bool:
        """Whether an argument's cotangent is made of that of a result without the axis."""
        reads = keep_results(program, tuple([at == place for at in range(len(self._has))]))[1]
        read = reads[len(self._stacked) :]
        return any(r and not flag for r, flag in zip(read, self._outs, strict=True))

    def __call__(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """Return a cotangent for each argument."""
        own, shared = self._parted(cts, True), self._parted(cts, False)
        if all(type(ct) is Zero for ct in shared):
            return self._pulled(residuals, cts, self._summed)
        if all(type(ct) is Zero for ct in own):
            return self._pulled(residuals, cts, self._counted_once)
        parts = (
            self._pulled(residuals, own, self._summed),
            self._pulled(residuals, shared, self._counted_once),
        )
        return [add_tangents(*each) for each in zip(*parts, strict=True)]

    def _parted(self, cts: Sequence[Any], of_examples: bool) -> list[Any]:
        """Return the cotangents of the results that do, or do not, have the axis, zeros beside."""
        return [
            ct if flag == of_examples or type(ct) is Zero else Zero(abstractify(ct))
            for ct, flag in zip(cts, self._outs, strict=True)
        ]

    def _summed(self, ct: Any, dim: int | None) -> Any:
        return reduce_sum(batch_to_front(ct, dim, self._axis.size), (0,))

    def _counted_once(self, ct: Any, dim: int | None) -> Any:
        # What differs between examples here is made of other cotangents, all zero.
        return ct if dim is None else self._summed(ct, dim)

    def _pulled(
        self,
        residuals: Sequence[Any],
        cts: Sequence[Any],
        joined: Callable[[Any, int | None], Any],
    ) -> list[Any]:
        """Return cotangents; ``joined`` makes the examples' one, for arguments without the axis."""
        zeros: list[Any] = []
        given = [(ct, flag) for ct, flag in zip(cts, self._outs, strict=True) if _moves(ct)]

        def one(*values: Any) -> list[Any]:
            moving = iter(values[len(self._stacked) :])
            each = [
                next(moving) if _moves(ct) else _of_one_example(ct, flag)
                for ct, flag in zip(cts, self._outs, strict=True)
            ]
            pulled = self._pull(values[: len(self._stacked)], each)
            zeros.extend([ct if type(ct) is Zero else None for ct in pulled])
            return [ct for ct in pulled if type(ct) is not Zero]

        flags = [*self._stacked, *[flag for _, flag in given]]
        dims = [0 if flag else None for flag in flags]
        values = [*residuals, *[ct for ct, _ in given]]
        pulled = iter(zip(*batch_flat(one, values, dims, self._axis), strict=True))
        every: list[Any] = []
        for zero, has in zip(zeros, self._has, strict=True):
            if zero is not None:
                every.append(Zero(batched_aval(zero.aval, self._axis)) if has else zero)
                continue
            ct, dim = next(pulled)
            every.append(batch_to_front(ct, dim, self._axis.size) if has else joined(ct, dim))
        return every


def _moves(ct: Any) -> bool:
    return type(ct) is not Zero


def _of_one_example(zero: Zero, has: bool) -> Zero:
    """Return the zero of one example, from that of all with the batch axis first if it has it."""
    return Zero(example_aval(zero.aval, 0)) if has else zero
