"""What a rule of the user's may know of derivatives: which arguments move, which tangents are zero.

A rule given with ``symbolic_zeros=True`` meets ``CustomVJPPrimal`` and ``SymbolicZero``.  This
module must not know how rules are bound.
"""

from typing import Any

from jxkernel import tree
from jxkernel._reprs import with_type
from jxkernel.core.zeros import Zero
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.records import record

__all__ = ["CustomVJPPrimal", "custom_vjp_primal_tree_values", "zero_from_primal"]


@record()
class CustomVJPPrimal:
    """An argument of the way there of a ``custom_vjp`` that asked for symbolic zeros.

    Attributes:
      value: the array.
      perturbed: whether the function is differentiated by it; where it is not, its cotangent is
        not used.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return a tree with the values in place of each ``CustomVJPPrimal``.

    Args:
      tree: a tree with ``CustomVJPPrimal`` leaves, as a way there gets them.

    Returns:
      the tree of their values: what the function itself takes.

    Raises:
      TypeError: a leaf is something else.

    >>> from jxkernel.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
    >>> x, n = CustomVJPPrimal(3.0, True), CustomVJPPrimal(2, False)
    >>> custom_vjp_primal_tree_values((x, {"k": n}))
    (3.0, {'k': 2})
    """
    return _values(tree)


def _values(primals: Any) -> Any:
    return tree.map(_value, primals)


def _value(leaf: Any) -> Any:
    if not isinstance(leaf, CustomVJPPrimal):
        raise TypeError(
            f"custom_vjp_primal_tree_values takes a tree of CustomVJPPrimal, got "
            f"{with_type(leaf)}: they come with defvjp(..., symbolic_zeros=True)"
        )
    return leaf.value


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the tangent zeros of arrays: zeros of their shapes and tangent dtypes.

    Args:
      val: an array or number, or a tree of them.
      symbolic_zeros: whether to return ``SymbolicZero`` in place of arrays.

    Returns:
      the same tree of zeros: of an array's dtype where that is real or complex, else of ``float0``.

    Raises:
      TypeError: a leaf is no array and no number.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.custom_derivatives import zero_from_primal
    >>> zero_from_primal(jnp.ones(2))
    Array([0., 0.], dtype=float32)
    """
    zeros = tree.map(Zero.tangent_of, val)
    return zeros if symbolic_zeros else tree.map(instantiate, zeros)
