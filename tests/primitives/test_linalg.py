"""Linear algebra: values against NumPy and SciPy, derivatives, batching, failures, edges."""

from functools import partial

import numpy as np
import pytest
import scipy.linalg

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.config import enable_x64
from jxkernel.errors import UndefinedRuleError
from jxkernel.lax import linalg
from jxkernel.primitives.linalg.lu import lu_solve
from tests.primitives.checking import (
    assert_close,
    check_all,
    check_derivatives,
    check_jit,
    check_vmap,
)

RANDOM = np.random.default_rng(0)


def real(*shape):
    return RANDOM.standard_normal(shape)


def complexes(*shape):
    return real(*shape) + 1j * real(*shape)


def positive(make, *batch, n=4):
    x = make(*batch, n, n)
    return x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)


KINDS = {"real": real, "complex": complexes}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def hermitian(x):
    return (x + x.conj().swapaxes(-1, -2)) / 2


# ---------------------------------------------------------------- cholesky, triangular_solve


@kinds
def test_cholesky(make):
    check_all(
        lambda x: linalg.cholesky(x), [positive(make, 2)], reference=np.linalg.cholesky, vmap=False
    )
    with enable_x64(True):
        stack = positive(make, 3, 2)
        assert_close(jx.vmap(linalg.cholesky, 1)(stack.swapaxes(0, 1)), np.linalg.cholesky(stack))


def test_cholesky_reads_the_lower_triangle_unless_it_symmetrizes():
    x = positive(real).astype(np.float32)
    spoilt = x + np.triu(np.ones_like(x), 1)
    wanted = np.linalg.cholesky(x)
    assert_close(linalg.cholesky(spoilt, symmetrize_input=False), wanted)
    assert not np.allclose(np.asarray(linalg.cholesky(spoilt)), wanted)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_the_mean_of_integers_and_their_transpose_is_factorized(dtype):
    x = jnp.asarray([[200, 3], [1, 201]], dtype)
    mean = np.asarray(x, np.float32) / 2 + np.asarray(x, np.float32).T / 2
    if dtype != "bool":
        np.testing.assert_allclose(linalg.cholesky(x), np.linalg.cholesky(mean), rtol=1e-6)
    _, values = linalg.eigh(x)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(mean), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match=f"cholesky does not accept dtype {dtype}"):
        linalg.cholesky(x, symmetrize_input=False)


@kinds
def test_cholesky_has_the_derivative_of_what_it_reads(make):
    with enable_x64(True):
        check_derivatives(
            lambda x: linalg.cholesky(x, symmetrize_input=False), [positive(make, n=3)]
        )


@pytest.mark.parametrize(("make", "lower"), [(real, True), (complexes, False)])
def test_eigh_has_the_derivative_of_the_triangle_it_reads(make, lower):
    def invariants(x):
        vectors, values = linalg.eigh(x, lower=lower, symmetrize_input=False)
        return values, abs(vectors[:, 0])

    with enable_x64(True):
        check_derivatives(invariants, [make(3, 3)], tolerance=1e-5)


def test_cholesky_of_an_indefinite_matrix_is_nan_and_spares_the_others():
    stack = np.stack([np.eye(2), -np.eye(2)]).astype(np.float32)
    y = np.asarray(linalg.cholesky(stack))
    assert_close(y[0], np.eye(2, dtype=np.float32))
    assert np.isnan(np.tril(y[1])[np.tril_indices(2)]).all()


OPTIONS = [
    {"left_side": left, "lower": lower, "transpose_a": turn, "unit_diagonal": unit}
    for left in (False, True)
    for lower in (False, True)
    for turn in (False, True)
    for unit in (False, True)
]


def solved(a, b, *, left_side, lower, transpose_a, unit_diagonal, conjugate_a=False):
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a - np.diag(np.diag(a)) + np.eye(len(a))
    a = a.T if transpose_a else a
    a = a.conj() if conjugate_a else a
    return np.linalg.solve(a, b) if left_side else np.linalg.solve(a.T, b.T).T


