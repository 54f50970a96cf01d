"""Convolutions written in terms of others: transposed, patches, and with a kernel per place."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel.core.avals import abstractify
from jxkernel.dtypes import DTypeLike
from jxkernel.primitives.arguments import integers, operand_aval
from jxkernel.primitives.contraction.dot_general import dot_general
from jxkernel.primitives.contraction.precision import PrecisionLike
from jxkernel.primitives.conv.conv import check_steps, conv_general_dilated, spatial_padding
from jxkernel.primitives.conv.conv_numbers import (
    canonical_numbers,
    dilated,
    transposed_padding,
)
from jxkernel.primitives.shape.reshape import rev
from jxkernel.primitives.shape.transpose import transpose
from jxkernel.runtime import ArrayLike

__all__ = ["conv_general_dilated_local", "conv_general_dilated_patches", "conv_transpose"]

_CHANNELS_LAST = {
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Convolve an array whose elements have been placed ``strides`` apart, so that it grows.

    Args:
      lhs: an array with a batch axis, a feature axis and spatial axes.
      rhs: the kernel.
      strides: by how much each spatial axis grows.
      padding: ``SAME`` or ``VALID``, which name the padding of the forward convolution, or
        (low, high) of this one per spatial axis.
      rhs_dilation: how far apart the kernel's elements are placed; 1 where not given.
      dimension_numbers: which axis is what; features last where not given.
      transpose_kernel: whether to flip the kernel's spatial axes and swap its features, which
        makes this the transpose of ``conv_general_dilated`` with the same kernel.
      precision: how precisely float32 is multiplied on hardware that could be less precise.
      preferred_element_type: the dtype of sums and result; the operands' where not given.
      use_consistent_padding: whether numbers in ``padding``, too, are those of the forward
        convolution.

    Raises:
      ValueError: parameters do not fit the operands' ranks.

    Linear in each operand.  StableHLO ``convolution``.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, kernel = jnp.array([1.0, 5.0]).reshape(1, 2, 1), jnp.ones((2, 1, 1))
    >>> axes = ("NWC", "WIO", "NWC")
    >>> lax.conv_transpose(x, kernel, (2,), "VALID", dimension_numbers=axes).ravel().tolist()
    [1.0, 1.0, 5.0, 5.0]
    """
    name = "conv_transpose"
    lhs_shape, rhs_shape = operand_aval(name, lhs).shape, operand_aval(name, rhs).shape
    numbers = canonical_numbers(
        name, lhs_shape, rhs_shape, dimension_numbers or _CHANNELS_LAST.get(len(lhs_shape))
    )
    spatial = numbers.rhs_spec[2:]
    ones = (1,) * len(spatial)
    grown = integers(name, "strides", strides)
    steps = ones if rhs_dilation is None else integers(name, "rhs_dilation", rhs_dilation)
    check_steps(name, len(spatial), strides=grown, rhs_dilation=steps)
    windows = [dilated(rhs_shape[axis], step) for axis, step in zip(spatial, steps, strict=True)]
    if isinstance(padding, str):
        pads: Any = [
            transposed_padding(name, window, stride, padding)
            for window, stride in zip(windows, grown, strict=True)
        ]
    else:
        pads = spatial_padding(name, padding, len(spatial))
        if use_consistent_padding:
            pads = [
                (window - 1 - low, window - 1 - high)
                for window, (low, high) in zip(windows, pads, strict=True)
            ]
    if transpose_kernel:
        out, taken, *rest = numbers.rhs_spec
        rhs = rev(rhs, spatial)
        numbers = numbers._replace(rhs_spec=(taken, out, *rest))
    return conv_general_dilated(
        lhs,
        rhs,
        ones,
        pads,
        grown,
        steps,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return, at each place, the window of the array that a kernel of a shape would see.

    The windows' elements lie along the feature axis: for each feature, the window in row-major
    order.  Parameters are those of ``conv_general_dilated``; ``filter_shape`` holds the kernel's
    spatial sizes.

    Linear.  StableHLO ``convolution`` with a kernel that picks one element for each feature.

    >>> from jxkernel import lax, numpy as jnp
    >>> x = jnp.arange(4.0).reshape(1, 1, 4)
    >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID").tolist()
    [[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]]
    """
    name = "conv_general_dilated_patches"
    sizes = integers(name, "filter_shape", filter_shape)
    lhs_shape = operand_aval(name, lhs).shape
    rank = len(lhs_shape)
    numbers = canonical_numbers(name, lhs_shape, (1,) * rank, dimension_numbers)
    check_steps(name, rank - 2, filter_shape=sizes)
    features = lhs_shape[numbers.lhs_spec[1]]
    count = prod(sizes)
    dtype = abstractify(lhs).dtype
    # Output features first: feature by feature, one picker per element of the window.
    pickers = np.eye(count, dtype=np.int8).reshape(count, 1, *sizes).astype(dtype)
    kernel = pickers[list(range(count)) * features]
    order = sorted(range(rank), key=lambda axis: numbers.rhs_spec[axis])
    return conv_general_dilated(
        lhs,
        kernel.transpose(order),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
) -> Any:
    """Convolve with a kernel of its own at each place of the result.

    Args:
      lhs: an array with a batch axis, a feature axis and spatial axes.
      rhs: the kernels: its spatial axes are those of the result, and its input feature axis holds
        features and window together, as ``conv_general_dilated_patches`` orders them.
      window_strides: the steps between windows.
      padding: as for ``conv_general_dilated``.
      filter_shape: the windows' spatial sizes.
      lhs_dilation: how far apart the operand's elements are placed.
      rhs_dilation: how far apart the windows' elements are placed.
      dimension_numbers: which axis is what.
      precision: how precisely float32 is multiplied.

    Raises:
      ShapeMismatchError: the kernels do not fit the result's places.

    Linear in each operand.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, kernels = jnp.arange(3.0).reshape(1, 1, 3), jnp.array([[[1.0, 9.0], [1.0, 9.0]]])
    >>> lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,)).tolist()
    [[[1.0, 27.0]]]
    """
    name = "conv_general_dilated_local"
    lhs_shape, rhs_shape = operand_aval(name, lhs).shape, operand_aval(name, rhs).shape
    numbers = canonical_numbers(name, lhs_shape, rhs_shape, dimension_numbers)
    one_precision = precision[0] if isinstance(precision, tuple) else precision
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        one_precision,
    )
    out_batch, out_feature, *out_spatial = numbers.out_spec
    _, kernel_in, *kernel_spatial = numbers.rhs_spec
    product = dot_general(
        rhs,
        patches,
        (((kernel_in,), (out_feature,)), (tuple(kernel_spatial), tuple(out_spatial))),
        precision,
    )
    # Its axes: the places, the kernels' output features, the batch.
    places = [*out_spatial, out_feature, out_batch]
    order = sorted(range(len(places)), key=lambda axis: places[axis])
    return transpose(product, tuple(order))
