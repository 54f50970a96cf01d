"""Attention: against the formula in NumPy, masks, groups, residuals, derivatives, errors."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import nn
from jxkernel.errors import ShapeMismatchError
from tests.primitives.checking import check_derivatives

_random = np.random.default_rng(0)
Q, K, V = (_random.normal(size=(2, 4, 2, 3)).astype(np.float32) for _ in range(3))
LENGTHS = np.array([2, 3], np.int32)
I, J = np.arange(4)[:, None], np.arange(4)[None, :]  # noqa: E741


def reference(seen: Any = True, bias: Any = 0.0, scale: float = 3**-0.5) -> Any:
    scores = np.einsum("btnh,bsnh->bnts", Q, K) * scale + bias
    scores = np.where(seen, scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bnts,bsnh->btnh", weights, V)


SEEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"scale": 0.3}, {"scale": 0.3}),
    ({"is_causal": True}, {"seen": J <= I}),
    ({"local_window_size": 1}, {"seen": abs(I - J) <= 1}),
    ({"local_window_size": (1, 0)}, {"seen": (J <= I) & (J >= I - 1)}),
    ({"key_value_seq_lengths": LENGTHS}, {"seen": LENGTHS[:, None, None, None] > J}),
    ({"mask": (J != 2)[None, None]}, {"seen": J != 2}),
    ({"mask": np.zeros((1, 1, 4, 4), bool)}, {"seen": False}),
    ({"bias": (I - J)[None, None].astype("f")}, {"bias": I - J}),
]


@pytest.mark.parametrize(("how", "wanted"), SEEN)
def test_values_are_those_of_the_formula(how: Any, wanted: Any) -> None:
    found = nn.dot_product_attention(Q, K, V, **how)
    np.testing.assert_allclose(found, reference(**wanted), atol=1e-5)
    traced = jx.jit(lambda q, k, v: nn.dot_product_attention(q, k, v, **how))(Q, K, V)
    np.testing.assert_allclose(traced, found, atol=1e-6)


def test_the_scale_may_be_traced_and_learned() -> None:
    def total(scale: Any) -> Any:
        return nn.dot_product_attention(Q, K, V, scale=scale).sum()

    np.testing.assert_allclose(jx.jit(total)(0.3), reference(scale=0.3).sum(), rtol=1e-5)
    slope = (reference(scale=0.301).sum() - reference(scale=0.299).sum()) / 0.002
    np.testing.assert_allclose(jx.grad(total)(0.3), slope, rtol=1e-2)


def test_queries_that_do_not_count_give_zero() -> None:
    found = np.asarray(nn.dot_product_attention(Q, K, V, query_seq_lengths=LENGTHS))
    assert (found[0, 2:] == 0).all()
    np.testing.assert_allclose(found[1, :3], reference()[1, :3], atol=1e-5)


def test_one_example_groups_of_heads_and_residuals() -> None:
    one = nn.dot_product_attention(Q[0], K[0], V[0], is_causal=True)
    np.testing.assert_allclose(one, reference(seen=J <= I)[0], atol=1e-5)
    grouped = nn.dot_product_attention(Q, K[:, :, :1], V[:, :, :1])
    repeated = nn.dot_product_attention(Q, K[:, :, [0, 0]], V[:, :, [0, 0]])
    np.testing.assert_allclose(grouped, repeated, atol=1e-6)
    _, totals = nn.dot_product_attention(Q, K, V, return_residual=True)
    scores = np.einsum("btnh,bsnh->btns", Q, K) * 3**-0.5
    np.testing.assert_allclose(totals, np.log(np.exp(scores).sum(-1)), atol=1e-5)
    half = nn.dot_product_attention(*(x.astype("float16") for x in (Q, K, V)))
    assert half.dtype == "float16"


def test_derivatives() -> None:
    with jx.enable_x64(True):
        check_derivatives(
            lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True),
            [x[:1, :3, :1].astype(np.float64) for x in (Q, K, V)],
        )


@pytest.mark.parametrize(
    ("args", "how", "error", "message"),
    [
        ((Q, K.astype("float16"), V), {}, ValueError, "of one dtype"),
        ((Q, K[:, :, [0, 0, 0]], V[:, :, [0, 0, 0]]), {}, ShapeMismatchError, "a multiple of"),
        ((Q, K, V[:, :3]), {}, ShapeMismatchError, "heads"),
        ((Q, K, V), {"mask": np.ones((1, 1, 4, 4))}, ValueError, "boolean mask"),
        ((Q, K, V), {"query_seq_lengths": np.ones(2)}, ValueError, "int32"),
        ((Q, K, V), {"implementation": "x"}, ValueError, "implementation='x'"),
        ((Q, K, V), {"implementation": "cudnn"}, NotImplementedError, "cuDNN"),
    ],
)
def test_bad_arguments(args: Any, how: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        nn.dot_product_attention(*args, **how)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
def test_operands_of_lower_rank_have_first_axes_of_size_one(shape):
    q, k, v = (
        x[0, : shape[0] if len(shape) > 2 else 1].reshape(-1)[: np.prod(shape)].reshape(shape)
        for x in (Q, K, V)
    )
    found, totals = nn.dot_product_attention(q, k, v, return_residual=True)
    whole = (1,) * (4 - len(shape)) + shape
    wanted = nn.dot_product_attention(*(x.reshape(whole) for x in (q, k, v)))
    assert totals.shape == shape[:-1]
    np.testing.assert_array_equal(found, wanted.reshape(shape))
