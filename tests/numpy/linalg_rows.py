"""Calls of ``numpy.linalg`` and ``numpy.fft`` that NumPy answers, and those that differentiate."""

from typing import Any

import numpy as np

from tests.numpy.rows import Row, each, row

_random = np.random.default_rng(20260102)


def real(*shape: int) -> Any:
    """Return normally distributed float32 numbers."""
    return _random.normal(size=shape).astype(np.float32)


def complexes(*shape: int) -> Any:
    """Return normally distributed complex64 numbers."""
    return (_random.normal(size=shape) + 1j * _random.normal(size=shape)).astype(np.complex64)


def positive(make: Any, *shape: int) -> Any:
    """Return Hermitian positive definite matrices."""
    x = make(*shape)
    return x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1], dtype=x.dtype)


def regular(make: Any, *shape: int) -> Any:
    """Return square matrices that are far from singular."""
    return make(*shape) + 3 * np.eye(shape[-1], dtype=np.float32)


WHOLE = np.array([[2, 1], [1, 3]], np.int32)
SQUARE = [
    regular(real, 4, 4),
    regular(real, 2, 3, 3),
    regular(complexes, 3, 3),
    regular(complexes, 2, 5, 5),
    regular(real, 1, 1),
    regular(real, 2, 2),
    np.zeros((0, 0), np.float32),
    np.zeros((3, 0, 0), np.complex64),
    WHOLE,
    WHOLE > 1,
]
HERMITIAN = [
    positive(real, 4, 4),
    positive(complexes, 2, 3, 3),
    positive(real, 1, 1),
    np.zeros((0, 0), np.float32),
    WHOLE,
]
MATRICES = [real(4, 3), complexes(2, 3, 4), real(1, 1), real(3, 2, 2), WHOLE.astype(np.uint8)]
EMPTY = [np.zeros((0, 3), np.float32), np.zeros((2, 3, 0), np.float32)]


def _cholesky(a: Any, upper: bool = False, symmetrize_input: bool = True) -> Any:
    lower = np.linalg.cholesky(a.astype(np.result_type(a, np.float32)))
    return lower.conj().swapaxes(-1, -2) if upper else lower


A3 = real(2, 3, 4)
_NORM_ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
_VECTOR_ORDERS = (None, 0, 1, -1, 2, 3, 0.5, -2, np.inf, -np.inf)

