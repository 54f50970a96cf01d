"""``ragged_all_to_all``: rows sent, values, derivatives, groups, and bad input."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.sharding import PartitionSpec as P

COUNT, ROWS = 4, 7
GENERATOR = np.random.default_rng(0)
SIZES = GENERATOR.integers(0, 3, (COUNT, COUNT)).astype(np.int32)
BEGIN = np.cumsum(SIZES, 1, dtype=np.int32) - SIZES
PUT = np.cumsum(SIZES, 0, dtype=np.int32) - SIZES
SENT = GENERATOR.normal(size=(COUNT, ROWS, 2)).astype(np.float32)
INTO = np.full((COUNT, ROWS + 2, 2), -1, np.float32)
GIVEN = (BEGIN, SIZES, PUT, SIZES.T)


def exchange(*args: Any, **how: Any) -> Any:
    return lax.ragged_all_to_all(*args, axis_name="i", **how)


def exchanged(sent: Any, groups: Any = (tuple(range(COUNT)),)) -> Any:
    """Return what every member receives, row by row."""
    out = INTO.copy()
    for group in groups:
        for place, source in enumerate(group):
            for to, target in enumerate(group):
                count, at = SIZES[source, to], PUT[source, to]
                begin = BEGIN[source, to]
                out[target, at : at + count] = sent[source, begin : begin + count]
                assert place < len(group)
    return out


def test_rows_reach_the_member_and_the_place_they_are_sent_to(eight_devices):
    expected = exchanged(SENT)
    for transform in (jx.vmap, jx.pmap):
        found = transform(exchange, axis_name="i")(SENT, INTO, *GIVEN)
        np.testing.assert_array_equal(found, expected)
    mesh = jx.sharding.Mesh(eight_devices[:COUNT], "i")

    def local(*args: Any) -> Any:
        return exchange(*[arg[0] for arg in args])[None]

    mapped = jx.shard_map(local, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    np.testing.assert_array_equal(mapped(SENT, INTO, *GIVEN), expected)

    def loss(sent: Any) -> Any:
        return (jx.pmap(exchange, axis_name="i")(sent, INTO, *GIVEN) ** 2).sum()

    is_sent = np.arange(ROWS) < SIZES.sum(1)[:, None]
    np.testing.assert_allclose(jx.grad(loss)(SENT), 2 * SENT * is_sent[..., None], rtol=1e-6)


def test_groups_exchange_apart():
    groups = [[0, 2], [3, 1]]
    sizes = np.ones((COUNT, 2), np.int32)
    begin = np.array([[0, 1]] * COUNT, np.int32)
    put = np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32)
    sent = jnp.arange(8).reshape(COUNT, 2)
    fun = jx.vmap(lambda *args: exchange(*args, axis_index_groups=groups), axis_name="i")
    found = fun(sent, jnp.zeros((COUNT, 2), int), begin, sizes, put, sizes)
    assert found.tolist() == [[0, 4], [7, 3], [1, 5], [6, 2]]


def test_arrays_without_rows_are_exchanged():
    found = jx.vmap(exchange, axis_name="i")(SENT[:, :0], INTO, *GIVEN)
    np.testing.assert_array_equal(found, INTO)


@pytest.mark.parametrize(
    ("place", "value", "error", "message"),
    [
        (2, BEGIN.astype(np.float32), TypeError, "input_offsets must be integers, got f32"),
        (3, SIZES[:, :2], ValueError, r"send_sizes needs an entry for each of the 4 members"),
        (1, INTO[..., :1], ValueError, r"operand has shape \(7, 2\) and output \(9, 1\)"),
        (1, INTO.astype(np.int32), TypeError, r"operand is f32\[7,2\] and output i32"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(place, value, error, message):
    args: list[Any] = [SENT, INTO, *GIVEN]
    args[place] = value
    with pytest.raises(error, match=f"ragged_all_to_all: {message}"):
        jx.vmap(exchange, axis_name="i")(*args)


def test_programs_show_it_by_its_name_and_are_transformed(eight_devices):
    types = [jx.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in (SENT, INTO, *GIVEN)]
    jaxpr = jx.make_jaxpr(exchange, axis_env=[("i", COUNT)])(*types)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [lax.ragged_all_to_all_p]
    mesh = jx.sharding.Mesh(eight_devices[:COUNT], "i")

    def local(sent: Any, *args: Any) -> Any:
        def loss(sent: Any) -> Any:
            return (exchange(sent[0], *[arg[0] for arg in args]) ** 2).sum()

        return jx.grad(loss)(sent)

    slope = jx.jit(jx.shard_map(local, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    is_sent = np.arange(ROWS) < SIZES.sum(1)[:, None]
    expected = 2 * SENT * is_sent[..., None]
    np.testing.assert_allclose(slope(SENT, INTO, *GIVEN), expected, rtol=1e-6)
    inner = jx.vmap(jx.jit(exchange), axis_name="i")  # a program that is mapped after it was made
    np.testing.assert_array_equal(jx.jit(inner)(SENT, INTO, *GIVEN), exchanged(SENT))
