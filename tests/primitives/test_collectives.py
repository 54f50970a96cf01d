"""Collectives under ``vmap``: values, groups, several names, derivatives, and bad input."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax

SIZE = 4
GROUPS = [[0, 3], [2, 1]]
ROWS = np.arange(1.0, 1.0 + SIZE * SIZE * 2).reshape(SIZE, SIZE, 2).astype(np.float32)


def mapped(fun: Any) -> Any:
    return jx.vmap(fun, axis_name="i")


def grouped(reduce: Any) -> Any:
    out = np.empty_like(ROWS)
    for group in GROUPS:
        out[group] = reduce(ROWS[group], 0)
    return out


def exchanged_in_groups() -> Any:
    """Return what ``all_to_all`` of the first two places of axis 0 gives, group by group."""
    out = np.empty((SIZE, 2, 2), np.float32)
    for group in GROUPS:
        for place, member in enumerate(group):
            out[member] = np.stack([ROWS[other, place] for other in group])
    return out


TOTAL = np.broadcast_to(ROWS.sum(0), ROWS.shape)

LINEAR = {
    "psum": (lambda x: lax.psum(x, "i"), TOTAL),
    "pmean": (lambda x: lax.pmean(x, "i"), TOTAL / SIZE),
    "psum-groups": (lambda x: lax.psum(x, "i", axis_index_groups=GROUPS), grouped(np.sum)),
    "psum-uneven": (
        lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1, 2], [3]]),
        np.stack([ROWS[:3].sum(0)] * 3 + [ROWS[3]]),
    ),
    "psum-positional": (
        lambda x: lax.psum(x, ("i", 0)),
        np.broadcast_to(ROWS.sum((0, 1)), (SIZE, 2)),
    ),
    "all_gather": (lambda x: lax.all_gather(x, "i"), np.broadcast_to(ROWS, (SIZE, *ROWS.shape))),
    "all_gather-tiled": (
        lambda x: lax.all_gather(x, "i", axis=1, tiled=True),
        np.broadcast_to(np.concatenate(list(ROWS), 1), (SIZE, SIZE, 2 * SIZE)),
    ),
    "all_gather-groups": (
        lambda x: lax.all_gather(x, "i", axis_index_groups=GROUPS),
        np.stack([ROWS[[0, 3]], ROWS[[2, 1]], ROWS[[2, 1]], ROWS[[0, 3]]]),
    ),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "i"), ROWS.sum(0)),
    "psum_scatter-tiled": (
        lambda x: lax.psum_scatter(x, "i", tiled=True),
        ROWS.sum(0).reshape(SIZE, 1, 2),
    ),
    "psum_scatter-groups": (
        lambda x: lax.psum_scatter(x[:2], "i", axis_index_groups=GROUPS),
        np.stack([grouped(np.sum)[i, GROUPS[i in (1, 2)].index(i)] for i in range(SIZE)]),
    ),
    "all_to_all": (lambda x: lax.all_to_all(x, "i", 0, 0), ROWS.swapaxes(0, 1)),
    "all_to_all-moved": (
        lambda x: lax.all_to_all(x, "i", 0, 1),
        np.moveaxis(ROWS.swapaxes(0, 1), 1, 2),
    ),
    "all_to_all-tiled": (
        lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True),
        ROWS.swapaxes(0, 1).reshape(SIZE, 1, SIZE * 2),
    ),
    "all_to_all-groups": (
        lambda x: lax.all_to_all(x[:2], "i", 0, 0, axis_index_groups=GROUPS),
        exchanged_in_groups(),
    ),
    "pswapaxes": (lambda x: lax.pswapaxes(x, "i", 0), ROWS.swapaxes(0, 1)),
    "ppermute": (
        lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0), (2, 3)]),
        np.stack([ROWS[1], ROWS[0], 0 * ROWS[0], ROWS[2]]),
    ),
    "pshuffle": (lambda x: lax.pshuffle(x, "i", [3, 0, 1, 2]), ROWS[[3, 0, 1, 2]]),
    "pbroadcast": (lambda x: lax.pbroadcast(x, "i", 2), np.stack([ROWS[2]] * SIZE)),
    "pcast": (lambda x: lax.pcast(x, "i", to="varying"), ROWS),
}

EXTREME = {
    "pmax": (lambda x: lax.pmax(x, "i"), np.broadcast_to(ROWS.max(0), ROWS.shape)),
    "pmin": (lambda x: lax.pmin(x, "i"), np.broadcast_to(ROWS.min(0), ROWS.shape)),
    "pmax-groups": (lambda x: lax.pmax(x, "i", axis_index_groups=GROUPS), grouped(np.max)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*LINEAR, *EXTREME])
def test_collective_of_examples_equals_numpy_eagerly_and_compiled(name):
    fun, expected = {**LINEAR, **EXTREME}[name]
    np.testing.assert_allclose(mapped(fun)(ROWS), expected, rtol=1e-6)
    np.testing.assert_allclose(mapped(jx.jit(fun))(ROWS), expected, rtol=1e-6)


@pytest.mark.parametrize("name", LINEAR)
def test_collective_and_its_transpose_are_adjoint(name):
    fun, expected = LINEAR[name]
    generator = np.random.default_rng(0)
    ct = generator.normal(size=expected.shape).astype(np.float32)
    wanted = np.vdot(expected, ct)

    def pull(x: Any, ct: Any) -> Any:
        return jx.vjp(fun, x)[1](ct)[0]

    inside = jx.jit(mapped(pull))(ROWS, ct)
    outside = jx.vjp(mapped(fun), jnp.asarray(ROWS))[1](ct)[0]
    for back in (inside, outside):
        np.testing.assert_allclose(np.vdot(ROWS, back), wanted, rtol=1e-4)


def test_derivative_of_an_extreme_is_shared_by_its_holders():
    x = jnp.array([1.0, 3.0, 3.0, 2.0])
    _, t = mapped(lambda x, t: jx.jvp(lambda x: lax.pmax(x, "i"), (x,), (t,)))(x, x)
    np.testing.assert_allclose(t, [3.0] * 4)
    pulled = mapped(jx.grad(lambda x: lax.pmax(x, "i")))(x)
    np.testing.assert_allclose(pulled, [0.0, 2.0, 2.0, 0.0])


def test_several_names_mean_the_product_of_their_axes():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    piece = np.arange(6.0, dtype=np.float32)

    def fun(x: Any) -> Any:
        own = x + piece
        return (
            lax.psum(x, ("i", "j")),
            lax.axis_index(("i", "j")),
            lax.all_gather(x, ("i", "j")),
            lax.all_gather(x, ("j", "i")),
            lax.psum_scatter(own, ("j", "i")),
            lax.all_to_all(own, ("i", "j"), 0, 0),
            lax.axis_size(("i", "j")),
        )

    nested = jx.vmap(jx.vmap(fun, axis_name="j"), axis_name="i")
    total, index, rows, columns, part, exchanged, size = nested(x)
    np.testing.assert_allclose(total, np.full((2, 3), 15.0))
    np.testing.assert_array_equal(index, np.arange(6).reshape(2, 3))
    np.testing.assert_allclose(rows, np.broadcast_to(x.ravel(), (2, 3, 6)))
    np.testing.assert_allclose(columns, np.broadcast_to(x.T.ravel(), (2, 3, 6)))
    np.testing.assert_allclose(part, (15 + 6 * piece).reshape(3, 2).T)
    np.testing.assert_allclose(exchanged, piece[None, :, None].reshape(2, 3, 1) + x.ravel())
    np.testing.assert_array_equal(size, np.full((2, 3), 6))


def test_collective_of_one_of_two_mapped_axes_leaves_the_other():
    x = np.arange(12.0, dtype=np.float32).reshape(2, 3, 2)

    def fun(x: Any) -> Any:
        return lax.psum(x, "j"), lax.all_gather(x, "i", axis=1), lax.ppermute(x, "i", [(0, 1)])

    total, gathered, moved = jx.vmap(jx.vmap(fun, axis_name="j"), axis_name="i")(x)
    np.testing.assert_allclose(total, np.broadcast_to(x.sum(1, keepdims=True), x.shape))
    np.testing.assert_allclose(gathered[0], gathered[1])
    np.testing.assert_allclose(gathered[0], np.moveaxis(x, 0, 2))
    np.testing.assert_allclose(moved, np.stack([0 * x[0], x[0]]))


def test_inner_axis_hides_an_outer_one_of_its_name():
    nested = mapped(mapped(lambda x: lax.psum(x, "i")))
    np.testing.assert_allclose(nested(np.ones((2, 3), np.float32)), np.full((2, 3), 3.0))


def test_numbers_booleans_integers_and_trees():
    x = np.arange(SIZE)
    assert mapped(lambda x: jnp.zeros(lax.psum(1, "i")))(x).shape == (SIZE, SIZE)
    out = mapped(lambda x: lax.psum({"a": x, "b": x > 1}, "i"))(x)
    np.testing.assert_array_equal(out["a"], [6] * SIZE)
    np.testing.assert_array_equal(out["b"], [2] * SIZE)
    assert out["b"].dtype == np.int32
    np.testing.assert_allclose(mapped(lambda x: lax.pmean(x, "i"))(x), [1.5] * SIZE)


def test_unmapped_values_count_once_per_member():
    x = np.zeros(SIZE, np.float32)
    np.testing.assert_allclose(mapped(lambda x: lax.psum(jnp.float32(2), "i"))(x), [8.0] * SIZE)
    out = mapped(lambda x: lax.all_to_all(jnp.arange(4.0), "i", 0, 0))(x)
    np.testing.assert_allclose(out, np.arange(4.0)[:, None].repeat(SIZE, 1))


def _scanned(_: Any) -> Any:
    return lax.scan(lambda c, _: (c + lax.axis_index("i"), None), 0, None, length=3)[0]


def _branched(x: Any) -> Any:
    return lax.cond(x > 1, lambda x: lax.psum(x, "i"), lambda x: -x, x)


def _looped(_: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, c: lax.psum(c, "i"), 1)


def _custom(x: Any) -> Any:
    @jx.custom_jvp
    def total(x: Any) -> Any:
        return lax.psum(x, "i")

    total.defjvp(lambda xs, ts: (total(*xs), lax.psum(ts[0], "i")))
    return total(x)


@pytest.mark.parametrize(
    ("fun", "expected"),
    [
        (_scanned, [0, 3, 6, 9]),
        (_branched, [0, -1, 6, 6]),
        (_looped, [64] * SIZE),
        (_custom, [6] * SIZE),
        (jx.checkpoint(lambda x: lax.psum(x, "i")), [6] * SIZE),
        (lambda _: jx.jit(lambda: lax.axis_index("i"))(), range(SIZE)),
    ],
)
def test_collectives_inside_programs_see_the_axis(fun, expected):
    np.testing.assert_array_equal(mapped(fun)(np.arange(SIZE)), expected)


def test_trace_of_a_jitted_function_is_not_used_under_another_axis():
    fun = jx.jit(lambda x: x * lax.psum(1, "i"))
    assert jx.vmap(fun, axis_name="i")(np.ones(2))[0] == 2
    assert jx.vmap(fun, axis_name="i")(np.ones((3, 2)))[0, 0] == 3
    assert mapped(fun)(np.ones((5, 2)))[0, 0] == 5
    with pytest.raises(NameError, match="'i'"):
        fun(np.ones(2))


def test_make_jaxpr_with_an_axis_environment_prints_the_collectives():
    traced = jx.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])
    assert "psum[axes=(i,)] a" in str(traced(np.float32(1)))


@pytest.mark.parametrize("reduce", [lax.psum, lax.pmax, lax.pmin, lax.pmean])
@pytest.mark.parametrize("axes", ["i", ("i", 0)])
def test_what_members_agree_on_is_strongly_typed(reduce, axes):
    weak = jnp.broadcast_to(1.0, (2, 3))
    assert not jx.vmap(lambda x: reduce(x, axes), axis_name="i")(weak).weak_type


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (lambda x: lax.psum(x, "k"), NameError, "unbound axis name: 'k'.*'i'"),
        (lambda x: lax.axis_size("k"), NameError, "'k'"),
        (lambda x: lax.axis_index(("i", "k")), NameError, "'k'"),
        (lambda x: lax.psum(x, ("i", "i")), ValueError, "twice"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1, 2]]), ValueError, "once"),
        (lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1, 2], [3]]), ValueError, "size"),
        (lambda x: lax.all_gather(x, "i", axis=5), ValueError, "axis 5"),
        (lambda x: lax.psum_scatter(x, "i"), ValueError, "size of the named axis, 4"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), ValueError, "does not divide"),
        (lambda x: lax.all_to_all(x, "i", 0, 0), ValueError, "size of the named axis, 4"),
        (lambda x: lax.all_to_all(x, "i", 0, 2), ValueError, "axis 2"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "source appears twice"),
        (lambda x: lax.ppermute(x, "i", [(0, 7)]), ValueError, "target 7"),
        (lambda x: lax.pshuffle(x, "i", [0, 1]), ValueError, "permutation"),
        (lambda x: lax.pbroadcast(x, "i", 9), ValueError, "source 9"),
        (lambda x: lax.pcast(x, "i", to="elsewhere"), ValueError, "elsewhere"),
        (lambda x: lax.pmax((), x), TypeError, "^a name of an axis is text.*the array comes first"),
        (lambda x: lax.all_gather("i", x), TypeError, "^a name of an axis is text"),
        (lambda x: lax.axis_index(["i", {}]), TypeError, "^a name of an axis is text"),
    ],
)
def test_bad_input_is_refused_with_the_axis_and_the_values(fun, error, message):
    with pytest.raises(error, match=message):
        mapped(fun)(np.ones((SIZE, 3)))


def test_unbound_name_outside_any_map_is_a_name_error():
    with pytest.raises(NameError, match="no axis name is bound"):
        lax.psum(1.0, "i")


def test_a_started_collective_is_done_when_its_result_is_asked_for():
    x = np.arange(16.0, dtype=np.float32).reshape(4, 4)

    def started(x):
        futures = lax.psum_scatter_start({"x": x}, "i", tiled=True)
        return jnp.cos(futures["x"].done())

    def whole(x):
        return jnp.cos(lax.psum_scatter(x, "i", tiled=True))

    for transform in (lambda f: f, jx.jit):
        found = transform(jx.vmap(started, axis_name="i"))(x)
        np.testing.assert_array_equal(found, jx.vmap(whole, axis_name="i")(x))
    slope = jx.grad(lambda x: jx.vmap(started, axis_name="i")(x).sum())(x)
    np.testing.assert_allclose(slope[0], -np.sin(x.sum(0)), rtol=1e-5)
    futures = jx.jit(jx.vmap(lambda x: lax.psum_scatter_start(x, "i"), axis_name="i"))(x)
    np.testing.assert_array_equal(futures.done(), x.sum(0))
