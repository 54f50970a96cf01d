"""Which calls the table of types is of: functions and the dtypes of their operands.

Read by the test and, in another environment, by the tool that writes the table: it may import
neither jxkernel nor the reference implementation.
"""

from collections.abc import Iterator

OPERANDS = (
    "bool",
    "int8",
    "int32",
    "uint8",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
    "complex64",
    "int*",
    "float*",
    "complex*",
)
"""Dtypes of arrays of shape (2,); ``int*`` is the array made of a Python number, weakly typed."""

UNARY = [
    "abs",
    "absolute",
    "angle",
    "arccos",
    "arcsin",
    "arctan",
    "arctanh",
    "bitwise_count",
    "bitwise_not",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "deg2rad",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "i0",
    "imag",
    "invert",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "nan_to_num",
    "positive",
    "rad2deg",
    "real",
    "reciprocal",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "average",
    "cumprod",
    "cumsum",
    "diff",
    "max",
    "mean",
    "median",
    "min",
    "nansum",
    "nanmean",
    "nanmax",
    "prod",
    "ptp",
    "sort",
    "std",
    "sum",
    "trapezoid",
    "var",
    "count_nonzero",
    "atleast_1d",
    "copy",
    "flip",
    "ravel",
    "zeros_like",
    "ones_like",
    "empty_like",
    "array",
    "asarray",
]

BINARY = [
    "add",
    "arctan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "divide",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "heaviside",
    "hypot",
    "left_shift",
    "less",
    "logaddexp",
    "logical_and",
    "maximum",
    "minimum",
    "multiply",
    "nextafter",
    "power",
    "remainder",
    "right_shift",
    "subtract",
    "true_divide",
    "where_first",
    "dot",
    "matmul",
    "outer",
    "convolve",
    "isclose",
    "append",
    "searchsorted",
]
"""``where_first`` is ``where`` with a constant condition."""

SMALL_BINARY = ("add", "divide", "power", "maximum", "where_first", "equal")
"""The functions that are tried on every pair of operands; the others on some."""

PAIRED_WITH = ("int32", "float32", "int*", "float*")


def calls() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each function with the dtypes of its operands."""
    for name in UNARY:
        for operand in OPERANDS:
            yield name, (operand,)
    for name in BINARY:
        for first in OPERANDS:
            for second in OPERANDS if name in SMALL_BINARY else PAIRED_WITH:
                yield name, (first, second)
