"""Meshes: arrangement, equality, the mesh that is current, and bad input."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
)


def test_mesh_arranges_devices_along_named_axes(mesh, eight_devices):
    assert mesh.shape == {"x": 4, "y": 2}
    assert mesh.shape_tuple == (("x", 4), ("y", 2))
    assert (mesh.size, mesh.axis_names, mesh.axis_sizes) == (8, ("x", "y"), (4, 2))
    assert mesh.devices[3, 1] == eight_devices[7]
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert mesh.local_devices == eight_devices
    assert mesh.local_mesh is mesh
    assert not mesh.is_multi_process
    assert not mesh.empty
    assert repr(mesh) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"


def test_meshes_are_compared_by_devices_names_and_types(mesh, eight_devices):
    same = Mesh(np.array(eight_devices).reshape(4, 2).tolist(), ("x", "y"))
    assert same == mesh
    assert hash(same) == hash(mesh)
    for other in (
        mesh.update(axis_names=("a", "b")),
        mesh.update(axis_types=(AxisType.Explicit, AxisType.Auto)),
        Mesh(mesh.devices[::-1], ("x", "y")),
        Mesh(mesh.devices.reshape(2, 4), ("x", "y")),
    ):
        assert other != mesh
    assert mesh.abstract_mesh == AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)
    assert mesh.abstract_mesh != mesh
    plain = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)
    assert repr(plain) == "AbstractMesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"


def test_axes_are_told_by_their_types():
    types = (AxisType.Auto, AxisType.Explicit, AxisType.Manual)
    mesh = AbstractMesh((4, 2, 3), ("x", "y", "z"), types)
    assert (mesh.auto_axes, mesh.explicit_axes, mesh.manual_axes) == (("x",), ("y",), ("z",))
    assert not mesh.are_all_axes_explicit_or_manual
    other = mesh.update_axis_types({"x": AxisType.Manual, "w": AxisType.Auto})
    assert other.manual_axes == ("x", "z")
    assert other.are_all_axes_explicit_or_manual
    assert mesh.update(axis_sizes=(1, 2, 3)).shape_tuple == (("x", 1), ("y", 2), ("z", 3))
    for kind, name in zip(types, ("auto", "explicit", "manual"), strict=True):
        alike = mesh.update(axis_types=(kind,) * 3)
        assert getattr(alike, f"are_all_axes_{name}")
        assert not getattr(AbstractMesh((), ()), f"are_all_axes_{name}")


def test_meshes_without_devices_may_say_of_which_kind_these_are(mesh):
    kind = AbstractDevice("TPU v5", 2, "tpu")
    other = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto, abstract_device=kind)
    assert other.update(axis_names=("a", "b")).abstract_device == kind
    assert repr(other).endswith("(Auto, Auto), device_kind=TPU v5, num_cores=2, platform=tpu)")
    assert mesh.abstract_mesh.abstract_device.platform == "cpu"
    assert other != mesh.abstract_mesh
    unsaid = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)
    assert other == unsaid == mesh.abstract_mesh
    assert len({hash(other), hash(unsaid), hash(mesh.abstract_mesh)}) == 1


def test_a_mesh_without_axes_stands_for_none(mesh):
    empty = Mesh(None, ())
    assert empty.empty
    assert (empty.size, empty.device_tuple, empty.axis_types) == (0, (), ())
    assert empty.abstract_mesh == AbstractMesh((), ())
    with set_mesh(mesh), set_mesh(empty):
        assert get_mesh() == empty


def test_axes_are_explicit_but_those_of_given_devices(eight_devices):
    assert jx.make_mesh((4, 2), ("x", "y")).axis_types == (AxisType.Explicit,) * 2
    assert AbstractMesh((4, 2), ("x", "y")).axis_types == (AxisType.Explicit,) * 2
    assert Mesh(eight_devices, "x").axis_types == (AxisType.Auto,)
    auto = jx.make_mesh((8,), ("x",), (AxisType.Auto,))
    assert auto == Mesh(eight_devices, "x")


def test_current_mesh_is_that_of_the_innermost_block(mesh):
    assert get_mesh().empty
    assert get_abstract_mesh().empty
    other = mesh.update(axis_names=("a", "b"))
    with mesh:
        assert get_mesh() is mesh
        with set_mesh(other):
            assert get_mesh() is other
            assert get_abstract_mesh() == other.abstract_mesh
        assert get_mesh() is mesh
    assert get_mesh().empty
    set_mesh(mesh)
    assert get_mesh() is mesh
    set_mesh(None)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda d: Mesh(d, ("x", "y")),
            ValueError,
            "devices.ndim == 1 and",
        ),
        (lambda d: Mesh(d[:1] * 2, "x"), ValueError, "a device twice: .*0"),
        (lambda d: Mesh(np.array(d).reshape(4, 2), ("x", "x")), ValueError, "two axes of one name"),
        (lambda d: Mesh(d, "x", axis_types=(AxisType.Auto,) * 2), ValueError, "as many axis_types"),
        (lambda d: AbstractMesh((2,), ("x", "y")), ValueError, "1 axis_sizes and 2"),
        (lambda d: set_mesh(3), TypeError, "needs a Mesh or None, got 3"),
    ],
)
def test_bad_meshes_are_refused(make, error, message, eight_devices):
    with pytest.raises(error, match=message):
        make(eight_devices)
