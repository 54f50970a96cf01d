"""Contractions: values against einsum, every rule, dtypes of sums, precision, bad shapes."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
from jxkernel.config import default_matmul_precision
from jxkernel.primitives.contraction.dot_general import batch_matmul, dot, dot_general
from jxkernel.primitives.contraction.precision import DotAlgorithm, DotAlgorithmPreset, Precision
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.standard_normal(shape)


def complexes(*shape):
    return numbers(*shape) + 1j * numbers(*shape)


TABLE = {
    "matrix_matrix": ((((1,), (0,)), ((), ())), "ij,jk->ik", numbers(2, 3), numbers(3, 4)),
    "matrix_vector": ((((1,), (0,)), ((), ())), "ij,j->i", numbers(2, 3), numbers(3)),
    "vector_vector": ((((0,), (0,)), ((), ())), "i,i->", numbers(3), numbers(3)),
    "outer": ((((), ()), ((), ())), "i,jk->ijk", numbers(3), numbers(2, 2)),
    "batch": ((((2,), (1,)), ((0,), (2,))), "bij,kjb->bik", numbers(2, 3, 4), numbers(5, 4, 2)),
    "several": (
        (((3, 1), (0, 2)), ((2,), (3,))),
        "abcd,debc->cae",
        numbers(2, 3, 4, 5),
        numbers(5, 2, 3, 4),
    ),
    "batch_order": (
        (((1,), (2,)), ((2, 0), (0, 1))),
        "abc,cab->ca",
        numbers(2, 3, 4),
        numbers(4, 2, 3),
    ),
    "complex": ((((1,), (0,)), ((), ())), "ij,jk->ik", complexes(2, 3), complexes(3, 2)),
    "empty_sum": ((((1,), (0,)), ((), ())), "ij,jk->ik", numbers(2, 0), numbers(0, 4)),
    "integers": (
        (((1,), (0,)), ((), ())),
        "ij,jk->ik",
        RANDOM.integers(-9, 9, (2, 3)),
        RANDOM.integers(-9, 9, (3, 4)),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name):
    dimensions, formula, lhs, rhs = TABLE[name]
    check_all(
        lambda x, y: dot_general(x, y, dimensions),
        [lhs, rhs],
        reference=lambda x, y: np.einsum(formula, x, y),
    )


def test_dot_takes_vectors_and_matrices():
    matrix, vector = numbers(3, 3), numbers(3)
    check_all(lambda x, y: dot(x, y), [matrix, vector], reference=np.dot)
    check_all(lambda x, y: dot(x, y), [vector, matrix], reference=np.dot)
    check_all(lambda x, y: dot(x, y), [vector, vector], reference=np.dot)


def test_batch_matmul_multiplies_stacks():
    check_all(batch_matmul, [numbers(2, 3, 4), numbers(2, 4, 5)], reference=np.matmul)


MATRICES = (((1,), (0,)), ((), ()))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sums_of_16_bits_accumulate_in_32(dtype):
    ones = np.ones((1, 4096), dtype)
    assert_close(dot(ones, ones.T), np.full((1, 1), 4096, dtype))


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(np.int8, np.int32), (ml_dtypes.bfloat16, np.float32), (ml_dtypes.float8_e4m3fn, np.float32)],
)
def test_result_dtype_may_be_asked_for(dtype, wide):
    x = np.array([[1, 2], [3, 4]]).astype(dtype)
    y = dot_general(x, x, MATRICES, preferred_element_type=wide)
    assert_close(y, np.array([[7, 10], [15, 22]], wide))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (ml_dtypes.bfloat16, np.float32, np.float32),
        (np.float32, np.int32, np.float32),
        (np.float32, np.complex64, np.complex64),
    ],
)
def test_two_dtypes_promote(left, right, result):
    x, y = np.array([1, 2], left), np.array([3, 4], right)
    assert_close(dot(x, y), np.array(11, result))
    assert_close(jx.vjp(lambda x: dot(x, y), x)[1](np.array(2, result))[0], np.array([6, 8], left))


def test_gradient_has_the_operands_dtype_where_sums_are_wider():
    x = np.ones((2, 2), ml_dtypes.bfloat16)

    def total(x, y):
        product = dot_general(x, y, MATRICES, preferred_element_type=np.float32)
        return dot(dot(np.ones(2, np.float32), product), np.ones(2, np.float32))

    for gradient in jx.grad(total, (0, 1))(x, x):
        assert_close(gradient, np.full((2, 2), 2, ml_dtypes.bfloat16))


def test_booleans_multiply_by_and_and_add_by_or():
    x = np.array([[True, False], [True, True]])
    assert_close(dot(x, x), x @ x)


def test_batched_product_stays_one_product():
    mapped = jx.vmap(dot, in_axes=(0, 1))
    jaxpr = jx.make_jaxpr(mapped)(np.ones((5, 2, 3)), np.ones((3, 5, 4)))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["dot_general"]


def precision_of(precision):
    jaxpr = jx.make_jaxpr(lambda x: dot(x, x, precision=precision))(np.ones((2, 2), np.float32))
    return jaxpr.eqns[0].params["precision"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ("highest", (Precision.HIGHEST, Precision.HIGHEST)),
        (Precision(None), (Precision.DEFAULT, Precision.DEFAULT)),
        ("tensorfloat32", (Precision.HIGH, Precision.HIGH)),
        (Precision.DEFAULT, (Precision.DEFAULT, Precision.DEFAULT)),
        (("high", None), (Precision.HIGH, Precision.DEFAULT)),
        ("F32_F32_F32", DotAlgorithmPreset.F32_F32_F32),
        (DotAlgorithmPreset.DEFAULT, None),
    ],
)
def test_precision_may_be_written_in_several_ways(given, expected):
    assert precision_of(given) == expected


def test_precision_defaults_to_the_configured():
    with default_matmul_precision("float32"):
        assert precision_of(None) == (Precision.HIGHEST, Precision.HIGHEST)
        assert precision_of("default") == (Precision.DEFAULT, Precision.DEFAULT)


def test_algorithm_reaches_the_compiler():
    function = jx.jit(lambda x: dot(x, x, precision="F32_F32_F32"))
    x = numbers(3, 3).astype(np.float32)
    assert "accumulation_type = f32" in function.lower(x).as_text()
    assert_close(function(x), x @ x)


def lowered(algorithm, dtype, platform):
    traced = jx.jit(lambda x: dot(x, x, precision=algorithm)).trace(np.ones((2, 2), dtype))
    return traced.lower(lowering_platforms=(platform,)).as_text()


KNOWN_TO_THE_CPU = [
    *("F16_F16_F16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"),
    *("F32_F32_F32", "F64_F64_F64"),
]


@pytest.mark.parametrize("preset", list(DotAlgorithmPreset)[1:])
def test_algorithms_that_the_cpu_does_not_know_are_refused(preset):
    x = numbers(3, 3).astype(np.float32)
    if preset.name in KNOWN_TO_THE_CPU:
        assert_close(dot(x, x, precision=preset), x @ x, 2e-2)
    else:
        with pytest.raises(ValueError, match=f"{preset!r} is not supported on .*'cpu'.*F64_F64"):
            dot(x, x, precision=preset)


@pytest.mark.parametrize(
    ("name", "dtype", "types", "products"),
    [
        ("F16_F16_F32", "float32", ("f16", "f32"), 1),
        ("BF16_BF16_F32", "float32", ("f32", "f32"), 1),
        ("BF16_BF16_F32", "float16", ("bf16", "f32"), 1),
        ("BF16_BF16_F32_X9", "bfloat16", ("f32", "f32"), 9),
        ("TF32_TF32_F32_X3", "float32", ("f32", "f32"), 3),
        ("ANY_F8_ANY_F8_F32", "float8_e5m2", ("f8E5M2", "f32"), 1),
    ],
)
def test_operands_of_an_algorithm_are_stored_in_its_types(name, dtype, types, products):
    (line,) = [
        line
        for line in lowered(DotAlgorithmPreset[name], jx.numpy.dtype(dtype), "cuda").splitlines()
        if "dot_general" in line
    ]
    operand, result = types
    assert line.endswith(f"(tensor<2x2x{operand}>, tensor<2x2x{operand}>) -> tensor<2x2x{result}>")
    assert "lhs_component_count = 1, rhs_component_count = 1" in line
    assert f"num_primitive_operations = {products}," in line


def test_an_algorithm_written_out_is_known_where_its_preset_is():
    x = numbers(3, 3).astype(np.float32)
    bf16 = jx.numpy.bfloat16
    assert_close(dot(x, x, precision=DotAlgorithm(np.float32, np.float32, np.float32)), x @ x)
    three = DotAlgorithm(bf16, bf16, np.float32, num_primitive_operations=3)
    assert_close(dot(x, x, precision=three), x @ x)
    for wrong in (
        DotAlgorithm(np.float16, np.float16, np.float32),
        DotAlgorithm(np.float32, np.float32, np.float32, lhs_component_count=2),
        DotAlgorithm(np.int8, np.int8, np.int32),
    ):
        with pytest.raises(ValueError, match=r"DotAlgorithm.* is not supported on platform 'cpu'"):
            dot(x, x, precision=wrong)
    with pytest.raises(ValueError, match="8-bit floating dtypes, got f32 and f32"):
        lowered(DotAlgorithmPreset.ANY_F8_ANY_F8_ANY, np.float32, "cuda")
    with pytest.raises(ValueError, match="takes real operands"):
        dot(x + 1j, x + 1j, precision="F32_F32_F32")


def test_an_algorithm_rounds_as_it_says():
    x = numbers(3, 3).astype(np.float32)
    half = x.astype(np.float16)
    assert_close(dot(x, x, precision="F16_F16_F16"), dot(half, half).astype(np.float32), 0)


BAD = {
    "sizes": (lambda: dot(np.ones((2, 3)), np.ones((2, 3))), r"axes \(1,\) of the left operand"),
    "axes": (
        lambda: dot_general(np.ones(2), np.ones(2), (((1,), (0,)), ((), ()))),
        "left operand of shape",
    ),
    "rank": (lambda: dot(np.ones(()), np.ones(2)), "takes vectors and matrices"),
    "stack": (lambda: batch_matmul(np.ones(2), np.ones(2)), "stacks of matrices"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, message = BAD[name]
    with pytest.raises(TypeError, match=message):
        function()


def test_unknown_precision_is_told():
    with pytest.raises(ValueError, match="unknown precision 'exact': there are 'default'"):
        dot(np.ones(2), np.ones(2), precision="exact")
