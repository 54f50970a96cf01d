"""``numpy.linalg`` and ``numpy.fft``: values, derivatives, batching, types, errors."""

import re
import warnings
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from jxkernel.errors import UndefinedRuleError
from tests.numpy import linalg_rows as rows
from tests.numpy.rows import Row
from tests.numpy.test_values import assert_results, ours
from tests.primitives.checking import assert_close, check_derivatives, check_vmap, quickly

CASES: dict[str, list[Row]] = {}
for _row in rows.LINALG:
    CASES.setdefault(f"linalg.{_row.name}", []).append(_row)
for _row in rows.FFT:
    CASES.setdefault(f"fft.{_row.name}", []).append(_row)


def expected(name: str, row: Row) -> list[Any]:
    reference = row.reference or attrgetter(name)(np)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = reference(*row.args, **row.kwargs)
    results = [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]
    # NumPy gives residuals under conditions only: they have a test of their own.
    return [results[0], *results[2:]] if row.name == "lstsq" else results


def arrays_of(row: Row) -> list[Any]:
    return [arg for arg in row.args if isinstance(arg, (np.ndarray, list))]


def result_of(name: str, row: Row, arrays: list[Any]) -> Any:
    given = iter(arrays)
    args = [next(given) if isinstance(arg, (np.ndarray, list)) else arg for arg in row.args]
    found = attrgetter(name)(jnp)(*args, **row.kwargs)
    return [found[0], *found[2:]] if row.name == "lstsq" else found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_traced_values_are_those_of_numpy(name: str) -> None:
    def every(arguments: list[list[Any]]) -> list[Any]:
        return [result_of(name, *pair) for pair in zip(CASES[name], arguments, strict=True)]

    found = quickly(every)([arrays_of(row) for row in CASES[name]])
    for row, result in zip(CASES[name], found, strict=True):
        assert_results(result, expected(name, row), 100)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_eager_values_are_those_of_numpy(name: str) -> None:
    for row in CASES[name][:: 1 + len(CASES[name]) // 6]:
        assert_results(result_of(name, row, ours(arrays_of(row))), expected(name, row), 100)


# ---------------------------------------------------------------- factors, by what they satisfy


def reconstructed(name: str, a: Any, result: Any) -> Any:
    """Return the matrices that a factorisation's results multiply to."""
    if name == "eigh":
        values, vectors = result
        return (vectors * values[..., None, :]) @ vectors.conj().swapaxes(-1, -2)
    if name == "eig":
        values, vectors = result
        return (vectors * values[..., None, :]) @ np.linalg.inv(vectors)
    if name == "qr":
        return result[0] @ result[1]
    u, s, vh = result
    k = s.shape[-1]
    return (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]


FACTORISATIONS = [
    *[("eig", a, {}) for a in rows.SQUARE[:6]],
    *[("eigh", a, {}) for a in rows.HERMITIAN],
    *[("qr", a, {"mode": mode}) for a in rows.MATRICES for mode in ("reduced", "complete")],
    *[("svd", a, {"full_matrices": f}) for a in rows.MATRICES for f in (True, False)],
    ("svd", rows.HERMITIAN[1] - 4 * np.eye(3, dtype="F"), {"hermitian": True}),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "a", "how"), FACTORISATIONS)
def test_factors_multiply_to_the_matrix(name: str, a: Any, how: Any) -> None:
    function = getattr(jnp.linalg, name)
    result = function(jnp.asarray(a), **how)
    wanted = getattr(np.linalg, name)(a, **how)
    assert [x.shape for x in result] == [np.asarray(x).shape for x in wanted]
    assert [f.lower() for f in result._fields] == [f.lower() for f in wanted._fields]
    parts = tuple(map(np.asarray, result))
    np.testing.assert_allclose(reconstructed(name, a, parts), a, rtol=1e-4, atol=1e-4)
    traced = tuple(map(np.asarray, jx.jit(lambda a: function(a, **how))(a)))
    np.testing.assert_allclose(reconstructed(name, a, traced), a, rtol=1e-4, atol=1e-4)
    if name != "eig":
        unitary = parts[1] if name == "eigh" else parts[0]
        product = unitary.conj().swapaxes(-1, -2) @ unitary
        eye = np.broadcast_to(np.eye(product.shape[-1]), product.shape)
        np.testing.assert_allclose(product, eye, atol=1e-5)


