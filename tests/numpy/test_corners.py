"""Corners of the NumPy API beyond the tables: traced options, sizes of 0, weak operands."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "option",
    [
        lambda v: {"constant_values": ((v, 2.0), (3.0, v))},
        lambda v: {"constant_values": (v, 2.0)},
        lambda v: {"mode": "linear_ramp", "end_values": ((v, 2.0), (3.0, v))},
    ],
)
def test_values_around_an_array_may_be_traced(option):
    padded = jx.jit(lambda x, v: jnp.pad(x, ((1, 2), (2, 0)), **option(v)))
    wanted = np.pad(X, ((1, 2), (2, 0)), **option(7.0))
    np.testing.assert_allclose(padded(X, 7.0), wanted, rtol=1e-6)


def test_an_array_without_elements_resizes_to_zeros():
    found = jnp.resize(np.zeros((0, 3), np.int32), (2, 2))
    np.testing.assert_array_equal(found, np.zeros((2, 2), np.int32))
    assert found.dtype == np.int32


def test_places_of_the_least_are_of_32_bits():
    with jx.enable_x64(True):
        assert jnp.top_k(X, 2, mode="smallest")[1].dtype == np.int32
        assert jnp.top_k(X, 2)[1].dtype == np.int32


@pytest.mark.parametrize(
    ("function", "weak"),
    [
        (lambda x: jnp.pad(x[None], 1), True),
        (lambda x: jnp.pad(x[None], 1, constant_values=(1, 2)), True),
        (lambda x: jnp.tril(x[None, None]), True),
        (jnp.unwrap, False),
        (lambda x: jnp.compress(np.array([1]), x), True),
        (lambda x: jnp.extract(np.array([1]), x), True),
    ],
)
def test_weakness_of_results(function, weak):
    operand = jnp.asarray(1.0) if weak else np.arange(3)
    assert function(operand).weak_type is weak


def test_sinc_takes_its_limits_at_infinities() -> None:
    infinities = np.float32([-np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(jnp.sinc(infinities), np.float32([0, 0, np.nan]))


def test_transforms_over_no_axes_change_the_dtype_alone() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for transform, dtype in (("rfftn", "float32"), ("irfftn", "complex64"), ("fftn", "complex64")):
        found = getattr(jnp.fft, transform)(x, axes=())
        assert found.dtype == dtype, transform
        np.testing.assert_array_equal(found, x)


def test_numbers_known_while_tracing_choose_by_default() -> None:
    choices = np.float32([[0, 1, 2], [3, 4, 5]])
    assert jx.jit(lambda c: jnp.choose(np.array([0, 1, 0]), c))(choices).tolist() == [0, 4, 2]
    with pytest.raises(ValueError, match="out of range for 2 choices"):
        jx.jit(lambda c: jnp.choose(np.array([0, 2, 0]), c))(choices)


@pytest.mark.parametrize("start", range(-4, 5))
def test_axes_are_rolled_to_places_counted_from_either_end(start: int) -> None:
    x = np.zeros((1, 2, 3, 4))
    for axis in range(-4, 4):
        assert jnp.rollaxis(x, axis, start).shape == np.rollaxis(x, axis, start).shape
    with pytest.raises(np.exceptions.AxisError, match="rollaxis got start 5"):
        jnp.rollaxis(x, 0, 5)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda k: jnp.eye(3, 4, k), 1),
        (lambda k: jnp.tri(3, 4, k), -1),
        (lambda k: jnp.trace(jnp.arange(12.0).reshape(3, 4), k), 2),
        (lambda k: jnp.trace(jnp.arange(24).reshape(3, 2, 4), k, 2, 0), -1),
        (lambda ddof: jnp.var(jnp.arange(5.0), ddof=ddof), 1),
        (lambda ddof: jnp.std(jnp.arange(5.0), correction=ddof), 5),
        (lambda ddof: jnp.nanvar(jnp.array([1.0, np.nan, 4.0]), ddof=ddof), 0.5),
        (lambda size: jnp.unravel_index(jnp.array([5, -1, 99]), (size, 4))[0], 3),
        (lambda shape: jnp.unravel_index(jnp.array([5, 7]), shape)[1], np.array([2, 4])),
    ],
)
def test_numbers_that_shape_nothing_may_be_traced(function, value) -> None:
    wanted = function(value)
    found = jx.jit(function)(value)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_weights_stand_in_the_order_of_the_axes() -> None:
    x, weights = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(4, 2)
    wanted = np.average(x, (0, 2), weights.T, returned=True)
    found = jnp.average(x, (2, 0), weights, returned=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_the_covariance_of_no_observations_is_nan(shape: tuple[int, ...]) -> None:
    assert np.isnan(jnp.cov(np.zeros(shape))).all()


def test_distances_of_samples_may_be_arrays() -> None:
    y, dx = np.arange(12.0).reshape(3, 4) ** 2, np.array([[1.0], [2.0]])
    wanted = ((y[1:] + y[:-1]) * dx / 2).sum(0)
    np.testing.assert_allclose(jnp.trapezoid(y, dx=dx, axis=0), wanted, rtol=1e-6)
    wanted = ((y[:, 1:] + y[:, :-1]) * [1, 2, 3] / 2).sum(1)
    np.testing.assert_allclose(jnp.trapezoid(y, dx=[1, 2, 3]), wanted, rtol=1e-6)


def test_einsum_contracts_by_the_function_it_is_given() -> None:
    dtypes = []

    def product(*args, preferred_element_type):
        dtypes.append(preferred_element_type)
        return 2 * jx.lax.dot_general(*args, preferred_element_type=preferred_element_type)

    x = np.ones((2, 2), np.float32)
    found = jnp.einsum("ij,jk,kl->il", x, x, x, _dot_general=product)
    assert found.tolist() == np.full((2, 2), 16).tolist()
    assert dtypes == [np.float32] * 2


@pytest.mark.parametrize("directive", ["0,4,-2", "0,4,-1", "0,4,-4", "0,4,1", "1,3,-3"])
def test_joined_vectors_stand_where_the_directive_says(directive: str) -> None:
    assert jnp.r_[directive, [1, 2], [3, 4]].shape == np.r_[directive, [1, 2], [3, 4]].shape
    assert jnp.c_[directive, [1, 2], [3, 4]].shape == np.c_[directive, [1, 2], [3, 4]].shape


@pytest.mark.parametrize("shape", ["hello", (2.5,), (-1,)])
def test_shapes_are_sequences_of_whole_numbers(shape) -> None:
    with pytest.raises(TypeError, match="broadcast_shapes"):
        jx.lax.broadcast_shapes(shape)


def test_put_takes_the_nearest_place_by_default() -> None:
    assert jnp.put(jnp.zeros(3), jnp.array([7, -9]), 1.0, inplace=False).tolist() == [1, 0, 1]
    assert jnp.put(jnp.zeros(3), -1, 1.0, inplace=False).tolist() == [0, 0, 1]
    assert jnp.put(jnp.zeros(3), -1, 1.0, mode="clip", inplace=False).tolist() == [1, 0, 0]


def test_a_roll_by_a_number_is_two_slices_joined() -> None:
    program = jx.make_jaxpr(lambda x: jnp.roll(x, 7))(jnp.arange(10))
    assert [eqn.primitive.name for eqn in program.eqns] == ["slice", "slice", "concatenate"]
    for shift in (0, 10, -20, 3, -3, 23):
        wanted = np.roll(np.arange(10), shift)
        np.testing.assert_array_equal(jnp.roll(jnp.arange(10), shift), wanted)


def test_the_least_integer_is_rolled_by() -> None:
    wanted = np.roll(np.arange(5), -(2**31))
    np.testing.assert_array_equal(jnp.roll(jnp.arange(5), -(2**31)), wanted)


@pytest.mark.parametrize("right", [False, True])
def test_values_on_edges_fall_into_the_bins_of_numpy(right: bool) -> None:
    x, edges = np.float32([0, 1, 2, 2.5, 3, 4]), np.float32([1, 2, 3])
    for bins in (edges, edges[::-1]):
        np.testing.assert_array_equal(jnp.digitize(x, bins, right), np.digitize(x, bins, right))


def test_several_polynomials_are_added_side_by_side() -> None:
    x, y = np.arange(4.0).reshape(2, 2), np.arange(6.0).reshape(3, 2)
    wanted = np.stack([np.polysub(x[:, i], y[:, i]) for i in range(2)], 1)
    np.testing.assert_array_equal(jnp.polysub(x, y), wanted)
    assert jnp.polyadd(x, y).shape == (3, 2)
    with pytest.raises(ValueError, match="vectors of coefficients"):
        jnp.polyadd(x, y[:, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spacing_of_numbers_whose_distances_are_subnormal(dtype):
    info = np.finfo(dtype)
    step = info.smallest_subnormal
    x = np.array([0, -0.0, step, -step, 2 * info.tiny, -info.tiny / 2, info.tiny / info.eps], dtype)
    with jx.enable_x64(True):
        np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: jnp.linspace(jnp.int8(0), 300, 3), [0.0, 150.0, 300.0]),
        (lambda: jnp.linspace(jnp.int8(0), 300, 3, retstep=True)[1], 150.0),
        (lambda: jnp.geomspace(jnp.int8(3), 300, 3), [3.0, 30.0, 300.0]),
        (lambda: jnp.logspace(jnp.int8(0), 2, 3, base=300), [1.0, 300.0, 9e4]),
    ],
)
def test_ends_that_an_integer_dtype_cannot_hold_are_converted_from_their_values(function, expected):
    np.testing.assert_allclose(function(), expected, rtol=1e-5)


def test_ends_of_64_bits_are_converted_from_their_values():
    with jx.enable_x64(True):
        spaced = jnp.linspace(jnp.int32(0), 2**63 - 1, 3)
    assert spaced.dtype == np.float32
    np.testing.assert_array_equal(spaced, np.array([0.0, 2.0**62, 2.0**63], np.float32))


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [(np.uint32(2**31), np.inf), (np.int8(-3), 0.125), (True, 2.0), (np.uint8(255), np.inf)],
)
def test_exponents_of_any_width_scale(exponent, expected):
    assert float(jnp.ldexp(jnp.float32(1), exponent)) == expected


@pytest.mark.parametrize(("exponent", "expected"), [(2**31, np.inf), (-(2**40), 0.0)])
def test_exponents_beyond_32_bits_overflow_and_vanish(exponent, expected):
    with jx.enable_x64(True):
        assert float(jnp.ldexp(jnp.float32(1), exponent)) == expected
        assert float(jnp.ldexp(jnp.float64(1), jnp.int64(exponent))) == expected


def test_positions_out_of_bounds_may_be_ignored():
    places = (jnp.array([1]), jnp.array([7]))
    assert jnp.ravel_multi_index(places, (3, 3), mode="ignore").tolist() == [10]


@pytest.mark.parametrize(
    ("p", "x", "expected"), [([1.0], np.inf, 1.0), ([1.0, 2.0], np.inf, np.inf), ([], np.nan, 0.0)]
)
def test_a_polynomial_begins_with_its_highest_coefficient(p, x, expected):
    assert float(jnp.polyval(jnp.array(p), x)) == expected


def test_a_list_without_an_end_is_no_array():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        jnp.array(endless)


def test_a_buffer_that_its_protocol_cannot_describe_is_refused_in_words():
    x = jnp.ones(2, "bfloat16")
    with pytest.raises(BufferError, match="tobytes") as refused:
        jnp.frombuffer(x)
    assert "INVALID" not in str(refused.value)
    assert jnp.frombuffer(np.asarray(x).tobytes(), "bfloat16").tolist() == [1.0, 1.0]


def test_products_with_no_coefficients_have_the_dtype_of_others():
    with jx.enable_x64(True):
        some, none = jnp.ones(1, "uint32"), jnp.zeros(0, "uint32")
        assert jnp.polymul(some, none).dtype == jnp.polymul(some, some).dtype == np.float32


def test_sinc_is_within_three_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-4, 4, 200_001), np.geomspace(1e-6, 1e6, 200_001)])
    x = x.astype(np.float32)
    exact = x.astype(np.float64)
    rest = exact - np.rint(exact)
    signs = np.where(np.rint(exact) % 2 == 0, 1, -1)
    safe = np.where(exact == 0, 1, np.pi * exact)
    wanted = np.where(exact == 0, 1, signs * np.sin(np.pi * rest) / safe)
    error = np.abs(np.asarray(jnp.sinc(x), np.float64) - wanted)
    unit = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
    assert (error <= 3 * unit).all()


@pytest.mark.parametrize("x", [0.0, 0.25, 0.5, 0.75, 1.0, -1.5, 2.0])
def test_derivatives_of_sinc_are_right_on_both_sides_of_each_half(x: float) -> None:
    with jx.enable_x64(True):
        slope = float(jx.grad(jnp.sinc)(x))
        angle = np.pi * x
        wanted = 0.0 if x == 0 else (np.cos(angle) - np.sin(angle) / angle) / x
        assert slope == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("values", [[], [3.0], [1.0, 5.0], [np.inf, 1.0, 2.0], [1.0, 2.0, np.nan]])
def test_trapezoid_is_that_of_numpy_for_few_and_infinite_values(values: list[float]) -> None:
    y = np.float32(values)
    np.testing.assert_array_equal(jnp.trapezoid(y, dx=0.5), np.trapezoid(y, dx=0.5))
    weights = np.full(y.size, 0.5)
    weights[[0, -1][: y.size]] = 0.25 if y.size > 1 else 0.0
    np.testing.assert_allclose(jx.grad(jnp.trapezoid)(y), 2 * weights)


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_diag_puts_a_vector_on_a_diagonal(size: int, k: int) -> None:
    v = np.arange(1, size + 1, dtype=np.float32)
    v[: size - 1] = [np.inf, np.nan][: max(size - 1, 0)]
    np.testing.assert_array_equal(jnp.diag(v, k), np.diag(v, k))
    weights = np.arange((size + abs(k)) ** 2, dtype=np.float32).reshape((size + abs(k),) * 2)
    slope = jx.grad(lambda v: jnp.sum(jnp.where(weights > 0, jnp.diag(v, k), 0) * weights))(v)
    np.testing.assert_array_equal(slope, np.diag(weights, k))


def rounded(value, unit, dtype):
    """Return an integer rounded to multiples of a unit, ties to even, as the dtype holds it."""
    below, rest = divmod(int(value), unit)
    below += 2 * rest > unit or (2 * rest == unit and below % 2)
    least = int(np.iinfo(dtype).min)
    return (below * unit - least) % 2 ** (8 * np.dtype(dtype).itemsize) + least


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_integers_are_rounded_before_the_point_as_integers(dtype):
    ends = np.iinfo(dtype)
    random = np.random.default_rng(0)
    values = random.integers(ends.min, ends.max, 50, dtype=dtype, endpoint=True)
    x = np.array([*values, ends.min, ends.max, 0, 5, 15, 25, 50, 100], dtype)
    for digits in (1, 2, 4, 5, 9, 10):
        result = jnp.round(x, -digits)
        assert result.dtype == dtype
        expected = [rounded(value, 10**digits, dtype) for value in x]
        np.testing.assert_array_equal(result, expected, str(digits))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_subnormal_numbers_are_taken_apart_as_others_are(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    normal = np.finfo(dtype).smallest_normal
    x = np.array([tiny, -3 * tiny, 100 * tiny, normal / 2, normal, 0, -0.0, np.inf, -6], dtype)
    mantissas, exponents = jnp.frexp(x)
    expected = np.frexp(x)
    np.testing.assert_array_equal(mantissas, expected[0])
    np.testing.assert_array_equal(exponents, expected[1])
    assert mantissas.dtype == dtype
    assert np.signbit(mantissas[6])


def test_ravel_multi_index_has_the_dtype_that_is_asked_for():
    places = (jnp.array([0, 1]), jnp.array([0, 2]))
    for order, wanted in (("C", [0, 5]), ("F", [0, 5])):
        found = jnp.ravel_multi_index(places, (2, 3), order=order, dtype="int16")
        assert found.dtype == np.int16
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("function", [jnp.sum, jnp.prod])
def test_booleans_are_counted_in_int32_where_nothing_is_promoted(function):
    with jx.enable_x64(True):
        assert function(jnp.ones(3, bool), promote_integers=False).dtype == np.int32
        assert function(jnp.ones(3, bool)).dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_exponents_of_64_bits_count_whole(dtype):
    x, y = np.array([0, 3, 2, 5, 7], dtype), np.array([2**32, 2**33 + 1, 2**40, 2**62, 3], dtype)
    wanted = [pow(int(a), int(b), 2**64) for a, b in zip(x, y, strict=True)]
    with jx.enable_x64(True):
        found = np.asarray(jnp.power(x, y))
    assert found.astype(np.uint64).tolist() == wanted


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_divisors_of_the_least_integer_are_positive(dtype):
    least = np.iinfo(dtype).min
    x = np.array([least, least, 7, least, least + 1], dtype)
    y = np.array([7, 6, least, least, least], dtype)
    with jx.enable_x64(True):
        np.testing.assert_array_equal(jnp.gcd(x, y), np.gcd(x, y))


def test_positions_without_elements_are_integers_of_a_rectangle():
    rows, columns = jnp.ix_(jnp.array([]), jnp.arange(2))
    assert (rows.dtype, columns.dtype) == (np.int32, np.int32)
    assert jnp.ones((3, 4))[rows, columns].shape == (0, 2)


def test_a_function_of_positions_is_given_one_at_a_time():
    rows = jnp.fromfunction(lambda i, j: (i + 1) * jnp.arange(2.0) + j, (2, 2))
    assert rows.tolist() == [[[0, 1], [1, 2]], [[0, 2], [1, 3]]]
    found = jnp.fromfunction(lambda i, k: {"a": i + k.sum(), "b": 2}, (2,), dtype=int, k=np.ones(3))
    assert (found["a"].tolist(), found["b"].tolist()) == ([3, 4], [2, 2])
    assert jnp.fromfunction(lambda: 3, ()) == 3


def test_conditions_may_be_numbers():
    x, functions = jnp.arange(3), [lambda x: x + 10, lambda x: x + 20, lambda x: x + 30]
    one = jnp.array([False, True, False])
    assert jnp.piecewise(x, one, functions).tolist() == [20, 21, 22]
    assert jnp.piecewise(x, jnp.array([True, False]), functions).tolist() == [10, 11, 12]
    assert jnp.piecewise(x, one, functions[:2]).tolist() == [20, 11, 22]


def test_joined_numbers_may_be_a_row_or_a_column():
    assert jnp.r_["r", [1, 2], 3:5].tolist() == [[1, 2, 3, 4]]
    assert jnp.r_["c", [1, 2], 3:5].tolist() == [[1], [2], [3], [4]]
    assert jnp.c_["r", [1, 2], [3, 4]].tolist() == [[1, 3], [2, 4]]
    assert jnp.r_["c", jnp.ones((1, 2)), jnp.zeros((1, 2))].shape == (2, 2)


def test_diagonals_have_no_negative_size():
    with pytest.raises(ValueError, match="n=-1"):
        jnp.diag_indices(-1)


def test_axes_are_placed_in_any_order():
    x = jnp.arange(6).reshape(2, 3)
    place = lambda x: jx.lax.broadcast_in_dim(x, (3, 4, 2), (2, 0))  # noqa: E731
    wanted = np.broadcast_to(np.asarray(x).T[:, None], (3, 4, 2))
    np.testing.assert_array_equal(place(x), wanted)
    np.testing.assert_array_equal(jx.vmap(place)(x[None])[0], wanted)
    assert jx.grad(lambda x: place(x).sum())(x * 1.0).tolist() == [[4.0] * 3] * 2
