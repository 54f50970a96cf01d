"""``scipy.linalg`` against SciPy: values eagerly and traced, factors, derivatives, refusals."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import jxkernel as jx
import jxkernel.numpy as jnp
import jxkernel.scipy.linalg as ours
from jxkernel import lax
from jxkernel.config import enable_x64
from jxkernel.errors import UndefinedRuleError
from tests.numpy.linalg_rows import complexes, positive, real, regular
from tests.primitives.checking import check_derivatives, check_vmap, quickly


@dataclass(frozen=True)
class Row:
    """One call that SciPy answers: name, arrays, other arguments."""

    name: str
    arrays: tuple[Any, ...]
    rest: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None

    def __str__(self) -> str:
        kinds = [f"{x.dtype.name}{list(x.shape)}" for x in self.arrays if x is not None]
        return f"{self.name}({', '.join([*kinds, *map(str, self.rest)])}, {self.kwargs})"


def row(name: str, *arrays: Any, rest: tuple[Any, ...] = (), **kwargs: Any) -> Row:
    return Row(name, arrays, rest, kwargs)


def each_of_stack(name: str) -> Callable[..., Any]:
    """Return SciPy's function of one example as one of stacks, all of one rank."""

    def reference(*arrays: Any, **kwargs: Any) -> Any:
        function = getattr(scipy.linalg, name)
        return np.stack([function(*parts, **kwargs) for parts in zip(*arrays, strict=True)])

    return reference


A, C, S = regular(real, 4, 4), regular(complexes, 3, 3), regular(real, 2, 3, 3)
P, H = positive(real, 4, 4), positive(complexes, 3, 3)
B4, B3 = real(4, 2), complexes(3, 2)
V, W = real(5), complexes(3)
WHOLE = np.array([3, 1, 2], np.int32)
SPREAD = [1e-3, 0.3, 2, 7, 40]

ROWS = [
    *[row("expm", x * np.float32(k)) for k in SPREAD for x in (A / 6, C / 5)],
    *[Row("expm", (x,), (), {}, scipy.linalg.expm) for x in (S, np.zeros((2, 2), "f"))],
    row("expm", np.array([[0, 1], [2, 0]], np.int32)),
    Row("expm", (np.triu(A),), (), {"upper_triangular": True}, lambda a, **_: scipy.linalg.expm(a)),
    row("expm_frechet", A / 3, real(4, 4)),
    row("sqrtm", A),
    row("sqrtm", C),
    row("sqrtm", np.float32([[1, 5], [2, 3]])),
    Row("sqrtm", (S,), (), {}, each_of_stack("sqrtm")),
    row("solve_sylvester", A, C, complexes(4, 3)),
    row("solve_sylvester", A, P, real(4, 4)),
    Row(
        "solve_sylvester",
        (A, P, real(4, 4)),
        (),
        {"method": "eigen"},
        lambda a, b, c, **_: scipy.linalg.solve_sylvester(a, b, c),
    ),
    Row("solve_sylvester", (S, S, real(2, 3, 3)), (), {}, each_of_stack("solve_sylvester")),
    *[row("cholesky", x, lower=lower) for x in (P, H) for lower in (False, True)],
    *[row("solve_triangular", x, b, trans=t, lower=lower) for x, b in ((A, B4), (C, B3))
      for t in (0, "T", 2) for lower in (False, True)],
    row("solve_triangular", A, real(4), unit_diagonal=True),
    *[row("solve", A, b) for b in (B4, real(4))],
    *[row("solve", H, B3, assume_a=how) for how in ("pos", "her", "gen")],
    row("solve", P, B4, assume_a="pos", lower=True),
    *[row(name, A) for name in ("inv", "det")],
    *[row("lu", x) for x in (A, C, real(5, 3), real(3, 5))],
    *[row("lu", x, permute_l=True) for x in (A, complexes(5, 3))],
    *[row("lu_factor", x) for x in (A, C)],
    *[row("svd", x, compute_uv=False) for x in (A, complexes(3, 5))],
    *[row("eigh", x, eigvals_only=True) for x in (P, H)],
    *[row("eigh", P, positive(real, 4, 4), eigvals_only=True, type=t) for t in (1, 2, 3)],
    row("eigh", H, positive(complexes, 3, 3), eigvals_only=True),
    row("eigh_tridiagonal", V, real(4), eigvals_only=True),
    row("eigh_tridiagonal", V, real(4), eigvals_only=True, select="i", select_range=(1, 3)),
    row("funm", A, rest=(np.cos,)),
    *[row("toeplitz", *xs) for xs in ((V,), (W,), (V, real(3)), (WHOLE, V))],
    *[row("hankel", *xs) for xs in ((V,), (W,), (V, real(3)), (WHOLE,))],
    *[row(name, x) for name in ("circulant", "companion", "fiedler", "fiedler_companion")
      for x in (V, WHOLE.astype("f"), real(2))],
    row("leslie", V, real(4)),
    row("leslie", WHOLE, WHOLE[:2]),
    *[row("convolution_matrix", V, rest=(n, mode)) for n in (2, 7)
      for mode in ("full", "same", "valid")],
    row("block_diag", A, WHOLE, real(2, 3), real(1)),
    row("block_diag", np.zeros((0, 2), "f"), A),
]  # fmt: skip


