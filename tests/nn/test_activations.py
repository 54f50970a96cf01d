"""Activations: the dtype, weakness and value of each on every kind of operand."""

from math import erf, sqrt
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import nn

KINDS = ("bool", "int32", "uint8", "bfloat16", "float32", "complex64", "int*", "float*")
TYPES = {
    "relu": "int32* int32 uint8 bfloat16 float32 complex64 int32* float32*",
    "relu6": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "hard_tanh": "int32* int32 uint8 bfloat16 float32 complex64 int32* float32*",
    "hard_sigmoid": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "hard_silu": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "sparse_plus": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "softplus": "float32* float32 float32 bfloat16 float32 complex64 float32* float32*",
    "soft_sign": "float32* float32 float32 bfloat16 float32 complex64 float32* float32*",
    "mish": "float32* float32 float32 bfloat16 float32 complex64 float32* float32*",
    "log_sigmoid": "float32 float32 float32 bfloat16 float32 complex64 float32* float32*",
    "log1mexp": "float32 float32 float32 bfloat16 float32 complex64 float32* float32*",
    "selu": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "elu": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "celu": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "leaky_relu": "float32* float32* float32* bfloat16 float32 complex64 float32* float32*",
    "squareplus": "float32 float32 float32 bfloat16 float32 complex64 float32* float32*",
    "gelu": "float32 float32 float32 bfloat16 float32 complex64 float32 float32",
}
"""Function -> its results for KINDS; ``*`` marks weak types, and operands that are numbers."""


def operand(kind: str) -> Any:
    if kind.endswith("*"):
        return jnp.asarray({"int*": 3, "float*": 0.5}[kind])
    return jnp.asarray(np.array([1, 0, 3]), dtype=kind)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TYPES)
def test_activations_have_the_types_of_the_same_formula_with_python_numbers(name):
    results = [getattr(nn, name)(operand(kind)) for kind in KINDS]
    assert " ".join(y.dtype.name + "*" * y.weak_type for y in results) == TYPES[name]


Z = [1 + 2j, -0.5j, 0.25]

VALUES: list[tuple[str, list[Any], Any, list[Any]]] = [
    ("relu", [True, False], bool, [1, 0]),
    ("relu", Z, "complex64", [1 + 2j, 0, 0.25]),
    ("relu6", [3, -1, 200], "int32", [3, 0, 6]),
    ("hard_tanh", [3, 0, 200], "uint8", [1, 0, 1]),
    ("hard_tanh", Z, "complex64", [1, -0.5j, 0.25]),
    ("hard_sigmoid", Z, "complex64", [2 / 3 + 1j / 3, 0.5 - 1j / 12, 3.25 / 6]),
    ("sparse_plus", Z, "complex64", [1 + 2j, (1 - 0.5j) ** 2 / 4, 1.25**2 / 4]),
    ("soft_sign", Z, "complex64", [(1 + 2j) / (1 + 5**0.5), -1j / 3, 0.2]),
    ("softplus", Z, "complex64", np.log1p(np.exp(Z))),
    ("log_sigmoid", Z, "complex64", -np.log1p(np.exp(-np.array(Z)))),
    ("mish", Z, "complex64", np.array(Z) * np.tanh(np.log1p(np.exp(Z)))),
    ("elu", Z, "complex64", [1 + 2j, np.exp(-0.5j) - 1, 0.25]),
    ("leaky_relu", Z, "complex64", [1 + 2j, -0.005j, 0.25]),
    ("log1mexp", [0.5, 2.0], "bfloat16", [np.log(1 - np.exp(-0.5)), np.log(1 - np.exp(-2))]),
    ("log1mexp", Z[:2], "complex64", np.log(1 - np.exp(-np.array(Z[:2])))),
]


@pytest.mark.parametrize(("name", "x", "dtype", "wanted"), VALUES)
def test_activations_of_unusual_dtypes_follow_the_formula(name, x, dtype, wanted):
    y = getattr(nn, name)(jnp.asarray(np.array(x), dtype=dtype))
    tolerance = 1e-2 if dtype == "bfloat16" else 1e-6
    np.testing.assert_allclose(np.asarray(y).astype(complex), wanted, tolerance, tolerance)


@pytest.mark.parametrize(
    ("x", "slope", "wanted", "dtype"),
    [
        ([3, -1], 2, [3, -2], "int32"),
        ([True, False], True, [True, False], "bool"),
        ([True, False], 2, [1, 0], "int32"),
        ([1.0, -1.0], 2, [1, -2], "float32"),
    ],
)
def test_leaky_relu_keeps_integers_with_a_whole_slope(x, slope, wanted, dtype):
    y = nn.leaky_relu(jnp.array(x), slope)
    assert (y.tolist(), y.dtype) == (wanted, dtype)


def test_sparse_sigmoid_has_half_its_slope_at_the_bounds():
    slopes = jx.vmap(jx.grad(nn.sparse_sigmoid))(jnp.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    assert slopes.tolist() == [0, 0.25, 0.5, 0.25, 0]


@pytest.mark.parametrize("name", sorted(set(TYPES) - {"relu", "hard_tanh"}))
def test_compiled_activations_equal_eager_ones(name):
    f, x = getattr(nn, name), jnp.array([-2.0, -0.0, 0.5, 7.0])
    np.testing.assert_allclose(jx.jit(f)(x), f(x), 1e-6)


@pytest.mark.parametrize("approximate", [np.array(False), jnp.array(False), 0])
def test_gelu_takes_an_array_for_whether_to_approximate(approximate: Any) -> None:
    exact = [0.5 * x * (1 + erf(x / sqrt(2))) for x in (-1.0, 0.5)]
    found = nn.gelu(jnp.array([-1.0, 0.5]), approximate=approximate)
    np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_relu_stands_in_programs_as_a_call_with_a_rule():
    [eqn] = jx.make_jaxpr(nn.relu)(jnp.ones(3)).eqns
    assert eqn.primitive.name == "custom_jvp_call"
    assert eqn.params["jvp"].name == "relu"
    x = np.float32([-1, 0, 2, np.nan])
    total = jx.grad(lambda x: nn.relu(x).sum())
    np.testing.assert_array_equal(nn.relu(x), [0, 0, 2, np.nan])
    for slope in (total, jx.jit(total), jx.vmap(jx.grad(nn.relu)), jx.vmap(jx.jacfwd(nn.relu))):
        np.testing.assert_array_equal(slope(x), [0, 0, 1, 1])
    second = jx.jit(jx.hessian(lambda x: (nn.relu(x) ** 2).sum()))(x[:3])
    np.testing.assert_array_equal(second, np.diag([0, 0, 2]))
    y, t = jx.jvp(nn.relu, (np.int32([-1, 2]),), (np.zeros(2, jx.dtypes.float0),))
    assert (y.tolist(), t.dtype) == ([0, 2], jx.dtypes.float0)

    def run(x):
        return jx.lax.scan(lambda total, part: (nn.relu(total + part), None), 0.0, x)[0]

    assert jx.grad(jx.checkpoint(run))(jnp.array([1.0, 2.0])).tolist() == [1.0, 1.0]
