"""``device_put`` under transforms: values go where they are put, and cotangents return."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.sharding import AxisType, Mesh, NamedSharding
from jxkernel.sharding import PartitionSpec as P

DATA = np.arange(8, dtype=np.float32)


def halves(devices, kind):
    meshes = [Mesh(devices[:4], "x", axis_types=kind), Mesh(devices[4:], "x", axis_types=kind)]
    return [NamedSharding(mesh, P("x")) for mesh in meshes]


PLACES = {
    "auto": lambda devices: halves(devices, AxisType.Auto),
    "explicit": lambda devices: halves(devices, AxisType.Explicit),
    "single": lambda devices: devices[1:3],
    "one to many": lambda devices: [devices[1], halves(devices, AxisType.Auto)[1]],
    "many to one": lambda devices: [halves(devices, AxisType.Auto)[0], devices[5]],
    "reversed": lambda devices: [
        NamedSharding(Mesh(order, "x"), P("x")) for order in (devices, devices[::-1])
    ],
}


def moving(there):
    def fun(x):
        y = jx.jit(lambda x: jnp.sin(x * 2))(x)
        y = jx.device_put(y, there)
        return jx.jit(lambda y: jnp.cos(y * 3))(y).sum()

    return fun


@pytest.fixture(params=PLACES)
def places(request, eight_devices):
    here, there = PLACES[request.param](eight_devices)
    return jx.device_put(DATA, here), jx.device_put(DATA, there), moving(there)


def test_gradients_lie_where_arguments_do(places):
    x, y, fun = places
    value, gradient = jx.value_and_grad(fun)(x)
    assert value.sharding.device_set == y.sharding.device_set
    assert gradient.sharding.is_equivalent_to(x.sharding, 1)
    expected = -np.sin(3 * np.sin(2 * DATA)) * 3 * np.cos(2 * DATA) * 2
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


def test_tangents_go_where_values_go(places):
    x, y, fun = places
    value, tangent = jx.jvp(fun, (x,), (x,))
    assert value.sharding.device_set == tangent.sharding.device_set == y.sharding.device_set
    _, linear = jx.linearize(fun, x)
    np.testing.assert_allclose(linear(x), tangent, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in PLACES if name != "explicit"])
def test_second_derivatives_lie_where_arguments_do(name, eight_devices):
    here, there = PLACES[name](eight_devices)
    x, fun = jx.device_put(DATA, here), moving(there)
    second = jx.grad(lambda x: jx.grad(fun)(x).sum())(x)
    assert second.sharding.device_set == x.sharding.device_set
    expected = jx.grad(lambda x: jx.grad(moving(None))(x).sum())(DATA)
    np.testing.assert_allclose(second, expected, rtol=1e-4, atol=1e-4)


def test_examples_of_a_batch_are_moved_together(eight_devices):
    one, other = eight_devices[1:3]
    fun = moving(other)
    x = jx.device_put(np.stack([DATA, 2 * DATA]), one)
    assert jx.vmap(fun)(x).sharding.device_set == {other}
    gradient = jx.vmap(jx.grad(fun))(x)
    assert gradient.sharding.device_set == {one}
    np.testing.assert_allclose(gradient[1], jx.grad(fun)(x[1]), rtol=1e-6)


def test_what_is_moved_meets_what_lies_there(eight_devices):
    scale = jx.device_put(DATA, eight_devices[2])

    def fun(x):
        return (jx.device_put(x, eight_devices[2]) * scale).sum()

    gradient = jx.grad(fun)(jx.device_put(DATA, eight_devices[1]))
    assert gradient.devices() == {eight_devices[1]}
    assert jx.grad(fun)(jnp.asarray(DATA)).tolist() == DATA.tolist()


def test_inside_a_program_a_sharding_is_a_constraint(mesh):
    rows = NamedSharding(mesh, P("x"))
    put = jx.jit(lambda x: jx.device_put(x, rows) * 2)
    assert put(DATA).sharding == rows
    assert jx.jit(jx.grad(lambda x: jnp.sin(jx.device_put(x, rows)).sum()))(DATA).sharding == rows
    assert jx.jit(jx.vmap(lambda x: jx.device_put(x, rows)))(np.ones((2, 8))).shape == (2, 8)
    with pytest.raises(ValueError, match="divides axis 0 into 4 pieces"):
        jx.jit(lambda x: jx.device_put(x, rows))(np.ones(6))
