"""Every primitive of the package, by one table: values, derivatives, batching, compilation.

What is checked follows from the primitive itself: its values from its reference, its derivative
from differences of its values, its transpose from the dot-product identity, its batching from a
loop.  A primitive without a case fails.  All dtypes are tried by the exhaustive run (``slow``);
every run tries a few.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import dtypes
from jxkernel.config import enable_x64
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import UndefinedPrimal, is_linear
from tests.executables import jit_as
from tests.table import data
from tests.table.cases import (
    CASES,
    CONSTANT,
    DOMAINS,
    INEXACT_REFERENCES,
    SPECIAL_ELSEWHERE,
    cases_of,
    instead_of_cases,
)
from tests.table.rows import Case, Operand
from tests.tolerances import assert_close, widened

ROOT = Path(__file__).parents[2]

FIVE = ("abstract_eval", "lower", "jvp", "transpose", "batch")

ROWS = [
    pytest.param(primitive, case, id=f"{name}[{case.label}]" if case.label else name)
    for name, primitive in data.primitives().items()
    for case in cases_of(primitive)
]


def typed_rows() -> Iterator[Any]:
    """Yield each row with each dtype it takes; the less common dtypes are marked slow."""
    for row in ROWS:
        primitive, case = row.values
        for among, marks in ((data.FEW, ()), (data.MANY, (pytest.mark.slow,))):
            for dtype in data.dtypes_of(case, among):
                yield pytest.param(primitive, case, dtype, id=f"{row.id}-{dtype.name}", marks=marks)


TYPED_ROWS = list(typed_rows())


def differentiated_rows(smooth: bool) -> Iterator[Any]:
    """Yield the rows that have tangents, in the widest real and complex dtype they take.

    Args:
      smooth: whether to leave out those whose derivative is not the limit of differences.
    """
    for row in ROWS:
        primitive, case = row.values
        if not callable(primitive.jvp):
            continue
        for dtype in data.dtypes_of(case, ("float64", "complex128")):
            if not smooth or any(dtypes.issubdtype(dtype, kind) for kind in case.smooth):
                yield pytest.param(primitive, case, dtype, id=f"{row.id}-{dtype.name}")


# ---------------------------------------------------------------- completeness


@pytest.mark.parametrize("primitive", data.primitives().values(), ids=str)
def test_each_rule_is_declared_or_undefined_for_a_reason(primitive: Primitive) -> None:
    rules = {name: getattr(primitive, name) for name in FIVE}
    missing = [name for name, rule in rules.items() if not (callable(rule) or reasoned(rule))]
    assert missing == []


def reasoned(rule: Any) -> bool:
    """Whether a rule is ``Undefined`` and says why, in more than a word or two."""
    return type(rule) is Undefined and len(rule.why.split()) >= 4


@pytest.mark.parametrize("primitive", data.primitives().values(), ids=str)
def test_every_primitive_is_tried(primitive: Primitive) -> None:
    instead = instead_of_cases(primitive)
    assert cases_of(primitive) or (instead and (ROOT / instead).exists()), (
        f"give {primitive.name} a case in tests/table/cases.py, or say where it is tested"
    )


def test_the_table_names_primitives_that_exist() -> None:
    named = {*CASES, *DOMAINS, *INEXACT_REFERENCES, *SPECIAL_ELSEWHERE}
    assert named - data.primitives().keys() == set()


# ---------------------------------------------------------------- values


def apply(primitive: Primitive, case: Case, *args: Any) -> Any:
    return primitive.bind(*args, **case.params)


@pytest.mark.parametrize(("primitive", "case", "dtype"), TYPED_ROWS)
def test_values_are_those_of_the_reference(primitive: Primitive, case: Case, dtype: Any) -> None:
    with enable_x64(True):
        check_values(primitive, case, data.operands(case, dtype))


def check_values(primitive: Primitive, case: Case, args: list[Any]) -> None:
    """Assert that a primitive gives what its reference gives, eagerly and under ``jit``."""
    found = data.results(apply(primitive, case, *args))
    expected = data.results(data.reference(primitive, case)(*args))
    factor = INEXACT_REFERENCES.get(primitive.name, 4.0)
    for y, wanted, aval in zip(found, expected, result_types(primitive, case, args), strict=True):
        assert (y.shape, y.dtype) == (aval.shape, aval.dtype)
        with np.errstate(all="ignore"):
            assert_close(y, wanted.astype(y.dtype), factor)
    traced = jit_as(primitive.name, lambda *xs: apply(primitive, case, *xs))
    compiled = data.results(traced(*args))
    for y, again in zip(found, compiled, strict=True):
        np.testing.assert_array_equal(widened(again), widened(y))


def result_types(primitive: Primitive, case: Case, args: list[Any]) -> list[ShapedArray]:
    """Return the types that the primitive's rule gives for its results."""
    out = primitive.abstract(tuple(abstractify(x) for x in args), case.params)
    return list(out) if primitive.multiple_results else [out]