# ---------------------------------------------------------------- derivatives and batching


def real(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape)


def complexes(*shape: int) -> Any:
    random = np.random.default_rng(7)
    return random.normal(size=shape) + 1j * random.normal(size=shape)


def hermitian(x: Any) -> Any:
    return (x + x.conj().swapaxes(-1, -2)) / 2


L, F = jnp.linalg, jnp.fft
EYE4 = 3 * np.eye(4)
DIFFERENTIABLE = {
    "cholesky": (lambda x: L.cholesky(x @ x.conj().mT + jnp.eye(3)), [complexes(2, 3, 3)]),
    "det": (L.det, [real(2, 4, 4)]),
    "det of complex": (L.det, [complexes(4, 4)]),
    "det of rank 3": (L.det, [real(4, 3) @ real(3, 4)]),
    "det 3x3": (L.det, [real(3, 3)]),
    "slogdet": (lambda x: L.slogdet(x), [complexes(2, 3, 3) + 3 * np.eye(3)]),
    "slogdet by qr": (lambda x: L.slogdet(x, method="qr"), [real(4, 4) + EYE4]),
    "inv": (L.inv, [complexes(3, 3) + 3 * np.eye(3)]),
    "solve": (L.solve, [real(4, 4) + EYE4, real(4, 2)]),
    "solve vector": (L.solve, [complexes(4, 4) + EYE4, complexes(4)]),
    "eigvals": (lambda x: jnp.sum(L.eigvals(x) ** 3), [real(4, 4)]),
    "eigvalsh": (lambda x: L.eigvalsh(hermitian(x)), [complexes(4, 4)]),
    "eigh": (lambda x: abs(L.eigh(hermitian(x)).eigenvectors), [complexes(4, 4)]),
    "svdvals": (L.svdvals, [complexes(2, 4, 3)]),
    "svd": (lambda x: abs(L.svd(x, full_matrices=False).Vh), [real(4, 3)]),
    "svd hermitian": (
        lambda x: L.svd(hermitian(x), hermitian=True, compute_uv=False),
        [real(4, 4)],
    ),
    "qr": (lambda x: L.qr(x), [real(4, 3)]),
    "qr wide": (lambda x: L.qr(x), [complexes(3, 4)]),
    "pinv": (L.pinv, [complexes(4, 3)]),
    "pinv wide": (L.pinv, [real(2, 3, 4)]),
    "lstsq": (lambda a, b: L.lstsq(a, b)[0], [real(5, 3), real(5)]),
    "norm fro": (L.norm, [complexes(3, 4)]),
    "norm nuc": (lambda x: L.norm(x, "nuc"), [real(3, 4)]),
    "norm 2": (lambda x: L.norm(x, 2), [real(3, 4)]),
    "norm 1": (lambda x: L.norm(x, 1), [real(3, 4)]),
    "norm 3 of vectors": (lambda x: L.norm(x, 3, axis=1), [real(3, 4)]),
    "norm -1 of vectors": (lambda x: L.norm(x, -1, axis=0), [real(3, 4)]),
    "cond": (lambda x: L.cond(x), [real(4, 4)]),
    "cond 1": (lambda x: L.cond(x, 1), [real(4, 4)]),
    "matrix_power": (lambda x: L.matrix_power(x, -3), [real(3, 3) + 3 * np.eye(3)]),
    "multi_dot": (lambda *xs: L.multi_dot(xs), [real(2, 3), real(3, 4), real(4)]),
    "tensorinv": (L.tensorinv, [real(2, 3, 6) + 2 * np.eye(6).reshape(2, 3, 6)]),
    "fft": (lambda x: F.fft(x, 6, axis=0, norm="ortho"), [complexes(4, 3)]),
    "rfftn": (lambda x: F.rfftn(x, (4, 5)), [real(3, 4)]),
    "irfft": (lambda x: F.irfft(x, 7), [complexes(2, 4)]),
    "hfft": (lambda x: F.hfft(x), [complexes(4)]),
    "ihfft": (lambda x: F.ihfft(x), [real(5)]),
    "fftshift": (F.fftshift, [real(3, 4)]),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_of_first_and_second_order(name: str) -> None:
    function, args = DIFFERENTIABLE[name]
    with enable_x64(True):
        check_derivatives(function, args, tolerance=1e-5)


@pytest.mark.parametrize("name", ["solve", "det of rank 3", "pinv", "lstsq", "norm nuc", "rfftn"])
def test_vmap_equals_a_loop(name: str) -> None:
    function, args = DIFFERENTIABLE[name]
    with enable_x64(True):
        check_vmap(function, args, tolerance=1e-6)


def test_mixed_stacks_of_singular_and_regular_matrices_have_determinants_gradients() -> None:
    stack = np.stack([np.eye(4), np.diag([1.0, 2.0, 3.0, 0.0]), np.zeros((4, 4))])
    found = jx.vmap(jx.grad(L.det))(stack.astype(np.float32))
    wanted = np.stack([np.eye(4), np.diag([0.0, 0.0, 0.0, 6.0]), np.zeros((4, 4))])
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-5)


