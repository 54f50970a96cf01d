"""Numbers as unsigned integers of the same order: NaN last, -0 beside 0 or before it."""

from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.dtypes import DType, DTypeLike

__all__ = ["Keys"]

_UNSIGNED = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}
_SIGNED = {bits: np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)}


class Keys:
    """Maps keys of one shape to unsigned integers of the same order, and back."""

    def __init__(self, context: Any, shape: tuple[int, ...]) -> None:
        self.context = context
        self.shape = shape

    def kind(self, dtype: DTypeLike) -> Any:
        """Return the MLIR type of arrays of a dtype."""
        return hlo.tensor_type(self.shape, dtype)

    def op(self, name: str, dtype: DTypeLike, *operands: Any) -> Any:
        """Append an operation whose result has a dtype."""
        return self.context.value(f"stablehlo.{name}", self.kind(dtype), operands)

    def splat(self, value: Any, dtype: DTypeLike) -> Any:
        """Append a number at every place."""
        return self.context.splat(value, self.shape, dtype)

    def ordered(self, x: Any, dtype: DTypeLike, zeros: str, nans: str) -> tuple[Any, Any]:
        """Return a key as an unsigned integer, and that integer's dtype.

        Args:
          x: the key.
          dtype: its dtype, real or boolean.
          zeros: ``"equal"``, or ``"apart"``: -0 comes first.
          nans: ``"equal"``, or ``"apart"``: in some order, so that ``restored`` finds them.
        """
        if dtype == np.bool_:
            return self.op("convert", _UNSIGNED[8], x), _UNSIGNED[8]
        if dtypes.issubdtype(dtype, np.unsignedinteger):
            return self._at_least_a_byte(x, dtype, _UNSIGNED)
        if dtypes.issubdtype(dtype, np.signedinteger):
            x, dtype = self._at_least_a_byte(x, dtype, _SIGNED)
            unsigned = _UNSIGNED[dtype.itemsize * 8]
            word = self.op("bitcast_convert", unsigned, x)
            return self._by(word, "xor", _sign(unsigned), unsigned), unsigned
        return self._ordered_float(x, dtype, zeros, nans)

    def _at_least_a_byte(self, x: Any, dtype: DType, kinds: dict[int, Any]) -> tuple[Any, Any]:
        bits = dtypes.itemsize_bits(dtype)
        return (x, dtype) if bits >= 8 else (self.op("convert", kinds[8], x), kinds[8])

    def _by(self, x: Any, name: str, number: int, dtype: DType) -> Any:
        """Append an operation of an array and a number."""
        return self.op(name, dtype, x, self.splat(number, dtype))

    def _ordered_float(self, x: Any, dtype: DType, zeros: str, nans: str) -> tuple[Any, Any]:
        """Count from -inf, which is 0, past inf to the positive and then the negative NaN.

        With the bits w of x, and s and i those of -0 and of inf, that is s + i - w for negative x
        and w + i + 1 for others, modulo the word: one less for others makes the zeros one.
        """
        if dtype.itemsize < 2:
            dtype, x = np.dtype(np.float32), self.op("convert", np.dtype(np.float32), x)
        unsigned, infinity = _UNSIGNED[dtype.itemsize * 8], _infinity(dtype)
        sign = _sign(unsigned)
        word = self.op("bitcast_convert", unsigned, x)
        negative = self._is_negative(word, unsigned)
        down = self.op("subtract", unsigned, self.splat(sign + infinity, unsigned), word)
        offset = infinity + (zeros == "apart")
        up = self._by(word, "add", offset, unsigned)
        key = self.op("select", unsigned, negative, down, up)
        if nans == "equal":
            key = self._by(key, "minimum", infinity + offset + 1, unsigned)
        return key, unsigned

    def _is_negative(self, word: Any, unsigned: Any) -> Any:
        sign = self.splat(_sign(unsigned), unsigned)
        return self.context.compare(word, sign, "GE", self.shape, "UNSIGNED")

    def restored(self, key: Any, dtype: DTypeLike) -> Any:
        """Return the number of a key whose zeros and NaN are apart."""
        if dtype == np.bool_ or dtypes.itemsize_bits(dtype) < 8:
            return self.op("convert", dtype, key)
        if dtypes.issubdtype(dtype, np.unsignedinteger):
            return key
        kind = dtype if dtype.itemsize > 1 or dtype.kind == "i" else np.dtype(np.float32)
        unsigned = _UNSIGNED[kind.itemsize * 8]
        if dtypes.issubdtype(dtype, np.signedinteger):
            word = self._by(key, "xor", _sign(unsigned), unsigned)
        else:
            word = self._by(key, "subtract", _infinity(kind) + 1, unsigned)
            flipped = self._by(word, "xor", _sign(unsigned) - 1, unsigned)
            word = self.op("select", unsigned, self._is_negative(word, unsigned), flipped, word)
        number = self.op("bitcast_convert", kind, word)
        return number if kind == dtype else self.op("convert", dtype, number)


def _sign(unsigned: Any) -> int:
    """Return the word of which only the sign bit is set."""
    return 2 ** (unsigned.itemsize * 8 - 1)


def _infinity(dtype: DType) -> int:
    """Return the bits of inf."""
    return int(np.array(np.inf, dtype).view(_UNSIGNED[dtype.itemsize * 8]))
