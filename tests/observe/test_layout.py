"""Which device holds which part: as text, as HTML, and what is refused."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.debug import ShardingView
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


def test_traced_values_lie_nowhere_yet():
    with pytest.raises(TypeError, match="output_shardings"):
        jx.jit(jx.debug.visualize_array_sharding)(np.ones(2))


def test_arrays_on_one_device_are_one_piece(capsys):
    jx.debug.visualize_array_sharding(jx.numpy.ones(2))
    assert "1 piece of 2" in capsys.readouterr().out
    seen = []
    jx.debug.inspect_array_sharding(jx.numpy.ones(2), callback=seen.append)
    assert seen[0].num_devices == 1