@pytest.mark.sampled(5)
@pytest.mark.parametrize("options", OPTIONS)
def test_triangular_solve(options):
    a, b = real(3, 3) + 3 * np.eye(3), real(3, 2) if options["left_side"] else real(2, 3)
    check_all(
        lambda a, b: linalg.triangular_solve(a, b, **options),
        [a, b],
        reference=lambda a, b: solved(a, b, **options),
        vmap=not options["unit_diagonal"],
        tolerance=1e-5,
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", OPTIONS[::3])
def test_triangular_solve_of_complex_matrices_may_conjugate(options):
    options = {**options, "conjugate_a": True}
    a = complexes(3, 3) + 3 * np.eye(3)
    b = complexes(3, 2) if options["left_side"] else complexes(2, 3)
    check_all(
        lambda a, b: linalg.triangular_solve(a, b, **options),
        [a, b],
        reference=lambda a, b: solved(a, b, **options),
        vmap=False,
        tolerance=1e-5,
    )


def test_triangular_solve_of_a_vector():
    a, b = (real(3, 3) + 3 * np.eye(3)).astype(np.float32), real(3).astype(np.float32)
    x = linalg.triangular_solve(a, b, left_side=True, lower=True)
    np.testing.assert_allclose(np.tril(a) @ np.asarray(x), b, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_triangular_solve_takes_floats_of_16_bits(dtype):
    a, b = jnp.array([[2.0, 0.0], [1.0, 4.0]], dtype), jnp.array([[6.0], [11.0]], dtype)

    def solve(a, b):
        return linalg.triangular_solve(a, b, left_side=True, lower=True)

    assert solve(a, b).dtype == dtype
    assert solve(a, b).tolist() == [[3.0], [2.0]]
    assert jx.grad(lambda b: solve(a, b).sum())(b).tolist() == [[0.375], [0.25]]


def test_examples_of_one_triangular_system_become_columns():
    a, b = np.eye(3, dtype=np.float32), np.ones((5, 3, 2), np.float32)
    solve = jx.vmap(lambda a, b: linalg.triangular_solve(a, b, left_side=True), in_axes=(None, 0))
    eqns = jx.make_jaxpr(solve)(a, b).eqns
    (shape,) = [e.invars[1].aval.shape for e in eqns if e.primitive.name == "triangular_solve"]
    assert shape == (3, 10)


def test_cholesky_update_and_symmetric_product():
    r, w = np.triu(real(3, 3) + 3 * np.eye(3)).astype("f"), real(3).astype("f")
    y = np.asarray(linalg.cholesky_update(r, w))
    np.testing.assert_allclose(y.T @ y, r.T @ r + np.outer(w, w), rtol=1e-4, atol=1e-4)
    a, c = real(3, 2).astype("f"), hermitian(real(3, 3)).astype("f")
    y = linalg.symmetric_product(a, c, alpha=2.0, beta=0.5)
    np.testing.assert_allclose(np.asarray(y), 2 * a @ a.T + c / 2, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- lu


@pytest.mark.sampled(4)
@kinds
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_lu(make, shape):
    x = make(2, *shape)

    def function(x):
        return linalg.lu(x)[0]

    check_all(function, [x], vmap=False, tolerance=1e-5)
    with enable_x64(True):
        factors, pivots, permutation = map(np.asarray, linalg.lu(x))
        k = min(shape)
        lower = np.tril(factors[..., :k], -1) + np.eye(shape[0], k)
        upper = np.triu(factors[..., :k, :])
        for one, row, left, right in zip(x, permutation, lower, upper, strict=True):
            np.testing.assert_allclose(one[row], left @ right, atol=1e-10)
        assert pivots.shape == (2, k)
        check_vmap(lambda x: linalg.lu(x), [x[0]])


def test_pivots_are_exchanges_of_rows():
    pivots = np.array([[2, 2, 3], [0, 1, 2], [3, 1, 2]], np.int32)
    expected = []
    for row in pivots:
        order = list(range(5))
        for i, j in enumerate(row):
            order[i], order[j] = order[j], order[i]
        expected.append(order)
    got = linalg.lu_pivots_to_permutation(pivots, 5)
    assert_close(got, np.array(expected, np.int32))
    none = linalg.lu_pivots_to_permutation(np.zeros((2, 0), np.int32), 2)
    assert_close(none, np.array([[0, 1]] * 2, np.int32))


def test_lu_solves():
    x, b = real(3, 3) + 2 * np.eye(3), real(3, 2)

    def solve(x, b):
        factors, _, permutation = linalg.lu(x)
        return lu_solve(factors, permutation, b)

    check_all(solve, [x, b], reference=np.linalg.solve, vmap=False, tolerance=1e-5)


def test_lu_of_a_singular_matrix_is_finite():
    x = np.array([[1, 2], [2, 4]], np.float32)
    assert_close(linalg.lu(x)[0], np.array([[2, 4], [0.5, 0]], np.float32))


# ---------------------------------------------------------------- eigh, svd


@kinds
def test_eigh(make):
    x = make(2, 4, 4)
    check_all(lambda x: linalg.eigh(x)[1], [x], vmap=False, tolerance=1e-5)

    def projectors(x):
        """Products of vectors, which do not depend on their phases."""
        v, w = linalg.eigh(x)
        return jx.lax.dot_general(v, conj(v), (((), ()), ((0, 2), (0, 2)))), w

    def conj(v):
        return jx.lax.conj(v) if np.iscomplexobj(x) else v

    check_all(projectors, [x], vmap=False, tolerance=1e-4)
    with enable_x64(True):
        v, w = map(np.asarray, linalg.eigh(x))
        np.testing.assert_allclose(hermitian(x) @ v, v * w[:, None, :], atol=1e-10)
        np.testing.assert_allclose(w, np.linalg.eigvalsh(hermitian(x)), atol=1e-10)
        check_vmap(lambda x: linalg.eigh(x)[1], [x[0]])


def test_eigh_reads_one_triangle_and_gives_a_range():
    x = hermitian(real(4, 4)).astype("f")
    values = np.linalg.eigvalsh(x)
    for lower, spoilt in ((True, np.tril(x)), (False, np.triu(x))):
        got = linalg.eigh(spoilt, lower=lower, symmetrize_input=False)[1]
        np.testing.assert_allclose(np.asarray(got), values, atol=1e-4)
    v, w = linalg.eigh(x, subset_by_index=(1, 3))
    assert v.shape == (4, 2)
    np.testing.assert_allclose(np.asarray(w), values[1:3], atol=1e-4)


def test_equal_eigenvalues_have_the_derivative_of_their_sum():
    gradient = jx.grad(lambda x: jx.lax.reduce_sum(linalg.eigh(x)[1], (0,)))(np.eye(3, dtype="f"))
    assert_close(gradient, np.eye(3, dtype=np.float32))


@pytest.mark.sampled(5)
@kinds
@pytest.mark.parametrize(
    "algorithm", [None, linalg.SvdAlgorithm.QR, linalg.SvdAlgorithm.DIVIDE_AND_CONQUER]
)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_svd(make, shape, algorithm):
    x = make(2, *shape)

    def values(x):
        return linalg.svd(x, compute_uv=False, algorithm=algorithm)

    check_all(values, [x], reference=lambda x: np.linalg.svd(x, compute_uv=False), vmap=False)
    with enable_x64(True):
        for full in (False, True):
            u, s, vh = map(np.asarray, linalg.svd(x, full_matrices=full, algorithm=algorithm))
            k = min(shape)
            np.testing.assert_allclose((u[..., :k] * s[:, None]) @ vh[:, :k], x, atol=1e-10)
            eye = np.broadcast_to(np.eye(u.shape[-1]), (2, *u.shape[-1:] * 2))
            np.testing.assert_allclose(u.conj().swapaxes(-1, -2) @ u, eye, atol=1e-10)
        check_vmap(values, [x[0]])


@pytest.mark.sampled(3)
@kinds
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_svd_vectors_have_derivatives(make, shape):
    x = make(1, *shape)

    def products(x):
        """Functions of the vectors that do not depend on their common phases."""
        u, s, vh = linalg.svd(x, full_matrices=False)
        both = (((), ()), ((0, 2), (0, 1)))
        conj = jx.lax.conj if np.iscomplexobj(x) or make is complexes else lambda v: v
        of_u = jx.lax.dot_general(u, conj(u), (((), ()), ((0, 2), (0, 2))))
        of_v = jx.lax.dot_general(vh, conj(vh), (((), ()), ((0, 1), (0, 1))))
        return jx.lax.dot_general(u, vh, both), of_u, of_v, s

    check_all(products, [x], vmap=False, tolerance=1e-4)


def test_svd_of_a_vector_is_refused_when_differentiated_too():
    def values(x):
        return linalg.svd(x, compute_uv=False)

    for call in (values, lambda x: jx.jvp(values, (x,), (x,))):
        with pytest.raises(ValueError, match=r"svd got shape \(3,\): its last two axes"):
            call(np.ones(3, np.float32))


def test_svd_gives_a_range():
    x = real(4, 3).astype("f")
    u, s, vh = linalg.svd(x, full_matrices=False, subset_by_index=(0, 2))
    assert (u.shape, s.shape, vh.shape) == ((4, 2), (2,), (2, 3))


def test_svd_with_undetermined_vectors_refuses_a_derivative():
    with pytest.raises(UndefinedRuleError, match="full_matrices=False"):
        jx.jvp(lambda x: linalg.svd(x), (np.ones((3, 2), "f"),), (np.ones((3, 2), "f"),))


# ---------------------------------------------------------------- eig, schur, reductions


@kinds
def test_eig(make):
    x = make(2, 4, 4)
    with enable_x64(True):
        w, left, right = map(np.asarray, linalg.eig(x))
        np.testing.assert_allclose(x @ right, right * w[:, None], atol=1e-10)
        of_left = left.conj().swapaxes(-1, -2)
        np.testing.assert_allclose(of_left @ x, w[..., None] * of_left, atol=1e-10)
        check_vmap(lambda x: linalg.eig(x), [x[0]])

    def values(x):
        options = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}
        return linalg.eig(x, **options)

    check_all(values, [x], vmap=False, tolerance=1e-5)


@kinds
def test_right_eigenvectors_keep_their_length_and_phase(make):
    x = make(4, 4)

    # LAPACK makes the largest component real, of a sign that may change from one step of the
    # difference to the next; where it does depends on the processor.
    def right(x):
        w, v = linalg.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
        largest = jnp.take_along_axis(v, jnp.argmax(abs(v), axis=0, keepdims=True), axis=0)
        return w, v * jnp.sign(largest.real)

    with enable_x64(True):
        check_derivatives(right, [x], tolerance=1e-4)


@pytest.mark.parametrize("options", [{}, {"compute_left_eigenvectors": False}])
def test_eigenvectors_of_general_matrices_refuse_a_derivative(options):
    eye = np.eye(2, dtype="f")
    with pytest.raises(UndefinedRuleError, match="enable_eigvec_derivs=True"):
        jx.jvp(lambda x: linalg.eig(x, **options), (eye,), (eye,))


@kinds
def test_schur(make):
    x = make(2, 4, 4)
    with enable_x64(True):
        t, q = map(np.asarray, linalg.schur(x))
        np.testing.assert_allclose(q @ t @ q.conj().swapaxes(-1, -2), x, atol=1e-10)
        (alone,) = linalg.schur(x, compute_schur_vectors=False)
        np.testing.assert_allclose(np.asarray(alone), t, atol=1e-10)
        check_jit(lambda x: linalg.schur(x), [x])
        check_vmap(lambda x: linalg.schur(x), [x[0]])


@kinds
def test_hessenberg(make):
    x = make(4, 4)
    with enable_x64(True):
        form, taus = map(np.asarray, linalg.hessenberg(x))
        np.testing.assert_allclose(np.triu(form, -1), scipy.linalg.hessenberg(x), atol=1e-10)
        assert taus.shape == (3,)
        check_vmap(lambda x: linalg.hessenberg(x), [x])


@kinds
@pytest.mark.parametrize("lower", [False, True])
def test_tridiagonal(make, lower):
    x = hermitian(make(2, 4, 4))
    with enable_x64(True):
        _, d, e, taus = map(np.asarray, linalg.tridiagonal(x, lower=lower))
        assert taus.shape == (2, 3)
        for one, main, off in zip(x, d, e, strict=True):
            values = scipy.linalg.eigvalsh_tridiagonal(main, off)
            np.testing.assert_allclose(values, np.linalg.eigvalsh(one), atol=1e-10)


def test_singular_tridiagonal_systems_may_be_perturbed():
    below, on, above = jnp.array([0.0, 1, 2]), jnp.zeros(3), jnp.array([1.0, 2, 0])
    right = jnp.array([[1.0], [2], [3]])
    solve = partial(linalg.tridiagonal_solve, perturb_singular=True)
    assert np.isnan(linalg.tridiagonal_solve(below, on, above, right)).all()
    found = solve(below, on, above, right)
    # The numbers that the kernel gives to JAX.
    np.testing.assert_allclose(found[:, 0], [-8.388606e6, 1, 4.194304e6], rtol=1e-6)
    many = jx.vmap(solve, (None, 0, None, None))(below, jnp.stack([on, on + 3]), above, right)
    np.testing.assert_allclose(many[0], found, rtol=1e-6)
    regular = linalg.tridiagonal_solve(below, on + 3, above, right)
    np.testing.assert_allclose(many[1], regular, rtol=1e-5)
    for way in (linalg.tridiagonal_solve, solve):
        slope = jx.grad(lambda d, way=way: jnp.sum(way(below, d, above, right) ** 2))(on + 3)
        np.testing.assert_allclose(slope, [-0.3587963, -0.4375, -2.2685185], rtol=1e-4)


@pytest.mark.sampled(4)
@kinds
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tridiagonal_solve(make, rows):
    dl, d, du = make(rows), make(rows) + 4, make(rows)
    dl[0] = du[-1] = 0

    def reference(dl, d, du, b):
        return np.linalg.solve(np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1), b)

    check_all(
        linalg.tridiagonal_solve,
        [dl, d, du, make(rows, 2)],
        reference=reference,
        vmap=False,
        tolerance=1e-5,
    )
    with enable_x64(True):
        args = [np.stack([v, 2 * v]) for v in (dl, d, du, make(rows, 2))]
        got = jx.vmap(linalg.tridiagonal_solve)(*args)
        assert_close(got, np.stack([reference(*row) for row in zip(*args, strict=True)]), 1e-9)


# ---------------------------------------------------------------- edges

EMPTY = {
    "cholesky": lambda x: [linalg.cholesky(x)],
    "lu": lambda x: list(linalg.lu(x)),
    "qr": lambda x: list(linalg.qr(x)),
    "eigh": lambda x: list(linalg.eigh(x)),
    "svd": lambda x: list(linalg.svd(x)),
    "eig": lambda x: list(linalg.eig(x)),
    "schur": lambda x: list(linalg.schur(x)),
    "hessenberg": lambda x: list(linalg.hessenberg(x)),
    "tridiagonal": lambda x: list(linalg.tridiagonal(x)),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3)])
