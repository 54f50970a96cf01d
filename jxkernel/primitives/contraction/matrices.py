"""Products of arrays as products of stacks of matrices.

XLA's CPU compiler makes matrices of the operands of a product: the left one's rows before what is
summed over, the right one's columns after it.  An operand whose axes lie the other way is copied
first, and the loop that copies it is compiled, often a second time beside the loop that made it.
Two matrices need no copy, for the library that multiplies takes either order; but where several
axes are one of a matrix, XLA no longer sees that.  So such axes become one here, in the order in
which they lie, and batch axes move to the front alone.

A left matrix that lies the other way is multiplied half as fast, by another library.  It is one all
the same where the product is small, and where the program transposes the product, as derivatives
by weights do: XLA then has the operands change places, and calls that library anyway.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.records import record

__all__ = ["Stacks", "as_stacks"]

_MOST_PRODUCTS = 1 << 20
"""The products of elements up to which a left matrix may lie the other way."""

Axes = tuple[int, ...]
Numbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


@record()
class Stacks:
    """Operands of a product as stacks of matrices.

    Attributes:
      operands: their values.
      numbers: the dimension numbers.
      shape: the shape of the product; it has the elements of the one that was asked for, in order.
    """

    operands: tuple[Any, Any]
    numbers: Numbers
    shape: Axes


@record()
class _Stack:
    """One operand as a stack of matrices.

    Attributes:
      order: its axes, batch axes first.
      shape: the sizes of the stack.
      summed: the axis of the stack that is summed over.
      kept: the sizes of the stack's other axis, if it has one.
    """

    order: Axes
    shape: Axes
    summed: int
    kept: Axes

    @classmethod
    def of(cls, shape: Axes, contract: Axes, batch: Axes) -> "_Stack | None":
        """Return an operand as a stack; None where summed axes and others take turns."""
        rest = tuple([axis for axis in range(len(shape)) if axis not in batch])
        kept = tuple([axis for axis in rest if axis not in contract])
        if rest not in ((*kept, *contract), (*contract, *kept)):
            return None
        first = rest == (*kept, *contract) and bool(kept)
        sizes = [shape[axis] for axis in batch]
        summed, others = prod([shape[a] for a in contract]), prod([shape[a] for a in kept])
        matrix = (() if not kept else (others,)), (summed,)
        parts = matrix if first else matrix[::-1]
        whole = (*sizes, *parts[0], *parts[1])
        return cls((*batch, *rest), whole, len(batch) + first, matrix[0])

    def is_copied(self, shape: Axes, summed_first: bool) -> bool:
        """Return whether XLA would copy the operand, and would not for a stack of matrices.

        Args:
          shape: the operand's own.
          summed_first: whether XLA has what is summed over before the rest.
        """
        moved = self.order != tuple(range(len(shape)))
        lies_first = self.summed == len(self.shape) - 2
        return bool(self.kept) and lies_first != summed_first and (moved or self.shape != shape)


def as_stacks(
    context: Any, x: Any, y: Any, avals: Sequence[ShapedArray], numbers: Numbers
) -> Stacks | None:
    """Append the operands of a product as stacks of matrices.

    Args:
      context: the lowering context.
      x: the left operand.
      y: the right operand.
      avals: their types.
      numbers: the dimension numbers.

    Returns:
      The stacks; None where XLA copies nothing for want of them.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    lhs, rhs = avals[0].shape, avals[1].shape
    module = context.module
    if max(len(lhs), len(rhs)) < 3 or module.platform != "cpu" or module.partitioned:
        return None
    if not lhs_contract or any(map(is_symbolic, (*lhs, *rhs))):
        return None
    pairs = sorted(zip(lhs_contract, rhs_contract, strict=True))
    left = _Stack.of(lhs, tuple([axis for axis, _ in pairs]), lhs_batch)
    right = _Stack.of(rhs, tuple([axis for _, axis in pairs]), rhs_batch)
    if left is None or right is None:
        return None
    if left.is_copied(lhs, False):
        if not context.is_transposed and prod(lhs) * prod(right.kept) > _MOST_PRODUCTS:
            return None
    elif not right.is_copied(rhs, True):
        return None
    batch = tuple(range(len(lhs_batch)))
    operands = (_appended(context, x, avals[0], left), _appended(context, y, avals[1], right))
    found = (((left.summed,), (right.summed,)), (batch, batch))
    return Stacks(operands, found, (*left.shape[: len(batch)], *left.kept, *right.kept))


def _appended(context: Any, x: Any, aval: ShapedArray, stack: _Stack) -> Any:
    shape = tuple([aval.shape[axis] for axis in stack.order])
    if stack.order != tuple(range(len(shape))):
        order = {"permutation": hlo.dense_i64_array(stack.order)}
        x = context.value("stablehlo.transpose", hlo.tensor_type(shape, aval.dtype), (x,), order)
    if stack.shape != shape:
        x = context.value("stablehlo.reshape", hlo.tensor_type(stack.shape, aval.dtype), (x,))
    return x
