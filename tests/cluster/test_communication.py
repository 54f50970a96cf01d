"""What a program sends between devices, told from the program that XLA compiled."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import cluster, events, lax
from jxkernel.cluster.layouts import other_layouts


def over(mesh, function):
    """The function on parts of its argument along both axes."""
    specs = jx.P(("x", "y"))
    return jx.jit(
        jx.shard_map(function, mesh=mesh, in_specs=specs, out_specs=specs, check_vma=False)
    )


SWAP = [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("function", "kind", "size", "axes", "devices"),
    [
        (lambda x: lax.psum(x, "x"), "all-reduce", 16, ("x",), 4),
        (lambda x: lax.psum(x, "y"), "all-reduce", 16, ("y",), 2),
        (lambda x: lax.psum(x, ("x", "y")), "all-reduce", 16, ("x", "y"), 8),
        (lambda x: lax.all_gather(x, "x"), "all-gather", 64, ("x",), 4),
        (lambda x: lax.psum_scatter(x, "x", tiled=True), "reduce-scatter", 16, ("x",), 4),
        (lambda x: lax.all_to_all(x, "y", 0, 0, tiled=True), "all-to-all", 16, ("y",), 2),
        (lambda x: lax.ppermute(x, "y", SWAP), "collective-permute", 16, ("y",), 2),
    ],
)
def test_collectives_are_found_with_their_axes(mesh, function, kind, size, axes, devices):
    [found] = cluster.communication(over(mesh, function).trace(jnp.arange(32.0)))
    assert (found.kind, found.bytes, found.axes, found.devices) == (kind, size, axes, devices)
    assert not found.in_loop
    assert found.code.startswith("(lambda x: lax.")


def test_what_xla_puts_in_has_the_users_line(mesh):
    x = jx.device_put(np.ones((8, 4), np.float32), jx.NamedSharding(mesh, jx.P("x")))
    [found] = cluster.communication(jx.jit(lambda x: x.sum()).trace(x))
    assert found.kind == "all-reduce"
    assert "x" in found.axes
    assert "x.sum()" in found.code
    assert found.instead.startswith("divide an axis that is not summed over along x")


def test_collectives_in_loops_are_told(mesh):
    looped = over(mesh, lambda x: lax.fori_loop(0, 3, lambda i, x: lax.psum(x, "y") / 2, x))
    assert [one.in_loop for one in cluster.communication(looped.trace(jnp.arange(32.0)))] == [True]


def test_times_are_those_of_rings():
    link = cluster.Link("wire", 1e9, 1e-3)
    parts = {"devices": 4, "axes": ("x",), "in_loop": False, "file": "", "line": 0}
    times = {
        kind: cluster.Collective(kind=kind, bytes=4_000_000, **parts).seconds(link)
        for kind in ("all-reduce", "all-gather", "collective-permute")
    }
    assert times == pytest.approx(
        {"all-reduce": 0.012, "all-gather": 0.006, "collective-permute": 0.005}
    )
    alone = {**parts, "devices": 1}
    assert cluster.Collective(kind="all-reduce", bytes=8, **alone).seconds(link) == 0


def laid_out(mesh, shape, *spec):
    return jx.device_put(np.ones(shape, np.float32), jx.NamedSharding(mesh, jx.P(*spec)))


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        (lambda x: x.sum(0), {"x": ((8, 16), "x")}, [("x", (None, "x"), 0), ("x", (), 0)]),
        (lambda x: x.sum(), {"x": ((8, 16), "x")}, [("x", (), 0)]),
        (lambda x: x * 2, {"x": ((8, 16), "x")}, []),
        (lambda x: x.sum(0), {"x": ((8, 6), "x")}, [("x", (), 0)]),
    ],
)
def test_layouts_that_need_less_are_found_by_trying(mesh, function, arguments, told):
    args = [laid_out(mesh, *one) for one in arguments.values()]
    jitted = jx.jit(function)
    sent = cluster.communication(jitted.trace(*args))
    found = other_layouts(jitted, args, {}, sum(one.bytes for one in sent))
    assert [(one.argument, tuple(one.spec), one.bytes) for one in found] == told
    assert all(one.avoids(collective) for one in found for collective in sent)


def test_a_layout_names_the_leaf_of_an_argument(mesh):
    def loss(params, *, x):
        return (x @ params["w"]).sum(0)

    given = {"w": laid_out(mesh, (16, 32), "x")}
    found = other_layouts(jx.jit(loss), [given], {"x": np.ones((8, 16), np.float32)}, 1 << 20)
    assert {one.argument for one in found} == {"params['w']"}
    found = other_layouts(jx.jit(lambda *many, **named: named["b"].sum()), [], {"b": given["w"]}, 9)
    assert {one.argument for one in found} == {"b"}


def test_layouts_are_tried_unseen(mesh, capsys):
    def total(x):
        print("traced")  # noqa: T201  what a user may write
        if x.sharding.spec[0] is None:
            raise ValueError
        return x.sum(0)

    explicit = jx.make_mesh((4, 2), ("x", "y"), axis_types=(jx.sharding.AxisType.Explicit,) * 2)
    seen = []
    with events.listen(seen.append):
        found = other_layouts(jx.jit(total), [laid_out(explicit, (8, 16), "x")], {}, 1 << 20)
    assert (found, seen, capsys.readouterr().out) == ([], [], "")


def test_a_call_is_told_in_the_notebook(notebook):
    assert "sends nothing between devices" in notebook.run("%jx comm x * 2").value.text
    ran = notebook.attempt("%jx comm --link rope x * 2")
    assert "there is no link 'rope'; there are loopback, ethernet-10" in ran.printed
    ran = notebook.attempt("%jx comm x * 2 --link rope")
    assert "%jx comm [--link NAME] f(x): the link comes first" in ran.printed


def test_a_call_on_ranks_is_told_there(spmd):
    ran = spmd("%jx comm --link nvlink-4 jnp.sum(x)")
    assert len(ran.shown) == 1, "once, where ranks agree"
    shown = ran.shown[0]["text/plain"]
    assert "over nvlink-4" in shown
    assert "all-reduce" in shown
    assert "x (2)" in shown
    assert ": a as P(), whole on each device: nothing is sent" in shown


def test_a_method_of_what_is_on_many_ranks_is_told(spmd):
    shown = spmd("%jx comm x.sum(0)").shown[0]["text/plain"]
    assert "Communication of x.sum(0)" in shown
    assert "all-reduce" in shown
    shown = spmd("%jx comm jnp.sum(x, axis=-1)").shown[0]["text/plain"]
    assert "all-reduce" in shown
