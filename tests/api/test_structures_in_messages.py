"""Structures of trees in messages: containers and leaves, not the class that holds them."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

x = jnp.ones(3)

WRONG = {
    "scan": (lambda: jx.lax.scan(lambda c, v: (c, v, 1), 0.0, x), "(*, *, *)"),
    "scan, one value": (lambda: jx.lax.scan(lambda c, v: c, 0.0, x), "* (one leaf)"),
    "pullback": (lambda: jx.vjp(lambda v: {"a": v}, x)[1](x), "{'a': *}, and got * (one leaf)"),
    "jvp": (lambda: jx.jvp(lambda v: v, (x,), [x]), "(*,) and [*]"),
    "while_loop": (
        lambda: jx.lax.while_loop(lambda c: (c, c), lambda c: c, 0),
        "a result of structure (*, *)",
    ),
    "callback": (lambda: jx.pure_callback(lambda: (1, 2), x), "(*, *)"),
    "linear solve": (
        lambda: jx.lax.custom_linear_solve(lambda v: (v, v), x, lambda f, b: b),
        "(*, *)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_structures_are_written_as_containers(name):
    call, told = WRONG[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert told in str(caught.value)
    assert "PyTreeDef" not in str(caught.value)
