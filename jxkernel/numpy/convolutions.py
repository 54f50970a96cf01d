"""Convolution and correlation of vectors."""

from typing import Any

import numpy as np

from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.mathematics import conj
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.numpy.shapes import flip
from jxkernel.primitives.conv.conv import conv_general_dilated
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.runtime import ArrayLike

__all__ = ["convolve", "correlate"]


def _check(name: str, a: Any, v: Any, mode: str) -> None:
    """Check that two vectors can be convolved.

    Raises:
      ValueError: one is no vector or empty, or there is no such mode.
    """
    for argument in (a, v):
        aval = argument_aval(name, argument)
        if aval.ndim != 1 or not aval.size:
            raise ValueError(f"{name} takes vectors that are not empty, got shape {aval.shape}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name} got mode {mode!r}: it is 'full', 'same' or 'valid'")


def _padding(mode: str, short: int, *, swapped: bool) -> tuple[int, int]:
    """Return how far the shorter vector reaches over each end of the longer one."""
    if mode == "full":
        return short - 1, short - 1
    if mode == "valid":
        return 0, 0
    left = short // 2 if not swapped else (short - 1) // 2
    return left, short - 1 - left


@fused(static=("padding", "precision", "preferred_element_type"), name="correlate")
def _slid(
    a: Any, v: Any, padding: tuple[int, int], precision: Any, preferred_element_type: Any
) -> Any:
    """Sum the products of one vector with another that slides along it."""
    preferred = user_dtype(preferred_element_type, "convolve")
    a, v = promote_inexact("convolve", a, v)
    lhs, rhs = (reshape(x, (1, 1, np.shape(x)[0])) for x in (a, v))
    result = conv_general_dilated(
        lhs, rhs, (1,), [padding], precision=precision, preferred_element_type=preferred
    )
    return reshape(result, (result.shape[-1],))


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return the convolution of two vectors.

    Args:
      a: a vector.
      v: a vector.
      mode: ``"full"`` for every overlap, ``"same"`` for as many as the longer vector has
        elements, ``"valid"`` for whole overlaps only.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.

    Raises:
      ValueError: an argument is no vector or empty, or there is no such mode.

    Bilinear.

    >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 10]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    _check("convolve", a, v, mode)
    if np.shape(a)[0] < np.shape(v)[0]:
        a, v = v, a
    padding = _padding(mode, np.shape(v)[0], swapped=False)
    return _slid(a, flip(v), padding, precision, preferred_element_type)


def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return the correlation of two vectors: Σ a[n + k] · conj(v[n]) for each shift k.

    Arguments and errors are those of ``convolve``.

    >>> jnp.correlate(jnp.array([1, 2, 3]), jnp.array([1, 10]))
    Array([21., 32.], dtype=float32)
    """
    _check("correlate", a, v, mode)
    swapped = np.shape(a)[0] < np.shape(v)[0]
    if not swapped:
        padding = _padding(mode, np.shape(v)[0], swapped=False)
        return _slid(a, conj(v), padding, precision, preferred_element_type)
    padding = _padding(mode, np.shape(a)[0], swapped=True)
    reverse = _slid(conj(v), a, padding[::-1], precision, preferred_element_type)
    return flip(reverse)
