"""Gather and scatter: values, modes, derivatives with repeated indices, batching."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.primitives.indexing.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather,
    scatter,
    scatter_add,
    scatter_sub,
)
from tests.primitives.checking import check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((4, 5))
CUBE = RANDOM.standard_normal((3, 4, 5))
REPEATED = np.array([[1], [3], [1]])
ROWS = GatherDimensionNumbers((1,), (0,), (0,))
POINTS = GatherDimensionNumbers((), (0, 1), (0, 1))
PAIRS = np.array([[1, 2], [3, 0], [1, 2]])
BATCHED = GatherDimensionNumbers((1,), (1,), (1,), (0,), (0,))
BATCH_INDICES = np.array([[1], [0], [3]])


def as_scatter(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    return ScatterDimensionNumbers(*numbers)


READS = {
    "rows": (ROWS, (1, 5), A, REPEATED, lambda x, i: x[i[:, 0]]),
    "points": (POINTS, (1, 1), A, PAIRS, lambda x, i: x[i[:, 0], i[:, 1]]),
    "windows": (
        GatherDimensionNumbers((1, 2), (), (0, 1)),
        (2, 3),
        A,
        np.array([[0, 1], [2, 2]]),
        lambda x, i: np.stack([x[a : a + 2, b : b + 3] for a, b in i]),
    ),
    "batching": (
        BATCHED,
        (1, 1, 5),
        CUBE,
        BATCH_INDICES,
        lambda x, i: np.stack([x[n, i[n, 0]] for n in range(3)]),
    ),
    "no_indices": (ROWS, (1, 5), A, np.zeros((0, 1), np.int32), lambda x, i: x[:0]),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds", "one_hot"])
@pytest.mark.parametrize("name", READS)
def test_gather_rules(name: str, mode: str) -> None:
    numbers, sizes, operand, indices, reference = READS[name]

    def read(x: Any, i: Any) -> Any:
        return gather(x, i, numbers, sizes, mode=mode)

    check_all(read, [operand, indices], reference=reference)


ADDITIONS = {
    "add": (scatter_add, np.add),
    "sub": (scatter_sub, np.subtract),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", ["rows", "points", "batching"])
@pytest.mark.parametrize("kind", ADDITIONS)
def test_scatter_sum_rules(kind: str, name: str, mode: str) -> None:
    numbers, sizes, operand, indices, _ = READS[name]
    function, ufunc = ADDITIONS[kind]
    updates = np.asarray(gather(operand, indices, numbers, sizes)).astype(np.float64) + 1

    def write(x: Any, i: Any, u: Any) -> Any:
        return function(x, i, u, as_scatter(numbers), mode=mode)

    def reference(x: Any, i: Any, u: Any) -> Any:
        y = x.copy()
        places = {
            "rows": lambda: (i[:, 0],),
            "points": lambda: (i[:, 0], i[:, 1]),
            "batching": lambda: (np.arange(3), i[:, 0]),
        }
        ufunc.at(y, places[name](), u)
        return y

    check_all(write, [operand, indices, updates], reference=reference)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("name", ["rows", "points"])
def test_scatter_rules(name: str, unique: bool) -> None:
    numbers, sizes, operand, indices, _ = READS[name]
    indices = indices[:2]
    updates = np.asarray(gather(operand, indices, numbers, sizes)).astype(np.float64) * 2

    def write(x: Any, i: Any, u: Any) -> Any:
        return scatter(x, i, u, as_scatter(numbers), unique_indices=unique)

    check_all(write, [operand, indices, updates])


def test_scatter_derivative_is_that_of_the_window_that_won() -> None:
    def write(x: Any, u: Any) -> Any:
        return scatter(x, REPEATED, u, as_scatter(ROWS))

    check_all(write, [A, RANDOM.standard_normal((3, 5))])


SIGNED, UNSIGNED = np.arange(1, 5, dtype=np.int16), np.arange(1, 5, dtype=np.uint8)
OUTSIDE = np.array([[0], [4], [-1], [3]], np.int32)
ELEMENT = GatherDimensionNumbers((), (0,), (0,))
FILLS = [
    (np.arange(1, 5, dtype=np.float32), None, [1, np.nan, np.nan, 4]),
    (SIGNED, None, [1, -32768, -32768, 4]),
    (UNSIGNED, None, [1, 255, 255, 4]),
    (np.zeros(4, bool), None, [False, True, True, False]),
    (SIGNED, 7, [1, 7, 7, 4]),
]


@pytest.mark.parametrize(("operand", "fill", "expected"), FILLS)
def test_gather_fills_out_of_bounds(operand: Any, fill: Any, expected: list[Any]) -> None:
    def read(x: Any) -> Any:
        return gather(x, OUTSIDE, ELEMENT, (1,), mode="fill", fill_value=fill)

    for function in (read, jx.jit(read)):
        np.testing.assert_array_equal(np.asarray(function(operand)), expected)


def test_gather_clips_out_of_bounds() -> None:
    def read(x: Any) -> Any:
        return gather(x, OUTSIDE, ELEMENT, (1,), mode="clip")

    for function in (read, jx.jit(read)):
        np.testing.assert_array_equal(np.asarray(function(SIGNED)), [1, 4, 1, 4])


@pytest.mark.parametrize("mode", ["clip", "fill", "one_hot"])
def test_gradient_flows_only_to_what_was_read(mode: str) -> None:
    def read(x: Any) -> Any:
        return gather(x, OUTSIDE, ELEMENT, (1,), mode=mode)

    x = np.arange(4, dtype=np.float32)
    ct = np.array([1, 10, 100, 1000], np.float32)
    expected = [101, 0, 0, 1010] if mode == "clip" else [1, 0, 0, 1000]
    np.testing.assert_array_equal(np.asarray(jx.vjp(read, x)[1](ct)[0]), expected)


@pytest.mark.parametrize(("mode", "expected"), [("clip", [4, 0, 0, 6]), ("drop", [1, 0, 0, 4])])
def test_scatter_out_of_bounds(mode: str, expected: list[int]) -> None:
    def write(x: Any, u: Any) -> Any:
        return scatter_add(x, OUTSIDE, u, as_scatter(ELEMENT), mode=mode)

    updates = np.array([1, 2, 3, 4], np.int32)
    for function in (write, jx.jit(write)):
        y = np.asarray(function(np.zeros(4, np.int32), updates))
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint32])
def test_narrow_indices_reach_large_axes(dtype: Any) -> None:
    x = np.arange(1000, dtype=np.int32)
    indices = np.array([[100], [127]], dtype)
    for mode in ("clip", "fill"):
        y = gather(x, indices, ELEMENT, (1,), mode=mode)
        np.testing.assert_array_equal(np.asarray(y), [100, 127])
        z = scatter_add(np.zeros_like(x), indices, np.ones(2, np.int32), as_scatter(ELEMENT))
        assert np.flatnonzero(np.asarray(z)).tolist() == [100, 127]


def test_batched_gather_stays_one_gather() -> None:
    def read(x: Any, i: Any) -> Any:
        return gather(x, i, ROWS, (1, 5), mode="clip")

    xs, indices = np.stack([A, A]), np.stack([REPEATED, REPEATED])
    jaxpr = jx.make_jaxpr(jx.vmap(read))(xs, indices)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["gather"]


def test_vmap_of_no_examples() -> None:
    def read(x: Any, i: Any) -> Any:
        return gather(x, i, ROWS, (1, 5))

    none = np.zeros((0, 4, 5), np.float32), np.zeros((0, 3, 1), np.int32)
    assert jx.vmap(read)(*none).shape == (0, 3, 5)


def test_modes_have_names() -> None:
    assert GatherScatterMode.from_any(None) is GatherScatterMode.FILL_OR_DROP
    assert GatherScatterMode.from_any("clip") is GatherScatterMode.CLIP
    with pytest.raises(ValueError, match="unknown indexing mode 'wrap': there are 'fill'"):
        GatherScatterMode.from_any("wrap")


BAD = {
    "dtype": (lambda: gather(A, REPEATED * 1.0, ROWS, (1, 5)), "integer indices, got dtype float"),
    "components": (lambda: gather(A, PAIRS, ROWS, (1, 5)), "each of the 1 addressed axes"),
    "sizes": (lambda: gather(A, REPEATED, ROWS, (2, 5)), "1 for the dropped axes"),
    "large": (lambda: gather(A, REPEATED, ROWS, (1, 6)), "at most the axis's"),
    "offsets": (
        lambda: gather(A, REPEATED, GatherDimensionNumbers((), (0,), (0,)), (1, 5)),
        "each operand axis is one or the other",
    ),
    "updates": (
        lambda: scatter_add(A, REPEATED, A, as_scatter(ROWS)),
        r"scatter_add got updates of shape \(4, 5\)",
    ),
    "update_dtype": (
        lambda: scatter(A, REPEATED, np.ones((3, 5), np.int32), as_scatter(ROWS)),
        "operands of one dtype",
    ),
    "batching": (
        lambda: gather(CUBE, np.zeros((2, 1), np.int32), BATCHED, (1, 1, 5)),
        "their sizes must be equal",
    ),
    "bool": (
        lambda: scatter_sub(A > 0, REPEATED, A[:3] > 0, as_scatter(ROWS)),
        "does not accept dtype bool",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name: str) -> None:
    function, message = BAD[name]
    with pytest.raises(TypeError, match=message):
        function()


def test_windows_that_leave_the_operand_are_moved_inside_unless_told_otherwise() -> None:
    x, places = np.arange(5, dtype=np.float32), np.array([[0], [4], [9]])
    windows = GatherDimensionNumbers((1,), (), (0,))
    np.testing.assert_array_equal(gather(x, places, windows, (2,)), [[0, 1], [3, 4], [3, 4]])