@pytest.mark.parametrize("ord", [None, 2, 3, "nuc", 1])
def test_norm_at_zero_has_a_finite_derivative(ord: Any) -> None:
    x = np.zeros((2, 2) if ord in ("nuc", 1) else 3, np.float32)
    assert np.isfinite(np.asarray(jx.grad(lambda x: L.norm(x, ord))(x))).all()


def test_symmetric_functions_of_equal_eigenvalues_are_differentiable() -> None:
    eye = np.eye(3, dtype=np.float32)
    assert_close(jx.grad(lambda x: jnp.sum(L.eigvalsh(x) ** 2))(eye), 2 * eye)
    assert_close(jx.grad(lambda x: jnp.sum(L.svdvals(x)))(eye), eye, 1e-4)


def test_eigenvectors_of_equal_eigenvalues_have_no_finite_derivative() -> None:
    gradient = jx.grad(lambda x: L.eigh(x).eigenvectors[0, 0])(np.eye(2, dtype=np.float32))
    assert not np.isfinite(np.asarray(gradient)).all()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: L.eig(x).eigenvectors.real.sum(), "eigh for Hermitian"),
        (lambda x: L.svd(x[:, :2]).U.sum(), "full_matrices=False"),
        (lambda x: L.qr(x, mode="raw").Q.sum(), "differentiate qr"),
    ],
)
def test_what_has_no_derivative_says_why(function: Any, why: str) -> None:
    with pytest.raises(UndefinedRuleError, match=why):
        jx.grad(function)(np.eye(3, dtype=np.float32))


# ---------------------------------------------------------------- edges


def test_failures_are_nan_and_spare_other_matrices() -> None:
    stack = np.stack([np.eye(2), -np.eye(2)]).astype(np.float32)
    found = np.asarray(L.cholesky(stack))
    assert_close(found[0], np.eye(2, dtype=np.float32))
    assert np.isnan(found[1]).any()
    assert not np.isfinite(np.asarray(L.inv(np.ones((2, 2), np.float32)))).any()


@pytest.mark.parametrize("method", ["lu", "qr"])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_slogdet_of_a_singular_matrix(method: str, dtype: Any) -> None:
    sign, logarithm = L.slogdet(np.diag([1, 0, 3]).astype(dtype), method=method)
    assert (complex(sign), float(logarithm)) == (0, -np.inf)


