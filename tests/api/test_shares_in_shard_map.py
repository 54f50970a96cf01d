"""Sums that are put off inside a ``shard_map``: shares go in, are made there, and come out.

Which programs have which types is real JAX's, but where a comment says otherwise.
"""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ShardingTypeError
from jxkernel.sharding import Mesh, reshard
from jxkernel.sharding import PartitionSpec as P

DATA = np.arange(32, dtype=np.float32).reshape(8, 4) / 8
SHARES, SAME = P(unreduced={"x"}), P(reduced={"x"})
SLOPE = DATA.T @ np.cos(DATA @ DATA.T)


@pytest.fixture(scope="module")
def explicit(eight_devices):
    return jx.make_mesh((4, 2), ("x", "y"))


@pytest.fixture(autouse=True)
def current(explicit):
    with jx.set_mesh(explicit):
        yield


def rows():
    return reshard(jnp.array(DATA), P("x"))


def shares():
    return reshard(jnp.array(DATA), SHARES)


def weights():
    return reshard(jnp.array(DATA.T), SAME)


def mapped(f, in_specs, out_specs, **options):
    return jx.shard_map(f, in_specs=in_specs, out_specs=out_specs, **options)


def put_off(x):
    return lax.pcast(x, "x", to="unreduced")


def loss(w, x):
    return jnp.sin(x @ w).sum()


def zeros(w):
    return put_off(lax.pcast(jnp.zeros(w.shape), "x", to="varying"))


def batches(w, xs):
    def turn(total, x):
        return total + jx.grad(loss)(w, x), None

    return lax.psum(lax.scan(turn, zeros(w), xs)[0], "x")


