"""``platform_dependent``: the function of the platform at hand is the one that is lowered."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax


def by_platform(x):
    return lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos, default=jnp.tanh)


def test_the_function_of_this_platform_is_applied_under_every_transform():
    expected = float(jnp.sin(0.5))
    assert float(by_platform(0.5)) == float(jx.jit(by_platform)(0.5)) == expected
    assert float(jx.grad(by_platform)(0.5)) == float(jx.jit(jx.grad(by_platform))(0.5))
    assert float(jx.grad(by_platform)(0.5)) == pytest.approx(float(jnp.cos(0.5)))
    assert jx.vmap(by_platform)(jnp.full(2, 0.5)).tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("platform", "operation"), [("cpu", "sine"), ("tpu", "cosine"), ("cuda", "tanh")]
)
def test_only_the_chosen_function_is_lowered(platform, operation):
    text = jx.jit(by_platform).trace(0.5).lower(lowering_platforms=(platform,)).as_text()
    assert f"stablehlo.{operation} " in text
    assert sum(text.count(f"stablehlo.{name} ") for name in ("sine", "cosine", "tanh")) == 1
    assert "case" not in text


def test_gpu_stands_for_both_makes():
    traced = jx.jit(lambda x: lax.platform_dependent(x, gpu=jnp.exp, cpu=jnp.sin)).trace(1.0)
    for platform in ("cuda", "rocm"):
        assert "exponential" in traced.lower(lowering_platforms=(platform,)).as_text()


def test_an_operation_that_is_impossible_here_may_stand_in_another_branch():
    def nested(x):
        return lax.platform_dependent(x, tpu=jnp.sin)

    def either(x):
        return lax.platform_dependent(x, tpu=nested, cpu=jnp.sqrt)

    assert float(either(1.0)) == float(jx.jit(either)(1.0)) == 1.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.platform_dependent(1.0), ValueError, "needs a function for a platform"),
        (lambda: lax.platform_dependent(1.0, abacus=abs), ValueError, "got 'abacus': platforms"),
        (lambda: lax.platform_dependent(1.0, cpu=3), TypeError, "needs a callable as cpu, got 3"),
        (lambda: lax.platform_dependent(1.0, tpu=jnp.sin), NotImplementedError, "'cpu', only for"),
        (
            lambda: jx.jit(
                lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=lambda x: (x, x))
            )(1.0),
            TypeError,
            "platform_dependent needs branches whose results have one structure",
        ),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()