def test_lstsq_residuals() -> None:
    a, b = rows.real(5, 2), rows.real(5, 3)
    x, residuals, _, _ = L.lstsq(a, b)
    np.testing.assert_allclose(residuals, np.sum((b - a @ x) ** 2, 0), rtol=1e-4)
    assert L.lstsq(a, b, numpy_resid=True)[1].shape == (3,)
    assert L.lstsq(a.T, rows.real(2), numpy_resid=True)[1].shape == (0,)
    exact = np.eye(2, 1, dtype="f")
    curved = jx.jit(jx.hessian(lambda b: L.lstsq(exact, b)[1][0]))(exact[:, 0])
    np.testing.assert_allclose(curved, np.diag([0.0, 2.0]), atol=1e-6)
    assert L.lstsq(np.ones((3, 2), "f"), rows.real(3), numpy_resid=True)[1].shape == (0,)
    assert L.lstsq(np.zeros((0, 3), "f"), np.zeros(0, "f"))[0].shape == (3,)


@pytest.mark.parametrize("rcond", [None, 0.5, -1])
def test_lstsq_counts_singular_values_above_rcond(rcond: Any) -> None:
    a = np.diag(np.float32([1, 0.4, 1e-9]))
    rank = L.lstsq(a, np.ones(3, np.float32), rcond=rcond)[2]
    assert int(rank) == (1 if rcond == 0.5 else 2)


TYPES = ["bool", "int8", "uint32", "float32", "complex64"]
HALF = "float16", "bfloat16"
REAL_RESULTS = ["cond", "norm", "vector_norm", "matrix_norm", "svdvals", "eigvalsh"]
SAME_RESULTS = ["cholesky", "det", "inv", "pinv"]


@pytest.mark.parametrize("dtype", TYPES)
def test_result_dtypes(dtype: str) -> None:
    x = jnp.asarray(np.array([[2, 1], [1, 3]]), dtype)
    inexact = "complex64" if dtype == "complex64" else "float32"
    for name in REAL_RESULTS + SAME_RESULTS:
        found = getattr(L, name)(x)
        assert found.dtype == ("float32" if name in REAL_RESULTS else inexact), name
        assert not found.weak_type
    assert L.eig(x).eigenvalues.dtype == "complex64"
    assert L.matrix_rank(x).dtype == "int32"
    assert L.matrix_power(x, 2).dtype == dtype
    assert L.matrix_power(x, -2).dtype == inexact
    assert F.fft(x).dtype == F.fftn(x).dtype == "complex64"
    assert F.irfft(x).dtype == F.hfft(x).dtype == "float32"
    assert F.fftshift(x).dtype == dtype


@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_has_transforms_and_norms_but_no_factorisations(dtype: str) -> None:
    x = jnp.eye(4, dtype=dtype)
    assert F.rfft(x).dtype == "complex64"
    assert L.norm(x).dtype == L.det(x[:2, :2]).dtype == dtype
    for name in ("cholesky", "eigh", "svd", "qr", "inv", "det"):
        with pytest.raises(TypeError, match=f"does not accept dtype {dtype}"):
            getattr(L, name)(x)


def test_64_bits() -> None:
    with enable_x64(True):
        assert L.inv(np.eye(2)).dtype == "float64"
        assert F.fft(np.ones(3)).dtype == "complex128"
        assert F.fftfreq(4).dtype == "float64"


