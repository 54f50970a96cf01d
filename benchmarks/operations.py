"""Everyday operations, each at three sizes, under jxkernel, ``jax``, NumPy and, if given, PyTorch.

An expression over a module of the NumPy API serves all of them; where NumPy writes an operation
in another way it has an expression of its own, or none.  PyTorch takes part where it runs NumPy's
expression and gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.library import HOSTS, Library
from benchmarks.metric import Metric, Work
from benchmarks.optimized import fingerprint

__all__ = ["METRICS", "OPERATIONS", "PROGRAMS", "SIZES", "Operation", "name_of", "program", "setup"]

SIZES = (1_000, 30_000, 1_000_000)
Arrays = Callable[[int], tuple[Any, ...]]


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
      name: what is computed.
      arrays: makes the arguments for about so many elements.
      run: the operation, of a module like ``jax.numpy`` and the arguments.
      host: the same of NumPy; None where NumPy has none.
      library: whether ``run`` takes the ``Library`` and not its NumPy module.
    """

    name: str
    arrays: Arrays
    run: Callable[..., Any]
    host: Callable[..., Any] | None
    library: bool = False


def name_of(operation: Operation, size: int) -> str:
    """Return the name of the metric of an operation at a size."""
    return f"{operation.name}, {size:,}"


def setup(operation: Operation, size: int, library: Library) -> Work:
    """Return the work of an operation at a size.

    Raises:
      LookupError: the library has no such operation, or gives something else than NumPy.
    """
    arrays = operation.arrays(size)
    if library.name in HOSTS:
        return _host_work(operation, arrays, library)
    return Work(partial(_jitted(operation, library), *[library.array(x) for x in arrays]))


def program(operation: Operation, size: int, library: Library) -> str:
    """Return a fingerprint of what XLA runs for an operation at a size."""
    arrays = [library.array(x) for x in operation.arrays(size)]
    return fingerprint(_jitted(operation, library).lower(*arrays).compile().as_text())


def _jitted(operation: Operation, library: Library) -> Any:
    module = library if operation.library else library.numpy
    return library.api.jit(partial(operation.run, module))


def _host_work(operation: Operation, arrays: Sequence[Any], library: Library) -> Work:
    if operation.host is None:
        raise LookupError(f"{library.name} has no such operation")
    if library.name == "numpy":
        return Work(partial(operation.host, np, *arrays))
    torch = library.numpy
    run = partial(operation.host, torch, *[torch.from_numpy(x) for x in arrays])
    try:
        same = np.allclose(run(), operation.host(np, *arrays), rtol=1e-3, atol=1e-5)
    except Exception as error:
        raise LookupError("torch writes it in another way") from error
    if not same:
        raise LookupError("torch gives something else")
    return Work(run)


# ---------------------------------------------------------------- arguments


