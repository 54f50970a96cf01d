"""Equal runs of equations are lowered once and called; what is computed stays what it was."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export, lax, random
from jxkernel.experimental.xla_metadata import set_xla_metadata
from jxkernel.lowering import lower as lowering
from tests.many_devices import over

LAYERS = 12
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((4, 8)).astype(np.float32)
WEIGHTS = (RANDOM.standard_normal((LAYERS, 8, 8)) / 3).astype(np.float32)


def layer(x: Any, w: Any) -> Any:
    """Return what takes some twelve equations."""
    x = x - x.mean(1, keepdims=True)
    x = x / jnp.sqrt(1e-3 + (x * x).sum(1, keepdims=True))
    return x + jnp.tanh(x @ w) * 0.5 + jnp.where(x > 0, x, 0.1 * x)


def network(x: Any, weights: Any) -> Any:
    for w in weights:
        x = layer(x, w)
    return x


def texts(f: Callable[..., Any], *args: Any) -> tuple[str, list[str]]:
    """Return the module of a function, and the names of what its main function calls."""
    text = jx.jit(f).lower(*args).as_text()
    return text, re.findall(r"call @(\w+)", text.split("func.func private")[0])


def test_equal_layers_are_one_function() -> None:
    text, called = texts(network, X, list(WEIGHTS))
    assert called == ["layer"] * LAYERS
    assert text.count("stablehlo.dot_general") == 1


def test_so_are_their_derivatives() -> None:
    gradient = jx.grad(lambda weights, x: (network(x, weights) ** 2).sum())
    text, called = texts(gradient, list(WEIGHTS), X)
    assert called.count("layer") >= LAYERS - 1
    assert called.count("layer_1") > 3
    assert text.count("stablehlo.dot_general") < LAYERS  # and 3 * LAYERS written out


def test_equal_updates_are_one_function() -> None:
    def adam(weights: Any, means: Any, slopes: Any) -> Any:
        means = [0.9 * m + 0.1 * s for m, s in zip(means, slopes, strict=True)]
        return [
            w - 0.1 * m / (jnp.sqrt(jnp.abs(m)) + 1e-8) - 0.01 * jnp.sign(w) * jnp.abs(m)
            for w, m in zip(weights, means, strict=True)
        ]

    arrays = [list(WEIGHTS)] * 3
    _, called = texts(adam, *arrays)
    assert called == ["layer"] * LAYERS


def test_the_compiler_writes_calls_out(monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = jx.grad(lambda weights, x: (network(x, weights) ** 2).sum())
    called = jx.jit(gradient).lower(list(WEIGHTS), X).compile()
    assert " call(" not in called.as_text().split("ENTRY")[1]
    monkeypatch.setattr(lowering, "with_calls", lambda jaxpr, kinds: jaxpr.eqns)
    plain = jx.jit(lambda *xs: gradient(*xs)).lower(list(WEIGHTS), X).compile()
    for x, y in zip(called(list(WEIGHTS), X), plain(list(WEIGHTS), X), strict=True):
        np.testing.assert_allclose(x, y, 1e-3, 1e-5)


def test_results_of_all_layers_may_be_read_later() -> None:
    def f(x: Any, weights: Any) -> Any:
        every = [x]
        for w in weights:
            every.append(layer(every[-1], w))
        return every[1:], sum(every[3:7]) - every[5]

    _, called = texts(f, X, list(WEIGHTS))
    assert called.count("layer") == LAYERS
    every, total = jx.jit(f)(X, list(WEIGHTS))
    expected, x = [], X
    for w in WEIGHTS:
        x = np.asarray(layer(x, w))
        expected.append(x)
    np.testing.assert_allclose(every, expected, 1e-5, 1e-6)
    np.testing.assert_allclose(total, sum(expected[2:6]) - expected[4], 1e-4, 1e-5)


def test_layers_that_read_something_else_are_not_the_same() -> None:
    def f(x: Any, weights: Any) -> Any:
        for number, w in enumerate(weights):
            before = x
            x = layer(x, w)
            x = x + jnp.sin(before if number % 2 else x) + (w.sum() if number == 5 else 0.0)
        return x

    expected = X
    for number, w in enumerate(WEIGHTS):
        after = np.asarray(layer(expected, w))
        read = expected if number % 2 else after
        expected = after + np.sin(read) + (w.sum() if number == 5 else 0)
    np.testing.assert_allclose(jx.jit(f)(X, list(WEIGHTS)), expected, 1e-4, 1e-5)


def test_numbers_in_them_tell_layers_apart() -> None:
    def f(x: Any, weights: Any, factors: Any) -> Any:
        for w, factor in zip(weights, factors, strict=True):
            x = layer(x, w) * factor
        return x

    same = (0.5,) * LAYERS
    others = (0.5, 2.0) * (LAYERS // 2)
    for factors, count in ((same, LAYERS), (others, LAYERS // 2)):
        _, called = texts(lambda x, w, factors=factors: f(x, w, factors), X, list(WEIGHTS))
        assert called == ["layer"] * count
        expected = X
        for w, factor in zip(WEIGHTS, factors, strict=True):
            expected = layer(expected, w) * factor
        result = jx.jit(f, static_argnums=2)(X, list(WEIGHTS), factors)
        np.testing.assert_allclose(result, expected, 1e-4, 1e-6)


def test_names_of_scopes_stay_true() -> None:
    def f(x: Any, weights: Any) -> Any:
        for number, w in enumerate(weights):
            with jx.named_scope(f"block{number}"):
                x = layer(x, w)
        return x

    text = jx.jit(f).lower(X, list(WEIGHTS)).compile().as_text()
    assert all(f"block{number}/" in text for number in range(LAYERS))


def test_effects_happen_at_each_layer() -> None:
    seen: list[int] = []

    def f(x: Any, weights: Any) -> Any:
        for number, w in enumerate(weights):
            x = layer(x, w)
            jx.debug.callback(lambda _, number=number: seen.append(number), x[0, 0])
        return x

    np.testing.assert_allclose(jx.jit(f)(X, list(WEIGHTS)), network(X, WEIGHTS), 1e-4, 1e-5)
    jx.effects_barrier()
    assert sorted(seen) == list(range(LAYERS))


def test_keys_that_are_split_draw_other_numbers_in_each_layer() -> None:
    def f(key: Any, x: Any) -> Any:
        for _ in range(LAYERS):
            key, own = random.split(key)
            x = layer(x, random.normal(own, (8, 8)) / 3)
        return x

    key = random.key(0)
    np.testing.assert_allclose(jx.jit(f)(key, X), f(key, X), 1e-4, 1e-5)


def test_transforms_of_the_jitted_function_go_through() -> None:
    f = jx.jit(lambda x, weights: network(x, weights).sum())
    xs = np.stack([X, X + 1])
    batched = jx.vmap(f, (0, None))(xs, list(WEIGHTS))
    np.testing.assert_allclose(batched, [f(x, list(WEIGHTS)) for x in xs], 1e-4, 1e-5)
    _, moved = jx.jvp(f, (X, list(WEIGHTS)), (X, list(WEIGHTS)))
    pulled = jx.grad(f, (0, 1))(X, list(WEIGHTS))
    expected = (pulled[0] * X).sum() + sum(
        (a * b).sum() for a, b in zip(pulled[1], WEIGHTS, strict=True)
    )
    np.testing.assert_allclose(moved, expected, 1e-3)


def test_loops_and_branches_hold_layers_too() -> None:
    def f(x: Any, weights: Any) -> Any:
        def turn(x: Any, _: Any) -> Any:
            return lax.cond(x[0, 0] > 5, lambda x: x, lambda x: network(x, weights), x), None

        return lax.scan(turn, x, None, length=2)[0]

    text, _ = texts(f, X, list(WEIGHTS))
    assert text.count("stablehlo.dot_general") == 1
    expected = network(network(X, WEIGHTS), WEIGHTS)
    np.testing.assert_allclose(jx.jit(f)(X, list(WEIGHTS)), expected, 1e-4, 1e-5)


def test_programs_over_meshes_are_written_out(mesh: Any) -> None:
    held = jx.device_put(X, over(mesh, "x"))
    text, _ = texts(network, held, list(WEIGHTS))
    assert "call @layer" not in text
    assert text.count("stablehlo.dot_general") == LAYERS
    result = jx.jit(network)(held, list(WEIGHTS))
    np.testing.assert_allclose(result, network(X, WEIGHTS), 1e-4, 1e-5)


def test_callbacks_without_effects_are_called_at_each_layer() -> None:
    seen: list[Any] = []

    def twice(x: Any) -> Any:
        seen.append(x)
        return np.asarray(x) * 2

    def f(x: Any, weights: Any) -> Any:
        kind = jx.ShapeDtypeStruct(X.shape, X.dtype)
        for w in weights:
            x = jx.pure_callback(twice, kind, layer(x, w)) / 2
        return x

    np.testing.assert_allclose(jx.jit(f)(X, list(WEIGHTS)), network(X, WEIGHTS), 1e-4, 1e-5)
    assert len(seen) == LAYERS


def test_exported_programs_are_written_out() -> None:
    sizes: Any = export.symbolic_shape("n, 8")
    weights = [jx.ShapeDtypeStruct((8, 8), np.float32)] * LAYERS
    exported = export.export(jx.jit(network))(jx.ShapeDtypeStruct(sizes, np.float32), weights)
    assert "call @layer" not in exported.mlir_module()
    np.testing.assert_allclose(exported.call(X, list(WEIGHTS)), network(X, WEIGHTS), 1e-4, 1e-5)


def test_marks_are_on_all_operations_of_a_layer() -> None:
    with set_xla_metadata(tier="layer"):
        text = jx.jit(network).lower(X, list(WEIGHTS)).as_text()
    inside = text.split("func.func private @layer")[1].splitlines()
    computing = [line for line in inside if "stablehlo" in line and "constant" not in line]
    assert all('tier = "layer"' in line or "optimization_barrier" in line for line in computing)


# ---------------------------------------------------------------- any layers

UNARY = (jnp.sin, jnp.tanh, jnp.square, jnp.negative, jnp.abs, lambda x: x.sum(1, keepdims=True))
BINARY = (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, lambda x, y: x / (2 + y * y))


@pytest.mark.parametrize("seed", range(16))
def test_any_program_of_layers_computes_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(seed)
    plan = [(int(draw.integers(6)), int(draw.integers(5)), draw.random(3)) for _ in range(9)]
    # What another layer than the last one reads too, and where a layer has something more.
    far = [int(draw.integers(number + 1)) for number in range(24)]
    more = set(draw.integers(0, 24, 2).tolist())

    def f(x: Any) -> Any:
        every = [x]
        for number in range(24):
            values = [every[-1], every[far[number]]]
            for unary, binary, (left, right, kind) in plan:
                one, other = values[int(left * len(values))], values[int(right * len(values))]
                values.append(UNARY[unary](one) if kind < 0.5 else BINARY[binary](one, other))
            if number in more:
                values.append(values[-1] * number)
            every.append(jnp.tanh(values[-1] + values[-2] * 0.3) + x * 0)
        return every[-1], every[7], sum(every[10:14])

    x = draw.standard_normal((3, 5)).astype(np.float32)
    results = jx.jit(f)(x)
    monkeypatch.setattr(lowering, "with_calls", lambda jaxpr, kinds: jaxpr.eqns)
    for result, expected in zip(results, jx.jit(lambda x: f(x))(x), strict=True):
        np.testing.assert_allclose(result, expected, 1e-4, 1e-5)
