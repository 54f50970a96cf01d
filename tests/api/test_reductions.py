"""Reductions by a function: values, well-known operations, derivatives, batches, bad functions."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.api.reductions import reduce, reduce_window, scatter_apply
from jxkernel.errors import ShapeMismatchError, UndefinedRuleError
from tests.higher_order.checks import names
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 5))
INTEGERS = RANDOM.integers(1, 9, (3, 5))


def either(x, y):
    """Return 1 - (1 - x)(1 - y): associative and commutative, with 0 neutral."""
    return lax.sub(lax.add(x, y), lax.mul(x, y))


def test_reduce_by_any_function():
    check_all(
        lambda x: reduce(x, np.float64(0), either, (1,)),
        [A],
        reference=lambda x: 1 - (1 - x).prod(1),
    )
    check_all(
        lambda x, start: reduce(x, start, either, (0, 1)),
        [A, np.float64(3)],
        reference=lambda x, start: 1 - (1 - x).prod() * (1 - start),
    )


def test_reduce_several_arrays_together():
    def greater(first, second):
        (x, i), (y, j) = first, second
        keep = lax.ge(x, y)
        return lax.select(keep, x, y), lax.select(keep, i, j)

    places = np.broadcast_to(np.arange(5), (3, 5)).copy()
    check_all(
        lambda x: reduce((x, places), (-np.inf, -1), greater, (-1,)),
        [A],
        reference=lambda x: [x.max(1), x.argmax(1)],
    )


@pytest.mark.parametrize(
    ("operation", "ufunc", "start"),
    [
        (lax.add, np.add, 0),
        (lax.mul, np.multiply, 2),
        (lax.max, np.maximum, 4),
        (lax.min, np.minimum, 4),
        (lax.bitwise_and, np.bitwise_and, -1),
        (lax.bitwise_or, np.bitwise_or, 16),
        (lax.bitwise_xor, np.bitwise_xor, 1),
    ],
)
def test_well_known_operations_have_their_own_reduction(operation, ufunc, start):
    def function(x):
        return reduce(x, start, operation, (0,))

    check_all(function, [INTEGERS], reference=lambda x: ufunc.reduce(x, 0, initial=start))
    assert "reduce" not in names(function, INTEGERS)


def test_booleans_add_by_or_and_multiply_by_and():
    x = A > 0
    assert_close(reduce(x, False, lax.add, (1,)), x.any(1))
    assert_close(reduce(x, True, lax.mul, (1,)), x.all(1))


def test_reduce_nothing_gives_the_start_value():
    assert_close(reduce(A[:, :0].astype("f"), 7.0, either, (1,)), np.full(3, 7, np.float32))
    gradient = jx.grad(lambda s: reduce(np.zeros(0, "f"), s, either, (0,)))(np.float32(2))
    assert_close(gradient, np.float32(1))


WINDOW = ((2, 3), (1, 2), ((0, 1), (1, 1)))


def test_reduce_window_by_any_function():
    def reference(x):
        padded = np.pad(x, WINDOW[2])
        parts = np.lib.stride_tricks.sliding_window_view(padded, WINDOW[0])[:, ::2]
        return 1 - (1 - parts).prod((-1, -2))

    check_all(
        lambda x: reduce_window(x, np.float64(0), either, *WINDOW),
        [A],
        reference=reference,
    )
    # Derivatives in the start value are not asked for: it is neutral, and fills the padding.
    check_all(
        lambda x, start: reduce_window(x, start, either, *WINDOW),
        [A, np.float64(0)],
        derivatives=False,
    )


def test_well_known_windows_have_their_own_reduction():
    for operation, start, name in (
        (lax.add, 0.0, "reduce_window_sum"),
        (lax.max, -np.inf, "reduce_window_max"),
        (lax.min, np.inf, "reduce_window_min"),
    ):
        found = names(lambda x, o=operation, s=start: reduce_window(x, s, o, (2, 2)), A.astype("f"))
        assert found == [name]
    assert names(lambda x: reduce_window(x, 1.0, lax.add, (2, 2)), A.astype("f")) == [
        "reduce_window"
    ]


ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))
ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))


def double(x):
    return lax.mul(x, 2)


def test_scatter_apply_replaces_as_often_as_an_element_is_met():
    x, places = np.arange(1, 5, dtype=np.int32), np.array([[0], [2], [0], [9]])
    y = scatter_apply(x, places, double, ELEMENTS, update_shape=(4,))
    assert_close(y, np.array([4, 2, 6, 4], np.int32))
    compiled = jx.jit(lambda x: scatter_apply(x, places, double, ELEMENTS, update_shape=(4,)))
    assert_close(compiled(x), y)


def test_scatter_apply_rules():
    places = np.array([[2], [0]])
    check_all(
        lambda x: scatter_apply(x, places, lax.sin, ROWS, update_shape=(2, 5), unique_indices=True),
        [A],
        reference=lambda x: np.stack([np.sin(x[0]), x[1], np.sin(x[2])]),
    )
    check_all(
        lambda x, i: scatter_apply(x, i, lax.sin, ROWS, update_shape=(2, 5)),
        [A, places],
        derivatives=False,
    )


def test_scatter_apply_where_windows_may_overlap_refuses_a_derivative():
    def total(x):
        y = scatter_apply(x, np.array([[0], [0]]), lax.sin, ELEMENTS, update_shape=(2,))
        return lax.reduce_sum(y, (0,))

    with pytest.raises(UndefinedRuleError, match="unique_indices=True"):
        jx.grad(total)(np.ones(3, np.float32))


X = A.astype(np.float32)


def test_no_axes_leave_the_operands_as_they_are():
    for computation in (lax.add, lax.max, either):
        np.testing.assert_array_equal(reduce(INTEGERS, 3, computation, ()), INTEGERS)


def test_infinite_starts_stand_for_the_ends_of_integers():
    x = np.int8([-128, -7, 3])
    assert reduce(x, -np.inf, lax.max, (0,)) == 3
    assert reduce(x[1:] + np.int8(100), np.inf, lax.min, (0,)) == 93
    pooled = reduce_window(x, -np.inf, lax.max, (2,), (2,), "SAME")
    np.testing.assert_array_equal(pooled, np.int8([-7, 3]))


BAD = {
    "start of rank 1": (
        lambda: reduce_window(A, np.zeros(1), lax.add, (1, 2)),
        ValueError,
        r"start values of shapes \[\(1,\)\]: they are scalars",
    ),
    "fraction": (
        lambda: reduce_window(np.arange(3), 0.5, lax.add, (2,)),
        TypeError,
        "start value 0.5 beside elements of int32",
    ),
    "complex": (lambda: reduce(X, 1j, lax.add, (0,)), TypeError, "start value 1j beside"),
    "callable": (lambda: reduce(X, 0.0, 1, (0,)), TypeError, "callable as computation"),
    "structure": (lambda: reduce((X, X), 0.0, lax.add, (0,)), ValueError, "one start value for"),
    "none": (lambda: reduce((), (), lax.add, (0,)), ValueError, "at least one operand"),
    "result": (lambda: reduce(X, 0.0, lambda x, y: (x, y), (0,)), TypeError, "one combined value"),
    "dtype": (lambda: reduce(X, 0.0, lax.lt, (0,)), TypeError, "scalars of the operand's dtype"),
    "axis": (lambda: reduce(X, 0.0, either, (2,)), ValueError, "axes are from -2 to 1"),
    "traced": (
        lambda: jx.jit(lambda z: reduce(X, 0.0, lambda x, y: lax.add(x, lax.mul(y, z)), (0,)))(2.0),
        TypeError,
        "traced value from outside",
    ),
    "window": (
        lambda: reduce_window(X, 0.0, either, (2,)),
        ValueError,
        "window_dimensions",
    ),
    "kept": (
        lambda: scatter_apply(X, np.array([[0]]), lax.is_finite, ROWS, update_shape=(1, 5)),
        TypeError,
        "it keeps their type",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


def chosen(x, sources, start, **window):
    """Add each source where the greatest element of its window is."""
    select = jx.make_jaxpr(lambda a, b: a >= b)(x[0, 0], x[0, 0])
    combine = jx.make_jaxpr(lambda a, b: a + 2 * b)(x[0, 0], x[0, 0])
    return lax.select_and_scatter_p.bind(
        x,
        sources,
        start,
        select_jaxpr=select.jaxpr,
        select_consts=tuple(select.consts),
        scatter_jaxpr=combine.jaxpr,
        scatter_consts=tuple(combine.consts),
        **window,
    )


def test_sources_are_combined_where_windows_choose():
    x = np.float32([[1, 5, 2, 4], [0, 3, 9, 4]])
    sources = np.float32([[10, 20]])
    window = {"window_dimensions": (2, 2), "window_strides": (2, 2), "padding": ((0, 0), (0, 0))}
    expected = np.full((2, 4), 0.5, np.float32)
    expected[0, 1] += 2 * 10
    expected[1, 2] += 2 * 20
    for call in (chosen, jx.jit(chosen, static_argnames=tuple(window))):
        np.testing.assert_array_equal(call(x, sources, np.float32(0.5), **window), expected)
    with pytest.raises(ShapeMismatchError, match="a source for each of the windows"):
        chosen(x, sources.T, np.float32(0), **window)
    with pytest.raises(TypeError, match="are of one dtype"):
        chosen(x, sources, np.int32(0), **window)
    with pytest.raises(UndefinedRuleError, match="select_and_scatter_add_p"):
        jx.grad(lambda x: chosen(x, sources, np.float32(0), **window).sum())(x)
