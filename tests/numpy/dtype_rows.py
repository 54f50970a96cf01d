"""Which functions are called with every dtype: a name here is tested with all dtypes and shapes.

Read by the test and, in another environment, by the tool that writes the table of result dtypes:
it may import neither jxkernel nor the reference implementation.
"""

from dataclasses import dataclass, field
from typing import Any

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
SHAPES = ((), (3,), (2, 0), (2, 3))


@dataclass(frozen=True)
class Call:
    """How a function is called.

    Attributes:
      operands: how many arrays it takes, all of one dtype and shape.
      kwargs: its keyword arguments.
      data: the name of the numbers that its operands are made of.
      least: the least rank of its operands.
      filled: whether it refuses operands without elements.
      factor: how many tolerances results may be apart.
    """

    operands: int = 1
    kwargs: dict[str, Any] = field(default_factory=dict)
    data: str = "any"
    least: int = 0
    filled: bool = False
    factor: float = 8.0


def _calls(names: str, operands: int = 1, **how: Any) -> dict[str, Call]:
    return {name: Call(operands, **how) for name in names.split()}


CALLS: dict[str, Call] = {
    **_calls("abs absolute fabs negative positive sign signbit square conj conjugate real imag"),
    **_calls("ceil floor trunc rint round around fix"),
    **_calls("sin cos tan sinh cosh tanh arcsinh asinh arctan atan", factor=32),
    **_calls("arcsin arccos arctanh asin acos atanh", data="unit", factor=32),
    **_calls("exp exp2 expm1 cbrt sinc i0 deg2rad rad2deg radians degrees", factor=32),
    **_calls("sqrt log log2 log10 log1p arccosh acosh reciprocal", data="positive", factor=32),
    **_calls("isfinite isinf isnan isposinf isneginf isreal iscomplex logical_not nan_to_num"),
    **_calls("angle", factor=16),
    **_calls("invert bitwise_not bitwise_count bitwise_invert"),
    **_calls("modf frexp spacing"),
    **_calls("add subtract multiply maximum minimum fmax fmin", 2),
    **_calls("equal not_equal less less_equal greater greater_equal isclose", 2),
    **_calls("logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor", 2),
    **_calls("divide true_divide floor_divide remainder mod fmod divmod", 2, data="positive"),
    **_calls("left_shift right_shift bitwise_left_shift bitwise_right_shift", 2, data="positive"),
    **_calls("power pow float_power", 2, data="positive", factor=64),
    **_calls("gcd lcm", 2),
    **_calls("arctan2 atan2 hypot logaddexp logaddexp2", 2, factor=32),
    **_calls("copysign heaviside nextafter", 2),
    **_calls("sum prod mean var std", factor=32),
    **_calls("nansum nanprod nanmean nanvar nanstd", factor=32),
    **_calls("all any count_nonzero"),
    **_calls("max min amax amin ptp median nanmax nanmin nanmedian", filled=True),
    **_calls("argmax argmin nanargmax nanargmin average", filled=True, factor=16),
    **_calls("quantile", kwargs={"q": 0.3}, filled=True, factor=16),
    **_calls("cumsum cumprod nancumsum nancumprod", kwargs={"axis": 0}, least=1, factor=16),
    **_calls("sort argsort", kwargs={"axis": -1}, least=1),
    **_calls("diff ediff1d", least=1, factor=16),
    **_calls("trapezoid", least=1, factor=16),
    **_calls("ravel flip transpose copy atleast_1d atleast_2d atleast_3d squeeze"),
    **_calls("zeros_like ones_like array asarray"),
    **_calls("tile", kwargs={"reps": 2}),
    **_calls("roll", kwargs={"shift": 1}),
    **_calls("repeat", kwargs={"repeats": 2}),
    **_calls("swapaxes", kwargs={"axis1": 0, "axis2": -1}, least=1),
    **_calls("vstack hstack stack", least=1),
    **_calls("append", 2),
    **_calls("clip", 3),
    **_calls("where_first", 2),
    **_calls("dot inner vdot outer", 2, least=1, factor=32),
    **_calls("vecdot", 2, least=1, factor=32),
    **_calls("kron", 2, factor=32),
    **_calls("convolve correlate", 2, least=1, filled=True, factor=32),
    **_calls("searchsorted isin", 2),
    **_calls("array_equal array_equiv allclose", 2),
    **_calls("tril triu trace diagonal rot90 fliplr", least=2),
}


def call(module: Any, name: str, *arrays: Any) -> Any:
    """Call a function of a module that has NumPy's names."""
    if name == "where_first":
        return module.where(module.ones(arrays[0].shape, bool), *arrays)
    if name in ("dot", "inner", "vdot", "outer"):
        arrays = tuple(module.ravel(x) for x in arrays)
    if name in ("convolve", "correlate", "searchsorted"):
        arrays = tuple(module.ravel(x) for x in arrays)
    if name == "searchsorted":
        arrays = (module.sort(arrays[0]), arrays[1])
    if name in ("vstack", "hstack", "stack"):
        arrays = ((arrays[0], arrays[0]),)
    return getattr(module, name)(*arrays, **CALLS[name].kwargs)
