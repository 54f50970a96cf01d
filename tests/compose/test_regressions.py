"""Bugs that random programs, or compositions tried by hand, have found: each once, by name."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import config, dtypes, lax
from jxkernel.custom_batching import custom_vmap


def test_gradients_are_arrays_even_where_the_cotangent_passes_through_untouched() -> None:
    assert isinstance(jx.grad(lambda x: x)(2.0), jx.Array)


def test_primitives_run_eagerly_under_disable_jit() -> None:
    with config.disable_jit(True):
        assert float(jnp.sin(0.0) + jx.jit(lambda x: x + 1)(2.0)) == 3
        assert jx.device_put(np.arange(3.0))[1:].shape == (2,)


def test_zero_tangents_of_integers_pass_through_jit_and_vmap() -> None:
    gradient = jx.grad(lambda n, x: n * x, argnums=(0, 1), allow_int=True)
    batched = jx.vmap(gradient)(np.arange(3), np.ones(3, np.float32))
    assert (batched[0].dtype, batched[0].shape) == (dtypes.float0, (3,))
    assert jx.jit(gradient)(3, 2.0)[0].dtype == dtypes.float0
    assert jx.jit(lambda: np.zeros(3, dtypes.float0))().dtype == dtypes.float0


def mixed_call(x: Any) -> Any:
    """A call with a result that depends on the argument, and one that does not."""
    scale, twice = jx.jit(lambda y: (jnp.sin(2.0), 2 * y))(x)
    return scale * twice


def mixed_loop(x: Any) -> Any:
    (scale, scaled), _ = lax.scan(
        lambda c, _: ((jnp.sin(c[0]), c[0] * c[1]), None), (jnp.float32(2.0), x), None, length=2
    )
    return scale * scaled


def mixed_choice(x: Any) -> Any:
    scale, twice = lax.cond(
        jnp.array(True), lambda y: (jnp.cos(2.0), 2 * y), lambda y: (jnp.cos(1.0), 3 * y), x
    )
    return scale * twice


@pytest.mark.parametrize("linear", [mixed_call, mixed_loop, mixed_choice])
def test_calls_with_known_and_linear_results_are_transposed(linear: Any) -> None:
    (pulled,) = jx.linear_transpose(linear, 1.0)(1.0)
    np.testing.assert_allclose(pulled, linear(1.0), rtol=1e-6)


def test_a_nested_jit_within_custom_vmap_has_a_gradient() -> None:
    @custom_vmap
    def f(x: Any) -> Any:
        return jnp.sin(jx.jit(jnp.sin)(x))

    @f.def_vmap
    def _(size: int, batched: list[bool], x: Any) -> tuple[Any, bool]:
        return jnp.sin(jnp.sin(x)), batched[0]

    expected = np.cos(np.sin(0.3)) * np.cos(0.3)
    np.testing.assert_allclose(jx.grad(f)(0.3), expected, rtol=1e-6)
    np.testing.assert_allclose(jx.vmap(jx.grad(f))(np.full(2, 0.3)), expected, rtol=1e-6)


def test_the_operator_of_a_linear_solve_may_hold_a_mixed_call() -> None:
    def solve(a: Any, b: Any) -> Any:
        def operator(x: Any) -> Any:
            scale, twice = jx.jit(lambda y: (jnp.sin(a), 2 * y))(x)
            return scale * twice

        def direct(apply: Any, b: Any) -> Any:
            return b / apply(1.0)

        return lax.custom_linear_solve(operator, b, direct, transpose_solve=direct)

    got = jx.grad(solve, (0, 1))(1.0, 2.0)
    expected = (-2 * np.cos(1.0) / (2 * np.sin(1.0) ** 2), 1 / (2 * np.sin(1.0)))
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("way", [lambda f: f, jx.jit, jx.checkpoint, lambda f: jx.jit(jx.jit(f))])
@pytest.mark.parametrize(
    "zero",
    [
        lambda x, t: jnp.zeros_like(x),
        lambda x, t: jx.jvp(lambda y: jnp.cos(2.0) + jnp.zeros_like(y), (x,), (t,))[1],
        lambda x, t: 0 * t,
    ],
)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_function_with_a_rule_backward_takes_what_a_rule_forward_says_is_constant(
    way: Any, zero: Any, shape: tuple[int, ...]
) -> None:
    @jx.custom_jvp
    def steps(x: Any) -> Any:
        return jnp.floor(x)

    steps.defjvp(lambda primals, tangents: (steps(*primals), zero(*primals, *tangents)))

    @jx.custom_vjp
    def backward(x: Any) -> Any:
        return x * 2

    backward.defvjp(lambda x: (backward(x), None), lambda _, ct: (ct * 2,))

    def loss(x: Any) -> Any:
        looped = lax.fori_loop(0, 3, lambda _, c: backward(c), steps(x))
        return jnp.sum(backward(steps(x)) + looped + x)

    point = np.full(shape, 1.5, np.float32)
    np.testing.assert_array_equal(jx.grad(way(loss))(point), np.ones(shape))
    np.testing.assert_array_equal(jx.jit(jx.grad(way(loss)))(point), np.ones(shape))
