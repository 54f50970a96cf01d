"""Orthogonal factors: values, derivatives, and the products of reflections they are made of."""

import numpy as np
import pytest
import scipy.linalg

import jxkernel as jx
from jxkernel.config import enable_x64
from jxkernel.errors import UndefinedRuleError
from jxkernel.lax import linalg
from jxkernel.primitives.linalg.qr import geqrf
from tests.primitives.checking import check_all, check_vmap, quickly
from tests.primitives.test_linalg import S, complexes, kinds


@pytest.mark.sampled(6)
@kinds
@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_qr(make, shape, pivoting):
    x = make(2, *shape)

    def function(x):
        return linalg.qr(x, pivoting=pivoting, full_matrices=False)[:2]

    check_all(function, [x], vmap=False, tolerance=1e-5)
    with enable_x64(True):
        for full in (False, True):
            q, r, *p = map(np.asarray, linalg.qr(x, pivoting=pivoting, full_matrices=full))
            moved = np.stack([a[:, b] for a, b in zip(x, p[0], strict=True)]) if p else x
            np.testing.assert_allclose(q @ r, moved, atol=1e-10)
            eye = np.broadcast_to(np.eye(q.shape[-1]), (2, q.shape[-1], q.shape[-1]))
            np.testing.assert_allclose(q.conj().swapaxes(-1, -2) @ q, eye, atol=1e-10)
            np.testing.assert_array_equal(r, np.triu(r))
        check_vmap(lambda x: linalg.qr(x, pivoting=pivoting), [x[0]])


@pytest.mark.sampled(6)
@kinds
@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("shape", [(4, 2), (5, 3), (3, 0)])
def test_full_qr_is_differentiated_as_its_reflections_make_it(make, shape, pivoting):
    check_all(
        lambda x: linalg.qr(x, pivoting=pivoting)[:2],
        [make(2, *shape)],
        vmap=False,
        tolerance=1e-5,
    )


def test_full_qr_is_differentiated_twice():
    x, t = complexes(4, 2), complexes(4, 2)
    check_all(
        lambda x: jx.jvp(lambda x: linalg.qr(x)[:2], (x,), (t,))[1],
        [x],
        vmap=False,
        tolerance=1e-4,
    )


def test_further_columns_of_qr_have_no_derivative_where_nothing_is_reflected():
    x, t = np.eye(3, 2, dtype="f"), np.arange(6, dtype="f").reshape(3, 2)
    dq, dr = quickly(lambda x, t: jx.jvp(linalg.qr, (x,), (t,))[1])(x, t)
    np.testing.assert_allclose(dq[:, :2], [[0, -2], [2, 0], [4, 5]])
    assert np.isnan(dq[:, 2]).all()
    np.testing.assert_allclose(dr, [[0, 3], [0, 3], [0, 0]])


@pytest.mark.sampled(2)
@kinds
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_products_of_reflections(make, left, transpose):
    with enable_x64(True):
        (form, taus), _ = scipy.linalg.qr(make(4, 3), mode="raw")
        form = np.asarray(form)
        q3 = np.asarray(linalg.householder_product(form, taus))
        wide = np.concatenate([form, np.zeros((4, 1))], 1)
        q = np.asarray(linalg.householder_product(wide, taus))
        np.testing.assert_allclose(q[:, :3], q3, atol=1e-12)
        op = q.conj().T if transpose else q
    c = make(4, 2) if left else make(2, 4)
    check_all(
        lambda c: linalg.ormqr(form, taus, c, left=left, transpose=transpose),
        [c],
        reference=lambda c: op @ c if left else c @ op,
        vmap=False,
    )


@kinds
@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 5), (0, 2)])
@pytest.mark.parametrize("pivoting", [False, True])
def test_geqrf_leaves_the_factors_as_lapack_does(make, shape, pivoting):
    with enable_x64(True):
        x = make(*shape)
        form, taus, *order = map(np.asarray, geqrf(x, pivoting=pivoting))
        assert (form.shape, taus.shape) == (shape, (*shape[:-2], min(shape[-2:])))
        for index in np.ndindex(*shape[:-2]):
            if 0 in shape:
                continue
            (wanted, factors), _, *places = scipy.linalg.qr(x[index], mode="raw", pivoting=pivoting)
            np.testing.assert_allclose(form[index], wanted, atol=1e-12)
            np.testing.assert_allclose(taus[index], factors, atol=1e-12)
            assert [p[index].tolist() for p in order] == [p.tolist() for p in places]
        check_vmap(lambda x: geqrf(x, pivoting=pivoting), [make(3, *shape)])


def test_geqrf_refuses_a_derivative_and_vectors():
    with pytest.raises(UndefinedRuleError, match=r"geqrf.*differentiate qr"):
        jx.jvp(lambda x: geqrf(x)[0], (S,), (S,))
    with pytest.raises(ValueError, match="geqrf"):
        geqrf(np.ones(3, np.float32))