SHAPES = {
    "scalar": ((), (), ()),
    "empty": ((0, 3), (0, 3), (0, 3)),
    "scalar-first": ((), (2, 3), (2, 3)),
    "scalar-last": ((2, 3), (2, 3), ()),
}

ELEMENTWISE_ROWS = [row for row in ROWS if row.values[1].elementwise]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("primitive", "case"), ELEMENTWISE_ROWS)
def test_scalars_and_empty_arrays(
    primitive: Primitive, case: Case, shapes: tuple[tuple[int, ...], ...]
) -> None:
    dtype = data.dtypes_of(case, ("float32", "int32", "complex64"))[0]
    args = [
        data.make(operand, dtype, str(place), shape)
        for place, (operand, shape) in enumerate(zip(case.operands, shapes, strict=False))
    ]
    check_values(primitive, case, args)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan], np.float32)

REAL_ROWS = [
    row
    for row in ELEMENTWISE_ROWS
    if data.dtypes_of(row.values[1], ("float32",))
    and len(row.values[1].operands) < 3
    and row.values[0].name not in SPECIAL_ELSEWHERE
]


@pytest.mark.parametrize(("primitive", "case"), REAL_ROWS)
def test_zeros_infinities_and_nan(primitive: Primitive, case: Case) -> None:
    args = [x.ravel() for x in np.meshgrid(*[SPECIAL] * len(case.operands))]
    check_values(primitive, case, args)


# ---------------------------------------------------------------- derivatives


def smooth_places(args: list[Any]) -> list[int]:
    return [place for place, x in enumerate(args) if np.asarray(x).dtype in dtypes.INEXACT]


def perturbations(args: list[Any], seed: str) -> list[Any]:
    """Return a random direction for each operand that has one."""
    return [
        data.make(Operand(-1.0, 1.0, np.shape(x)), x.dtype, f"{seed}{place}")
        for place, x in enumerate(args)
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("primitive", "case", "dtype"), list(differentiated_rows(smooth=True)))
def test_derivative_is_the_limit_of_differences(
    primitive: Primitive, case: Case, dtype: Any
) -> None:
    with enable_x64(True):
        args = data.operands(case, dtype)
        for place in differentiable_places(primitive, case, args):
            check_derivative(primitive, case, args, place)


def differentiable_places(primitive: Primitive, case: Case, args: list[Any]) -> list[int]:
    """Return the operands in which the primitive says it can be differentiated."""
    places = []
    for place in smooth_places(args):
        try:
            jx.jvp(only(primitive, case, args, place), (args[place],), (args[place],))
        except jx.errors.UndefinedRuleError:
            continue
        places.append(place)
    return places


def only(primitive: Primitive, case: Case, args: list[Any], place: int) -> Any:
    """Return the primitive as a function of one operand."""

    def function(x: Any) -> list[Any]:
        out = apply(primitive, case, *args[:place], x, *args[place + 1 :])
        return list(out) if primitive.multiple_results else [out]

    return function


def check_derivative(primitive: Primitive, case: Case, args: list[Any], place: int) -> None:
    """Assert pushforward and pullback in one operand, and the derivative of the pullback."""
    function, x = only(primitive, case, args, place), args[place]
    t = perturbations(args, "t")[place]
    outs, pushed = jx.jvp(function, (x,), (t,))
    assert_differences(function, x, t, pushed)
    pairs = [(y, p) for y, p in zip(outs, pushed, strict=True) if y.dtype in dtypes.INEXACT]
    cts = perturbations([np.asarray(y) for y, _ in pairs], "ct")
    smooth = [y.dtype in dtypes.INEXACT for y in outs]

    def pullback(at: Any) -> list[Any]:
        def inexact(v: Any) -> list[Any]:
            return [y for y, keep in zip(function(v), smooth, strict=True) if keep]

        return list(jx.vjp(inexact, at)[1](cts))

    if not pairs:
        return
    (pulled,) = pullback(x)
    left = sum(pairing(ct, p) for ct, (_, p) in zip(cts, pairs, strict=True))
    np.testing.assert_allclose(left, pairing(pulled, t), rtol=1e-9, atol=1e-9)
    if callable_twice(pullback, x, t):
        assert_differences(pullback, x, t, jx.jvp(pullback, (x,), (t,))[1])