BAD = np.ones((2, 3), np.float32)
SQUARE_ONLY = ("cholesky", "det", "slogdet", "inv", "eig", "eigh", "eigvals", "eigvalsh")
MATRICES_ONLY = ("svd", "svdvals", "qr", "pinv", "matrix_norm", "trace", "diagonal", "cond")
REFUSED = [
    *[(getattr(L, n), (BAD,), {}, ValueError, rf"{n} .*\(2, 3\).*\(\.\.\., n, n\)")
      for n in SQUARE_ONLY],
    *[(getattr(L, n), (BAD[0],), {}, TypeError, rf"{n} got shape \(3,\)")
      for n in MATRICES_ONLY],
    *[(getattr(L, n), ([[1.0]],), {}, TypeError, f"{n} takes arrays.*jnp.asarray")
      for n in (*SQUARE_ONLY, *MATRICES_ONLY)],
    (L.solve, (np.eye(3), np.ones(4)), {}, TypeError, "solve.*as many rows"),
    (L.solve, (np.ones((2, 3, 3)), np.ones((2, 3))), {}, TypeError, r"b\[\.\.\., None\]"),
    (L.solve, (np.eye(3), 1.0), {}, ValueError, "solve takes b"),
    (L.eigh, (np.eye(2),), {"UPLO": "X"}, ValueError, "eigh got UPLO='X'"),
    (L.qr, (BAD,), {"mode": "economic"}, ValueError, "qr got mode='economic'"),
    (L.svd, (BAD,), {"subset_by_index": (0, 1)}, ValueError, "full_matrices=False"),
    (L.norm, (BAD, 3), {}, ValueError, "norm got ord=3 for matrices"),
    (L.norm, (BAD[0], "fro"), {}, ValueError, "norm got ord='fro' for vectors"),
    (L.norm, (BAD, 2, (0, 0)), {}, ValueError, "norm got axes"),
    (L.norm, (BAD, 2, 5), {}, ValueError, "norm got axis 5"),
    (L.norm, (np.ones((2, 2, 2)), 2), {}, ValueError, "one axis is that of vectors"),
    (L.pinv, (BAD,), {"rtol": 1, "rcond": 1}, ValueError, "not both"),
    (L.matrix_rank, (BAD,), {"rtol": 1, "tol": 1}, ValueError, "not both"),
    (L.matrix_power, (np.eye(2), 1.5), {}, TypeError, "float"),
    (L.multi_dot, ([BAD],), {}, ValueError, "two arrays or more"),
    (L.multi_dot, ([BAD, BAD],), {}, TypeError, "neighbours share"),
    (L.multi_dot, ([BAD, BAD[0], BAD],), {}, ValueError, "the first and last may be vectors"),
    (L.tensorsolve, (np.ones((2, 3, 7)), np.ones((2, 3))), {}, TypeError, "tensorsolve"),
    (L.tensorinv, (np.ones((4, 6, 8, 4)),), {}, TypeError, "tensorinv"),
    (L.tensorinv, (np.ones((4, 4)), 0), {}, ValueError, "ind=0"),
    (L.slogdet, (np.eye(2),), {"method": "svd"}, ValueError, "method='svd'"),
    (L.lstsq, (np.ones((2, 3, 3)), np.ones(3)), {}, ValueError, "vmap"),
    (L.lstsq, (BAD, np.ones(3)), {}, TypeError, "as many rows"),
    (L.cond, (np.zeros((0, 0)),), {}, ValueError, "not empty"),
    (L.outer, (BAD, BAD), {}, ValueError, "two vectors"),
    (L.cross, (np.ones(2), np.ones(2)), {}, ValueError, "3 elements"),
    (F.fft, (BAD, 0), {}, ValueError, "fft got lengths"),
    (F.fft, (BAD,), {"axis": 5}, ValueError, "fft got axis 5"),
    (F.fft, (BAD,), {"norm": "bad"}, ValueError, "norm='bad'"),
    (F.fft, ([1.0],), {}, TypeError, "fft takes arrays"),
    (F.rfft, (BAD * 1j,), {}, ValueError, "rfft takes real numbers.*use fft"),
    (F.ihfft, (BAD * 1j,), {}, ValueError, "ihfft takes real numbers"),
    (F.fft2, (BAD,), {"axes": (0,)}, ValueError, "fft2 transforms two axes"),
    (F.fftn, (BAD,), {"axes": (0, 0)}, ValueError, "each axis may be named once"),
    (F.fftn, (BAD,), {"s": (2, 3), "axes": (0,)}, ValueError, "2 lengths"),
    (F.fftfreq, (-1,), {}, ValueError, "not negative"),
    (F.fftfreq, (3, BAD), {}, ValueError, "one sample spacing"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "kwargs", "error", "message"), REFUSED)
