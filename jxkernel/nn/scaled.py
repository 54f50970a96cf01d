"""Products of matrices whose numbers are narrow and share a scale in blocks.

Source: Open Compute Project, "Microscaling Formats (MX) Specification" 1.0, 2023, for formats
and blocks; B. D. Rouhani et al., "Microscaling data formats for deep learning", 2023.  The scale
of an MX block is the least power of two for which no element exceeds its format (rounded up, so
that none saturates); that of an NVFP4 block is the greatest element over 6, in float8_e4m3fn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.custom.derivatives import custom_vjp
from jxkernel.api.tracing import eval_shape
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, cast
from jxkernel.primitives.contraction.dot_general import dot_general
from jxkernel.runtime import ArrayLike

__all__ = [
    "BlockScaleConfig",
    "get_scaled_dot_general_config",
    "scaled_dot_general",
    "scaled_matmul",
]

_RESULTS = ("float32", "bfloat16", "float16")
_FLOAT = np.dtype(np.float32)
_LEAST, _GREATEST = -126, 127
"""The exponents of scales: those of normal numbers, since smaller ones may count as zero."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockScaleConfig:
    """How an operand is made narrow: what ``get_scaled_dot_general_config`` returns.

    Attributes:
      mode: the name of the format.
      block_size: how many neighbours along the contracted axes share a scale.
      data_type: the dtype of the elements.
      scale_type: the dtype of the scales.
      global_scale: a factor of all scales, or None.
      infer_only: recorded for programs that ask; derivatives are there all the same.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


_MODES = {
    "nvfp4": (16, jnp.float4_e2m1fn, jnp.float8_e4m3fn),
    "mxfp8": (32, jnp.float8_e4m3fn, jnp.float8_e8m0fnu),
    "mxfp4": (32, jnp.float4_e2m1fn, jnp.float8_e8m0fnu),
}


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """Return how ``scaled_dot_general`` makes an operand narrow.

    Args:
      mode: ``"mxfp8"`` or ``"mxfp4"``, blocks of 32 that share a power of two, or ``"nvfp4"``,
        blocks of 16 that share a number of eight bits.
      global_scale: for ``"nvfp4"`` a positive number, which multiplies the scales of all blocks;
        1 if not given.  ``"mxfp8"`` has no use for it.

    Raises:
      ValueError: there is no such mode, or ``"mxfp4"`` got a ``global_scale``.

    >>> from jxkernel import nn
    >>> nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode not in _MODES:
        raise ValueError(
            f"get_scaled_dot_general_config got mode={mode!r}: it is one of {[*_MODES]}"
        )
    if mode == "mxfp4" and global_scale is not None:
        raise ValueError("mode 'mxfp4' takes no global_scale: powers of two reach all numbers")
    if mode == "nvfp4":
        scale = jnp.ones(1, np.float32) if global_scale is None else global_scale
    else:
        scale = None
    return BlockScaleConfig(mode, *_MODES[mode], scale, False)


# ---------------------------------------------------------------- products of scaled blocks


