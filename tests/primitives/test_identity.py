"""Identities: derivatives that end, buffers of one's own, computations that stay put."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.primitives.elementwise.identity import materialize


def test_stop_gradient_is_a_constant_to_both_modes() -> None:
    def function(x: Any) -> Any:
        return lax.mul(x, lax.stop_gradient(x))

    assert float(jx.grad(function)(3.0)) == 3.0
    assert float(jx.jvp(function, (3.0,), (1.0,))[1]) == 3.0
    assert float(jx.grad(jx.grad(function))(3.0)) == 0.0
    assert float(jx.jit(jx.grad(function))(3.0)) == 3.0


def test_a_stopped_tangent_is_not_lost_on_the_way_back() -> None:
    """Forward it is there, so backward it cannot be zero without a word."""

    @jx.custom_jvp
    def function(x: Any) -> Any:
        return x

    function.defjvp(lambda primals, tangents: (primals[0], lax.stop_gradient(tangents[0])))
    assert float(jx.jvp(function, (3.0,), (2.0,))[1]) == 2.0
    with pytest.raises(NotImplementedError, match="'stop_gradient' has no transpose rule"):
        jx.grad(function)(3.0)
    with pytest.raises(NotImplementedError, match="'stop_gradient' has no transpose rule"):
        jx.linear_transpose(lax.stop_gradient, 3.0)(1.0)


def test_stop_gradient_takes_trees_and_leaves_integers_alone() -> None:
    tree = {"a": np.float32([1.0]), "b": (np.int32(2), None)}
    stopped = lax.stop_gradient(tree)
    assert stopped["b"] == (2, None)
    np.testing.assert_array_equal(stopped["a"], tree["a"])


def test_copy_has_a_buffer_of_its_own() -> None:
    x = lax.exp(np.float32([1.0]))
    y = lax.copy_p.bind(x)
    assert y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(("platform", "barriers"), [("cpu", 1), ("cuda", 0)])
def test_materialize_is_a_barrier_where_that_is_quicker(platform: str, barriers: int) -> None:
    exported = jx.export.export(jx.jit(materialize), platforms=[platform])(np.float32([1.0]))
    assert exported.mlir_module().count("stablehlo.optimization_barrier") == barriers


def test_materialize_passes_values_tangents_and_examples() -> None:
    x = np.float32([1.0, 2.0])
    np.testing.assert_array_equal(materialize(x), x)
    np.testing.assert_array_equal(jx.vmap(materialize)(x), x)
    np.testing.assert_array_equal(jx.grad(lambda x: (materialize(x) * x).sum())(x), 2 * x)


def test_barrier_keeps_a_repeated_computation() -> None:
    def twice(x: Any) -> Any:
        return lax.add(lax.exp(x), lax.exp(lax.optimization_barrier(x)))

    text = jx.jit(twice).lower(np.float32(1)).as_text()
    assert text.count("stablehlo.exponential") == 2
    assert "stablehlo.optimization_barrier" in text


def test_barrier_passes_trees_tangents_and_cotangents() -> None:
    def function(x: Any, n: Any) -> Any:
        tree = lax.optimization_barrier({"x": x, "n": n})
        return lax.mul(tree["x"], tree["x"])

    assert float(jx.grad(function)(3.0, 1)) == 6.0
    assert float(jx.jvp(lambda x: function(x, 1), (3.0,), (1.0,))[1]) == 6.0
    np.testing.assert_array_equal(
        jx.vmap(function, in_axes=(0, None))(np.float32([1.0, 2.0]), 1), [1.0, 4.0]
    )
