"""Random vectors and matrices: moments, orthonormality, batches, derivatives, errors."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import nn, random
from tests.primitives.checking import check_derivatives

KEY = random.key(7)
COV = np.float32([[2, 0.5], [0.5, 1]])


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_have_their_mean_and_covariance(method: str) -> None:
    drawn = np.asarray(
        random.multivariate_normal(KEY, np.float32([1, -2]), COV, (40000,), method=method)
    )
    np.testing.assert_allclose(drawn.mean(0), [1, -2], atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), COV, atol=0.05)


def test_normal_vectors_broadcast_and_keep_bits_under_jit() -> None:
    means, covs = np.zeros((3, 1, 2), np.float32), np.stack([COV, COV])
    drawn = random.multivariate_normal(KEY, means, covs)
    assert drawn.shape == (3, 2, 2)
    again = jx.jit(lambda k: random.multivariate_normal(k, means, covs))(KEY)
    np.testing.assert_allclose(again, drawn, rtol=1e-6, atol=1e-6)
    assert random.multivariate_normal(KEY, means, covs, dtype="float16").dtype == "float16"


def test_normal_vectors_are_differentiable_in_mean_and_covariance() -> None:
    with jx.enable_x64(True):
        check_derivatives(
            lambda m, c: random.multivariate_normal(KEY, m, c @ c.T + jnp.eye(2)),
            [np.zeros(2), np.array([[1.0, 0.5], [0.2, 1.0]])],
        )


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("n", "m"), [(3, None), (4, 2), (2, 4), (1, 1), (0, None)])
def test_orthogonal(dtype: str, n: int, m: Any) -> None:
    q = np.asarray(random.orthogonal(KEY, n, (2,), dtype, m))
    assert (q.shape, q.dtype) == ((2, n, n if m is None else m), dtype)
    if m is not None and m > n:
        q = q.conj().swapaxes(-1, -2)
    products = q.conj().swapaxes(-1, -2) @ q
    wanted = np.broadcast_to(np.eye(q.shape[-1]), products.shape)
    np.testing.assert_allclose(products, wanted, atol=1e-5)


def test_orthogonal_matrices_are_uniform() -> None:
    q = np.asarray(random.orthogonal(KEY, 3, (20000,)))
    np.testing.assert_allclose(q.mean(0), np.zeros((3, 3)), atol=0.03)
    np.testing.assert_allclose((q**2).mean(0), np.full((3, 3), 1 / 3), atol=0.02)


@pytest.mark.parametrize("p", [1.0, 2.0, 4.0])
def test_points_fill_the_ball(p: float) -> None:
    points = np.asarray(random.ball(KEY, 2, p, (20000,)))
    length = np.linalg.norm(points, p, axis=1)
    assert length.max() <= 1 + 1e-6
    # The share within half the radius is that of the areas.
    assert abs((length < 0.5).mean() - 0.25) < 0.02


def test_orthogonal_initializers() -> None:
    w = np.asarray(nn.initializers.orthogonal(2.0)(KEY, (2, 3, 4))).reshape(6, 4)
    np.testing.assert_allclose(w.T @ w, 4 * np.eye(4), atol=1e-4)
    w = np.asarray(nn.initializers.orthogonal(column_axis=0)(KEY, (2, 3, 4)))
    np.testing.assert_allclose(np.einsum("axy,bxy->ab", w, w), np.eye(2), atol=1e-5)
    w = np.asarray(nn.initializers.delta_orthogonal()(KEY, (3, 3, 2, 4), "float16"))
    assert (np.count_nonzero(np.abs(w).sum((-2, -1))), w.dtype) == (1, "float16")
    np.testing.assert_allclose(w[1, 1] @ w[1, 1].T, np.eye(2), atol=1e-2)


# The field's numbers for `random.key(3)`, and how far from 0 numbers may be.
COMPLEX_DRAWS = [
    ("uniform", 0.07512415 + 0.01238026j, np.sqrt(2 / 3)),
    ("truncated_normal", 0.0553397 + 0.00911983j, 2 / 0.95311164 / np.sqrt(3)),
]


@pytest.mark.parametrize(("distribution", "first", "radius"), COMPLEX_DRAWS)
def test_complex_weights_lie_on_a_disk(distribution: str, first: complex, radius: float) -> None:
    init = nn.initializers.variance_scaling(1, "fan_in", distribution, dtype="complex64")
    assert init(random.key(3), (3, 2))[0, 0] == pytest.approx(first, rel=1e-5)
    w = np.asarray(init(KEY, (3, 20000)))
    assert w.dtype == np.complex64
    assert 0.99 * radius < abs(w).max() <= radius * (1 + 1e-6)
    assert abs(w.mean()) < 0.01
    variance = 1 / 3 if distribution == "uniform" else (1 - 4 / np.expm1(4)) / 0.95311164**2 / 3
    np.testing.assert_allclose(np.mean(abs(w) ** 2), variance, rtol=0.02)


REFUSED = [
    (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(3)), r"\(\.\.\., n, n\)"),
    (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="x"), "method='x'"),
    (lambda: random.multivariate_normal(KEY, np.zeros((5, 2)), np.eye(2), (4,)), "shape"),
    (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(2), dtype="int32"), "floating"),
    (lambda: random.orthogonal(KEY, -1), "n=-1"),
    (lambda: random.orthogonal(KEY, 2, dtype="int32"), "floating"),
    (lambda: random.ball(KEY, 2, dtype="int32"), "floating"),
    (lambda: nn.initializers.orthogonal()(KEY, (3,)), "two axes or more"),
    (lambda: nn.initializers.delta_orthogonal()(KEY, (3, 3)), "3, 4 or 5 axes"),
    (lambda: nn.initializers.delta_orthogonal()(KEY, (3, 3, 2)), "as many outputs"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bad_arguments(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
