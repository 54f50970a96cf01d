"""Vector quantization."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.runtime import ArrayLike

__all__ = ["vq"]


@fused(name="vq")
def _nearest(obs: Any, code_book: Any) -> Any:
    obs, code_book = map(jnp.asarray, promote_inexact("vq", obs, code_book))
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    apart = obs[:, None, :] - code_book
    distances = jnp.sqrt((apart * jnp.conj(apart)).real.sum(-1))
    return jnp.argmin(distances, -1), distances.min(-1)


def vq(obs: ArrayLike, code_book: Any, check_finite: bool = True) -> Any:
    """Return which code is nearest to each observation, and how far it is.

    Args:
      obs: observations, of shape (m, d) or (m,).
      code_book: codes, of shape (n, d) or (n,).
      check_finite: taken for SciPy's sake; nothing is checked.

    Returns:
      the codes' numbers and the Euclidean distances, both of shape (m,).

    Raises:
      ValueError: the ranks differ, are not 1 or 2, or the vectors have different sizes.

    >>> import jxkernel as jx
    >>> jx.scipy.cluster.vq.vq(jx.numpy.array([1.0, 5.0]), jx.numpy.array([0.0, 4.0]))[0]
    Array([0, 1], dtype=int32)
    """
    del check_finite
    shapes = argument_aval("vq", obs).shape, argument_aval("vq", code_book, 1).shape
    ranks = {len(shape) for shape in shapes}
    if ranks not in ({1}, {2}) or shapes[0][1:] != shapes[1][1:]:
        raise ValueError(
            "vq takes obs of shape (m, d) and code_book of shape (n, d), or vectors, got shapes "
            f"{shapes[0]} and {shapes[1]}"
        )
    return _nearest(obs, code_book)