@fused(static=("dtype",), name="scaled_matmul")
def _product(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, dtype: Any) -> Any:
    wide = np.promote_types(_FLOAT, dtype)
    x, y = (
        cast(x, wide) * jnp.repeat(cast(scales, wide), x.shape[-1] // max(scales.shape[-1], 1), -1)
        for x, scales in ((lhs, lhs_scales), (rhs, rhs_scales))
    )
    return cast(jnp.einsum("bmk,bnk->bmn", x, y), dtype)


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Any:
    """Multiply stacks of matrices whose rows are made of blocks with scales.

    Args:
      lhs: an array of shape (b, m, k).
      rhs: an array of shape (b, n, k).
      lhs_scales: an array of shape (b, m, j); each scale multiplies k / j neighbours.
      rhs_scales: an array of shape (b, n, j).
      preferred_element_type: the floating dtype of the result; sums are float32 or wider.

    Returns:
      an array of shape (b, m, n).

    Raises:
      ShapeMismatchError: the shapes do not fit.
      TypeError: the result's dtype is not floating.

    The composition of its parts on every platform, and differentiable as such.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import nn
    >>> x, scales = jnp.ones((1, 1, 4)), jnp.array([[[1.0, 2.0]]])
    >>> nn.scaled_matmul(x, x, scales, scales)
    Array([[[10.]]], dtype=float32)
    """
    name = "scaled_matmul"
    given = (lhs, rhs, lhs_scales, rhs_scales)
    shapes = [argument_aval(name, x, i).shape for i, x in enumerate(given)]
    dtype = dtypes.canonicalize_dtype(preferred_element_type)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"{name} got preferred_element_type={dtype.name}: it must be floating")
    x, y, s, t = shapes
    fits = all(len(shape) == 3 for shape in shapes) and x[::2] == y[::2] and s[2] == t[2]
    if not fits or x[:2] != s[:2] or y[:2] != t[:2] or (x[2] % s[2] if s[2] else x[2]):
        wanted = "(b, m, k), (b, n, k), and scales (b, m, j), (b, n, j) with k a multiple of j"
        raise ShapeMismatchError(name, shapes, wanted)
    return _product(*given, dtype=dtype)


# ---------------------------------------------------------------- operands made narrow

_Format = tuple[str, int, Any, Any]


