"""The devices that are here, as a topology, and meshes of them."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.experimental import topologies
from tests.many_devices import over


def test_programs_are_compiled_for_meshes_of_what_is_here(eight_devices):
    here = topologies.get_attached_topology("cpu")
    assert here.devices == list(eight_devices)
    mesh = topologies.make_mesh(here, (4, 2), ("x", "y"))
    assert mesh.shape == {"x": 4, "y": 2}
    spec = jx.ShapeDtypeStruct((8,), np.float32)
    lies = over(mesh, "x")
    compiled = jx.jit(jx.numpy.sin, in_shardings=lies).lower(spec).compile()
    assert compiled.input_shardings[0][0] == lies
    with pytest.raises(ValueError, match="devices"):
        topologies.make_mesh(here, (3,), ("x",))
