"""Sums over explicit mesh axes that are put off: what makes them, what may be done before them.

Which programs have which types is real JAX's, but where a comment says otherwise; values are those
of the same program on one device.
"""

import copy
import pickle

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ShardingTypeError
from jxkernel.export import export
from jxkernel.sharding import AxisType, Mesh, NamedSharding, auto_axes, reshard
from jxkernel.sharding import PartitionSpec as P

DATA = np.arange(32, dtype=np.float32).reshape(8, 4) / 8 - 1
SHARES = P(unreduced={"x"})


@pytest.fixture(scope="module")
def explicit(eight_devices):
    return jx.make_mesh((4, 2), ("x", "y"))


@pytest.fixture(autouse=True)
def current(explicit):
    with jx.set_mesh(explicit):
        yield


def kind(value):
    return jx.typeof(value).short()


def summed(value):
    return np.asarray(reshard(value, P()))


def both(function, *args):
    """Return what a function gives at once and compiled."""
    return [function(*args), jx.jit(function)(*args)]


def check(function, args, type_, wanted, tolerance=1e-5):
    for out in both(function, *args):
        assert kind(out) == type_
        np.testing.assert_allclose(summed(out), wanted, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- what makes them

ROWS = lambda: reshard(jnp.array(DATA), P("x"))  # noqa: E731
GRID = lambda: reshard(jnp.array(DATA), P("x", "y"))  # noqa: E731
WHOLE = lambda: jnp.array(DATA)  # noqa: E731
SHARED = lambda: reshard(jnp.array(DATA), SHARES)  # noqa: E731
PARTS = lambda: reshard(jnp.array(DATA), P("y", None, unreduced={"x"}))  # noqa: E731
SAME = lambda: reshard(jnp.array(DATA), P(reduced={"x"}))  # noqa: E731

MADE = {
    "dot": (
        lambda a: jnp.dot(a.T, a, out_sharding=SHARES),
        ROWS,
        "f32[4,4]{U:x}",
        DATA.T @ DATA,
    ),
    "dot of rows": (
        lambda a: jnp.dot(a.T, reshard(a, P("x")), out_sharding=P("y", unreduced={"x"})),
        GRID,
        "f32[4@y,4]{U:x}",
        DATA.T @ DATA,
    ),
    # Real jax refuses an operand that is whole where the other is divided.
    "dot of one that is divided": (
        lambda a: jnp.dot(a.T, DATA, out_sharding=SHARES),
        ROWS,
        "f32[4,4]{U:x}",
        DATA.T @ DATA,
    ),
    "einsum": (
        lambda a: jnp.einsum("ij,ik,k->j", a, a, jnp.ones(4), out_sharding=SHARES),
        ROWS,
        "f32[4]{U:x}",
        DATA.T @ DATA @ np.ones(4),
    ),
    "matmul in bfloat16": (
        lambda a: jnp.matmul(a.T.astype("bfloat16"), a.astype("bfloat16"), out_sharding=SHARES),
        ROWS,
        "bf16[4,4]{U:x}",
        DATA.T @ DATA,
    ),
    "sum": (
        lambda a: lax.reduce_sum(a, (0,), out_sharding=P("y", unreduced={"x"})),
        GRID,
        "f32[4@y]{U:x}",
        DATA.sum(0),
    ),
    "sum of all": (
        lambda a: lax.reduce_sum(a, (0, 1), out_sharding=P(unreduced={"x", "y"})),
        GRID,
        "f32[]{U:(x,y)}",
        DATA.sum(),
    ),
    "sum in bfloat16": (
        lambda a: lax.reduce_sum(a.astype("bfloat16"), (0,), out_sharding=SHARES),
        ROWS,
        "bf16[4]{U:x}",
        DATA.sum(0),
    ),
    "reshard of what is whole": (
        lambda a: reshard(jnp.sin(a), SHARES),
        WHOLE,
        "f32[8,4]{U:x}",
        np.sin(DATA),
    ),
    "reshard of what is divided": (
        lambda a: reshard(jnp.sin(a), P(None, "y", unreduced={"x"})),
        GRID,
        "f32[8,4@y]{U:x}",
        np.sin(DATA),
    ),
    "reshard of what is divided otherwise": (
        lambda a: reshard(a, P("y", unreduced={"x"})),
        GRID,
        "f32[8@y,4]{U:x}",
        DATA,
    ),
    "reshard of complex numbers": (
        lambda a: reshard(a * 1j, SHARES),
        ROWS,
        "c64[8,4]{U:x}",
        DATA * 1j,
    ),
    "reshard of more": (
        lambda a: reshard(a, P(unreduced={"x", "y"})),
        SHARED,
        "f32[8,4]{U:(x,y)}",
        DATA,
    ),
    # Real jax ends the process.
    "reshard of others": (
        lambda a: reshard(a, P(unreduced={"y"})),
        SHARED,
        "f32[8,4]{U:y}",
        DATA,
    ),
    "device_put": (
        lambda a: jx.device_put(a, SHARES),
        ROWS,
        "f32[8,4]{U:x}",
        DATA,
    ),
    # Real jax gives the sum of as many ones as there are devices along the axis.
    "ones": (lambda a: jnp.ones(3, out_sharding=SHARES), WHOLE, "f32[3]{U:x}", np.ones(3)),
    "arange": (
        lambda a: jnp.arange(3.0, out_sharding=SHARES),
        WHOLE,
        "f32[3]{U:x}",
        np.arange(3.0),
    ),
    "zeros_like": (jnp.zeros_like, SHARED, "f32[8,4]{U:x}", 0 * DATA),
    "auto_axes": (
        lambda a: auto_axes(jnp.sin, out_sharding=SHARES)(a),
        ROWS,
        "f32[8,4]{U:x}",
        np.sin(DATA),
    ),
    "out_shardings": (
        lambda a: jx.jit(lambda a: jnp.sin(a), out_shardings=SHARES)(a),
        WHOLE,
        "f32[8,4]{U:x}",
        np.sin(DATA),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MADE)
def test_sums_are_put_off_where_they_are_made(name):
    function, argument, type_, wanted = MADE[name]
    check(function, [argument()], type_, wanted, 0.05 if "bfloat16" in name else 1e-5)


def test_nothing_is_sent_before_the_sum():
    def loss(w, x):
        return jnp.tanh(x @ w).sum()

    w, x = reshard(jnp.ones((4, 6)), P(reduced={"x"})), ROWS()
    first = jx.jit(jx.grad(loss)).lower(w, x).compile().as_text()
    assert "all-reduce" not in first
    assert "all-gather" not in first
    scattered = jx.jit(lambda u: reshard(u, P("x"))).lower(SHARED()).compile().as_text()
    assert "reduce-scatter" in scattered or "all-reduce" in scattered


# ---------------------------------------------------------------- what may be done before

KEPT = {
    "add": (lambda u: u + u, PARTS, "f32[8@y,4]{U:x}"),
    "subtract": (lambda u: u - 3 * u, PARTS, "f32[8@y,4]{U:x}"),
    "negate": (lambda u: -u, PARTS, "f32[8@y,4]{U:x}"),
    # Real jax wants numbers to be `reduced`.
    "times a number": (lambda u: 2.0 * u / 3, PARTS, "f32[8@y,4]{U:x}"),
    "mean": (lambda u: u.mean(1), PARTS, "f32[8@y]{U:x}"),
    "transpose": (lambda u: u.T, PARTS, "f32[4,8@y]{U:x}"),
    "reshape": (lambda u: u.reshape(8, 2, 2), PARTS, "f32[8@y,2,2]{U:x}"),
    "sum": (lambda u: u.sum(0), PARTS, "f32[4]{U:x}"),
    "convert": (lambda u: u.astype("bfloat16").astype("float32"), PARTS, "f32[8@y,4]{U:x}"),
    "broadcast": (lambda u: jnp.broadcast_to(u, (3, 8, 4)), PARTS, "f32[3,8@y,4]{U:x}"),
    "a scalar beside": (
        lambda u: u + reshard(jnp.float32(2), SHARES),
        PARTS,
        "f32[8@y,4]{U:x}",
    ),
    "concatenate": (lambda u: jnp.concatenate([u, u], 1), PARTS, "f32[8@y,8]{U:x}"),
    "stack": (lambda u: jnp.stack([u, u + u]), PARTS, "f32[2,8@y,4]{U:x}"),
    "split": (lambda u: jnp.split(u, 2, 1)[1], PARTS, "f32[8@y,2]{U:x}"),
    "pad": (lambda u: jnp.pad(u, ((0, 0), (1, 1)), constant_values=3), PARTS, "f32[8@y,6]{U:x}"),
    "where": (lambda u: jnp.where(jnp.arange(4) > 1, u, 5), PARTS, "f32[8@y,4]{U:x}"),
    "slice": (lambda u: u[:, 1:3], PARTS, "f32[8@y,2]{U:x}"),
    "element": (lambda u: u[2], SHARED, "f32[4]{U:x}"),
    "gather": (lambda u: u[jnp.array([1, 5])], SHARED, "f32[2,4]{U:x}"),
    "gather, else 0": (
        lambda u: u.at[jnp.array([1, 9])].get(mode="fill", fill_value=0),
        SHARED,
        "f32[2,4]{U:x}",
    ),
    "gather, else NaN": (
        lambda u: u.at[jnp.array([1, 9])].get(mode="fill"),
        SHARED,
        "f32[2,4]{U:x}",
    ),
    "update": (lambda u: u.at[2].set(7), SHARED, "f32[8,4]{U:x}"),
    "add at": (lambda u: u.at[2].add(u[0]), SHARED, "f32[8,4]{U:x}"),
    "reverse": (lambda u: jnp.flip(u, 1), PARTS, "f32[8@y,4]{U:x}"),
    "tile": (lambda u: jnp.tile(u, (1, 2)), PARTS, "f32[8@y,8]{U:x}"),
    "complex": (lambda u: lax.complex(u, u).real, PARTS, "f32[8@y,4]{U:x}"),
    "barrier": (lambda u: lax.optimization_barrier(u), PARTS, "f32[8@y,4]{U:x}"),
    "vmap": (lambda u: jx.vmap(lambda row: row + row)(u), PARTS, "f32[8@y,4]{U:x}"),
    "vmap of sums": (lambda u: jx.vmap(jnp.sum)(u), PARTS, "f32[8@y]{U:x}"),
    "checkpoint": (lambda u: jx.checkpoint(lambda v: v + v)(u), PARTS, "f32[8@y,4]{U:x}"),
    "jit": (lambda u: jx.jit(lambda v: v + u)(u), PARTS, "f32[8@y,4]{U:x}"),
    "scan, carried": (
        lambda u: lax.scan(lambda c, x: (c + x, c), reshard(jnp.zeros(4), SHARES), u)[0],
        SHARED,
        "f32[4]{U:x}",
    ),
    "scan, stacked": (
        lambda u: lax.scan(lambda c, x: (c + x, c), u[0], u)[1],
        SHARED,
        "f32[8,4]{U:x}",
    ),
    "scan, read": (
        lambda u: lax.scan(lambda c, x: (c + u, c), u, None, 3, unroll=2)[0],
        SHARED,
        "f32[8,4]{U:x}",
    ),
    "loop": (lambda u: lax.fori_loop(0, 3, lambda i, c: c + u, u), SHARED, "f32[8,4]{U:x}"),
    "loop with effects": (
        lambda u: lax.fori_loop(0, 3, lambda i, c: (jx.debug.callback(int, i), c + u)[1], u),
        SHARED,
        "f32[8,4]{U:x}",
    ),
    "cond": (lambda u: lax.cond(True, lambda: u + u, lambda: u), SHARED, "f32[8,4]{U:x}"),
    "what is the same": (lambda u: u * SAME()[0, 0], SHARED, "f32[8,4]{U:x}"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", KEPT)
def test_what_is_linear_is_done_before_the_sum(name, explicit):
    function, argument, type_ = KEPT[name]
    outs = [summed(out) for out in both(function, argument()) if kind(out) == type_]
    assert len(outs) == 2, [kind(out) for out in both(function, argument())]
    reads_same = "reduced" if "same" in name else None
    wanted = DATA * DATA[0, 0] if reads_same else _on_one_device(function, argument)
    for out in outs:
        np.testing.assert_allclose(out, wanted, rtol=1e-2 if name == "convert" else 1e-5)


def _on_one_device(function, argument):
    """Return what a function of a sum gives where there is nothing to sum over."""
    with jx.set_mesh(jx.make_mesh((1, 1), ("x", "y"))):
        return summed(function(argument()))


REFUSED = {
    "sin": (lambda u: jnp.sin(u), "sin got .*, and it is not linear in a sum over 'x'"),
    "square": (lambda u: u * u, "a product of sums that are put off is no sum of products"),
    "a number added": (lambda u: u + 1, "not all of these are sums over 'x'"),
    "divided by": (lambda u: 1 / u, "not linear in a sum over 'x'"),
    "max": (lambda u: u.max(), "reduce_max got"),
    "compare": (lambda u: u > 0, "gt got"),
    "int": (lambda u: u.astype(int), "convert_element_type got"),
    "dot": (lambda u: u @ DATA.T, "dot_general got"),
    "sort": (lambda u: jnp.sort(u), "sort got"),
    "gather, else a number": (
        lambda u: u.at[jnp.array([1, 9])].get(mode="fill", fill_value=5),
        "gather got .*, and it is not linear in a sum over 'x'",
    ),
    "auto_axes": (lambda u: auto_axes(jnp.sin, out_sharding=P())(u), "which XLA cannot be left"),
    "two axes": (
        lambda u: u + reshard(u, P(unreduced={"y"})),
        "not all of these are sums over 'x'",
    ),
    "nothing is summed": (
        lambda u: jnp.dot(DATA.T, DATA, out_sharding=SHARES),
        "it sums over no axis that 'x' divides",
    ),
    "what is no sum": (
        lambda u: lax.reduce_max(ROWS(), (0,), out_sharding=SHARES),
        "it sums over no axis that 'x' divides",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_linear_is_refused(name):
    function, message = REFUSED[name]
    for call in (function, jx.jit(function)):
        with pytest.raises(ShardingTypeError, match=message):
            call(SHARED())


def test_a_program_hands_no_shares_to_callbacks():
    with pytest.raises(ShardingTypeError, match="debug_callback got"):
        jx.jit(lambda u: jx.debug.print("{}", u))(SHARED())


def test_booleans_have_no_sums():
    for call in (reshard, jx.jit(reshard, static_argnums=1)):
        with pytest.raises(TypeError, match=r"cannot be of bool\[8,4\].*astype"):
            call(jnp.array(DATA) > 0, SHARES)


def test_maxima_cannot_be_put_off(explicit):
    kinds = jx.sharding.UnreducedKind
    with pytest.raises(NotImplementedError, match=r"only sums can be put off.*out_sharding=P\('y'"):
        NamedSharding(explicit, P("y", unreduced={"x"}, unreduced_kind=kinds.max))


# ---------------------------------------------------------------- derivatives


def loss(w, b, x):
    return (jnp.tanh(x @ w + b) ** 2).sum()


def test_the_gradient_of_what_is_reduced_is_a_sum_that_is_put_off():
    w, b = np.ones((4, 6), np.float32), np.ones(6, np.float32)
    wanted = jx.grad(loss, (0, 1))(w, b, jnp.array(DATA))
    same = [reshard(jnp.array(p), P(reduced={"x"})) for p in (w, b)]
    for take in (jx.grad(loss, (0, 1)), jx.jit(jx.grad(loss, (0, 1)))):
        found = take(*same, ROWS())
        assert [kind(g) for g in found] == ["f32[4,6]{U:x}", "f32[6]{U:x}"]
        for g, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(summed(g), np.asarray(want), rtol=1e-4)


def test_the_cotangent_of_a_sum_that_is_put_off_is_reduced():
    out, pull = jx.vjp(lambda u: u + u, SHARED())
    (ct,) = pull(SAME())
    assert (kind(out), kind(ct)) == ("f32[8,4]{U:x}", "f32[8,4]{R:x}")
    np.testing.assert_array_equal(ct, 2 * DATA)
    (ct,) = jx.linear_transpose(lambda u: u + u, SHARED())(SAME())
    assert kind(ct) == "f32[8,4]{R:x}"


def test_tangents_are_put_off_as_their_values():
    out, tangent = jx.jvp(lambda u: 3 * u, (SHARED(),), (SHARED(),))
    assert kind(out) == kind(tangent) == "f32[8,4]{U:x}"
    out, tangent = jx.jvp(lambda u: jnp.stack([u, SHARED()]), (SHARED(),), (SHARED(),))
    assert kind(out) == kind(tangent) == "f32[2,8,4]{U:x}"
    np.testing.assert_allclose(summed(tangent), np.stack([DATA, 0 * DATA]))


GRADIENTS = {
    "reshard to reduced": lambda w, x: jnp.sin(x @ reshard(w, P(reduced={"x"}))).sum(),
    "a sum put off": lambda w, x: jnp.sin(
        reshard(jnp.dot(x.T, jnp.tanh(x @ w), out_sharding=SHARES), P())
    ).sum(),
    "loop": lambda w, x: lax.scan(
        lambda c, _: (c + jnp.sin(x @ reshard(w, P(reduced={"x"}))).sum(), None), 0.0, None, 3
    )[0],
    "cond": lambda w, x: lax.cond(
        True, lambda v: jnp.sin(x @ v).sum(), lambda v: (x @ v).sum(), reshard(w, P(reduced={"x"}))
    ),
    "checkpoint": lambda w, x: jx.checkpoint(
        lambda v: jnp.sin(x @ reshard(v, P(reduced={"x"}))).sum()
    )(w),
    "not linear in what is reduced": lambda w, x: jnp.sin(
        x @ jnp.exp(jnp.sort(reshard(w, P(reduced={"x"})), 0)).cumsum(1)
    ).sum(),
    "parts of what is reduced": lambda w, x: jnp.sin(
        x @ jnp.where(w > 0.5, reshard(w, P(reduced={"x"}))[::-1], 2.0)
    ).sum(),
    "by index": lambda w, x: jnp.sin(
        reshard(w, P(reduced={"x"}))[reshard(jnp.arange(8) % 4, P("x"))] * 2
    ).sum(),
    "scaled": lambda w, x: (x * reshard(w[0, 0], P(reduced={"x"}))).sum() ** 2,
    "device_put": lambda w, x: jnp.sin(x @ jx.device_put(w, P(reduced={"x"}))).sum(),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_through_sums_that_are_put_off(name):
    w = (np.arange(24, dtype=np.float32).reshape(4, 6) % 5) / 4
    with jx.set_mesh(jx.make_mesh((1, 1), ("x", "y"))):
        wanted = np.asarray(jx.grad(GRADIENTS[name])(jnp.array(w), ROWS()))
    for take in (jx.grad(GRADIENTS[name]), jx.jit(jx.grad(GRADIENTS[name]))):
        found = take(jnp.array(w), ROWS())
        assert kind(found) == "f32[4,6]"
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5)


def test_gradients_of_batches_are_added_before_the_one_sum():
    def train(w, b, batches):
        same = reshard((w, b), P(reduced={"x"}))

        def turn(total, x):
            return jx.tree.map(jnp.add, total, jx.grad(lambda p: loss(*p, x))(same)), None

        zeros = jx.tree.map(lambda p: jnp.zeros_like(p, out_sharding=SHARES), (w, b))
        total, _ = lax.scan(turn, zeros, batches)
        return reshard(total, P())

    batches = np.stack([DATA, DATA + 1, DATA - 1])
    w, b = jnp.ones((4, 6)), jnp.ones(6)
    wanted = [jx.grad(loss, (0, 1))(w, b, jnp.array(x)) for x in batches]
    divided = reshard(jnp.array(batches), P(None, "x"))
    found = jx.jit(train)(w, b, divided)
    for place, g in enumerate(found):
        want = sum(np.asarray(each[place]) for each in wanted)
        np.testing.assert_allclose(g, want, rtol=1e-4)
    text = jx.jit(train).lower(w, b, divided).compile().as_text()
    assert text.count(" all-reduce(") == 1


# ---------------------------------------------------------------- arrays


READERS = {
    "np.asarray": np.asarray,
    "float": lambda u: float(u[0, 0]),
    "tolist": lambda u: u.tolist(),
    "pieces": lambda u: u.addressable_shards,
    "pickle": pickle.dumps,
    "device_get": jx.device_get,
    "indices": lambda u: u.sharding.devices_indices_map(u.shape),
    "pure_callback": lambda u: jx.pure_callback(np.asarray, u, u),
}


@pytest.mark.parametrize("name", READERS)
def test_shares_are_not_read_as_the_value(name):
    with pytest.raises(ValueError, match=r"shares of a sum over 'x', and no parts.*reshard\(x, P"):
        READERS[name](SHARED())


def test_a_sum_that_is_put_off_is_shown_by_its_type():
    text = "Array(f32[8,4]{U:x}, a sum over devices that is put off)"
    assert repr(SHARED()) == str(SHARED()) == f"{SHARED()}" == text
    assert not SHARED().is_fully_replicated
    assert SAME().is_fully_replicated


MOVED = {
    "a device": lambda u: jx.device_put(u, jx.devices()[3]),
    "another mesh": lambda u: jx.device_put(u, NamedSharding(jx.make_mesh((8,), ("z",)), P("z"))),
    "sums over another mesh": lambda u: reshard(
        jx.device_put(u, NamedSharding(jx.make_mesh((8,), ("z",)), P(unreduced={"z"}))),
        NamedSharding(jx.make_mesh((8,), ("z",)), P()),
    ),
    "XLA's mesh": lambda u: jx.device_put(
        u, NamedSharding(Mesh(np.array(jx.devices()[:8]).reshape(4, 2), ("x", "y")), P("x"))
    ),
    "pieces": lambda u: reshard(u, P("x")),
    "other pieces": lambda u: reshard(u, P(("x", "y"))),
    "a copy": lambda u: reshard(copy.deepcopy(u), P()),
    "a constant": lambda u: reshard(jx.jit(lambda: u * 1)(), P()),
}


@pytest.mark.parametrize("name", MOVED)
def test_arrays_that_are_moved_keep_their_value(name):
    for u in (SHARED(), PARTS()):
        np.testing.assert_allclose(MOVED[name](u), DATA)


def test_one_jitted_function_knows_sums_from_values():
    double = jx.jit(lambda u: u + u)
    for make in (SHARED, SAME, WHOLE, ROWS, SHARED, PARTS):
        np.testing.assert_allclose(summed(double(make())), 2 * DATA)
    compiled = double.lower(SHARED()).compile()
    assert compiled.output_shardings.spec.unreduced == {"x"}
    with pytest.raises(ValueError, match="shares of a sum"):
        compiled(PARTS())


def test_beside_axes_that_xla_decides_about(eight_devices):
    kinds = (AxisType.Explicit, AxisType.Auto)
    with jx.set_mesh(jx.make_mesh((4, 2), ("x", "y"), axis_types=kinds)):
        a = reshard(jnp.array(DATA), P("x"))
        out = jx.jit(lambda a: jnp.dot(a.T, a, out_sharding=SHARES))(a)
        assert kind(out) == "f32[4,4]{U:x}"
        np.testing.assert_allclose(summed(out + out), 2 * DATA.T @ DATA, rtol=1e-5)


def test_a_program_of_shares_is_not_exported(explicit):
    x = jx.device_put(DATA, NamedSharding(explicit, P("x")))
    shares = lax.reduce_sum(x, (0,), out_sharding=SHARES)
    with pytest.raises(ValueError, match="is unreduced or reduced"):
        export(jx.jit(lambda a: a * 2))(shares)
    with pytest.raises(ValueError, match="is unreduced or reduced"):
        export(jx.jit(lambda a: lax.reduce_sum(a, (0,), out_sharding=SHARES)))(x)
    inside = export(jx.jit(lambda a: reshard(lax.reduce_sum(a, (0,), out_sharding=SHARES), P())))(x)
    np.testing.assert_allclose(inside.call(x), DATA.sum(0), rtol=1e-6)