def expected(row: Row) -> list[Any]:
    reference = row.reference or getattr(scipy.linalg, row.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = [x.astype(np.result_type(x, np.float64)) for x in row.arrays]
        found = reference(*arrays, *row.rest, **row.kwargs)
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def assert_like(found: Any, wanted: list[Any]) -> None:
    results = jx.tree.leaves(found)
    assert [x.shape for x in results] == [x.shape for x in wanted]
    for result, value in zip(results, wanted, strict=True):
        scale = 1 + float(np.max(np.abs(value), initial=0))
        np.testing.assert_allclose(np.asarray(result) / scale, value / scale, atol=1e-4)


NAMES = sorted({row.name for row in ROWS})


def of_rows(name: str) -> list[Row]:
    return [row for row in ROWS if row.name == name]


def call(row: Row, arrays: Any) -> Any:
    rest = tuple(jnp.cos if x is np.cos else x for x in row.rest)
    return getattr(ours, row.name)(*arrays, *rest, **row.kwargs)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_traced_values_are_those_of_scipy(name: str) -> None:
    rows = of_rows(name)

    def every(arguments: list[Any]) -> list[Any]:
        return [call(row, arrays) for row, arrays in zip(rows, arguments, strict=True)]

    found = quickly(every)([row.arrays for row in rows])
    for row, result in zip(rows, found, strict=True):
        assert_like(result, expected(row))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_eager_values_are_those_of_scipy(name: str) -> None:
    for row in of_rows(name)[:2]:
        assert_like(call(row, [jnp.asarray(x) for x in row.arrays]), expected(row))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("name", ["hilbert", "invhilbert", "pascal", "invpascal", "dft"])
def test_matrices_of_a_size(name: str, n: int) -> None:
    np.testing.assert_allclose(
        getattr(ours, name)(n), getattr(scipy.linalg, name)(n), rtol=1e-5, atol=1e-5
    )


def test_matrices_of_a_size_with_options() -> None:
    for kind in ("lower", "upper", "symmetric"):
        np.testing.assert_allclose(ours.pascal(4, kind), scipy.linalg.pascal(4, kind))
        np.testing.assert_allclose(ours.invpascal(4, kind), scipy.linalg.invpascal(4, kind))
    for full in (False, True):
        wanted = scipy.linalg.helmert(4, full)
        np.testing.assert_allclose(ours.helmert(4, full), wanted, atol=1e-6)
    for scale in ("sqrtn", "n"):
        np.testing.assert_allclose(ours.dft(3, scale), scipy.linalg.dft(3, scale), atol=1e-6)
    np.testing.assert_array_equal(ours.hadamard(8), scipy.linalg.hadamard(8))
    assert ours.hadamard(2, "float32").dtype == ours.hadamard(2, None).dtype == "float32"
    assert ours.hilbert(2).dtype == "float32"
    with enable_x64(True):
        assert ours.hilbert(2).dtype == "float64"


# ---------------------------------------------------------------- factors, by what they satisfy


def adjoint(x: Any) -> Any:
    return np.asarray(x).conj().swapaxes(-1, -2)


def assert_near(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("a", [A, C, S, np.zeros((0, 0), "f")], ids=lambda a: str(a.shape))
def test_schur_and_hessenberg_forms(a: Any) -> None:
    for output in ("real", "complex"):
        t, z = map(np.asarray, ours.schur(a, output=output))
        assert_near(z @ t @ adjoint(z), a)
    assert_near(np.tril(t, -1), np.zeros_like(t))
    h, q = map(np.asarray, ours.hessenberg(a, calc_q=True))
    assert_near(q @ h @ adjoint(q), a)
    assert_near(np.tril(h, -2), np.zeros_like(h))
    assert_near(ours.hessenberg(a), h)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_rsf2csf_is_that_of_scipy(n: int) -> None:
    t, z = scipy.linalg.schur(real(n, n))
    found = tuple(map(np.asarray, ours.rsf2csf(t, z)))
    for ours_, theirs in zip(found, scipy.linalg.rsf2csf(t, z), strict=True):
        assert_near(ours_, theirs)
    stacked = ours.rsf2csf(np.stack([t, t]), np.stack([z, z]))
    assert_near(stacked[0][1], found[0])


@pytest.mark.parametrize("a", [real(4, 3), complexes(3, 4), real(2, 4, 4)])
@pytest.mark.parametrize("pivoting", [False, True])
def test_qr(a: Any, pivoting: bool) -> None:
    k = min(a.shape[-2:])
    for mode in ("full", "economic"):
        q, r, *order = map(np.asarray, ours.qr(a, mode=mode, pivoting=pivoting))
        moved = np.take_along_axis(a, order[0][..., None, :], -1) if order else a
        assert_near(q @ r, moved)
        assert q.shape[-1] == (k if mode == "economic" else a.shape[-2])
    assert_near(ours.qr(a, mode="r")[0], ours.qr(a)[1])


def test_qr_multiply() -> None:
    a, c = complexes(4, 3), complexes(2, 4)
    q, r = map(np.asarray, ours.qr(a, mode="economic"))
    assert_near(ours.qr_multiply(a, c)[0], c @ q)
    assert_near(ours.qr_multiply(a, c, conjugate=True)[0], c @ q.conj())
    assert_near(ours.qr_multiply(a, c[0])[0], c[0] @ q)
    assert_near(ours.qr_multiply(a, c[:, :3].T, mode="left")[0], q @ c[:, :3].T)
    assert_near(ours.qr_multiply(a, c[0, :3], mode="left")[0], q @ c[0, :3])
    assert_near(ours.qr_multiply(a, c)[1], r)
    assert len(ours.qr_multiply(a, c, pivoting=True)) == 3


@pytest.mark.parametrize("driver", ["gesdd", "gesvd"])
def test_svd(driver: str) -> None:
    u, s, vh = map(np.asarray, ours.svd(C, lapack_driver=driver))
    assert_near((u * s) @ vh, C)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("a", [real(4, 3), complexes(3, 3), real(2, 3, 3)])
@pytest.mark.parametrize("method", ["qdwh", "svd"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_polar(a: Any, method: str, side: str) -> None:
    x = a if side == "right" else adjoint(a)
    u, p = map(np.asarray, ours.polar(x, side, method=method))
    assert_near(u @ p if side == "right" else p @ u, x)
    assert_near(p, adjoint(p))
    assert (np.linalg.eigvalsh(p) > -1e-4).all()
    eye = np.eye(a.shape[-1])
    assert_near(
        adjoint(u) @ u if side == "right" else u @ adjoint(u), np.broadcast_to(eye, p.shape)
    )


def test_qdwh_says_how_it_went() -> None:
    steps, converged = lax.linalg.qdwh(real(4, 3))[2:]
    assert bool(converged)
    assert 3 <= int(steps) <= 7
    assert not bool(lax.linalg.qdwh(real(4, 3), max_iterations=2)[3])
    padded = np.pad(np.float32([[0, -2], [2, 0]]), ((0, 2), (0, 1)), constant_values=9)
    part = jx.jit(lambda n: lax.linalg.qdwh(padded, dynamic_shape=(n, n)))(2)
    assert_near(part[1][:2, :2], 2 * np.eye(2))
    assert_near(part[0][:, 2], np.zeros(4))
    assert (np.asarray(ours.polar(np.zeros((2, 2), "f"))[0]) == 0).all()
    assert [x.shape for x in ours.polar(np.zeros((2, 0), "f"))] == [(2, 0), (0, 0)]


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_solutions_by_factors(trans: int) -> None:
    for a, b in ((A, B4), (C, B3), (A, real(4)), (S, real(2, 3)), (S, real(3))):
        op = {0: a, 1: a.swapaxes(-1, -2), 2: adjoint(a)}[trans]
        vectors = b.ndim < 2 or b.shape == a.shape[:-1]
        wanted = np.linalg.solve(op, b[..., None])[..., 0] if vectors else np.linalg.solve(op, b)
        assert_near(ours.lu_solve(ours.lu_factor(a), b, trans=trans), wanted)
    for lower in (False, True):
        assert_near(ours.cho_solve(ours.cho_factor(H, lower), B3), np.linalg.solve(H, B3))


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_generalized_eigenvectors(kind: int) -> None:
    b = positive(complexes, 3, 3)
    values, v = map(np.asarray, ours.eigh(H, b, type=kind))
    left = {1: H, 2: H @ b, 3: b @ H}[kind]
    assert_near(left @ v, (b @ v if kind == 1 else v) * values)
    metric = b if kind != 3 else np.linalg.inv(b)
    assert_near(adjoint(v) @ metric @ v, np.eye(3))


def test_eigenvectors_of_tridiagonal_matrices() -> None:
    d, e = real(4), complexes(3)
    x = np.diag(d.astype("F")) + np.diag(e, 1) + np.diag(e.conj(), -1)
    values, v = map(np.asarray, ours.eigh_tridiagonal(d, e))
    assert_near(x @ v, v * values)
    some = ours.eigh_tridiagonal(d, e.real, eigvals_only=True, select="v", select_range=(-9, 0.0))
    whole = np.linalg.eigvalsh(np.diag(d) + np.diag(e.real, 1) + np.diag(e.real, -1))
    assert_near(some, whole[whole <= 0])


# ---------------------------------------------------------------- edges


def test_expm_beyond_its_squarings_is_nan() -> None:
    assert np.isnan(np.asarray(ours.expm(30 * jnp.eye(2), max_squarings=2))).all()
    assert ours.expm(np.zeros((0, 0), "f")).shape == (0, 0)


def test_sylvester_without_unique_solution_is_nan() -> None:
    found = ours.solve_sylvester(jnp.eye(2), -jnp.eye(2), jnp.ones((2, 2)))
    assert np.isnan(np.asarray(found)).all()


def test_funm_estimates_its_error_and_warns() -> None:
    assert float(ours.funm(A, jnp.exp, disp=False)[1]) < 1e-3
    with pytest.warns(RuntimeWarning, match="relative error"):
        ours.funm(np.float32([[1, 1], [0, 1]]), jnp.exp)


def r64(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


def c64(*shape: int) -> Any:
    return r64(*shape) + 1j * np.random.default_rng(4).normal(size=shape)


EYE3 = 3 * np.eye(3)
DIFFERENTIABLE: dict[str, Any] = {
    "expm": (
        lambda a: ours.expm(a, max_squarings=4), [r64(2, 2, 2) * np.array([[[0.1]], [[6]]])]
    ),
    "expm of complex": (lambda a: ours.expm(a, max_squarings=2), [c64(2, 2)]),
    "sqrtm": (ours.sqrtm, [r64(3, 3) + EYE3]),
    "solve_sylvester": (
        ours.solve_sylvester, [r64(3, 3) + EYE3, r64(2, 2) + 3 * np.eye(2), r64(3, 2)]
    ),
    "sylvester eigen": (
        lambda a, b, c: ours.solve_sylvester(a, b, c, method="eigen"),
        [c64(3, 3) + EYE3, c64(2, 2) + 3 * np.eye(2), c64(3, 2)],
    ),
    "cho_solve": (
        lambda a, b: ours.solve(a @ a.mT + jnp.eye(3), b, assume_a="pos"), [r64(3, 3), r64(3, 2)]
    ),
    "lu": (lambda a: ours.lu(a, permute_l=True), [r64(4, 3) + 3 * np.eye(4, 3)]),
    "lu_solve": (lambda a, b: ours.lu_solve(ours.lu_factor(a), b, 2), [c64(3, 3) + EYE3, c64(3)]),
    "solve_triangular": (ours.solve_triangular, [r64(3, 3) + EYE3, r64(3, 2)]),
    "eigh pair": (
        lambda a, b: ours.eigh(a + a.mT, b @ b.mT + jnp.eye(3), eigvals_only=True),
        [r64(3, 3), r64(3, 3)],
    ),
    "polar": (ours.polar, [c64(3, 2)]),
    "polar svd": (lambda a: ours.polar(a, method="svd"), [r64(3, 3)]),
    "toeplitz": (ours.toeplitz, [c64(3)]),
    "companion": (ours.companion, [r64(4)]),
    "block_diag": (ours.block_diag, [r64(2, 2), r64(3)]),
}  # fmt: skip


@pytest.mark.parametrize("lower", [False, True])
def test_solutions_of_definite_systems_are_differentiated_as_equations(lower: bool) -> None:
    def gradient(assume_a: str) -> Any:
        return jx.grad(lambda a: ours.solve(a, B4, lower=lower, assume_a=assume_a).sum())(P)

    np.testing.assert_allclose(gradient("pos"), gradient("gen"), rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_of_first_and_second_order(name: str) -> None:
    function, args = DIFFERENTIABLE[name]
    with enable_x64(True):
        check_derivatives(function, args, tolerance=1e-5)


@pytest.mark.parametrize("name", ["expm", "sqrtm", "lu_solve", "polar", "toeplitz"])
def test_vmap_equals_a_loop(name: str) -> None:
    function, args = DIFFERENTIABLE[name]
    args = [args[0][1] if name == "expm" else args[0], *args[1:]]
    with enable_x64(True):
        check_vmap(function, args, tolerance=1e-5)


@pytest.mark.parametrize("function", [lambda a: ours.schur(a)[0], ours.hessenberg])
def test_forms_have_no_derivative_and_say_so(function: Any) -> None:
    with pytest.raises(UndefinedRuleError, match="no derivative rule"):
        jx.grad(lambda a: function(a).sum())(np.eye(3, dtype=np.float32))


BAD = np.ones((2, 3), np.float32)
SQUARE_ONLY = [
    "cholesky",
    "lu_factor",
    "schur",
    "hessenberg",
    "expm",
    "sqrtm",
    "eigh",
    "inv",
    "det",
]
REFUSED = [
    *[(getattr(ours, n), (BAD,), {}, ValueError, rf"{n} .*\(2, 3\)") for n in SQUARE_ONLY
      if n != "lu_factor"],
    *[(getattr(ours, n), ("a",), {}, TypeError, f"{n} takes arrays") for n in SQUARE_ONLY],
    *[(getattr(ours, n), (np.eye(2, dtype="float16"),), {}, TypeError, "does not accept dtype")
      for n in ("cholesky", "expm", "lu", "svd")],
    (ours.solve_triangular, (np.eye(2), BAD), {"trans": 5}, ValueError, "trans=5"),
    (ours.solve_triangular, (np.eye(3), BAD), {}, TypeError, "as many rows"),
    (ours.lu_solve, (ours.lu_factor(np.eye(2)), np.ones(2), 3), {}, ValueError, "trans=3"),
    (ours.solve, (np.eye(2), np.ones(2)), {"assume_a": "bad"}, ValueError, "assume_a='bad'"),
    (ours.cho_solve, ((np.eye(2), True), np.ones(3)), {}, TypeError, "cho_solve"),
    (ours.qr, (BAD,), {"mode": "raw"}, ValueError, "mode='raw'"),
    (ours.qr_multiply, (BAD, np.ones(3)), {}, TypeError, "size 2 where q meets it"),
    (ours.qr_multiply, (BAD, np.ones(2)), {"mode": "x"}, ValueError, "mode='x'"),
    (ours.svd, (BAD,), {"lapack_driver": "x"}, ValueError, "lapack_driver='x'"),
    (ours.schur, (np.eye(2), "bad"), {}, ValueError, "output='bad'"),
    (ours.rsf2csf, (np.eye(2), np.eye(3)), {}, TypeError, "T and Z are alike"),
    (ours.polar, (np.eye(2), "up"), {}, ValueError, "side='up'"),
    (ours.polar, (np.eye(2),), {"method": "x"}, ValueError, "method='x'"),
    (ours.polar, (BAD,), {}, NotImplementedError, "use method='svd'"),
    (lax.linalg.qdwh, (BAD,), {}, ValueError, "as many rows as columns"),
    (ours.eigh, (np.eye(2),), {"type": 4}, ValueError, "type=4"),
    (ours.eigh, (np.eye(2),), {"eigvals": (0, 1)}, NotImplementedError, "slice"),
    (ours.eigh_tridiagonal, (np.ones(3), np.ones(3)), {}, TypeError, "e n - 1"),
    (ours.eigh_tridiagonal, (np.ones(3), np.ones(2)), {"select": "x"}, ValueError, "select='x'"),
    (ours.eigh_tridiagonal, (np.ones(3), np.ones(2)), {"select": "i"}, ValueError, "two bounds"),
    (ours.sqrtm, (np.eye(2), 2), {}, NotImplementedError, "blocksize must be 1"),
    (ours.funm, (BAD, jnp.exp), {}, ValueError, "one square matrix"),
    (ours.expm_frechet, (np.eye(2), np.eye(3)), {}, TypeError, "E is of the shape of A"),
    (ours.solve_sylvester, (np.eye(2), np.eye(3), BAD.T), {}, TypeError, "C m x n"),
    (ours.solve_sylvester, (np.eye(2), np.eye(3), BAD), {"method": "x"}, ValueError, "method='x'"),
    (ours.block_diag, (np.ones((2, 2, 2)),), {}, ValueError, "argument 0"),
    (ours.hankel, (1.0,), {}, ValueError, "got a number"),
    (ours.companion, (np.ones(1),), {}, ValueError, "2 elements or more"),
    (ours.fiedler_companion, (np.ones(0),), {}, ValueError, "1 elements or more"),
    (ours.leslie, (np.ones(3), np.ones(3)), {}, TypeError, "s n - 1"),
    (ours.convolution_matrix, (np.ones(3), 0), {}, ValueError, "n=0"),
    (ours.convolution_matrix, (np.ones(3), 1, "x"), {}, ValueError, "mode='x'"),
    (ours.hadamard, (3,), {}, ValueError, "power of 2"),
    (ours.helmert, (0,), {}, ValueError, "n=0"),
    (ours.hilbert, (-1,), {}, ValueError, "n=-1"),
    (ours.pascal, (2, "x"), {}, ValueError, "kind='x'"),
    (ours.dft, (2, "x"), {}, ValueError, "scale='x'"),
    (ours.dft, (2,), {"dtype": "float32"}, ValueError, "it is complex"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "kwargs", "error", "message"), REFUSED)
def test_bad_arguments_are_named(
    function: Any, args: Any, kwargs: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        function(*args, **kwargs)


LISTED: list[tuple[str, tuple[Any, ...]]] = [
    *[(name, ()) for name in ("cholesky", "cho_factor", "eigh", "lu", "lu_factor", "polar")],
    *[(name, ()) for name in ("qr", "svd")],
    *[(name, ([[1.0, 0.0], [0.0, 2.0]],)) for name in ("expm_frechet", "qr_multiply", "rsf2csf")],
    ("solve_triangular", ([1.0, 2.0],)),
    ("solve_sylvester", ([[1.0, 0.0], [0.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]])),
]


@pytest.mark.parametrize(("name", "others"), LISTED)
def test_matrices_given_as_lists_are_arrays(name: str, others: tuple[Any, ...]) -> None:
    args = ([[4.0, 1.0], [1.0, 3.0]], *others)
    function = getattr(ours, name)
    found, wanted = function(*args), function(*map(jnp.array, args))
    jx.tree.map(np.testing.assert_array_equal, found, wanted)


def test_companion_matrices_of_infinite_coefficients_keep_their_ones() -> None:
    for name in ("companion", "fiedler_companion"):
        found = getattr(ours, name)(jnp.array([0.0, 1.0, 4.0]))
        np.testing.assert_array_equal(found, [[-np.inf, -np.inf], [1, 0]])


def test_patterned_matrices_of_numbers_stay_weakly_typed() -> None:
    assert ours.circulant(2.5).weak_type
    assert ours.toeplitz(jnp.array([3, 0], "uint8"), -2).dtype == "uint8"


def test_a_tridiagonal_matrix_without_elements_has_no_eigenvalues() -> None:
    values, vectors = ours.eigh_tridiagonal(jnp.zeros(0), jnp.zeros(0))
    assert (values.shape, vectors.shape) == ((0,), (0, 0))