def _narrow(x: Any, form: _Format, factor: Any) -> tuple[Any, Any]:
    """Return an array in a format, with the scales of the blocks along its last axis.

    Blocks of zeros stay zero; an infinity or NaN makes its block NaN, by its scale.
    """
    mode, size, data_type, scale_type = form
    length = -(-x.shape[-1] // size) * size
    x = jnp.pad(cast(x, _FLOAT), [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])])
    blocks = x.reshape(*x.shape[:-1], length // size, size)
    most = float(dtypes.finfo(data_type).max)
    peak = abs(blocks).max(-1) / np.float32(most)
    if mode == "nvfp4":
        reach = jnp.minimum(peak / factor, float(dtypes.finfo(scale_type).max))
        scales = cast(jnp.where(jnp.isfinite(peak), reach, np.nan), scale_type)
        shared = cast(scales, _FLOAT) * factor
    else:
        mantissa, exponent = jnp.frexp(peak)
        exponent = jnp.clip(jnp.where(mantissa == 0.5, exponent - 1, exponent), _LEAST, _GREATEST)
        shared = jnp.where(jnp.isfinite(peak), jnp.ldexp(jnp.ones_like(peak), exponent), np.nan)
        scales = cast(shared, scale_type)
    parts = blocks / jnp.where(shared == 0, 1, shared)[..., None]
    narrow = cast(jnp.clip(parts, -most, most), data_type)
    return narrow.reshape(x.shape), scales


def _narrow_product(
    x: Any, y: Any, factors: tuple[Any, Any], forms: tuple[_Format, _Format], dtype: Any
) -> Any:
    """Multiply (b, m, k) and (b, n, k) with both made narrow along k."""
    (lhs, lhs_scales), (rhs, rhs_scales) = map(_narrow, (x, y), forms, factors)
    wide = [
        cast(data, _FLOAT) * jnp.repeat(cast(scales, _FLOAT), form[1], -1) * factor
        for data, scales, form, factor in (
            (lhs, lhs_scales, forms[0], factors[0]),
            (rhs, rhs_scales, forms[1], factors[1]),
        )
    ]
    return cast(jnp.einsum("bmk,bnk->bmn", *wide), dtype)


@partial(custom_vjp, nondiff_argnums=(3, 4))
def _narrowed(x: Any, y: Any, factors: Any, forms: tuple[_Format, ...], dtype: Any) -> Any:
    return _narrow_product(x, y, factors[:2], (forms[0], forms[1]), dtype)


def _narrowed_forward(
    x: Any, y: Any, factors: Any, forms: tuple[_Format, ...], dtype: Any
) -> tuple[Any, Any]:
    return _narrowed(x, y, factors, forms, dtype), (x, y, factors)


def _narrowed_backward(forms: tuple[_Format, ...], dtype: Any, kept: Any, ct: Any) -> Any:
    """Return cotangents: those of the product as if exact, made narrow too in the MX formats."""
    x, y, factors = kept
    back = ct.swapaxes(1, 2)
    across, along = y.swapaxes(1, 2), x.swapaxes(1, 2)
    sides = ((ct, across, factors[1], forms[1]), (back, along, factors[0], forms[0]))
    if forms[2][0] == "nvfp4":
        of_x, of_y = (
            jnp.einsum("bmk,bnk->bmn", a, b, preferred_element_type=np.float32)
            for a, b, _, _ in sides
        )
    else:
        of_x, of_y = (
            _narrow_product(a, b, (factors[2], factor), (forms[2], form), _FLOAT)
            for a, b, factor, form in sides
        )
    return cast(of_x, x.dtype), cast(of_y, y.dtype), tuple(map(jnp.zeros_like, factors))


_narrowed.defvjp(_narrowed_forward, _narrowed_backward)


def _stacked(x: Any, batch: Sequence[int], contracted: Sequence[int]) -> Any:
    """Return an array with its axes gathered as (batch, others, contracted)."""
    others = [axis for axis in range(x.ndim) if axis not in (*batch, *contracted)]
    groups = [tuple(x.shape[axis] for axis in axes) for axes in (batch, others, contracted)]
    moved = x.transpose(*batch, *others, *contracted)
    return moved.reshape(*map(prod, groups))


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Any:
    """Multiply arrays as ``lax.dot_general`` does, with operands made narrow block by block.

    Args:
      lhs: an array; the blocks lie along the contracted axes, the last one filled up with zeros.
      rhs: an array.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      preferred_element_type: float32, bfloat16 or float16, the dtype of the result.
      configs: how to make the left operand narrow, the right one, and cotangents: three results of
        ``get_scaled_dot_general_config``.  Without it nothing is made narrow.
      implementation: ``"cudnn"`` or None; the composition is used in either case.

    Returns:
      an array with the batch axes, the left operand's other axes, then the right's.

    Raises:
      TypeError: the result is asked for in another dtype, or axes do not fit.
      ValueError: there are not three ``configs``.

    Derivatives are those of the exact product, so rounding counts as the identity; in the MX
    modes their products are of narrow operands too.  There is no forward mode.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import nn
    >>> configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = jnp.ones((1, 32))
    >>> nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
    Array([[32.]], dtype=float32)
    """
    name = "scaled_dot_general"
    for place, x in enumerate((lhs, rhs)):
        argument_aval(name, x, place)
    dtype = dtypes.canonicalize_dtype(preferred_element_type)
    if dtype.name not in _RESULTS:
        raise TypeError(f"{name} got preferred_element_type={dtype.name}: it is one of {_RESULTS}")
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=dtype)
    if len(configs) != 3:
        raise ValueError(f"{name} got {len(configs)} configs: lhs, rhs and cotangents need three")
    (contracted, others), (batch, rest) = dimension_numbers
    lhs, rhs = map(jnp.asarray, (lhs, rhs))
    # The exact product says whether axes fit, and the result's shape.
    shape = eval_shape(lambda x, y: dot_general(x, y, dimension_numbers), lhs, rhs).shape
    x, y = _stacked(lhs, batch, contracted), _stacked(rhs, rest, others)
    factors = tuple(
        jnp.asarray(1 if c.global_scale is None else c.global_scale, np.float32).reshape(())
        for c in configs
    )
    forms = tuple(
        (c.mode, c.block_size, np.dtype(c.data_type), np.dtype(c.scale_type)) for c in configs
    )
    return _narrowed(x, y, factors, forms, dtype).reshape(shape)
