"""What all elementwise operations share: operands that agree, Python numbers, errors."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.errors import ShapeMismatchError, UndefinedRuleError

F = np.float32([1.5, -2.0])
WHOLE = np.int32([3, -4])
HALF = np.float16([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.add(F, WHOLE), "add needs operands of one dtype, got f32 and i32"),
        (lambda: lax.add(F, HALF), "one dtype, got f32 and f16"),
        (
            lambda: lax.mul(WHOLE, 2.5),
            "one dtype, got i32 and the Python number 2.5",
        ),
        (
            lambda: lax.sub(F, 1j),
            "one dtype, got f32 and the Python number 1j",
        ),
        (
            lambda: lax.exp(WHOLE),
            "exp does not accept dtype int32: it takes floating-point or complex dtypes",
        ),
        (lambda: lax.sub(np.array(True), np.array(True)), "sub does not accept dtype bool"),
        (lambda: lax.bitwise_and(F, F), "and does not accept dtype float32 as operand 1"),
        (lambda: lax.clamp(0, WHOLE, 2.5), "i32 and the Python number 2.5"),
        (lambda: lax.pow(WHOLE, 2), "pow does not accept dtype int32 as base"),
        (lambda: lax.pow(F, HALF), "pow needs an exponent of dtype float32 or of an integer"),
        (lambda: lax.integer_pow(WHOLE, -1), "integers to the negative power -1"),
        (lambda: lax.select(F, F, F), "select_n chooses by bool or integers, got dtype float32"),
        (
            lambda: lax.select(F > 0, F, WHOLE),
            "select_n needs operands of one dtype, got i32[2] and f32[2]",
        ),
        (lambda: lax.select_n(F > 0, F, F, F), "booleans to choose among 3 cases"),
        (lambda: lax.select_n(True), "at least one case"),
        (lambda: lax.bitcast_convert_type(F > 0, np.int8), "cannot read bool as int8"),
        (lambda: lax.complex(HALF, HALF), "complex does not accept dtype float16"),
        (lambda: lax.lt(np.complex64(F), np.complex64(F)), "lt does not accept dtype complex64"),
    ],
)
def test_wrong_dtypes_are_named(call: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lax.add(F, np.float32([1, 2, 3])),
        lambda: lax.select(F > 0, F, np.float32([1, 2, 3])),
        lambda: lax.clamp(F, np.ones((2, 2), np.float32), F),
        lambda: lax.pow(F, np.ones((2, 2), np.float32)),
    ],
)
def test_shapes_that_differ_are_refused(call: Any) -> None:
    with pytest.raises(ShapeMismatchError, match="operands must have equal shapes"):
        call()


COLUMN, ROW = np.float32([[1], [2], [3]]), np.float32([[4, 5, 6, 7]])


@pytest.mark.parametrize(
    ("operation", "reference"),
    [
        (lax.add, np.add),
        (lax.pow, np.power),
        (lax.lt, np.less),
        (lax.atan2, np.arctan2),
        (lax.nextafter, np.nextafter),
    ],
)
def test_axes_of_size_1_are_repeated_between_operands_of_one_rank(
    operation: Any, reference: Any
) -> None:
    np.testing.assert_allclose(operation(COLUMN, ROW), reference(COLUMN, ROW), rtol=1e-6)
    with pytest.raises(ShapeMismatchError):
        operation(COLUMN, ROW[0])
    several = jx.vmap(operation, in_axes=(0, None))(COLUMN[None], ROW)
    np.testing.assert_allclose(several[0], reference(COLUMN, ROW), rtol=1e-6)


def test_derivatives_along_repeated_axes_are_summed() -> None:
    def total(x: Any, y: Any) -> Any:
        return lax.reduce_sum(lax.mul(x, y), (0, 1))

    by_x, by_y = jx.grad(total, (0, 1))(COLUMN, ROW)
    np.testing.assert_array_equal(by_x, np.full((3, 1), 22))
    np.testing.assert_array_equal(by_y, np.full((1, 4), 6))
    # Each row of the second derivative of x y over x, y is 1.
    second = jx.jacfwd(jx.grad(total), 1)(COLUMN, ROW)
    np.testing.assert_array_equal(second, np.ones((3, 1, 1, 4)))
    tangent = jx.jvp(lax.mul, (COLUMN, ROW), (COLUMN, ROW))[1]
    np.testing.assert_array_equal(tangent, 2 * COLUMN * ROW)


def test_choices_and_bounds_are_not_repeated() -> None:
    with pytest.raises(ShapeMismatchError):
        lax.select(COLUMN > 0, COLUMN * ROW, COLUMN * ROW)


@pytest.mark.parametrize(("x", "weak"), [(1.0, True), (np.float32(1), False)])
def test_results_are_weak_only_when_all_operands_are(x: Any, weak: bool) -> None:
    assert lax.exp(x).weak_type is weak
    assert lax.add(x, 2.0).weak_type is weak
    assert lax.pow(x, 2).weak_type is weak
    assert lax.select(True, x, 2.0).weak_type is weak


def test_comparisons_are_never_weak_and_parts_are_as_weak_as_the_number() -> None:
    assert not lax.lt(1.0, 2.0).weak_type
    for part in (lax.real, lax.imag, lax.abs):
        assert part(1.0 + 2j).weak_type
        assert not part(np.complex64(1)).weak_type
    assert lax.conj(2.5).weak_type
    assert lax.complex(1.0, 2.0).weak_type


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: lax.polygamma(x, 1.5), "cannot be differentiated in its order m"),
        (lambda x: lax.betainc(x, 1.5, 0.5), "cannot be differentiated in a"),
        (jx.grad(lambda x: lax.random_gamma_grad(x, 1.5)), "cannot be differentiated in a"),
    ],
)
def test_derivatives_that_do_not_exist_say_why(function: Any, reason: str) -> None:
    with pytest.raises(UndefinedRuleError, match=reason):
        jx.grad(function)(2.5)


def test_an_undefined_derivative_in_one_operand_leaves_the_others() -> None:
    slope = jx.grad(lambda x: lax.polygamma(1.0, x))(2.0)
    np.testing.assert_allclose(slope, float(lax.polygamma(2.0, 2.0)), rtol=1e-5)


def test_integers_have_no_tangents() -> None:
    _, tangent = jx.jvp(
        lambda x: lax.add(lax.mul(x, x), 1),
        (WHOLE,),
        (np.zeros(2, jx.dtypes.float0),),
    )
    assert tangent.dtype == jx.dtypes.float0


def test_gradient_of_a_scalar_operand_is_summed() -> None:
    gradient = jx.grad(lambda s: reduced(lax.mul(s, F)))(np.float32(2))
    assert (gradient.shape, float(gradient)) == ((), -0.5)


def reduced(x: Any) -> Any:
    return lax.reduce_sum(x, (0,))
