"""Which device holds which part: as text, as HTML, and what is refused."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.debug import ShardingView
from jxkernel.sharding import Mesh
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over

CASES = {
    "rows": ((8, 4), ("x",), "[8, 4], 4 pieces of 2x4", ["CPU 0,1", "CPU 2,3", "CPU 6,7"]),
    "grid": ((4, 4), ("x", "y"), "[4, 4], 8 pieces of 1x2", ["| CPU 0 | CPU 1 |", "| CPU 7 |"]),
    "turned": ((4, 4), ("y", "x"), "8 pieces of 2x1", ["| CPU 0 | CPU 2 | CPU 4 | CPU 6 |"]),
    "vector": ((8,), (("x", "y"),), "8 pieces of 1", ["| CPU 0 | CPU 1 | CPU 2 |"]),
    "cube": ((4, 2, 3), ("x", "y"), "8 pieces of 1x1x3", ["[0:1, :, :]", "[3:4, :, :]"]),
    "number": ((), (), "1 piece of one number", ["CPU 0,1,2,3,4,5,6,7"]),
}


@pytest.mark.parametrize("name", CASES)
def test_each_piece_is_drawn_with_its_devices(name, mesh, capsys):
    shape, entries, title, parts = CASES[name]
    array = jx.device_put(np.zeros(shape), over(mesh, *entries))
    jx.debug.visualize_array_sharding(array)
    text = capsys.readouterr().out
    markup = ShardingView(shape, array.sharding)._repr_html_()
    assert title in text
    assert title in markup
    for part in parts:
        assert part in text
    assert markup.count("<td") == len(ShardingView(shape, array.sharding).holders)


def test_names_in_html_are_inert(mesh):
    view = ShardingView((8, 4), over(mesh.update(axis_names=("<b>", "y")), "<b>"))
    assert "<b>" not in view._repr_html_()


def test_what_the_compiler_made_of_a_traced_value_is_told_when_it_is_compiled(mesh, capsys):
    seen = []

    def look(x):
        y = x @ x.T
        jx.debug.inspect_array_sharding(y, callback=seen.append)
        jx.debug.visualize_array_sharding(x)
        return y.sum()

    rows = jx.device_put(np.ones((8, 4), np.float32), over(mesh, "x"))
    f = jx.jit(look)
    assert float(f(rows)) == float(f(rows)) == 256.0
    assert seen == [over(mesh, "x")]
    assert "[8, 4], 4 pieces of 2x4" in capsys.readouterr().out
    f.lower(rows).compile()
    assert jx.jit(jx.grad(look))(rows).shape == (8, 4)
    assert seen[1:] == [over(mesh, "x")] * (len(seen) - 1)
    assert len(seen) > 1
    seen.clear()
    jx.jit(jx.vmap(look))(np.ones((2, 3, 4), np.float32))
    assert [where.num_devices for where in seen] == [1]
    seen.clear()
    alone = over(Mesh(jx.devices()[:1], "x"), "x")
    jx.jit(look)(jx.device_put(np.ones((3, 4), np.float32), alone))
    assert seen == [over(alone.mesh)]


def test_values_of_loops_are_inspected_and_pieces_in_shard_map_are_not(mesh):
    seen = []

    def look(x):
        jx.debug.inspect_array_sharding(x * 2, callback=seen.append)
        return x

    columns = jx.device_put(np.ones((4, 8), np.float32), over(mesh, None, "x"))
    out = jx.jit(lambda x: jx.lax.fori_loop(0, 2, lambda i, c: look(c) + 1, x))(columns)
    np.testing.assert_array_equal(out, np.full((4, 8), 3))
    assert over(mesh, None, "x") in seen
    seen.clear()
    pieces = jx.shard_map(look, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_array_equal(jx.jit(pieces)(np.ones((4, 8), np.float32)), np.ones((4, 8)))
    assert seen == []


def test_what_a_look_at_a_sharding_raises_comes_out():
    def raising(where):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        jx.jit(lambda x: jx.debug.inspect_array_sharding(x, callback=raising))(1.0)
    with pytest.raises(TypeError, match="'text' of type builtins"):
        jx.debug.inspect_array_sharding("text", callback=raising)


def test_arrays_on_one_device_are_one_piece(capsys):
    jx.debug.visualize_array_sharding(jx.numpy.ones(2))
    assert "1 piece of 2" in capsys.readouterr().out
    seen = []
    jx.debug.inspect_array_sharding(jx.numpy.ones(2), callback=seen.append)
    assert seen[0].num_devices == 1
