"""Values told between processes, with one process; with two see ``test_distributed``."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental import multihost_utils as many


@pytest.mark.parametrize(("tiled", "shapes"), [(False, [(1, 2), (1,)]), (True, [(2,), ()])])
def test_all_processes_are_one(tiled, shapes):
    found = many.process_allgather([jnp.arange(2), 3], tiled=tiled)
    assert [(type(x), x.shape) for x in found] == [(np.ndarray, shape) for shape in shapes]


@pytest.mark.parametrize("source", [None, True, False])
def test_the_one_process_tells_itself(source):
    found = many.broadcast_one_to_all({"x": np.arange(2), "on": True}, is_source=source)
    assert found["x"].tolist() == [0, 1]
    assert found["on"].dtype == bool
    many.assert_equal(found)
    many.sync_global_devices("here")


def test_arrays_of_the_process_are_those_of_the_mesh():
    mesh = jx.make_mesh((1,), ("x",))
    arrays = {"a": np.arange(4.0), "b": jnp.arange(2.0)}
    wide = many.host_local_array_to_global_array(arrays, mesh, {"a": jx.P("x"), "b": None})
    assert wide["a"].sharding == jx.NamedSharding(mesh, jx.P("x"))
    back = many.global_array_to_host_local_array(wide, mesh, jx.P())
    assert back["a"].tolist() == [0, 1, 2, 3]


def test_a_process_alone_has_nobody_to_ask():
    assert not many.reached_preemption_sync_point(3)
    with pytest.raises(RuntimeError, match=r"joined by distributed\.initialize"):
        many.live_devices(jx.devices()).__enter__()