LINALG: tuple[Row, ...] = (
    *[item for a in SQUARE for item in each("inv det slogdet", a)],
    *[Row("cholesky", (a,), reference=_cholesky) for a in HERMITIAN],
    *[Row("cholesky", (a,), {"upper": True}, _cholesky) for a in HERMITIAN[:2]],
    *[row("eigvalsh", a) for a in HERMITIAN],
    row("eigvalsh", HERMITIAN[0], "U"),
    *[row("svdvals", a) for a in (*MATRICES, *EMPTY)],
    row("svd", MATRICES[0], compute_uv=False),
    row("svd", HERMITIAN[1] - 4 * np.eye(3, dtype="F"), compute_uv=False, hermitian=True),
    *[row("qr", a, mode="raw") for a in MATRICES[:3] if a.ndim == 2],
    *[row("pinv", a) for a in (*MATRICES, *EMPTY)],
    row("pinv", HERMITIAN[1], hermitian=True),
    row("pinv", np.diag(np.float32([1, 0.2, 0])), rtol=0.5),
    row("pinv", A3, np.float32([0.1, 0.7])),
    *[row("matrix_rank", a) for a in (*SQUARE[:6], *MATRICES, np.ones((3, 3), "f"), real(3))],
    row("matrix_rank", np.diag(np.float32([10, 1])), rtol=0.5),
    row("matrix_rank", np.diag(np.float32([10, 1])), tol=0.5),
    row("matrix_rank", HERMITIAN[1], hermitian=True),
    *[row("cond", a) for a in (SQUARE[0], A3, MATRICES[1])],
    *[row("cond", SQUARE[1], p) for p in _NORM_ORDERS[1:]],
    row("cond", np.zeros((2, 2), "f")),
    Row("cond", (np.float32([[1, np.nan], [0, 1]]),), reference=lambda x: np.float32(np.nan)),
    *[row("norm", A3[0], ord) for ord in _NORM_ORDERS],
    *[row("norm", MATRICES[1], ord, axis=(0, 2), keepdims=True) for ord in _NORM_ORDERS],
    *[row("norm", A3, ord, axis=1) for ord in _VECTOR_ORDERS],
    *[row("norm", complexes(5), ord) for ord in _VECTOR_ORDERS],
    *[row("norm", x) for x in (A3, np.zeros((0,), "f"), np.float32(-2), WHOLE)],
    row("vector_norm", A3, axis=(0, 2), ord=3, keepdims=True),
    row("vector_norm", A3),
    row("vector_norm", np.int32([[3, -1], [0, 2]]), ord=3),
    *[row("matrix_norm", A3, ord=ord) for ord in _NORM_ORDERS[1:]],
    *[row("solve", a, complexes(a.shape[-1], 2)) for a in SQUARE],
    row("solve", SQUARE[0], real(4)),
    row("solve", SQUARE[1], real(3)),
    row("solve", SQUARE[1], real(5, 1, 3, 2)),
    *[row("lstsq", a, real(a.shape[0], 2), rcond=None) for a in (real(3, 5), real(3, 3))],
    row("lstsq", real(5, 3), real(5), rcond=None),
    row("lstsq", complexes(4, 2), complexes(4, 3), rcond=None),
    row("lstsq", np.ones((4, 2), np.float32), real(4), rcond=None),
    row("tensorsolve", real(2, 3, 6) + np.eye(6, dtype="f").reshape(2, 3, 6), real(2, 3)),
    row("tensorsolve", real(6, 2, 3), real(2, 3), axes=(0,)),
    row("tensorinv", real(4, 6, 8, 3)),
    row("tensorinv", real(6, 3, 2), 1),
    *[row("matrix_power", a, n) for a in (SQUARE[1], WHOLE) for n in (0, 1, 2, 5, -1, -3)],
    row("multi_dot", [real(2, 3), real(3, 5), real(5, 4), real(4)]),
    row("multi_dot", [real(3), real(3, 5), real(5)]),
    row("multi_dot", [real(3, 2), real(2, 4)]),
    *each("diagonal trace", A3, offset=1),
    *each("matrix_transpose trace diagonal", A3),
    row("cross", real(2, 3), real(3)),
    row("outer", real(2), WHOLE[0]),
    row("matmul", real(2, 3), real(3, 4)),
    row("tensordot", real(2, 3), real(3, 2), axes=1),
    row("vecdot", complexes(2, 3), complexes(3)),
    row("vecdot", real(3, 2), real(3, 2), axis=0),
)

_COMPLEX, _REAL = complexes(3, 4, 5), real(3, 4, 5)
_NORMS = (None, "backward", "ortho", "forward")


FFT: tuple[Row, ...] = (
    *[
        row(name, a, n, axis, norm)
        for name, a in (
            ("fft", _COMPLEX),
            ("ifft", _COMPLEX),
            ("rfft", _REAL),
            ("irfft", _COMPLEX),
            ("hfft", _COMPLEX),
            ("ihfft", _REAL),
        )
        for (n, axis), norm in zip(((None, -1), (3, 0), (7, 1), (6, 2)), _NORMS, strict=True)
    ],
    *[
        row(name, a, s, axes, norm)
        for name, a in (
            ("fft2", _COMPLEX),
            ("ifft2", _COMPLEX),
            ("rfft2", _REAL),
            ("irfft2", _COMPLEX),
            ("fftn", _COMPLEX),
            ("ifftn", _COMPLEX),
            ("rfftn", _REAL),
            ("irfftn", _COMPLEX),
        )
        for (s, axes), norm in zip(
            ((None, (-2, -1)), ((2, 6), (0, 1)), ((5, 5), (1, 2)), (None, (2, 0))),
            _NORMS,
            strict=True,
        )
    ],
    *each("fftn ifftn", _COMPLEX),
    *each("rfftn", _REAL),
    *each("fftn", complexes(2, 2, 3, 2, 3), axes=(0, 4, 2, 1)),
    *each("rfftn", real(2, 2, 3, 2, 4)),
    *each("irfftn", complexes(2, 2, 3, 2, 4)),
    *each("fft rfft ifft", WHOLE),
    *each("fft rfft", np.zeros((0, 4), np.float32)),
    *each("fftn", complexes(3), axes=()),
    *each("fftshift ifftshift", _REAL),
    *each("fftshift ifftshift", np.arange(5), axes=0),
    *each("fftshift ifftshift", _REAL, axes=(0, 2)),
    *[item for n in (1, 4, 5) for item in each("fftfreq rfftfreq", n)],
    *each("fftfreq rfftfreq", 6, np.float32(0.1)),
)
