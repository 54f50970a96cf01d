"""The option ``jax_numpy_rank_promotion``: whether broadcasting may put axes in front."""

import warnings

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import nn, random, scipy

V = jnp.ones(2)
M = jnp.ones((2, 2))

MIXED = {
    "+": lambda: M + V,
    "<": lambda: V < M,
    "maximum": lambda: jnp.maximum(M, V),
    "hypot": lambda: jnp.hypot(V, M),
    "power": lambda: jnp.power(M, V),
    "clip": lambda: jnp.clip(M, V, 2 * V),
    "logaddexp": lambda: jnp.logaddexp(V, M),
    "jitted": lambda: jx.jit(lambda x, y: x * y)(V, M),
    "NumPy's": lambda: jnp.add(np.ones(2), np.ones((2, 2))),
}
"""Calls whose operands have two ranks."""

ALIKE = {
    "scalars": lambda: 2.0 * M + jnp.float32(1),
    "one rank": lambda: M + V[None, :],
    "where": lambda: jnp.where(V > 0, M, V),
    "broadcast_arrays": lambda: jnp.broadcast_arrays(V, M),
    "matmul": lambda: M @ V + jnp.dot(V, M),
    "einsum": lambda: jnp.einsum("i,ij->j", V, M),
    "set": lambda: M.at[0].set(V).at[:].add(V),
    "var": lambda: (jnp.var(M, 0), jnp.std(M, 1, keepdims=True)),
    "average": lambda: jnp.average(M, weights=V, axis=0),
    "cov": lambda: (jnp.cov(M, aweights=V), jnp.corrcoef(M)),
    "trapezoid": lambda: jnp.trapezoid(M, V),
    "quantile": lambda: jnp.quantile(M, V / 2, axis=0) + jnp.nanquantile(M, V / 2, axis=0),
    "median": lambda: jnp.median(M, axis=0, keepdims=True),
    "array_equiv": lambda: jnp.array_equiv(M, V),
    "polyfit": lambda: jnp.polyfit(V, M, 1, w=V, cov="unscaled"),
    "packbits": lambda: jnp.unpackbits(jnp.packbits(M > 0, axis=1), axis=1),
    "softmax": lambda: nn.softmax(M, axis=0) + nn.logsumexp(M, axis=0, keepdims=True),
    "multivariate_normal": lambda: random.multivariate_normal(random.key(0), V, jnp.eye(2), (3,)),
    "randint": lambda: random.randint(random.key(0), (2, 2), V.astype(int), 5),
    "one_hot": lambda: nn.one_hot(V.astype(int), 3),
    "solve": lambda: jnp.linalg.solve(M + jnp.eye(2), V),
    "pinv": lambda: jnp.linalg.pinv(jnp.stack([M, M])),
    "stft": lambda: scipy.signal.stft(jnp.ones(16), nperseg=4),
    "mode": lambda: scipy.stats.mode(M),
    "gmres": lambda: scipy.sparse.linalg.gmres(lambda x: (M + jnp.eye(2)) @ x, V)[0],
}
"""Calls of elementwise functions on one rank, and of others, which broadcast by themselves."""


@pytest.mark.parametrize("name", MIXED)
def test_other_ranks_are_refused_if_asked(name: str) -> None:
    MIXED[name]()
    with (
        jx.numpy_rank_promotion("raise"),
        pytest.raises(ValueError, match=r"of different ranks.*jax_numpy_rank_promotion is 'raise'"),
    ):
        MIXED[name]()


@pytest.mark.parametrize("name", ALIKE)
def test_what_broadcasts_by_itself_is_not_refused(name: str) -> None:
    with jx.numpy_rank_promotion("raise"):
        ALIKE[name]()


def test_a_warning_stands_at_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as caught, jx.numpy_rank_promotion("warn"):
        warnings.simplefilter("always")
        result = M + V
    assert [warning.filename for warning in caught] == [__file__]
    assert "shapes (2, 2) and (2,) of different ranks" in str(caught[0].message)
    assert result.tolist() == [[2.0, 2.0], [2.0, 2.0]]
