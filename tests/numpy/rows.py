"""What functions of the NumPy API are called with: one row is one call, NumPy gives the answer.

Adding a function to a table here adds its tests: values eagerly and under ``jit``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_random = np.random.default_rng(20260101)


def normal(*shape: int) -> Any:
    """Return normally distributed float32 numbers."""
    return _random.normal(size=shape).astype(np.float32)


def whole(*shape: int) -> Any:
    """Return int32 numbers from -5 to 5."""
    return _random.integers(-5, 6, shape).astype(np.int32)


X, Y, V, W = normal(3, 4), normal(4, 3), normal(5), normal(3)
I = whole(3, 4)  # noqa: E741
B = X > 0
Z = (normal(3, 4) + 1j * normal(3, 4)).astype(np.complex64)
N = X.copy()
N[0, 1], N[1] = np.nan, np.nan
EMPTY = np.zeros((0, 3), np.float32)


@dataclass(frozen=True)
class Row:
    """One call.

    Attributes:
      name: the function.
      args: its arguments; NumPy arrays among them become arrays of ours.
      kwargs: its keyword arguments.
      reference: what NumPy does; the function of the same name where not given.
      jit: whether it is traced as well (with its arrays traced).
      factor: how many tolerances results may be apart.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    jit: bool = True
    factor: float = 8.0

    def __str__(self) -> str:
        parts = [_text(arg) for arg in self.args]
        parts += [f"{name}={_text(value)}" for name, value in self.kwargs.items()]
        return f"{self.name}({', '.join(parts)})"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}".replace(" ", "")
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(_text, value))}]"
    return getattr(value, "__name__", None) or str(value)


def row(name: str, *args: Any, **kwargs: Any) -> Row:
    """Return a row that NumPy answers itself."""
    return Row(name, args, kwargs)


def _histogram2d(x: Any, y: Any, bins: int) -> Any:
    """Return what NumPy does with counts as integers."""
    counts, *edges = np.histogram2d(x, y, bins)
    return counts.astype(np.int32), *[edge.astype(np.float32) for edge in edges]


def known(name: str, *args: Any, **kwargs: Any) -> Row:
    """Return a row whose values must be known: it is not traced."""
    return Row(name, args, kwargs, jit=False)


def each(names: str, *args: Any, **kwargs: Any) -> list[Row]:
    """Return a row for each name."""
    return [row(name, *args, **kwargs) for name in names.split()]