PROGRAMS = {
    "summed": (
        mapped(lambda u: lax.psum(u, "x"), SHARES, P()),
        [shares],
        "f32[8,4]",
        DATA,
    ),
    "scattered": (
        mapped(lambda u: lax.psum_scatter(u, "x", tiled=True), SHARES, P("x")),
        [shares],
        "f32[8@x,4]",
        DATA,
    ),
    "through": (mapped(lambda u: u + u, SHARES, SHARES), [shares], "f32[8,4]{U:x}", 2 * DATA),
    "made": (
        mapped(lambda a: put_off(a.sum(0)), P("x"), SHARES),
        [rows],
        "f32[4]{U:x}",
        DATA.sum(0),
    ),
    "made and summed": (
        mapped(lambda a: lax.psum(put_off(a.sum(0)), "x"), P("x"), P()),
        [rows],
        "f32[4]",
        DATA.sum(0),
    ),
    "made where one axis is handled": (
        mapped(lambda a: put_off(a.sum(0)), P("x"), SHARES, axis_names={"x"}),
        [rows],
        "f32[4]{U:x}",
        DATA.sum(0),
    ),
    "over an axis that is not handled": (
        mapped(lambda a: a + a, P("x"), P("x"), axis_names={"x"}),
        [lambda: reshard(jnp.array(DATA), P("x", None, unreduced={"y"}))],
        "f32[8@x,4]{U:y}",
        2 * DATA,
    ),
    "out without check_vma": (
        mapped(lambda a: a.sum(0), P("x"), SHARES, check_vma=False),
        [rows],
        "f32[4]{U:x}",
        DATA.sum(0),
    ),
    "in without check_vma": (
        mapped(lambda u: lax.psum(u, "x"), SHARES, P(), check_vma=False),
        [shares],
        "f32[8,4]",
        DATA,
    ),
    "specs of types": (
        jx.shard_map(lambda u: lax.psum(u, "x"), out_specs=P()),
        [shares],
        "f32[8,4]",
        DATA,
    ),
    "what is reduced beside pieces": (
        jx.shard_map(lambda w, x: x @ w, out_specs=P("x")),
        [weights, rows],
        "f32[8@x,8]",
        DATA @ DATA.T,
    ),
    "what is reduced goes through": (
        mapped(lambda w: w * 2, SAME, SAME),
        [weights],
        "f32[4,8]{R:x}",
        2 * DATA.T,
    ),
    "gathered": (
        mapped(lambda a: lax.all_gather(a, "x", tiled=True, to="reduced"), P("x"), SAME),
        [rows],
        "f32[8,4]{R:x}",
        DATA,
    ),
    "a branch": (
        mapped(lambda u: lax.psum(lax.cond(True, lambda: u + u, lambda: u), "x"), SHARES, P()),
        [shares],
        "f32[8,4]",
        2 * DATA,
    ),
    "a batch": (
        jx.vmap(mapped(lambda u: lax.psum(u, "x"), SHARES, P())),
        [lambda: reshard(jnp.stack([DATA, 2 * DATA]), SHARES)],
        "f32[2,8,4]",
        np.stack([DATA, 2 * DATA]),
    ),
    "a tangent": (
        lambda w, x: jx.jvp(
            lambda w: mapped(lambda a, b: jnp.sin(b @ a), (SAME, P("x")), P("x"))(w, x), (w,), (w,)
        )[1],
        [weights, rows],
        "f32[8@x,8]",
        np.cos(DATA @ DATA.T) * (DATA @ DATA.T),
    ),
    "a gradient inside": (
        mapped(lambda w, x: jx.grad(loss)(w, x), (SAME, P("x")), SHARES),
        [weights, rows],
        "f32[4,8]{U:x}",
        SLOPE,
    ),
    "a gradient by what becomes reduced": (
        mapped(
            lambda w, x: jx.grad(lambda w: loss(lax.pcast(w, "x", to="reduced"), x))(w),
            (P(), P("x")),
            P(),
        ),
        [lambda: jnp.array(DATA.T), rows],
        "f32[4,8]",
        SLOPE,
    ),
    "gradients of batches": (
        mapped(batches, (SAME, P(None, "x")), P()),
        [weights, lambda: reshard(jnp.stack([DATA, DATA]), P(None, "x"))],
        "f32[4,8]",
        2 * SLOPE,
    ),
    "a gradient of what is not linear in what is reduced": (
        mapped(
            lambda w, x: jx.grad(lambda w: loss(jnp.sort(w, 0).cumsum(1), x))(w),
            (SAME, P("x")),
            SHARES,
        ),
        [weights, rows],
        "f32[4,8]{U:x}",
        np.asarray(
            jx.grad(lambda w: loss(jnp.sort(w, 0).cumsum(1), jnp.array(DATA)))(jnp.array(DATA.T))
        ),
    ),
    "a gradient of parts of what is reduced": (
        mapped(
            lambda w, x: jx.grad(lambda w: loss(jnp.where(w > 2, w[::-1], 0.5), x))(w),
            (SAME, P("x")),
            SHARES,
        ),
        [weights, rows],
        "f32[4,8]{U:x}",
        np.asarray(
            jx.grad(lambda w: loss(jnp.where(w > 2, w[::-1], 0.5), jnp.array(DATA)))(
                jnp.array(DATA.T)
            )
        ),
    ),
    "a gradient from outside": (
        jx.grad(
            lambda w, x: mapped(lambda a, b: jnp.sin(b @ a), (SAME, P("x")), P("x"))(w, x).sum()
        ),
        [weights, rows],
        "f32[4,8]{U:x}",
        SLOPE,
    ),
    "a gradient through a checkpoint": (
        jx.grad(
            jx.checkpoint(
                lambda w, x: mapped(lambda a, b: jnp.sin(b @ a), (SAME, P("x")), P("x"))(w, x).sum()
            )
        ),
        [weights, rows],
        "f32[4,8]{U:x}",
        SLOPE,
    ),
    "a gradient through the sum": (
        jx.grad(lambda u: jnp.sin(mapped(lambda u: lax.psum(u, "x"), SHARES, P())(u)).sum()),
        [shares],
        "f32[8,4]{R:x}",
        np.cos(DATA),
    ),
    "a gradient through the scattered sum": (
        jx.grad(
            lambda u: jnp.sin(
                mapped(lambda u: lax.psum_scatter(u, "x", tiled=True), SHARES, P("x"))(u)
            ).sum()
        ),
        [shares],
        "f32[8,4]{R:x}",
        np.cos(DATA),
    ),
    "a gradient through what is made": (
        jx.grad(
            lambda a: jnp.sin(
                reshard(mapped(lambda a: put_off(a.sum(0)), P("x"), SHARES)(a), P())
            ).sum()
        ),
        [rows],
        "f32[8@x,4]",
        np.broadcast_to(np.cos(DATA.sum(0)), (8, 4)),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_shares_in_the_program_of_one_device(name):
    function, arguments, type_, wanted = PROGRAMS[name]
    args = [make() for make in arguments]
    for call in (function, jx.jit(function)):
        out = call(*args)
        assert jx.typeof(out).short() == type_
        np.testing.assert_allclose(reshard(out, P()), wanted, rtol=2e-4, atol=1e-5)


def test_types_inside_say_which_sums_are_put_off():
    seen = []

    def look(a):
        u = put_off(a.sum(0))
        seen.extend([jx.typeof(u).short(), jx.typeof(u).mat, jx.typeof(lax.psum(u, "x")).short()])
        return u

    mapped(look, P("x"), SHARES)(rows())
    assert seen[0] == "f32[4]{U:x}"
    assert (seen[1].varying, seen[1].unreduced, seen[1].reduced) == (set(), {"x"}, set())
    assert seen[1].unreduced_kind is jx.sharding.UnreducedKind.sum
    assert seen[2] == "f32[4]"


def test_over_a_mesh_whose_axes_are_xlas(eight_devices):
    mesh = Mesh(np.array(eight_devices[:8]).reshape(4, 2), ("x", "y"))
    call = jx.shard_map(batches, mesh=mesh, in_specs=(P(), P(None, "x")), out_specs=P())
    reduced = jx.shard_map(
        lambda w, xs: batches(lax.pcast(w, "x", to="reduced"), xs),
        mesh=mesh,
        in_specs=(P(), P(None, "x")),
        out_specs=P(),
    )
    with jx.set_mesh(mesh):
        np.testing.assert_allclose(reduced(DATA.T, np.stack([DATA] * 2)), 2 * SLOPE, rtol=2e-4)
        with pytest.raises(ShardingTypeError, match="not all of these are sums over 'x'"):
            call(DATA.T, np.stack([DATA] * 2))


REFUSED = {
    "a spec that the argument's type does not say": (
        lambda: mapped(lambda u: u, SHARES, SHARES)(jnp.array(DATA)),
        ValueError,
        r"is not how f32\[8,4\] is divided.*reshard\(x, P\(unreduced",
    ),
    "a spec that does not say what the argument's type does": (
        lambda: mapped(lambda u: u, P(), P())(shares()),
        ValueError,
        r"is not how f32\[8,4\]\{U:x\} is divided",
    ),
    "a spec that the result's type does not say": (
        lambda: mapped(lambda a: a, SAME, P())(weights()),
        ValueError,
        r"is not what its type f32\[4,8\]\{R:x\} says of sums",
    ),
    "what varies, said to be shares": (
        lambda: mapped(lambda a: a.sum(0), P("x"), SHARES)(rows()),
        ValueError,
        "must be the same on all devices",
    ),
    "what is the same, cast to shares": (
        lambda: mapped(put_off, P(), SHARES)(jnp.array(DATA)),
        ValueError,
        "takes a value that varies along it",
    ),
    "what varies, cast to reduced": (
        lambda: mapped(lambda a: lax.pcast(a, "x", to="reduced"), P("x"), SAME)(rows()),
        ValueError,
        "takes a value that is the same along it",
    ),
    "shares cast to what varies": (
        lambda: mapped(lambda a: lax.pcast(a, "x", to="varying"), SHARES, P("x"))(shares()),
        ValueError,
        "psum makes a sum that is put off",
    ),
    "what is not linear": (
        lambda: mapped(jnp.sin, SHARES, SHARES)(shares()),
        ShardingTypeError,
        "it is not linear in a sum over 'x'",
    ),
    "shares beside what varies": (
        lambda: mapped(lambda u, a: u[:2] * a, (SHARES, P("x")), P("x"))(shares(), rows()),
        ShardingTypeError,
        "along which another differs",
    ),
    "a maximum": (
        lambda: mapped(lambda u: lax.pmax(u, "x"), SHARES, P())(shares()),
        ShardingTypeError,
        "pmax got",
    ),
    "reshard instead of a collective": (
        lambda: mapped(lambda u: reshard(u, P()), SHARES, P())(shares()),
        ValueError,
        r"over 'x' are made and put off by collectives.*psum",
    ),
    "an axis that is not handled": (
        lambda: mapped(lambda a: a, P("x", unreduced={"y"}), P("x"), axis_names={"x"})(rows()),
        ValueError,
        "names 'y', which is not among axis_names",
    ),
    "backwards without check_vma": (
        lambda: jx.grad(
            lambda u: mapped(lambda u: lax.psum(u, "x"), SHARES, P(), check_vma=False)(u).sum()
        )(shares()),
        NotImplementedError,
        "Leave check_vma=True",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_types_do_not_say_is_refused(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_one_value_beside_examples_on_other_devices_gets_all_their_cotangents(eight_devices):
    mesh = Mesh(np.array(eight_devices[:8]).reshape(4, 2), ("x", "y"))

    def total(w):
        def one(a):
            summed = mapped(
                lambda w, a: lax.psum(jnp.sin(a * w).sum(), "x"), (P(), P("x")), P(), mesh=mesh
            )
            return summed(w, a)

        return jx.vmap(one, spmd_axis_name="y")(np.stack([DATA, DATA])).sum()

    wanted = 2 * (DATA * np.cos(2 * DATA)).sum()
    with jx.set_mesh(mesh):
        for take in (jx.grad(total), jx.jit(jx.grad(total))):
            np.testing.assert_allclose(take(2.0), wanted, rtol=1e-5)
