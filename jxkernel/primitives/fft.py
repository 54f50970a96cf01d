"""Discrete Fourier transforms over the last axes: complex, real to half-complex, and back.

All are linear, and none is normalised but the inverses, which divide by the number of elements.
Transposes follow the convention that a cotangent pairs with a tangent without conjugation.
"""

import enum
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero, typed_scalar, zero_scalar
from jxkernel.dtypes import DType
from jxkernel.primitives.arguments import integers
from jxkernel.primitives.elementwise.arithmetic import mul
from jxkernel.primitives.elementwise.complex import complex, conj, real
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.indexing.slicing import pad
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.structural import linear_jvp
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = ["FftType", "fft", "fft_p"]


class FftType(enum.Enum):
    """Which transform: complex, its inverse, real to half-complex, half-complex to real."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3

    def __repr__(self) -> str:
        return f"FftType.{self.name}"

    @classmethod
    def _missing_(cls, value: object) -> "FftType | None":
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


fft_p = Primitive("fft").define(sharding=rules.cutting)

_COMPLEX_OF = {"float32": np.dtype(np.complex64), "float64": np.dtype(np.complex128)}
_REAL_OF = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Return the discrete Fourier transform of an array over its last axes.

    Args:
      x: an array; complex for ``IRFFT``, floating for ``RFFT``, either for ``FFT`` and ``IFFT``.
        Integers and booleans are taken as floats.
      fft_type: which transform, or its name.
      fft_lengths: the lengths of the one to three last axes: those of ``x``, except that for
        ``IRFFT`` the last is that of the result, of which ``x`` holds the first half plus one.

    Raises:
      TypeError: the dtype does not fit the transform.
      ValueError: the type is unknown, or the lengths do not fit the array.

    Linear.  StableHLO ``fft``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.fft(jnp.array([1 + 0j, 2, 3, 4]), "FFT", (4,))).round(3)
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    >>> lax.fft(jnp.ones(6), "RFFT", (6,)).shape
    (4,)
    """
    kind = FftType(fft_type)
    lengths = integers("fft", "fft_lengths", fft_lengths)
    if not lengths:
        return x
    if dtypes.dtype(x) in dtypes.INTEGRAL | dtypes.BOOLEAN:
        x = convert_element_type(x, dtypes.default_float_dtype())
    if kind in (FftType.FFT, FftType.IFFT) and dtypes.dtype(x) in dtypes.FLOATING:
        x = convert_element_type(x, dtypes.to_complex_dtype(dtypes.dtype(x)))
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths)


def _check_dtype(kind: FftType, dtype: DType) -> Any:
    """Return the result's dtype, or raise a TypeError."""
    accepted = _COMPLEX_OF if kind is FftType.RFFT else _REAL_OF
    if dtype.name not in accepted:
        raise TypeError(
            f"{kind.name} does not accept dtype {dtype.name}: it takes {' and '.join(accepted)}"
        )
    return dtype if kind in (FftType.FFT, FftType.IFFT) else accepted[dtype.name]


@fft_p.def_abstract_eval
def _fft_abstract_eval(
    x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> ShapedArray:
    count = len(fft_lengths)
    dtype = _check_dtype(fft_type, x.dtype)
    if count > 3 or count > x.ndim or any(length < 1 for length in fft_lengths):
        raise ValueError(
            f"{fft_type.name} got lengths {fft_lengths} for shape {x.shape}: one to three positive "
            "lengths, at most one per axis"
        )
    halved = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
    before, after = (
        halved if fft_type is kind else fft_lengths for kind in (FftType.IRFFT, FftType.RFFT)
    )
    if x.shape[x.ndim - count :] != before:
        raise ValueError(
            f"{fft_type.name} with lengths {fft_lengths} got shape {x.shape}: its last axes must "
            f"be {before}"
        )
    return ShapedArray((*x.shape[: x.ndim - count], *after), dtype)


@fft_p.def_lower
def _fft_lower(context: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    if not context.avals_in[0].size:
        out = context.avals_out[0]
        return context.splat(0, out.shape, out.dtype)
    return context.value(
        "stablehlo.fft",
        context.out_type,
        (x,),
        {
            "fft_type": hlo.enum_attr("fft_type", fft_type.name),
            "fft_length": hlo.dense_i64_array(fft_lengths),
        },
    )


@fft_p.def_transpose
def _fft_transpose(
    ct: Any, x: UndefinedPrimal, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(x.aval)]
    if fft_type is FftType.RFFT:
        return [_transpose_of_real(ct, fft_lengths)]
    if fft_type is FftType.IRFFT:
        return [_transpose_of_inverse_real(ct, fft_lengths)]
    return [fft(ct, fft_type, fft_lengths)]


def _transpose_of_real(ct: Any, lengths: tuple[int, ...]) -> Any:
    """A real transform is the complex one, cut; its transpose fills up, transforms, takes parts."""
    aval = abstractify(ct)
    config = [(0, 0, 0)] * aval.ndim
    config[-1] = (0, lengths[-1] - aval.shape[-1], 0)
    return real(fft(pad(ct, zero_scalar(aval), config), FftType.FFT, lengths))


def _transpose_of_inverse_real(ct: Any, lengths: tuple[int, ...]) -> Any:
    """Each frequency stands for itself and its mirror image, but 0 and, if there is one, n/2."""
    y = fft(ct, FftType.RFFT, lengths)
    aval = abstractify(y)
    part = abstractify(ct).dtype
    count = aval.shape[-1]
    weights = np.full(count, 2.0)
    weights[0] = 1
    if lengths[-1] % 2 == 0:
        weights[-1] = 1
    scale = (weights / prod(lengths)).astype(part)
    spread = broadcast_in_dim(scale, aval.shape, (aval.ndim - 1,))
    return mul(complex(spread, _zeros_like(spread, part)), conj(y))


def _zeros_like(like: Any, dtype: DType) -> Any:
    """Return zeros of the shape of an array."""
    return broadcast_in_dim(typed_scalar(dtype, 0), shape_of(like), ())


@fft_p.def_batch
def _fft_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], **params: Any
) -> tuple[Any, int]:
    return fft_p.bind(move_axis(args[0], dims[0], 0), **params), 0


fft_p.define(jvp=linear_jvp(fft_p))