def test_bad_arguments_are_named(
    function: Any, args: Any, kwargs: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        function(*args, **kwargs)


def test_no_matrices_have_no_condition_numbers() -> None:
    for p in (None, 1):
        assert L.cond(np.zeros((0, 3, 3)), p).shape == (0,)


def test_half_of_a_transform_of_one_element_is_empty() -> None:
    assert F.irfft(np.zeros(1, np.float32)).shape == (0,)
    assert F.fft(np.zeros(0, np.float32)).dtype == "complex64"


def test_frequencies_take_a_traced_spacing_and_a_dtype() -> None:
    assert_close(jx.jit(lambda d: F.fftfreq(4, d))(2.0), np.fft.fftfreq(4, 2.0).astype("f"))
    assert F.rfftfreq(5, dtype="float16").dtype == "float16"


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8"])
def test_sums_and_extremes_of_whole_numbers_stay_whole(dtype: str) -> None:
    x = jnp.array([[3, 0, 2]], dtype)
    sums = jnp.sum(x).dtype
    for order, wanted in ((1, sums), (np.inf, x.dtype), (-np.inf, x.dtype), (2, "float32")):
        assert jnp.linalg.vector_norm(x, ord=order).dtype == wanted
    assert jnp.linalg.norm(x[0], 1).dtype == "float32"


def test_a_trace_of_dtype_bool_is_whether_any_element_is_true() -> None:
    x = jnp.array([[0.0, 3.0], [0.5, 0.0]])
    assert jnp.linalg.trace(x, dtype=bool).item() is False
    assert jnp.trace(x, 1, dtype=bool).item() is True


def test_transforms_along_one_axis_refuse_several_and_shifts_of_numbers_are_arrays() -> None:
    with pytest.raises(ValueError, match=r"fft transforms one axis, got axis=\(0, 1\): use fftn"):
        jnp.fft.fft(jnp.ones((2, 2)), axis=(0, 1))
    assert isinstance(jnp.fft.fftshift(1.5), jx.Array)


def test_pinv_takes_tolerances_that_broadcast_against_stacks() -> None:
    a, rtol = jnp.diag(jnp.array([4.0, 2.0, 1.0])), jnp.array([[0.3], [0.7]])
    found = jnp.linalg.pinv(a, rtol)
    assert found.shape == (2, 1, 3, 3)
    wanted = [np.diag([0.25, 0.5, 0]), np.diag([0.25, 0, 0])]
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-6)


def test_second_derivatives_of_determinants_are_minors() -> None:
    x = np.float32(np.arange(16).reshape(4, 4) % 5 + 3 * np.eye(4))
    second = jx.hessian(jnp.linalg.det)(x)
    for i, j, k, m in ((0, 0, 1, 1), (0, 1, 2, 3), (3, 0, 1, 2)):
        minor = np.linalg.det(np.delete(np.delete(x, [i, k], 0), [j, m], 1))
        sign = (-1) ** (i + j + k + m) * (1 if (k > i) == (m > j) else -1)
        np.testing.assert_allclose(second[i, j, k, m], sign * minor, rtol=1e-3, atol=1e-3)


MASKED = {
    "cholesky": jnp.linalg.cholesky,
    "qr": jnp.linalg.qr,
    "matrix_power": lambda x: x + jnp.linalg.matrix_power(x, 0),
    "gradient of det": jx.grad(jnp.linalg.det),
    "scipy's lu": jx.scipy.linalg.lu,
    "sqrtm": jx.scipy.linalg.sqrtm,
    "attention": lambda x: jx.nn.dot_product_attention(
        *[x[None, :, None]] * 3, is_causal=True, local_window_size=4
    ),
}


@pytest.mark.parametrize("fun", MASKED.values(), ids=MASKED)
def test_masks_of_matrices_are_computed_and_not_stored(fun):
    text = jx.jit(fun).lower(jnp.ones((33, 33), "float32")).as_text()
    (arguments,) = re.findall(r"func public @main\((.*?)\) ->", text)
    assert len(re.findall(r"tensor<33x33x", arguments)) == 1
    assert not re.findall(r"stablehlo.constant dense<[^>]{40,}> : tensor<33x33x", text)
