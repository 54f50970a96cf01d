"""Functions and objects beside devices: called here, and held to arrays, types and devices."""

import gc
import weakref

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.experimental.colocated_python import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
)
from tests.many_devices import over


@colocated_python
def scale(x, *, by):
    """Multiply on the host."""
    return jnp.asarray(np.asarray(x) * by["factor"].item())


def two():
    """Return a factor, on the devices of the test that asks."""
    return {"factor": jnp.asarray(2.0)}


def test_a_function_is_called_with_its_arrays():
    found = scale(jnp.arange(3.0), by=two())
    assert found.tolist() == [0.0, 2.0, 4.0]
    assert (scale.__name__, scale.__doc__) == ("scale", "Multiply on the host.")


def test_arrays_it_makes_lie_where_its_arguments_lie(eight_devices):
    x = jx.device_put(jnp.arange(3.0), eight_devices[3])
    assert scale(x, by=jx.device_put(two(), eight_devices[3])).devices() == {eight_devices[3]}
    assert colocated_python(lambda: jnp.ones(2)).specialize(
        devices=eight_devices[5:]
    )().devices() == {eight_devices[5]}


def test_specializations_are_held_to():
    spec = jx.ShapeDtypeStruct((3,), np.float32)
    number = jx.ShapeDtypeStruct((), np.float32)
    held = scale.specialize(in_specs=((spec,), {"by": {"factor": number}}))
    assert held(jnp.ones(3), by=two()).tolist() == [2.0] * 3
    with pytest.raises(
        ValueError, match=r"have f32\[4\] .* at \[0\]\[0\], and are specialized for"
    ):
        held(jnp.ones(4), by=two())
    with pytest.raises(ValueError, match="are arranged as"):
        held(jnp.ones(3), by={"other": jnp.asarray(2.0)})
    seen = []

    def like(x, *, by):
        seen.append((x, by["factor"]))
        return x

    assert held.specialize(out_specs_fn=like)(jnp.ones(3), by=two()).shape == (3,)
    assert [one.shape for one in seen[0]] == [(3,), ()]
    with pytest.raises(ValueError, match=r"the results of scale have f32\[3\]"):
        held.specialize(out_specs_fn=lambda x, by: by["factor"].update(shape=(2,)))(
            jnp.ones(3), by=two()
        )


def test_devices_are_held_to(eight_devices):
    held = scale.specialize(devices=eight_devices[:1])
    with pytest.raises(ValueError, match="put them there with device_put"):
        held(jx.device_put(jnp.ones(3), eight_devices[1]), by=two())
    mesh = jx.make_mesh((8,), ("x",), axis_types=(jx.sharding.AxisType.Auto,))
    divided = jx.device_put(jnp.arange(8.0), over(mesh, "x"))
    spec = jx.ShapeDtypeStruct((8,), np.float32, sharding=over(mesh, "x"))
    total = colocated_python(jnp.sum)
    assert total.specialize(in_specs=((spec,), {}))(divided).item() == 28
    with pytest.raises(ValueError, match="are specialized for"):
        total.specialize(in_specs=((spec,), {}))(jnp.arange(8.0))


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (
            lambda: scale(3.0, by=two()),
            TypeError,
            r"takes arrays, and \(args, kwargs\)\[0\]\[0\] is 3",
        ),
        (lambda: jx.jit(scale)(jnp.ones(3), by=two()), TypeError, "pure_callback calls Python"),
        (lambda: colocated_python(lambda x: 3)(jnp.ones(3)), TypeError, "gives arrays, and result"),
        (lambda: colocated_python(lambda: 3)(), ValueError, r"specialize\(devices=...\)"),
        (lambda: colocated_python(3), TypeError, "needs a callable as fun"),
        (lambda: colocated_python_class(len), TypeError, "takes a class, got"),
    ],
)
def test_what_cannot_be_is_refused(use, error, said):
    with pytest.raises(error, match=said):
        use()


MADE = []


@colocated_python_class
class Total:
    """A sum that is kept."""

    def __init__(self, start, *, name):
        MADE.append((start, name))
        MADE.append(weakref.ref(self))
        self.total = start

    def add(self, x):
        self.total += float(x.sum())
        return jnp.asarray(self.total)

    def __call__(self, x):
        return self.add(x)


def test_objects_are_made_when_they_are_called_and_live_as_long():
    MADE.clear()
    total = Total(5.0, name="a")
    assert MADE == []
    assert total.add(jnp.ones(2)).item() == 7
    assert total(jnp.ones(3)).item() == 10
    assert MADE[0] == (5.0, "a")
    assert Total(0.0, name="b").add(jnp.ones(1)).item() == 1
    assert (Total.__name__, Total.__doc__) == ("Total", "A sum that is kept.")
    with pytest.raises(AttributeError):
        _ = total.total
    with pytest.raises(TypeError, match="add takes arrays"):
        total.add(3)
    del total
    gc.collect()
    assert MADE[1]() is None


def test_cpu_devices_are_their_own(eight_devices):
    assert colocated_cpu_devices(eight_devices[2:4]) == eight_devices[2:4]
    assert colocated_cpu_devices(tuple(eight_devices[:2])) == tuple(eight_devices[:2])
    mesh = jx.make_mesh((4, 2), ("x", "y"))
    assert colocated_cpu_devices(mesh) == mesh


class Accelerator:
    """A device of another kind, as far as it is asked."""

    platform = "gpu"
    process_index = 7

    def __repr__(self):
        return "gpu:0 of elsewhere"


def test_devices_of_other_processes_are_refused():
    with pytest.raises(ValueError, match="gpu:0 of elsewhere of process 7"):
        colocated_cpu_devices([Accelerator()])
