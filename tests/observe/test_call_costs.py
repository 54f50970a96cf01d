"""What a call costs: by XLA's count and by ours, loops and branches counted as they run."""

from __future__ import annotations

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.observe import cost

SIZE = jx.ShapeDtypeStruct((40, 40), "float32")
PRODUCT = 2 * 40**3


def looped(x: jx.Array) -> jx.Array:
    return lax.scan(lambda c, _: (c @ x, None), x, None, length=7)[0]


def branched(x: jx.Array) -> jx.Array:
    return lax.cond(x[0, 0] > 0, lambda: x @ x, lambda: x)


def open_loop(x: jx.Array) -> jx.Array:
    return lax.while_loop(lambda c: c[0, 0] < 3, lambda c: c @ x, x)


@jx.custom_vjp
def ruled(x: jx.Array) -> jx.Array:
    return x @ x


ruled.defvjp(lambda x: (x @ x, x), lambda x, ct: (ct @ x + x @ ct,))


@pytest.mark.parametrize(
    ("function", "products", "notes"),
    [
        (lambda x: x @ x, 1, 0),
        (looped, 7, 1),
        (branched, 1, 0),
        (open_loop, 1, 2),
        (jx.jit(jx.checkpoint(lambda x: x @ x)), 1, 0),
        (ruled, 1, 0),
    ],
)
def test_products_are_counted_as_often_as_they_run(function, products, notes) -> None:
    found = cost(function, SIZE)
    (product,) = [one for one in found.operations if one.primitive == "dot_general"]
    assert (product.count, product.cost.flops) == (products, products * PRODUCT)
    assert product.spot.startswith(__file__)
    assert len(found.notes()) == notes
    assert found.operations[0] is product


def test_totals_and_intensity() -> None:
    found = cost(jnp.sin, SIZE)
    assert found.traced.bytes == 2 * 40 * 40 * 4
    assert found.intensity is not None
    assert found.transcendentals in (None, 1600.0)
    told = dict(found.rows())
    assert told["bytes, as traced"] == "12.8 KB"
    assert told["intensity"].endswith("operations per byte")
    assert "sin" in str(found)


def test_nothing_is_run() -> None:
    ran = []
    cost(lambda x: jx.debug.callback(ran.append, 1) or x, SIZE)
    assert ran == []
