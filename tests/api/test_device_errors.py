"""Bad input to whatever works on many devices: the class, the axis, the size and the path.

One table: each row is a call with an error that users of the field expect by its class, and what
its message must name.
"""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import IncompatibleDevicesError, NoMeshError
from jxkernel.sharding import AbstractMesh, Mesh, NamedSharding
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over

DATA = np.arange(64.0, dtype=np.float32).reshape(8, 8)
SIX = np.arange(6.0, dtype=np.float32)
EIGHT = np.arange(8.0, dtype=np.float32)


def mapped(mesh: Mesh, fun: Any, in_specs: Any = P("x"), out_specs: Any = P("x")) -> Any:
    return jx.shard_map(fun, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


UNBOUND = {
    "psum": (lambda m: lax.psum(1.0, "k"), ["'k'", "no axis name is bound"]),
    "axis_index": (lambda m: jx.jit(lambda: lax.axis_index("k"))(), ["'k'"]),
    "axis_size": (lambda m: lax.axis_size("k"), ["'k'"]),
    "pmap": (
        lambda m: jx.pmap(lambda v: lax.pmean(v, "k"), axis_name="i")(EIGHT),
        ["'k'", "bound here are 'i'"],
    ),
    "shard_map": (
        lambda m: mapped(m, lambda v: lax.all_gather(v, "k"))(DATA),
        ["'k'", "'x', 'y'"],
    ),
    "axis_names": (
        lambda m: jx.shard_map(
            lambda v: lax.psum(v, "y"), mesh=m, in_specs=P("x"), out_specs=P(), axis_names={"x"}
        )(DATA),
        ["'y'", "bound here are 'x'"],
    ),
    "ppermute": (lambda m: mapped(m, lambda v: lax.ppermute(v, "k", [(0, 1)]))(DATA), ["'k'"]),
    "all_to_all": (lambda m: mapped(m, lambda v: lax.all_to_all(v, "k", 0, 0))(DATA), ["'k'"]),
}

INDIVISIBLE = {
    "device_put": (
        lambda m: jx.device_put({"w": [DATA, SIX]}, over(m, "x")),
        ["device_put, x['w'][1]", "axis 0", "'x'", "size is 6", "multiple of 4"],
    ),
    "device_put-tree": (
        lambda m: jx.device_put((DATA, SIX), (over(m), over(m, "x"))),
        ["device_put, x[1]", "axis 0", "size is 6", "multiple of 4"],
    ),
    "jit-argument": (
        lambda m: jx.jit(lambda a: a["w"], in_shardings=over(m, "x"))({"w": SIX}),
        ["Argument a['w']", "axis 0", "size is 6", "multiple of 4"],
    ),
    "jit-result": (
        lambda m: jx.jit(lambda a: {"out": (a, a[:6])}, out_shardings=over(m, "x"))(EIGHT),
        ["jit out_shardings of", "result['out'][1]", "axis 0", "size is 6", "multiple of 4"],
    ),
    "with_sharding_constraint": (
        lambda m: lax.with_sharding_constraint([SIX], over(m, "x")),
        ["with_sharding_constraint, x[0]", "axis 0", "size is 6"],
    ),
    "reshard": (
        lambda m: jx.reshard({"b": DATA[:, :3]}, over(m, "x", "y")),
        ["reshard, x['b']", "axis 1", "'y'", "size is 3", "multiple of 2"],
    ),
    "several-axes": (
        lambda m: jx.device_put(SIX, over(m, ("x", "y"))),
        ["axis 0 into 8", "('x', 'y')", "size is 6"],
    ),
    "shard_map": (
        lambda m: mapped(m, lambda a, b: b, (P(), P(None, "x")))(0.0, {"w": DATA[:, :6]}),
        ["in_specs, args[1]['w'] of", "axis 1", "'x'", "4 devices", "6 is no multiple"],
    ),
    "shard_shape": (lambda m: over(m, "x").shard_shape((6,)), ["axis 0", "size is 6"]),
    "make_array": (
        lambda m: jx.make_array_from_callback((6,), over(m, "x"), lambda i: SIX[i]),
        ["axis 0", "size is 6"],
    ),
    "pmap": (
        lambda m: jx.pmap(lambda a: a)(np.arange(9.0)),
        ["size 9", "got 8", "jax_num_cpu_devices"],
    ),
    "pmap-arguments": (
        lambda m: jx.pmap(lambda a, b: a)(EIGHT, {"k": SIX}),
        ["args[0] has 8", "args[1]['k'] has 6"],
    ),
    "all_to_all": (
        lambda m: mapped(m, lambda v: lax.all_to_all(v, "x", 1, 0, tiled=True))(DATA[:, :6]),
        ["axis 1", "(2, 6)", "4"],
    ),
    "psum_scatter": (
        lambda m: mapped(m, lambda v: lax.psum_scatter(v, "x", tiled=True))(DATA),
        ["axis 0", "(2, 8)", "4"],
    ),
    "make_mesh": (lambda m: jx.make_mesh((3, 4), ("a", "b")), ["8", "(3, 4)", "12"]),
}

TOO_LONG = {
    "device_put": (
        lambda m: jx.device_put([EIGHT], over(m, "x", "y")),
        ["device_put, x[0]", "P('x', 'y')", "rank at least 2", "rank 1"],
    ),
    "jit-argument": (
        lambda m: jx.jit(lambda a: a, in_shardings=over(m, "x", "y"))(EIGHT),
        ["Argument a", "rank at least 2"],
    ),
    "jit-result": (
        lambda m: jx.jit(lambda a: a, out_shardings=over(m, "x", "y"))(EIGHT),
        ["out_shardings", "result:", "rank at least 2"],
    ),
    "constraint": (
        lambda m: lax.with_sharding_constraint({"a": EIGHT}, over(m, None, "x")),
        ["x['a']", "rank at least 2"],
    ),
    "shard_map-argument": (
        lambda m: mapped(m, lambda a: a, (P("x", "y"),))(EIGHT),
        ["in_specs, args[0] of", "2 entries", "1 axis"],
    ),
    "shard_map-result": (
        lambda m: mapped(m, lambda a: {"r": a}, P("x"), P("x", "y"))(EIGHT),
        ["out_specs, ['r'] of", "2 entries", "1 axis"],
    ),
}

OTHER_DEVICES = {
    "eager": (
        lambda m: jx.device_put(DATA, m.devices[0, 0]) + jx.device_put(DATA, m.devices[0, 1]),
        ["argument 0 of type f32[8,8]", "CPU device 0,", "argument 1", "CPU device 1"],
    ),
    "jit": (
        lambda m: jx.jit(lambda a, b: a["p"] + b)(
            {"p": jx.device_put(DATA, over(m, "x"))}, jx.device_put(EIGHT, m.devices[0, 1])
        ),
        ["argument a['p'] of type f32[8,8]", "[0, 1, 2, 3, 4, 5, 6, 7]", "argument b", "device 1"],
    ),
    "jit-many": (
        lambda m: jx.jit(lambda a, b, c: b + c)(
            1.0, jx.device_put(EIGHT, m.devices[2, 0]), jx.device_put(EIGHT, m.devices[3, 0])
        ),
        ["argument b of type f32[8]", "CPU device 4", "argument c", "CPU device 6"],
    ),
    "shardings": (
        lambda m: jx.jit(
            jnp.add, in_shardings=(over(m, "x"), over(Mesh(m.devices[:, 0], "z"), "z"))
        )(EIGHT, EIGHT),
        ["argument ", "[0, 2, 4, 6]"],
    ),
    "shard_map": (
        lambda m: mapped(m, lambda a: a)(jx.device_put(EIGHT, m.devices[0, 1])),
        ["argument 0", "CPU device 1", "the call is for CPU devices [0, 1, 2"],
    ),
}


@pytest.mark.parametrize(
    ("row", "error"),
    [
        *((row, NameError) for row in UNBOUND.values()),
        *((row, ValueError) for row in INDIVISIBLE.values()),
        *((row, ValueError) for row in TOO_LONG.values()),
        *((row, ValueError) for row in OTHER_DEVICES.values()),
    ],
    ids=[
        *map("unbound {}".format, UNBOUND),
        *map("indivisible {}".format, INDIVISIBLE),
        *map("long {}".format, TOO_LONG),
        *map("devices {}".format, OTHER_DEVICES),
    ],
)
def test_error_names_the_axis_the_size_and_the_argument(mesh, row, error):
    call, parts = row
    with pytest.raises(error) as caught:
        call(mesh)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda m: Mesh(np.array([m.devices[0, 0]] * 2), "x"), ValueError, "device twice: .*0"),
        (lambda m: Mesh(m.devices, ("x",)), ValueError, r"ndim == 2 and len\(axis_names\) == 1"),
        (lambda m: Mesh(m.devices, ("x", "x")), ValueError, "two axes of one name"),
        (lambda m: AbstractMesh((4,), ("x", "y")), ValueError, "1 axis_sizes and 2 axis_names"),
        (lambda m: NamedSharding(m, P("z")), ValueError, "z.* is not found in mesh"),
        (lambda m: NamedSharding(m, P("x", ("y", "x"))), ValueError, "duplicate entries for `x`"),
        (lambda m: NamedSharding(m, "x"), TypeError, "needs a PartitionSpec, got 'x'"),
        (lambda m: NamedSharding(3, P()), TypeError, "needs a Mesh, got 3"),
        (lambda m: mapped(m, lambda v: v, P("z"))(EIGHT), ValueError, "in_specs: .*z"),
        (lambda m: mapped(m, lambda v: v, P("x"), P("z"))(EIGHT), ValueError, "out_specs: .*z"),
        (lambda m: jx.make_mesh((16,), "x"), ValueError, "8 must be >= .*16"),
        (lambda m: Mesh(np.array([1, 2]), "x"), TypeError, "needs devices.* got 1"),
        (lambda m: Mesh(m.devices, ("x", "y"), "auto"), TypeError, "needs AxisTypes"),
        (lambda m: jx.make_mesh((0,), "x"), ValueError, r"at least 1, got \(0,\) for axes x"),
        (lambda m: jx.make_mesh((-4, 2), ("x", "y")), ValueError, r"at least 1, got \(-4, 2\)"),
        (lambda m: jx.make_mesh((2.5,), "x"), TypeError, "float.* integer"),
        (lambda m: jx.device_put(EIGHT, P("x")), NoMeshError, "device_put device.*P\\('x',\\)"),
        (lambda m: jx.reshard(EIGHT, P("x")), ValueError, "reshard out_shardings.*no mesh"),
        (lambda m: jx.jit(jnp.sin, in_shardings=P("x"))(EIGHT), RuntimeError, "jit in_shardings"),
        (
            lambda m: jx.jit(lambda a, b: a, in_shardings=over(m, "x"))(EIGHT, b=EIGHT),
            ValueError,
            "arguments by keyword: ..b..; pass",
        ),
        (
            lambda m: mapped(m.abstract_mesh, lambda a: a)(EIGHT),
            ValueError,
            "no devices to run on: it is an abstract mesh",
        ),
        (lambda m: jx.devices("abacus"), RuntimeError, "Unknown backend 'abacus'.*cpu"),
    ],
)
def test_mesh_or_sharding_that_cannot_be_is_refused(mesh, make, error, message):
    with pytest.raises(error, match=message):
        make(mesh)


def test_devices_of_two_backends_in_one_call_are_told_apart(eight_devices):
    """The dial makes a new client: devices of both have the same numbers."""
    old = jx.device_put(EIGHT, eight_devices[1])
    jx.config.update("jax_num_cpu_devices", 2)
    try:
        new = jx.device_put(EIGHT, jx.devices()[1])
        with pytest.raises(IncompatibleDevicesError) as caught:
            jx.jit(lambda left, right: left * right)(old, new)
        text = str(caught.value)
        assert "argument left of type f32[8] is committed to CPU device 1 of a client" in text
        assert "argument right of type f32[8] is committed to CPU device 1" in text
        assert "no longer the current one" in text
        with pytest.raises(ValueError, match="of one backend"):
            Mesh([eight_devices[0], jx.devices()[1]], "x")
    finally:
        jx.config.update("jax_num_cpu_devices", 8)