def test_empty_matrices(name, shape):
    results = jx.jit(EMPTY[name])(np.zeros(shape, np.float32))
    assert all(y.size == 0 for y in results)


def test_factors_of_matrices_without_columns_are_identities():
    x = np.zeros((2, 3, 0), np.float32)
    eye = np.broadcast_to(np.eye(3, dtype=np.float32), (2, 3, 3))
    assert_close(linalg.qr(x)[0], eye)
    assert_close(linalg.svd(x)[0], eye)
    assert linalg.svd(x, full_matrices=False)[0].shape == (2, 3, 0)


def test_single_elements():
    x = np.full((1, 1), 4, np.float32)
    assert_close(linalg.cholesky(x), np.full((1, 1), 2, np.float32))
    assert_close(linalg.eigh(x)[1], np.full(1, 4, np.float32))
    assert_close(linalg.hessenberg(x)[1], np.zeros(0, np.float32))


def test_not_a_number_stays_one():
    nan = np.full((2, 2), np.nan, np.float32)
    assert np.isnan(np.asarray(linalg.svd(nan, compute_uv=False))).all()
    assert np.isnan(np.asarray(linalg.eigh(nan)[1])).all()
    assert np.isnan(np.asarray(linalg.eig(nan)[0])).all()


M = np.ones((2, 3), np.float32)
S = np.eye(2, dtype=np.float32)
BAD = {
    "square": (lambda: linalg.cholesky(M), ValueError, "form square matrices"),
    "vector": (lambda: linalg.lu(M[0]), ValueError, "form matrices"),
    "dtype": (lambda: linalg.eigh(S.astype(np.float16)), TypeError, "eigh does not accept dtype f"),
    "shapes": (lambda: linalg.triangular_solve(S, M), TypeError, "axis -1 of b as long"),
    "pivots": (
        lambda: linalg.lu_pivots_to_permutation(np.zeros(3, np.int32), 2),
        ValueError,
        "at most one exchange per row",
    ),
    "pivot_dtype": (
        lambda: linalg.lu_pivots_to_permutation(np.zeros(3, np.float32), 4),
        TypeError,
        "int32 pivots",
    ),
    "subset": (lambda: linalg.eigh(S, subset_by_index=(1, 3)), ValueError, "from 0 to 2"),
    "svd_subset": (
        lambda: linalg.svd(S, subset_by_index=(0, 1)),
        ValueError,
        "only with full_matrices=False",
    ),
    "algorithm": (
        lambda: linalg.svd(S, algorithm=linalg.SvdAlgorithm.JACOBI),
        NotImplementedError,
        "DEFAULT, DIVIDE_AND_CONQUER or QR",
    ),
    "implementation": (
        lambda: linalg.eigh(S, implementation=linalg.EighImplementation.QDWH),
        NotImplementedError,
        "EighImplementation.QR",
    ),
    "library": (
        lambda: linalg.eig(S, implementation=linalg.EigImplementation.MAGMA),
        NotImplementedError,
        "EigImplementation.LAPACK",
    ),
    "order": (lambda: linalg.schur(S, sort_eig_vals=True), NotImplementedError, "does not order"),
    "diagonals": (
        lambda: linalg.tridiagonal_solve(S[0], S[0], S[0], M.T),
        TypeError,
        "one element for each row of b",
    ),
    "reflectors": (
        lambda: linalg.householder_product(M, S[0]),
        TypeError,
        "at least as many rows as columns",
    ),
    "reflected": (
        lambda: linalg.ormqr(M.T, S[0], S),
        TypeError,
        "axis -2 of c is as long as the reflectors",
    ),
    "update": (lambda: linalg.cholesky_update(S, M), ValueError, "a square matrix and a vector"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_what_is_no_matrix_is_both_a_wrong_type_and_a_wrong_value(error):
    with pytest.raises(error, match=r"lu got shape \(3,\): its last two axes form matrices"):
        linalg.lu(np.ones(3, np.float32))