def callable_twice(pullback: Any, x: Any, t: Any) -> bool:
    """Whether the pullback can itself be differentiated; its derivative may be undefined."""
    try:
        jx.jvp(pullback, (x,), (t,))
    except jx.errors.UndefinedRuleError:
        return False
    return True


def assert_differences(function: Any, x: Any, t: Any, pushed: Any) -> None:
    """Assert that tangents are what central differences extrapolate to."""
    for coarse, fine, p in zip(
        slope(function, x, t, 2e-4), slope(function, x, t, 1e-4), pushed, strict=True
    ):
        if np.asarray(p).dtype in dtypes.INEXACT:
            np.testing.assert_allclose(np.asarray(p), (4 * fine - coarse) / 3, rtol=1e-7, atol=1e-7)


def slope(function: Any, x: Any, t: Any, step: float) -> list[Any]:
    above, below = (data.results(function(x + s * t)) for s in (step, -step))
    return [
        (a - b) / (2 * step) if a.dtype in dtypes.INEXACT else a
        for a, b in zip(above, below, strict=True)
    ]


def pairing(ct: Any, t: Any) -> float:
    """Return the real part of the sum of products, the pairing that transposes preserve."""
    return float(np.sum(widened(ct) * widened(t)).real)


# ---------------------------------------------------------------- transposes


@pytest.mark.parametrize(("primitive", "case", "dtype"), list(differentiated_rows(smooth=False)))
def test_transpose_is_declared_exactly_where_linear(
    primitive: Primitive, case: Case, dtype: Any
) -> None:
    with enable_x64(True):
        args = [powers_of_two(x) for x in data.operands(case, dtype)]
        smooth = smooth_places(args)
        choices = {(place,) for place in smooth} | ({tuple(smooth)} if smooth else set())
        linear = [places for places in choices if linear_in(primitive, case, args, places)]
        if not callable(primitive.transpose):
            assert linear == [] or primitive.name in CONSTANT
            return
        if primitive.name == "untaken":
            assert primitive.transpose(*args, *args) == [None]
            return
        for places in linear:
            check_transpose(primitive, case, args, places)


def powers_of_two(x: Any) -> Any:
    """Return inexact numbers rounded to powers of two, so that products and quotients are exact."""
    if x.dtype not in dtypes.INEXACT:
        return x
    size = 2.0 ** np.round(np.log2(np.abs(x.real)))
    return np.copysign(size, x.real).astype(x.dtype)


def of_places(primitive: Primitive, case: Case, args: list[Any], places: tuple[int, ...]) -> Any:
    """Return the primitive as a function of some operands, less its value where they are zero."""

    def function(*xs: Any) -> list[Any]:
        given = list(args)
        for place, x in zip(places, xs, strict=True):
            given[place] = x
        return data.results(apply(primitive, case, *given))

    origin = function(*[np.zeros_like(args[place]) for place in places])
    return lambda *xs: [
        y - start if y.dtype in dtypes.INEXACT else y
        for y, start in zip(function(*xs), origin, strict=True)
    ]


def linear_in(primitive: Primitive, case: Case, args: list[Any], places: tuple[int, ...]) -> bool:
    """Whether a primitive is linear, but for a constant, in operands that move together.

    Judged on numbers that are added exactly; a function that does not move at all is none.
    """
    with np.errstate(all="ignore"):
        function = of_places(primitive, case, args, places)
        xs, ys = ([direction(case, args, p, seed) for p in places] for seed in "xy")
        whole = function(*[x + y for x, y in zip(xs, ys, strict=True)])
        parts = zip(function(*xs), function(*ys), strict=True)
        return any(np.any(w != 0) for w in whole) and all(
            w.dtype in dtypes.INEXACT and np.isfinite(w).all() and np.array_equal(w, a + b)
            for w, (a, b) in zip(whole, parts, strict=True)
        )


