"""``composite``: one named operation that means what its decomposition does."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import UndefinedRuleError

OFFSET = jnp.arange(3.0)


def meaning(x, pair, *, scale=1):
    """Scale and shift."""
    return {"y": x * scale + OFFSET, "z": pair[0] - pair[1]}


composed = lax.composite(meaning, "my.scaled", version=2)


def test_it_gives_what_its_decomposition_gives():
    for call in (composed, jx.jit(composed, static_argnames="scale")):
        found = call(2.0, (5.0, 1.0), scale=3)
        np.testing.assert_array_equal(found["y"], [6.0, 7.0, 8.0])
        assert float(found["z"]) == 4.0
    assert composed.__doc__ == "Scale and shift."


def test_the_module_keeps_name_attributes_and_version():
    def both(x):
        return composed(x, (x, x), scale=3)["y"] + composed(x, (x, x), scale=3)["y"]

    text = jx.jit(both).lower(1.0).as_text()
    assert text.count('stablehlo.composite "my.scaled"') == 2
    assert "composite_attributes = {scale = 3 : i64}" in text
    assert "version = 2 : i32" in text
    assert text.count("func.func private @my.scaled(") == 1


def test_transforms_do_not_look_inside_unless_a_rule_is_given():
    def loss(x):
        return composed(x, (x, x))["y"].sum()

    with pytest.raises(UndefinedRuleError, match="give it one with custom_vjp"):
        jx.grad(loss)(1.0)
    with pytest.raises(UndefinedRuleError, match="opaque"):
        jx.vmap(loss)(jnp.ones(2))
    ruled = jx.custom_jvp(loss)
    ruled.defjvp(lambda primals, tangents: (loss(*primals), tangents[0] * 3))
    assert float(jx.jit(jx.grad(ruled))(jnp.float32(1.0))) == 3.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.composite(3, "my.name"), TypeError, "callable as decomposition, got 3"),
        (lambda: lax.composite(meaning, "no name"), ValueError, "got the name 'no name'"),
        (lambda: composed(1.0, (1.0, 1.0), scale=object()), TypeError, "attribute"),
        (lambda: composed("x", (1.0, 1.0)), TypeError, r"args\[0\]"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_attributes_may_be_functions_outside_of_programs():
    applied = lax.composite(lambda x, *, f: f(x), "my.applied")
    assert float(applied(np.float32(4), f=jnp.sqrt)) == 2.0
    with pytest.raises(TypeError, match="an attribute of a foreign function is a number"):
        jx.jit(lambda x: applied(x, f=jnp.sqrt))(np.float32(4))
