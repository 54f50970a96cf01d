"""What a derivative keeps, by line, and what ``checkpoint`` would: counted from real programs."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.observe import residuals


def layers(w, x, n):
    for _ in range(n):
        x = jnp.tanh(x @ w)
    return jnp.sum(x)


W, X = jnp.ones((64, 64)), jnp.ones((128, 64))


@pytest.mark.parametrize("form", [layers, jx.jit(layers, static_argnums=2)])
def test_what_is_kept_is_told_with_its_line(form):
    found = residuals(form, W, X, 3)
    arguments = [one.what for one in found.values if one.what.startswith("the argument")]
    assert sorted(arguments) == ["the argument w", "the argument x"]
    made = [one for one in found.values if one.file]
    assert {one.line for one in made} == {layers.__code__.co_firstlineno + 2}
    assert {one.file for one in made} == {__file__}
    assert all(one.type == "f32[128,64]" and one.bytes == 128 * 64 * 4 for one in made)
    assert sum(one.bytes for one in made) == found.ways[0].bytes


def test_checkpoint_keeps_less_and_works_more():
    plain, dots, nothing = residuals(layers, W, X, 3).ways
    assert plain.bytes > dots.bytes > nothing.bytes == 0
    assert plain.flops <= dots.flops < nothing.flops
    product = 2 * 128 * 64 * 64
    assert nothing.flops - plain.flops >= 3 * product - product  # all but perhaps the last again


def test_programs_of_shapes_and_integer_arguments_are_taken():
    square = jx.ShapeDtypeStruct((8, 8), "float32")
    found = residuals(lambda w, at: jnp.sin(w)[at], square, jnp.arange(2))
    assert ("f32[8,8]", 256) in [(one.type, one.bytes) for one in found.values]
    with pytest.raises(TypeError, match="no argument is a real or complex array"):
        residuals(lambda at: at + 1, jnp.arange(2))
