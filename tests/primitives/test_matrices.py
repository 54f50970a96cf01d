"""Products as products of stacks of matrices: values, and which operands become stacks."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.primitives.contraction.dot_general import dot_general
from tests.primitives.checking import check_all

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.standard_normal(shape)


# What einsum says, the dimension numbers, the shapes, and those of the matrices (None: as it is).
TABLE = {
    "keys": (
        "bqhd,bkhd->bhqk",
        (((3,), (3,)), ((0, 2), (0, 2))),
        (2, 3, 4, 5),
        (2, 6, 4, 5),
        ("2x4x3x5", "2x4x6x5"),
    ),
    "left_first": (
        "abc,abd->cd",
        (((0, 1), (0, 1)), ((), ())),
        (2, 3, 4),
        (2, 3, 5),
        ("6x4", "6x5"),
    ),
    "right_last": (
        "abc,dbc->ad",
        (((1, 2), (1, 2)), ((), ())),
        (2, 3, 4),
        (5, 3, 4),
        ("2x12", "5x12"),
    ),
    "sums_swapped": (
        "abc,dbc->ad",
        (((2, 1), (2, 1)), ((), ())),
        (2, 3, 4),
        (5, 3, 4),
        ("2x12", "5x12"),
    ),
    "sums_in_two_orders": (
        "abc,dcb->ad",
        (((1, 2), (2, 1)), ((), ())),
        (2, 3, 4),
        (5, 4, 3),
        None,
    ),
    "turns_taken": ("abc,dbe->acde", (((1,), (1,)), ((), ())), (2, 3, 4), (5, 3, 6), None),
    "rows_by_columns": ("abc,cd->abd", (((2,), (0,)), ((), ())), (2, 3, 4), (4, 5), None),
    "a_vector": ("iab,ab->i", (((1, 2), (0, 1)), ((), ())), (5, 3, 4), (3, 4), None),
    "a_vector_left": ("ab,iab->i", (((0, 1), (1, 2)), ((), ())), (3, 4), (5, 3, 4), ("12", "5x12")),
    "batch_last": (
        "abn,acn->nbc",
        (((0,), (0,)), ((2,), (2,))),
        (3, 4, 2),
        (3, 5, 2),
        ("2x3x4", "2x3x5"),
    ),
    "nothing_kept": ("nab,nab->n", (((1, 2), (1, 2)), ((0,), (0,))), (2, 3, 4), (2, 3, 4), None),
    "no_elements": (
        "abc,abd->cd",
        (((0, 1), (0, 1)), ((), ())),
        (0, 3, 4),
        (0, 3, 5),
        ("0x4", "0x5"),
    ),
    "no_rows": ("abc,abd->cd", (((0, 1), (0, 1)), ((), ())), (2, 3, 0), (2, 3, 5), ("6x0", "6x5")),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TABLE)
def test_stacks_values_and_rules(name):
    formula, dimensions, left, right, _ = TABLE[name]
    check_all(
        lambda x, y: dot_general(x, y, dimensions),
        [numbers(*left), numbers(*right)],
        reference=lambda x, y: np.einsum(formula, x, y),
    )


def _operands(text):
    """Return the shapes of the operands of the one product of a module."""
    [line] = [line for line in text.splitlines() if "stablehlo.dot_general" in line]
    types = line[line.rindex(": (") :].split("->")[0]
    return [part.split(">")[0].rsplit("xf32", 1)[0] for part in types.split("tensor<")[1:]]


def _lowered(function, *shapes, platform="cpu"):
    types = [jx.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    return jx.jit(function).trace(*types).lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.parametrize("name", TABLE)
def test_operands_that_would_be_copied_are_stacks_on_cpu(name):
    _, dimensions, *shapes, expected = TABLE[name]
    own = ["x".join(map(str, shape)) for shape in shapes]
    multiply = lambda x, y: dot_general(x, y, dimensions)  # noqa: E731
    assert _operands(_lowered(multiply, *shapes)) == list(expected or own)
    assert _operands(_lowered(multiply, *shapes, platform="cuda")) == own


@pytest.mark.parametrize(("rows", "transposed", "stacked"), [
    (16, False, True), (17, False, False), (17, True, True), (100, True, True)
])  # fmt: skip
def test_left_matrices_lie_the_other_way_in_small_or_transposed_products(rows, transposed, stacked):
    # 16 x 16 x 64 x 64 = 2^20 products of elements.
    shapes = [(rows, 16, 64), (rows, 16, 64)]
    numbers = (((0, 1), (0, 1)), ((), ()))

    def multiply(x, y):
        product = lax.dot_general(x, y, numbers)
        return product.T if transposed else product

    expected = f"{rows * 16}x64" if stacked else f"{rows}x16x64"
    assert _operands(_lowered(multiply, *shapes)) == [expected] * 2
    x, y = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    product = np.einsum("abc,abd->cd", x, y)
    found = jx.jit(multiply)(x, y)
    np.testing.assert_allclose(found, product.T if transposed else product, rtol=1e-4, atol=1e-3)


def test_derivatives_by_weights_multiply_matrices():
    def loss(w, x):
        return jnp.sum((x @ w) ** 2)

    text = _lowered(lambda w, x: jx.grad(loss)(w, x), (64, 256), (32, 128, 64))
    assert "(tensor<4096x256xf32>, tensor<4096x64xf32>) -> tensor<256x64xf32>" in text


def test_symbolic_sizes_are_multiplied_as_they_are():
    [n] = jx.export.symbolic_shape("n")
    types = [jx.ShapeDtypeStruct((n, 3, size), np.float32) for size in (4, 5)]
    multiply = jx.jit(lambda x, y: dot_general(x, y, (((0, 1), (0, 1)), ((), ()))))
    assert "tensor<?x3x4xf32>" in jx.export.export(multiply)(*types).mlir_module()


def test_bfloat16_products_are_stacks_too():
    x, y = (jnp.array(numbers(2, 3, size), jnp.bfloat16) for size in (4, 5))
    product = jx.jit(lambda x, y: dot_general(x, y, (((0, 1), (0, 1)), ((), ()))))(x, y)
    assert product.dtype == jnp.bfloat16
    wide = [np.asarray(value, np.float32) for value in (x, y)]
    np.testing.assert_allclose(
        np.asarray(product, np.float32), np.einsum("abc,abd->cd", *wide), rtol=2e-2, atol=2e-2
    )
