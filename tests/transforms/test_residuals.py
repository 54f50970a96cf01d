"""What a scan keeps for its way back: the fewest bytes of which the rest is easily made again."""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export, lax

X = np.linspace(0.2, 0.9, 6, dtype=np.float32)
SQUARE = np.array([[0.5, 0.2], [0.1, 0.4]], np.float32)
LENGTH = 3


def scanned(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the sum of what a body makes of a carry in three turns."""

    def f(x: Any) -> Any:
        return lax.scan(lambda c, _: (body(c), None), x, None, length=LENGTH)[0].sum()

    return f


def scans(body: Callable[[Any], Any], x: Any) -> list[Any]:
    """Return the equations of the way there and of the way back."""
    eqns = jx.make_jaxpr(jx.grad(scanned(body)))(x).eqns
    return [eqn for eqn in eqns if eqn.primitive.name == "scan"]


def kept(body: Callable[[Any], Any], x: Any) -> list[tuple[int, ...]]:
    """Return the shapes of what each turn keeps."""
    there, _ = scans(body, x)
    return sorted(var.aval.shape[1:] for var in there.outvars[there.params["num_carry"] :])


def made_again(body: Callable[[Any], Any], x: Any) -> list[str]:
    """Return the names of the equations in a turn of the way back."""
    _, back = scans(body, x)
    return [eqn.primitive.name for eqn in back.params["jaxpr"].eqns]


BODIES = {
    "the same twice": (lambda c: c * c + jnp.square(c) * jnp.exp(c), X, [(6,), (6,)]),
    "a derivative of what is kept": (lambda c: jnp.tanh(c) * jnp.tanh(c) + c, X, [(6,)]),
    "spread": (lambda c: jnp.sin((c[:, None] - c) ** 2).sum(0), X, [(6,), (6, 6)]),
    "parts of an array": (
        lambda c: c * (c[0, 0] * c[1, 1] - c[0, 1] * c[1, 0]),
        SQUARE,
        [(2, 2)],
    ),
    "transposed": (lambda c: c @ c.T + jnp.exp(c) * c, SQUARE, [(2, 2), (2, 2)]),
    "compared": (lambda c: jnp.where(c > 0.5, c * c, c**3), X, [(6,)]),
    "one factorisation": (
        lambda c: jnp.linalg.solve(c, c * c) + jnp.linalg.solve(c, 2 * c),
        SQUARE,
        [(2,), (2, 2), (2, 2), (2, 2), (2, 2)],
    ),
}


@pytest.mark.parametrize(("body", "x", "shapes"), BODIES.values(), ids=BODIES)
def test_a_turn_keeps_as_few_bytes_as_will_do(body: Any, x: Any, shapes: Any) -> None:
    assert kept(body, x) == shapes
    gradient = jx.grad(scanned(body))(x)
    written_out = jx.grad(lambda x: reduce(lambda c, _: body(c), range(LENGTH), x).sum())(x)
    np.testing.assert_allclose(gradient, written_out, 2e-4, 1e-5)


def test_of_as_many_bytes_what_is_made_last_is_kept() -> None:
    # The factor of sin is eight easy equations behind exp; either is six numbers.
    def body(c: Any) -> Any:
        factor = reduce(lambda x, _: x + 0.1, range(8), lax.stop_gradient(jnp.exp(c)))
        return jnp.sin(c) * factor

    assert kept(body, X) == [(6,), (6,)]
    assert "add" not in made_again(body, X)


@pytest.mark.parametrize(("depth", "again"), [(7, True), (9, False)])
def test_long_chains_are_kept_and_not_made_again(depth: int, again: bool) -> None:
    def body(c: Any) -> Any:
        first = lax.stop_gradient(jnp.exp(c))
        return c * first * reduce(lambda x, _: x * 0.9, range(depth - 1), first)

    assert len(kept(body, X)) == (1 if again else 2)


def test_what_only_constants_make_is_computed_once() -> None:
    def f(w: Any, x: Any) -> Any:
        return lax.scan(lambda c, _: (c * (w.T * 2), None), x, None, length=LENGTH)[0].sum()

    gradient = jx.make_jaxpr(jx.grad(f, 1))(SQUARE, SQUARE)
    _, back = [eqn for eqn in gradient.eqns if eqn.primitive.name == "scan"]
    assert "transpose" not in [eqn.primitive.name for eqn in back.params["jaxpr"].eqns]


def test_effects_happen_once() -> None:
    seen: list[float] = []

    def body(c: Any) -> Any:
        jx.debug.callback(lambda x: seen.append(float(x)), c[0] * 2)
        return c * c

    jx.grad(scanned(body))(X)
    jx.effects_barrier()
    assert len(seen) == LENGTH


def test_sizes_may_be_symbols() -> None:
    sizes: Any = export.symbolic_shape("n")
    gradient = jx.grad(scanned(BODIES["spread"][0]))
    exported = export.export(jx.jit(gradient))(jx.ShapeDtypeStruct(sizes, np.float32))
    np.testing.assert_allclose(exported.call(X), gradient(X), 1e-5)


# ---------------------------------------------------------------- any body

UNARY = (jnp.sin, jnp.tanh, jnp.square, jnp.negative, jnp.abs, jnp.exp, lambda x: x.T.T * 2)
BINARY = (operator.add, operator.sub, operator.mul, jnp.maximum, lambda x, y: x / (2 + y * y))
SHAPES = (
    lambda x: x[:, ::-1],
    lambda x: jnp.broadcast_to(x.sum(1)[:, None], x.shape),
    lambda x: jnp.where(x > 0.3, x, 0.1),
    lambda x: jnp.concatenate([x[1:], x[:1]]),
    lambda x: (x @ x.T) @ x / 9,
    lambda x: x.reshape(-1).reshape(x.shape),
    lambda x: jnp.broadcast_to(x[0], x.shape),
)


def any_body(seed: int) -> Callable[[Any, Any], Any]:
    """Return a body of twelve random operations, each of two that came before."""
    draw = np.random.default_rng(seed)
    chosen = [
        (int(draw.integers(3)), int(draw.integers(7)), float(draw.random()), float(draw.random()))
        for _ in range(12)
    ]

    def body(c: Any, w: Any) -> Any:
        values = [c, w]
        for kind, which, left, right in chosen:
            x, y = values[int(left * len(values))], values[int(right * len(values))]
            if kind == 0:
                values.append(UNARY[which](x))
            elif kind == 1:
                values.append(BINARY[which % 5](x, y))
            else:
                values.append(SHAPES[which](x))
        return jnp.tanh(sum(values[-4:]) + 0.1 * c)

    return body


@pytest.mark.parametrize("seed", range(12))
def test_gradients_are_those_of_the_loop_written_out(seed: int) -> None:
    body = any_body(seed)
    c, w = np.random.default_rng(seed).standard_normal((2, 3, 4))
    with jx.enable_x64(True):

        def looped(c: Any, w: Any) -> Any:
            turn = lambda c, x: (body(c, w), (c * x).sum())  # noqa: E731
            last, ys = lax.scan(turn, c, jnp.arange(LENGTH) + 1.0)
            return (last * c).sum() + (ys * ys).sum()

        def written_out(c: Any, w: Any) -> Any:
            first, total = c, 0.0
            for x in range(1, LENGTH + 1):
                total, c = total + (c * x).sum() ** 2, body(c, w)
            return (c * first).sum() + total

        for gradient, expected in zip(
            jx.jit(jx.grad(looped, (0, 1)))(c, w),
            jx.jit(jx.grad(written_out, (0, 1)))(c, w),
            strict=True,
        ):
            np.testing.assert_allclose(gradient, expected, 1e-9, 1e-9)