def direction(case: Case, args: list[Any], place: int, seed: str) -> Any:
    """Return values for an operand that are multiples of 1/4, which sums keep exact."""
    return quarters(data.make(case.operands[place], args[place].dtype, f"{seed}{place}"))


def quarters(x: Any) -> Any:
    return np.round(4 * x) / 4


def check_transpose(
    primitive: Primitive, case: Case, args: list[Any], places: tuple[int, ...]
) -> None:
    """Assert that a cotangent paired with the result is the pulled ones paired with operands."""
    ts = [direction(case, args, place, "t") for place in places]
    outs = of_places(primitive, case, args, places)(*ts)
    cts = [quarters(ct) for ct in perturbations(outs, "ct")]
    given: list[Any] = list(args)
    for place, t in zip(places, ts, strict=True):
        given[place] = UndefinedPrimal(abstractify(t))
    pulled = primitive.transpose(
        cts if primitive.multiple_results else cts[0], *given, **case.params
    )
    assert [ct is None for ct in pulled] == [not is_linear(x) for x in given]
    assert [np.shape(pulled[place]) for place in places] == [t.shape for t in ts]
    left = sum(pairing(ct, y) for ct, y in zip(cts, outs, strict=True))
    right = sum(pairing(pulled[place], t) for place, t in zip(places, ts, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- batching

SIZE = 3


def choices_of_axes(count: int) -> list[tuple[int | None, ...]]:
    """Return choices of batch axes: all operands, each alone, first and last axes mixed."""
    alone = [tuple(0 if place == only else None for place in range(count)) for only in range(count)]
    mixed = tuple(-1 if place % 2 else 0 for place in range(count))
    last = (-1, *[None] * (count - 1))
    return list(dict.fromkeys([(0,) * count, *alone, mixed, last]))


def batched_rows() -> Iterator[Any]:
    """Yield the rows that have a batching rule, with choices of batch axes for the operands."""
    for row in ROWS:
        primitive, case = row.values
        if case.operands and callable(primitive.batch):
            for dims in choices_of_axes(len(case.operands)):
                yield pytest.param(primitive, case, dims, id=f"{row.id}-{dims}")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("primitive", "case", "dims"), list(batched_rows()))
def test_vmap_is_a_loop(primitive: Primitive, case: Case, dims: tuple[int | None, ...]) -> None:
    names = ("float32", "int32", "complex64", "bool", "uint8")
    check_vmap(primitive, case, dims, data.dtypes_of(case, names)[:1] or [None])


def check_vmap(
    primitive: Primitive, case: Case, dims: tuple[int | None, ...], dtype: list[Any]
) -> None:
    stacked, rows = [], []
    for place, (operand, dim) in enumerate(zip(case.operands, dims, strict=True)):
        many = [data.make(operand, dtype[0], f"{place}.{row}") for row in range(SIZE)]
        stacked.append(many[0] if dim is None else np.stack(many, dim))
        rows.append([many[0]] * SIZE if dim is None else many)
    out = jx.vmap(lambda *xs: apply(primitive, case, *xs), in_axes=dims)(*stacked)
    expected = [data.results(apply(primitive, case, *xs)) for xs in zip(*rows, strict=True)]
    for y, parts in zip(data.results(out), zip(*expected, strict=True), strict=True):
        assert_close(y, np.stack(parts))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (0, 0, 0), (0, 1, None)])
@pytest.mark.parametrize(
    ("primitive", "case"), [row for row in ELEMENTWISE_ROWS if len(row.values[1].operands) > 1]
)
def test_vmap_of_scalars_beside_arrays(
    primitive: Primitive, case: Case, dims: tuple[int | None, ...]
) -> None:
    dims = dims[: len(case.operands)]
    shapes = [(2,) if dim == 1 else () for dim in dims]
    mixed = replace(
        case,
        operands=tuple(
            replace(op, shape=shape) for op, shape in zip(case.operands, shapes, strict=True)
        ),
    )
    dtype = data.dtypes_of(case, ("float32", "int32", "complex64"))[0]
    if any(dim is not None for dim in dims):
        check_vmap(primitive, mixed, dims, [dtype])