def changed(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that changes its first argument in place as one that returns a copy."""

    def reference(first: Any, *rest: Any, inplace: bool) -> Any:
        copied = first.copy()
        change(copied, *rest)
        return copied

    return reference


UNARY = (
    *each("absolute abs atan around", X),
    *each("sin cos tan sinh cosh tanh arcsinh arctan exp exp2 expm1 cbrt reciprocal square", X),
    *each("floor ceil trunc rint fix sign negative positive signbit sinc i0 spacing fabs", X),
    *each("deg2rad rad2deg degrees radians isnan isinf isfinite isposinf isneginf", X),
    *each("logical_not real imag conj conjugate angle isreal iscomplex frexp modf round", X),
    *each("arcsin arccos arctanh asin acos atanh", np.tanh(X)),
    *each("sqrt log log2 log10 log1p arccosh acosh", np.abs(X) + 1),
    *each("absolute exp expm1 log sin cos sqrt square real imag conj angle isfinite isnan", Z),
    *each("sign reciprocal tanh iscomplex isreal round negative", Z),
    *each("bitwise_count invert bitwise_not absolute sign square negative logical_not", I),
    *each("floor ceil trunc sqrt sin exp isfinite signbit", np.abs(I)),
    *each("isnan isfinite isinf nan_to_num", N),
    row("round", X, 2),
    row("round", I, -1),
    row("angle", Z, deg=True),
    row("nan_to_num", np.float32([np.nan, np.inf, -np.inf, 1]), nan=3.0, posinf=4.0, neginf=5.0),
)

BINARY = (
    *[
        item
        for other in (X[::-1].copy(), np.float32(2.5), X[0])
        for item in each(
            "add subtract multiply divide true_divide floor_divide remainder mod fmod maximum "
            "minimum fmax fmin arctan2 atan2 hypot logaddexp logaddexp2 copysign heaviside "
            "nextafter equal less greater not_equal less_equal greater_equal logical_and "
            "logical_or logical_xor divmod isclose",
            X,
            other,
        )
    ],
    *each("power pow float_power", np.abs(X), X),
    *each("floor_divide remainder fmod bitwise_and bitwise_or bitwise_xor", I, np.abs(I) + 1),
    *each("left_shift right_shift divmod bitwise_left_shift", I, np.abs(I) + 1),
    *each("add multiply subtract divide equal less greater", Z, Z[::-1].copy()),
    row("power", I, np.abs(I)),
    row("power", I, 3),
    row("power", X, 3),
    row("power", np.abs(X), I),
    row("ldexp", X, I),
    row("ldexp", X, B),
    row("clip", X, -0.5, 0.5),
    row("clip", X, None, X[0]),
    row("isclose", N, N, equal_nan=True),
    row("allclose", X, X + 1e-3),
    row("array_equal", X, X),
    row("array_equal", N, N, equal_nan=True),
    row("array_equal", np.int32([2**24, 3]), np.int32([2**24 + 1, 3]), equal_nan=True),
    row("array_equal", X, Y),
    row("array_equiv", X, X[0]),
    *each("gcd lcm", I, I[::-1].copy()),
    *each("gcd lcm", np.abs(I).astype(np.uint8), np.uint8(6)),
    row("gcd", I, np.zeros(4, np.int32)),
    *each("gcd lcm", B, np.abs(I).astype(np.uint16)),
    row("lcm", I[:, :1].copy(), I[0]),
)

_AXES = ((0, False), (-1, True), ((0, 1), True), (None, False))


def _minmax(x: Any, initial: Any = (None, None), where: Any = True, **how: Any) -> Any:
    bounds = [{} if bound is None else {"initial": bound} for bound in initial]
    return np.min(x, where=where, **how, **bounds[0]), np.max(x, where=where, **how, **bounds[1])


def _top_k(x: Any, k: int, axis: int, mode: str) -> Any:
    """Return the first elements and places of a stable sort, NaN being the greatest."""
    kept = np.where(np.isnan(x), np.inf, x.astype(np.float32))
    order = np.argsort(kept if mode == "smallest" else -kept, axis=axis, kind="stable")
    places = np.take(order, range(k), axis).astype(np.int32)
    return np.take_along_axis(x, places, axis), places


REDUCTIONS = (
    *[
        item
        for axis, keepdims in _AXES
        for item in (
            *each(
                "sum prod max min amax mean std var all any ptp median",
                X,
                axis=axis,
                keepdims=keepdims,
            ),
            *each(
                "nansum nanprod nanmax nanmin nanmean nanstd nanvar nanmedian",
                N,
                axis=axis,
                keepdims=keepdims,
            ),
        )
    ],
    *each("sum mean var std all any prod", X, where=B),
    *each("max min", X, where=B, initial=0.0),
    *each("argmax argmin count_nonzero sum mean", I, axis=1),
    *each("argmax argmin sum mean max", X),
    *each("argmax argmin", X, 0, keepdims=True),
    *each("nanargmax nanargmin", X, 1),
    *each("sum prod mean var std cumsum cumprod", Z),
    *each("sum prod", EMPTY, axis=0),
    *each("all any", EMPTY, axis=1),
    row("sum", X, initial=2.0),
    row("max", EMPTY, axis=0, initial=-1.0),
    row("var", X, ddof=1),
    row("std", X, axis=1, correction=1),
    row("average", X, 1, np.float32([1, 2, 3, 4])),
    row("average", X, None, np.abs(X)),
    row("average", X, 0, returned=True),
    *[
        Row("minmax", (x,), {"axis": axis, "keepdims": keepdims}, _minmax)
        for x in (X, I, N)
        for axis, keepdims in _AXES
    ],
    Row("minmax", (X,), {"where": B, "initial": (5.0, -5.0)}, _minmax),
    Row("minmax", (EMPTY,), {"axis": 0, "initial": (1.0, 2.0)}, _minmax),
    *[
        Row("top_k", (x, 2), {"axis": axis, "mode": mode}, _top_k)
        for x in (X, N, np.abs(I).astype(np.uint8))
        for axis in (0, -1)
        for mode in ("largest", "smallest")
    ],
)

_METHODS = (
    "linear",
    "lower",
    "higher",
    "nearest",
    "midpoint",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
)


def _histogram(*args: Any) -> Any:
    """Return counts as floats: whether they are weighted does not change the dtype."""
    counts, edges = np.histogram(*args)
    return counts.astype(np.float32), edges


STATISTICS = (
    *[
        row("quantile", X, np.float32(q), axis=1, method=method)
        for q in (0.3, [0.1, 0.5, 1.0])
        for method in _METHODS
    ],
    row("percentile", X, 30.0),
    row("nanquantile", N, np.float32(0.3), axis=0),
    row("nanpercentile", N, np.float32([10, 50]), axis=1, keepdims=True),
    *each("cov corrcoef", X, X[::-1].copy()),
    row("cov", X, aweights=np.float32([1, 2, 3, 4]), fweights=np.array([1, 1, 2, 1])),
    row("cov", X, rowvar=False, bias=True),
    row("cov", W),
    Row("histogram", (X,), reference=_histogram),
    Row("histogram", (X, 5, (-1, 1)), reference=_histogram),
    row("histogram", X, weights=np.abs(X), density=True),
    Row("histogram2d", (X.ravel(), Y.ravel(), 4), reference=_histogram2d),
    known("bincount", np.abs(I).ravel()),
    known("bincount", np.abs(I).ravel(), np.abs(X).ravel()),
    row("digitize", X, np.float32([-1, 0, 1])),
    row("digitize", X, np.float32([1, 0, -1]), True),
    row("interp", X, np.sort(V), V),
    row("interp", X, np.sort(V), V, -1.0, 9.0),
    row("interp", X, V, V, period=2.0),
    *[
        item
        for a, v in ((V, W), (W, V), (normal(6), normal(4)), (normal(4), normal(6)), (W, W))
        for mode in ("full", "same", "valid")
        for item in each("convolve correlate", a, v, mode)
    ],
    row("correlate", Z[0], Z[1], "full"),
    row("convolve", X[0], I[1].astype(np.float32)),
)

_divided = np.polydiv


def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Return quotient and remainder, the remainder with as many coefficients as the dividend."""
    quotient, rest = _divided(u, v)
    return quotient, np.pad(rest, (len(u) - len(rest), 0))


CONTRACTIONS = (
    row("matmul", X, Y),
    row("matmul", normal(2, 1, 3, 4), normal(5, 4, 2)),
    row("matmul", normal(4), normal(2, 4, 3)),
    row("matmul", normal(2, 3, 4), normal(4)),
    row("matmul", I, np.ascontiguousarray(I.T)),
    row("matmul", EMPTY, W),
    row("dot", X, Y),
    row("dot", X, normal(4)),
    row("dot", X, np.float32(2)),
    row("dot", normal(2, 3, 4), normal(5, 4, 2)),
    *each("vdot inner vecdot", X, X),
    *each("vdot vecdot", Z, Z),
    row("matvec", normal(2, 3, 4), normal(4)),
    row("vecmat", normal(3), normal(2, 3, 4)),
    row("outer", W, V),
    row("kron", X, Y),
    row("tensordot", X, Y, 1),
    row("tensordot", X, X, ([0, 1], [0, 1])),
    row("tensordot", X, V, 0),
    row("cross", normal(4, 3), normal(4, 3)),
    row("cross", X, Y.T.copy(), axis=0),
    row("einsum", "ij,jk->ik", X, Y),
    row("einsum", "ij,jk", X, Y),
    row("einsum", "ii->i", normal(3, 3)),
    row("einsum", "ii", normal(3, 3)),
    row("einsum", "ij->ji", X),
    row("einsum", "ij->", X),
    row("einsum", "...ij,...jk->...ik", normal(2, 3, 4), normal(2, 4, 5)),
    row("einsum", "bij,bjk,bkl->bil", normal(2, 3, 4), normal(2, 4, 5), normal(2, 5, 2)),
    row("einsum", "i,j,k->ijk", W, W, V),
    row("einsum", "ij,ij->i", X, X),
    row("einsum", "i...->...i", normal(2, 3, 4)),
    row("einsum", "ab,bc,cd,de", normal(2, 3), normal(3, 4), normal(4, 5), normal(5, 2)),
    row("einsum", "iij,jk->k", normal(3, 3, 4), Y),
    row("einsum", "ij,kj->ik", normal(3, 1), normal(2, 4)),
    row("einsum", "a,ab,abc->abc", normal(2), normal(2, 3), normal(2, 3, 4)),
    row("einsum", "ab,bc,cd,de,ef,fg", *[normal(2, 2) for _ in range(6)]),
    row("einsum", X, [0, 1], Y, [1, 2], [0, 2]),
    row("polyval", W, X),
    row("polyval", normal(3, 2, 4), V[:4].copy()),
    row("polyval", normal(3, 2, 1), V),
    row("polyadd", W, V),
    row("polysub", W, V),
    row("polymul", W, V),
    Row("polydiv", (V, W), reference=_polydiv, factor=100),
    row("polyder", V),
    row("polyder", V, 2),
    row("polyint", V),
    row("polyint", V, 2, [1, 2.0]),
    row("poly", W),
    row("poly", Z[0]),
    Row("poly", (normal(3, 3),), reference=lambda a: np.poly(a).astype(np.complex64)),
    *[known("roots", p.astype(np.complex64)) for p in (V, np.float32([0, 2, 1, 0]))],
    row("polyfit", V, V**2, 2),
    row("polyfit", V, normal(5, 2), 1, w=np.abs(V)),
    row("polyfit", V, normal(5), 1, cov=True),
    row("polyfit", V, normal(5), 2, w=np.abs(V), cov="unscaled"),
    row("polyfit", V, normal(5, 2), 1, cov=True),
)