def _draw(kind: str, dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    if kind == "unit":
        return draw.uniform(0.001, 0.999, shape).astype(dtype)
    if kind == "whole":
        return draw.integers(1, 1000, shape).astype(dtype)
    return (2 * draw.standard_normal(shape)).astype(dtype)


def _flat(*kinds: str, dtype: str = "float32") -> Arrays:
    return lambda n: tuple([_draw(kind, dtype, (n,), i) for i, kind in enumerate(kinds)])


def _square(*kinds: str, dtype: str = "float32") -> Arrays:
    def arrays(n: int) -> tuple[Any, ...]:
        side = int(n**0.5)
        return tuple([_draw(kind, dtype, (side, side), i) for i, kind in enumerate(kinds)])

    return arrays


def _factors(dtype: str = "float32") -> Arrays:
    """Return two square matrices whose product takes about 30 n multiplications."""

    def arrays(n: int) -> tuple[Any, ...]:
        side = int((30 * n) ** (1 / 3))
        return tuple([_draw("normal", dtype, (side, side), i) for i in range(2)])

    return arrays


def _definite(side: int | None) -> Arrays:
    """Return positive definite matrices: a batch of one side, or one whose cube is about 30 n."""

    def arrays(n: int) -> tuple[Any, ...]:
        size = side or int((30 * n) ** (1 / 3))
        count = max(1, n // size**2) if side else 1
        x = _draw("normal", "float32", (count, size, size))
        made = x @ x.swapaxes(1, 2) + size * np.eye(size, dtype=np.float32)
        right = _draw("normal", "float32", (count, size, 1))
        return (made, right) if side else (made[0], right[0])

    return arrays


def _indexed(n: int) -> tuple[Any, ...]:
    places = np.random.default_rng(2).integers(0, n // 10, n).astype(np.int32)
    return _draw("normal", "float32", (n,)), places


def _windowed(n: int) -> tuple[Any, ...]:
    return _draw("normal", "float32", (n,)), _draw("normal", "float32", (101,), 1)


def _points_of(axes: int) -> Arrays:
    return lambda n: (_draw("normal", "float32", (n // axes, axes)),)


def _images(n: int) -> tuple[Any, ...]:
    side = max(4, int((n / 64) ** 0.5))
    return _draw("normal", "float32", (4, 16, side, side)), _draw(
        "normal", "float32", (16,) * 2 + (3, 3)
    )


# ---------------------------------------------------------------- the table


def _same(name: str, arrays: Arrays, run: Callable[..., Any]) -> Operation:
    """Return an operation that NumPy writes as ``jax.numpy`` does."""
    return Operation(name, arrays, run, run)


def _named(names: str, arrays: Arrays, suffix: str = "") -> list[Operation]:
    """Return the operations that are functions of these names, of all the arrays."""

    def one(name: str) -> Operation:
        return _same(f"`{name}`{suffix}", arrays, lambda m, *xs: getattr(m, name)(*xs))

    return [one(name) for name in names.split()]


def _own(name: str, arrays: Arrays, run: Callable[..., Any], host: Any = None) -> Operation:
    """Return an operation of the library's other modules."""
    return Operation(name, arrays, run, host, library=True)


def _scatter(m: Any, x: Any, places: Any) -> Any:
    total = m.zeros(len(x) // 10, x.dtype)
    return total.at[places].add(x)


def _host_scatter(m: Any, x: Any, places: Any) -> Any:
    return m.bincount(places, x, len(x) // 10)


def _many_carries(library: Library, xs: Any) -> Any:
    def step(carry: tuple[Any, ...], x: Any) -> tuple[tuple[Any, ...], Any]:
        return tuple([0.5 * c + x * (i + 1) for i, c in enumerate(carry)]), carry[0]

    return library.lax.scan(step, (0.0,) * 20, xs)[1]


def _recurrence(library: Library, xs: Any) -> Any:
    return library.lax.scan(lambda c, x: (0.9 * c + x, c), 0.0, xs)[1]


def _convolution(library: Library, x: Any, w: Any) -> Any:
    return library.lax.conv_general_dilated(x, w, (1, 1), "SAME")


def _transposed(library: Library, x: Any, w: Any) -> Any:
    numbers = ("NCHW", "OIHW", "NCHW")
    return library.lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=numbers)


def _depthwise(library: Library, x: Any, w: Any) -> Any:
    kernels = w[:, :1]
    return library.lax.conv_general_dilated(x, kernels, (1, 1), "SAME", feature_group_count=16)


def _pooled(library: Library, x: Any, _: Any) -> Any:
    window = (1, 1, 2, 2)
    return library.lax.reduce_window(x, -np.inf, library.lax.max, window, window, "VALID")


def _pooled_slope(library: Library, x: Any, w: Any) -> Any:
    return library.api.grad(lambda x: library.numpy.sum(_pooled(library, x, w) ** 2))(x)


def _slopes_of_gelu(library: Library, x: Any) -> Any:
    return library.api.grad(lambda x: library.numpy.sum(library.nn.gelu(x)))(x)


def _special(name: str, kind: str) -> Operation:
    def run(library: Library, x: Any) -> Any:
        return getattr(import_module(f"{library.name}.scipy.special"), name)(x)

    return _own(f"`{name}`", _flat(kind), run)


def _neural(name: str) -> Operation:
    return _own(f"`{name}`", _square("normal"), lambda library, x: getattr(library.nn, name)(x))


_N, _U, _NN = _flat("normal"), _flat("unit"), _flat("normal", "normal")
_I, _II = _flat("whole", dtype="int32"), _flat("whole", "whole", dtype="int32")
_S = _square("normal")

OPERATIONS: tuple[Operation, ...] = (
    *_named("sin cos tan exp expm1 tanh sinh arctan cbrt arcsinh", _N),
    *_named("abs floor", _N),
    *_named("log log1p sqrt arcsin arccos", _U),
    *_named("add divide arctan2 hypot logaddexp remainder maximum", _NN),
    *_named("power", _flat("unit", "normal")),
    *_named("sin exp log", _flat("unit", dtype="float64"), ", float64"),
    *_named("add multiply", _flat("normal", "normal", dtype="float64"), ", float64"),
    *_named("add multiply floor_divide remainder", _II, ", int32"),
    *_named("sum mean var max argmax argmin any nansum count_nonzero", _N),
    *_named("median nanmedian sort argsort cumsum cumprod diff", _N),
    *_named("sum sort cumsum argmax", _I, ", int32"),
    *_named("sum sort", _flat("normal", dtype="float64"), ", float64"),
    _same("`quantile(x, 0.9)`", _N, lambda m, x: m.quantile(x, m.float32(0.9))),
    _same("`percentile(x, (5, 95))`", _N, lambda m, x: m.percentile(x, m.array((5.0, 95.0)))),
    _same("`partition(x, n // 2)`", _N, lambda m, x: m.partition(x, len(x) // 2)),
    _same("`argpartition(x, 10)`", _N, lambda m, x: m.argpartition(x, 10)),
    _own("`top_k(x, 10)`", _N, lambda library, x: library.lax.top_k(x, 10)),
    *[_same(f"`{f}(x, 0)`", _S, lambda m, x, f=f: getattr(m, f)(x, 0)) for f in ("sum", "max")],
    *[_same(f"`{f}(x, 1)`", _S, lambda m, x, f=f: getattr(m, f)(x, 1)) for f in ("sum", "max")],
    *[_same(f"`{f}(x, 0)`", _S, lambda m, x, f=f: getattr(m, f)(x, 0)) for f in ("sort", "cumsum")],
    *[
        _same(f"`{f}(x, 0)`", _S, lambda m, x, f=f: getattr(m, f)(x, 0))
        for f in ("median", "argmax")
    ],
    _same("length of points", _points_of(3), lambda m, x: m.sqrt(m.sum(x * x, 1))),
    _same("`where(x > 0, x, y)`", _NN, lambda m, x, y: m.where(x > 0, x, y)),
    _same("`clip(x, -1, 1)`", _N, lambda m, x: m.clip(x, -1, 1)),
    _same("transposed copy", _S, lambda m, x: m.transpose(x) + 0),
    _same("`concatenate`", _NN, lambda m, x, y: m.concatenate([x, y])),
    _same("`stack` on axis 1", _NN, lambda m, x, y: m.stack([x, y], 1)),
    _same("`tile(x, 4)`", _N, lambda m, x: m.tile(x, 4)),
    _same("`repeat(x, 4)`", _N, lambda m, x: m.repeat(x, 4)),
    _same("`roll(x, 7)`", _N, lambda m, x: m.roll(x, 7)),
    _same("`flip`", _N, lambda m, x: m.flip(x) + 0),
    _same("`pad(x, 3)`", _S, lambda m, x: m.pad(x, 3)),
    _same("`tril`", _S, lambda m, x: m.tril(x)),
    _same("`x[places]`", _indexed, lambda m, x, places: x[places]),
    _same("`take_along_axis`", _indexed, lambda m, x, places: m.take_along_axis(x, places, 0)),
    Operation("`zeros.at[places].add(x)`", _indexed, _scatter, _host_scatter),
    _own(
        "`segment_sum`",
        _indexed,
        lambda library, x, p: library.api.ops.segment_sum(x, p, len(x) // 10),
        _host_scatter,
    ),
    Operation(
        "`bincount`",
        _indexed,
        lambda m, x, p: m.bincount(p, length=len(x) // 10),
        lambda m, x, p: m.bincount(p, minlength=len(x) // 10),
    ),
    Operation(
        "`nonzero(x > 2, size=)`",
        _N,
        lambda m, x: m.nonzero(x > 2, size=len(x) // 4)[0],
        lambda m, x: m.nonzero(x > 2)[0],
    ),
    _same("`histogram(x, 50)`", _N, lambda m, x: m.histogram(x, 50)[0]),
    _same("`histogram`, range given", _N, lambda m, x: m.histogram(x, 50, (-4, 4))[0]),
    _same("`searchsorted`", _N, lambda m, x: m.searchsorted(m.linspace(-3, 3, 1000), x)),
    _same("`interp`", _U, lambda m, x: m.interp(x, m.linspace(0, 1, 100), m.linspace(0, 1, 100))),
    _same("`convolve`, 101 taps", _windowed, lambda m, x, w: m.convolve(x, w)),
    _same("`correlate`, 101 taps", _windowed, lambda m, x, w: m.correlate(x, w)),
    _same("`outer` of √n", lambda n: _NN(int(n**0.5)), lambda m, x, y: m.outer(x, y)),
    _same("`dot` of vectors", _NN, lambda m, x, y: m.dot(x, y)),
    _same("matrix times vector", _S, lambda m, x: x @ x[0]),
    _same("`matmul`", _factors(), lambda m, x, y: x @ y),
    _same("`matmul`, float64", _factors("float64"), lambda m, x, y: x @ y),
    _same(
        "`einsum('ij,ij->i')`",
        _square("normal", "normal"),
        lambda m, x, y: m.einsum("ij,ij->i", x, y),
    ),
    _same("`det`, batched 3 × 3", _definite(3), lambda m, x, b: m.linalg.det(x)),
    _same("`inv`, batched 3 × 3", _definite(3), lambda m, x, b: m.linalg.inv(x)),
    _same("`solve`, batched 3 × 3", _definite(3), lambda m, x, b: m.linalg.solve(x, b)),
    _same("`cholesky`, batched 4 × 4", _definite(4), lambda m, x, b: m.linalg.cholesky(x)),
    _same("`solve`, batched 16 × 16", _definite(16), lambda m, x, b: m.linalg.solve(x, b)),
    _same("`matmul`, batched 3 × 3", _definite(3), lambda m, x, b: x @ x),
    _same("`matmul`, batched 16 × 16", _definite(16), lambda m, x, b: x @ x),
    _same("`cholesky`", _definite(None), lambda m, x, b: m.linalg.cholesky(x)),
    _same("`solve`", _definite(None), lambda m, x, b: m.linalg.solve(x, b)),
    _same("`eigh`", _definite(None), lambda m, x, b: m.linalg.eigh(x)[1]),
    _same("`fft`", _N, lambda m, x: m.fft.fft(x)),
    _same("`rfft`", _N, lambda m, x: m.fft.rfft(x)),
    *[_special(name, "normal") for name in ("erf", "gammaln", "digamma", "logsumexp")],
    *[_special(name, "unit") for name in ("erfinv", "ndtri")],
    *[_neural(name) for name in ("softmax", "gelu")],
    _own("`softmax` of 4", _points_of(4), lambda library, x: library.nn.softmax(x)),
    _own("gradient of `gelu`, an odd number", lambda n: _N(n - 1), _slopes_of_gelu),
    _own("convolution, 3 × 3, 16 channels", _images, _convolution),
    _own("transposed convolution, 3 × 3", _images, _transposed),
    _own("depthwise convolution, 3 × 3", _images, _depthwise),
    _own("greatest of 2 × 2", _images, _pooled),
    _own("gradient of greatest of 2 × 2", _images, _pooled_slope),
    _own("recurrence by `scan`", lambda n: _N(n // 10), _recurrence),
    _own("`scan` with 20 scalar carries", lambda n: _N(n // 10), _many_carries),
)

METRICS = tuple(
    [
        Metric(name_of(operation, size), None, partial(setup, operation, size))
        for operation in OPERATIONS
        for size in SIZES
    ]
)

PROGRAMS: dict[str, Callable[[Library], str]] = {
    name_of(operation, size): partial(program, operation, size)
    for operation in OPERATIONS
    for size in SIZES
}
"""What tells for each of them which program it is."""
