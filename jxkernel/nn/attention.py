"""Attention: averages of values, weighted by how well keys match queries.

Source: A. Vaswani et al., "Attention is all you need", 2017; groups of heads that share keys:
J. Ainslie et al., "GQA", 2023.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.errors import ShapeMismatchError
from jxkernel.nn.normalization import logsumexp, softmax
from jxkernel.numpy.einsums import einsum
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, cast
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import reshape
from jxkernel.primitives.creation import broadcasted_iota

__all__ = ["dot_product_attention"]

_FAR = -0.7
"""The score of what may not be attended to, as a part of the greatest number: not infinite, so
that a query without any key attends to all alike instead of giving NaN."""


def _window(given: int | tuple[int, int] | None) -> tuple[int, int] | None:
    return (given, given) if isinstance(given, int) else given


def _visible(
    shape: tuple[int, ...],
    mask: Any,
    causal: bool,
    window: tuple[int, int] | None,
    query_lengths: Any,
    key_lengths: Any,
) -> Any:
    """Return which keys each query may see, broadcastable to scores (b, n, t, s), or None."""
    t, s = shape[-2:]
    rows = broadcasted_iota(np.int32, (t, 1), 0)
    columns = broadcasted_iota(np.int32, (1, s), 1)
    seen = mask
    parts: list[Any] = [columns <= rows] if causal else []
    if window is not None:
        parts.append((columns >= rows - window[0]) & (columns <= rows + window[1]))
    if query_lengths is not None:
        parts.append(rows < query_lengths[:, None, None, None])
    if key_lengths is not None:
        parts.append(columns < key_lengths[:, None, None, None])
    for part in parts:
        seen = part if seen is None else seen & part
    return seen


@fused(static=("causal", "window"), name="dot_product_attention")
def _attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    mask: Any,
    query_lengths: Any,
    key_lengths: Any,
    scale: Any,
    causal: bool,
    window: tuple[int, int] | None,
) -> tuple[Any, Any]:
    b, t, n, h = np.shape(query)
    s, k = np.shape(key)[1:3]
    wide = np.promote_types(query.dtype, np.float32)
    grouped = reshape(query, (b, t, k, n // k, h))
    scores = einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=wide)
    scores = reshape(scores, (b, n, t, s)) * cast(scale, wide)
    if bias is not None:
        scores = scores + cast(bias, wide)
    seen = _visible((b, n, t, s), mask, causal, window, query_lengths, key_lengths)
    if seen is not None:
        scores = where(seen, scores, _FAR * float(dtypes.finfo(wide).max))
    weights = reshape(cast(softmax(scores), key.dtype), (b, k, n // k, t, s))
    found = einsum("bkgts,bskh->btkgh", weights, value, preferred_element_type=wide)
    found = cast(reshape(found, (b, t, n, h)), query.dtype)
    if query_lengths is not None:
        rows = broadcasted_iota(np.int32, (t, 1, 1), 0)
        found = where(rows < query_lengths[:, None, None, None], found, 0)
    return found, cast(logsumexp(scores, axis=-1).swapaxes(1, 2), query.dtype)


def _checked(query: Any, key: Any, value: Any, mask: Any, lengths: tuple[Any, Any]) -> None:
    avals = [
        argument_aval("dot_product_attention", x, i) for i, x in enumerate((query, key, value))
    ]
    shapes = [aval.shape for aval in avals]
    if len({aval.dtype for aval in avals}) > 1:
        raise ValueError(
            "dot_product_attention takes query, key and value of one dtype, got "
            f"{', '.join(aval.dtype.name for aval in avals)}"
        )
    q, k = shapes[:2]
    fits = len(q) == len(k) == 4 and k == shapes[2] and q[0] == k[0] and q[3] == k[3]
    if not fits or not k[2] or q[2] % k[2]:
        raise ShapeMismatchError(
            "dot_product_attention",
            shapes,
            "query (batch, t, heads, h), key and value (batch, s, groups, h), heads a multiple of "
            "groups",
        )
    if mask is not None and argument_aval("dot_product_attention", mask, 4).dtype != np.bool_:
        raise ValueError("dot_product_attention takes a boolean mask; a bias is added to scores")
    for name, x in zip(("query_seq_lengths", "key_value_seq_lengths"), lengths, strict=True):
        if x is not None and argument_aval("dot_product_attention", x).dtype != np.int32:
            raise ValueError(f"dot_product_attention takes int32 numbers {name}")


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Any = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return, for each query, the mean of values weighted by the softmax of scores.

    Args:
      query: an array of shape (batch, t, heads, h); of lower rank, the first axes have size 1.
      key: an array of shape (batch, s, groups, h), likewise; heads is a multiple of groups, and
        each group serves as many heads.
      value: an array of the shape of ``key``.
      bias: added to the scores; it broadcasts to (batch, heads, t, s).
      mask: which scores count, boolean; it broadcasts likewise.
      scale: what scores are multiplied by, a number; 1 / √h if not given.
      is_causal: whether a query sees only keys up to its own place.
      query_seq_lengths: how many queries of each example count, int32; others give 0.
      key_value_seq_lengths: how many keys of each example are seen, int32.
      local_window_size: how many places before and after its own a query sees.
      implementation: ``"xla"`` or None.
      return_residual: whether to return the logarithms of the sums of exponentials too, of shape
        (batch, t, heads).

    Returns:
      an array like ``query``.

    Raises:
      ValueError: dtypes differ, or ``implementation`` is unknown.
      ShapeMismatchError: the shapes do not fit.
      NotImplementedError: ``implementation`` is ``"cudnn"``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import nn
    >>> x = jnp.ones((1, 2, 1, 4))
    >>> nn.dot_product_attention(x, x, x).shape
    (1, 2, 1, 4)
    """
    if implementation == "cudnn":
        raise NotImplementedError("dot_product_attention has no cuDNN version: leave it to 'xla'")
    if implementation not in (None, "xla"):
        raise ValueError(f"dot_product_attention got implementation={implementation!r}: 'xla'")
    shape = argument_aval("dot_product_attention", query).shape
    query, key, value, bias, mask = (
        x if x is None or np.ndim(x) >= 4 else reshape(x, (1,) * (4 - np.ndim(x)) + np.shape(x))
        for x in (query, key, value, bias, mask)
    )
    lengths = (query_seq_lengths, key_value_seq_lengths)
    _checked(query, key, value, mask, lengths)
    size = np.shape(query)[-1]
    found, totals = _attention(
        query,
        key,
        value,
        bias,
        mask,
        *lengths,
        max(size, 1) ** -0.5 if scale is None else scale,
        causal=bool(is_causal),
        window=_window(local_window_size),
    )
    found, totals = reshape(found, shape), reshape(totals, shape[:-1])
    return (found, totals) if return_residual else found
