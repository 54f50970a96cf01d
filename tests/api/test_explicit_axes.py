"""Explicit mesh axes: types say how values are divided, and each operation says it of its result.

The types in these tables, and which programs are refused, are real JAX's, but where a comment says
otherwise.  Values are those of the same program on one device.
"""

import re

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ShardingTypeError
from jxkernel.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, reshard
from jxkernel.sharding import PartitionSpec as P


def data(*shape):
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7) / 4 - 0.5


@pytest.fixture(scope="module")
def explicit(eight_devices):
    return jx.make_mesh((4, 2), ("x", "y"))


@pytest.fixture
def put(explicit):
    def put(shape, *entries):
        return jx.device_put(data(*shape), NamedSharding(explicit, P(*entries)))

    return put


XY = ((8, 4), "x", "y")
X = ((8, 4), "x")
Y = ((8, 4), None, "y")
WHOLE = ((8, 4),)

PROGRAMS = {
    "sin": (jnp.sin, [XY], "8@x,4@y"),
    "add": (jnp.add, [XY, XY], "8@x,4@y"),
    "add whole": (jnp.add, [XY, WHOLE], "8@x,4@y"),
    "add parts": (jnp.add, [X, Y], "8@x,4@y"),
    "add scalar": (lambda a: a + 1, [XY], "8@x,4@y"),
    "add row": (lambda a: a + jnp.ones(4), [XY], "8@x,4@y"),
    "compare": (lambda a: a > 0, [XY], "8@x,4@y"),
    "astype": (lambda a: a.astype(int), [XY], "8@x,4@y"),
    "where": (lambda a: jnp.where(a > 0, a, 0), [XY], "8@x,4@y"),
    "sum axis": (lambda a: a.sum(0), [XY], "4@y"),
    "sum": (jnp.sum, [XY], ""),
    "max": (lambda a: a.max(1), [XY], "8@x"),
    "argmax": (lambda a: a.argmax(1), [XY], "8@x"),
    "softmax": (jx.nn.softmax, [XY], "8@x,4@y"),
    "normalize": (lambda a: (a - a.mean(-1, keepdims=True)) / a.std(), [XY], "8@x,4@y"),
    "cumsum": (lambda a: jnp.cumsum(a, 1), [X], "8@x,4"),
    "sort": (lambda a: jnp.sort(a, 1), [X], "8@x,4"),
    "transpose": (jnp.transpose, [XY], "4@y,8@x"),
    "expand": (lambda a: a[:, None], [XY], "8@x,1,4@y"),
    "squeeze": (lambda a: a[None].squeeze(0), [XY], "8@x,4@y"),
    "reverse": (lambda a: a[::-1], [XY], "8@x,4@y"),
    "broadcast": (lambda a: jnp.broadcast_to(a, (3, 8, 4)), [XY], "3,8@x,4@y"),
    "ravel": (jnp.ravel, [X], "32@x"),
    "ravel both": (jnp.ravel, [XY], "32@(x,y)"),
    "split first": (lambda a: a.reshape(4, 2, 4), [XY], "4@x,2,4@y"),
    "split last": (lambda a: a.reshape(8, 2, 2), [XY], "8@x,2@y,2"),
    "split joint": (lambda a: a.reshape(4, 8), [((32,), ("x", "y"))], "4@x,8@y"),
    "split joint first": (lambda a: a.reshape(8, 4), [((32,), ("x", "y"))], "8@(x,y),4"),
    "merge beside": (lambda a: a.reshape(32, 2), [((8, 4, 2), None, None, "y")], "32,2@y"),
    "concatenate": (lambda a: jnp.concatenate([a, a], 1), [X], "8@x,8"),
    "concatenate along": (lambda a: jnp.concatenate([a, a], 0), [XY], "16@x,4@y"),
    "stack": (lambda a: jnp.stack([a, a]), [XY], "2,8@x,4@y"),
    "pad": (lambda a: jnp.pad(a, ((0, 0), (1, 1))), [X], "8@x,6"),
    "repeat": (lambda a: jnp.repeat(a, 2, axis=1), [X], "8@x,8"),
    "roll": (lambda a: jnp.roll(a, 1, axis=1), [X], "8@x,4"),
    "slice": (lambda a: a[:, :3], [X], "8@x,3"),
    "slice halves": (lambda a: lax.slice(a, (0, 0), (4, 4)), [XY], "4@x,4@y"),
    "index": (lambda a: a[:, 0], [X], "8@x"),
    "gather": (lambda a: a[:, jnp.array([0, 1])], [X], "8@x,2"),
    "take along": (
        lambda a: jnp.take_along_axis(a, jnp.zeros((8, 1), int), axis=1),
        [X],
        "8@x,1",
    ),
    "scatter": (lambda a: a.at[:, 0].add(1.0), [X], "8@x,4"),
    "dynamic slice": (lambda a: lax.dynamic_slice(a, (0, 1), (8, 2)), [X], "8@x,2"),
    "dot": (jnp.dot, [X, ((4, 8), None, "y")], "8@x,8@y"),
    "dot one side": (jnp.dot, [XY, ((4, 8),)], "8@x,8"),
    "matrix vector": (jnp.dot, [X, ((4,),)], "8@x"),
    "einsum batch": (
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        [((8, 2, 4), "x"), ((8, 4, 2), "x")],
        "8@x,2,2",
    ),
    "convolution": (
        lambda a, w: lax.conv(a, w, (1, 1), "SAME"),
        [((8, 3, 4, 4), "x"), ((2, 3, 3, 3),)],
        "8@x,2,4,4",
    ),
    "windows": (
        lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 2), (1, 2), "VALID"),
        [X],
        "8@x,2",
    ),
    "bits": (lambda a: lax.bitcast_convert_type(a, jnp.int16), [XY], "8@x,4@y,2"),
    "singular values": (lambda a: jnp.linalg.svd(a)[1], [((8, 3, 3), "x")], "8@x,3"),
    "zeros like": (lambda a: jnp.zeros_like(a), [XY], "8@x,4@y"),
    "vmap": (jx.vmap(lambda r: r * 2), [XY], "8@x,4@y"),
    "vmap sum": (jx.vmap(jnp.sum), [XY], "8@x"),
    "vmap out axis": (jx.vmap(lambda r: r * 2, out_axes=1), [XY], "4@y,8@x"),
    "vmap dot": (lambda a, w: jx.vmap(lambda r: r @ w)(a), [X, ((4, 8),)], "8@x,8"),
    "vmap jit": (jx.vmap(jx.jit(jnp.cos)), [XY], "8@x,4@y"),
    "scan": (lambda a: lax.scan(lambda c, t: (c, t * 2), 0, a)[1], [Y], "8,4@y"),
    "scan carry": (
        lambda a: lax.scan(lambda c, _: (c * 2, None), a, None, length=3)[0],
        [XY],
        "8@x,4@y",
    ),
    # Real JAX refuses a carry that begins whole and comes out divided.
    "scan from whole": (
        lambda a: lax.scan(lambda c, t: (c + t, None), jnp.zeros(4), a)[0],
        [Y],
        "4@y",
    ),
    "cond": (
        lambda a: lax.cond(a.sum() > 0, lambda a: a * 2, lambda a: a + 1, a),
        [XY],
        "8@x,4@y",
    ),
    "while": (
        lambda a: lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, a),
        [XY],
        "8@x,4@y",
    ),
    "nested jit": (lambda a: jx.jit(jnp.sin)(a) + 1, [XY], "8@x,4@y"),
    "grad": (jx.grad(lambda a: (jnp.sin(a) * a).sum()), [XY], "8@x,4@y"),
    "grad of weights": (
        jx.grad(lambda w, a: (jnp.tanh(a @ w) ** 2).sum()),
        [((4, 8), None, "y"), X],
        "4,8@y",
    ),
    "grad of whole weights": (jx.grad(lambda w, a: (a @ w).sum()), [((4, 8),), X], "4,8"),
    "grad of inputs": (
        jx.grad(lambda a, w: jnp.sin(a @ w).sum()),
        [X, ((4, 8), None, "y")],
        "8@x,4",
    ),
    "grad of indexing": (jx.grad(lambda a: (a[:, 1] ** 2).sum()), [X], "8@x,4"),
    "grad of reshape": (jx.grad(lambda a: (a.reshape(4, 2, 4) ** 2).sum()), [XY], "8@x,4@y"),
    "grad of scan": (
        jx.grad(lambda a: lax.scan(lambda c, t: (jnp.sin(c + t), c), a[0], a)[0].sum()),
        [Y],
        "8,4@y",
    ),
    "grad of checkpoint": (jx.grad(jx.checkpoint(lambda a: jnp.sin(a).sum())), [XY], "8@x,4@y"),
    "hessian times vector": (
        lambda a: jx.jvp(jx.grad(lambda a: (jnp.sin(a) ** 2).sum()), (a,), (a,))[1],
        [XY],
        "8@x,4@y",
    ),
    "grad of vmap": (
        jx.grad(lambda a: jx.vmap(lambda r: jnp.tanh(r).sum())(a).sum()),
        [XY],
        "8@x,4@y",
    ),
    "vmap of grad": (jx.vmap(jx.grad(lambda r: jnp.tanh(r).sum())), [XY], "8@x,4@y"),
    "reshard": (lambda a: reshard(a, P("y")), [XY], "8@y,4"),
    "reshard whole": (lambda a: reshard(a, P()), [XY], "8,4"),
    "dot out_sharding": (
        lambda a, b: jnp.dot(a, b, out_sharding=P("x")),
        [XY, ((4, 8), "y")],
        "8@x,8",
    ),
    "einsum out_sharding": (
        lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", None)),
        [XY, ((4, 8), "y")],
        "8@x,8",
    ),
    "dot_general out_sharding": (
        lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), out_sharding=P(None, "x")),
        [XY, ((4, 8), "y")],
        "8,8@x",
    ),
    "reshape out_sharding": (
        lambda a: lax.reshape(a, (4, 8), out_sharding=P("x")),
        [XY],
        "4@x,8",
    ),
    "gather out_sharding": (
        lambda a: a.at[jnp.array([0, 1])].get(out_sharding=P(None, "y")),
        [XY],
        "2,4@y",
    ),
    "scatter out_sharding": (
        lambda a: a.at[jnp.array([0, 1])].set(1.0, out_sharding=P("x", "y")),
        [XY],
        "8@x,4@y",
    ),
    "arange": (lambda a: jnp.arange(8.0, out_sharding=P("x")), [XY], "8@x"),
    "repeat out_sharding": (
        lambda a: jnp.repeat(a, 2, axis=0, out_sharding=P("y", "x")),
        [XY],
        "16@y,4@x",
    ),
    "broadcast out_sharding": (
        lambda a: lax.broadcast(a[:, 0], (2,), out_sharding=P("y", "x")),
        [X],
        "2@y,8@x",
    ),
    "reduce_sum out_sharding": (
        lambda a: lax.reduce_sum(a, (0,), out_sharding=P("x")),
        [XY],
        "4@x",
    ),
    "reduce_max out_sharding": (
        lambda a: lax.reduce_max(a, (0,), out_sharding=P("x")),
        [XY],
        "4@x",
    ),
    "reduce_min out_sharding": (lambda a: lax.reduce_min(a, (0,), out_sharding=P()), [XY], "4"),
    "reduce out_sharding": (
        lambda a: lax.reduce(a, 0.0, lax.add, (1,), out_sharding=P("y")),
        [XY],
        "8@y",
    ),
    "conv out_sharding": (
        lambda a: lax.conv(a[:, None], jnp.ones((2, 1, 2)), (1,), "SAME"),
        [X],
        "8@x,2,4",
    ),
    "conv of divided features out_sharding": (
        lambda a, w: lax.conv_general_dilated(
            a[..., None], w[..., None], (1,), "VALID", out_sharding=P("x")
        ),
        [XY, ((6, 4), None, "y")],
        "8@x,6,1",
    ),
    "ragged_dot out_sharding": (
        lambda a: lax.ragged_dot(a, jnp.ones((2, 4, 3)), jnp.array([5, 3]), out_sharding=P("x")),
        [XY],
        "8@x,3",
    ),
    "percentile out_sharding": (
        lambda a: jnp.percentile(a, 50, axis=0, out_sharding=P("y")),
        [XY],
        "4@y",
    ),
    "bincount out_sharding": (
        lambda a: jnp.bincount(jnp.arange(3), length=8, out_sharding=P("x")),
        [XY],
        "8@x",
    ),
    "histogram out_sharding": (
        lambda a: jnp.histogram(a, bins=4, out_sharding=P("x"))[0],
        [XY],
        "4@x",
    ),
    "full sharding": (
        lambda a: lax.full((8,), 2.0, sharding=NamedSharding(jx.sharding.get_mesh(), P("x"))),
        [XY],
        "8@x",
    ),
    "initializer out_sharding": (
        lambda a: jx.nn.initializers.he_normal()(jx.random.key(0), (8, 4), out_sharding=P("x")),
        [XY],
        "8@x,4",
    ),
    "ones initializer out_sharding": (
        lambda a: jx.nn.initializers.ones(jx.random.key(0), (8,), out_sharding=P("x")),
        [XY],
        "8@x",
    ),
    "grad of sum": (jx.grad(jnp.sum), [XY], "8@x,4@y"),
    "vmap of grad of sum": (jx.vmap(jx.grad(jnp.sum)), [XY], "8@x,4@y"),
    "vmap of a constant": (jx.vmap(lambda r: jnp.ones(3)), [XY], "8@x,3"),
    "vmap of a constant, second": (jx.vmap(lambda r: jnp.ones(3), out_axes=1), [XY], "3,8@x"),
    "vmap of a constant carry": (
        jx.vmap(lambda r: lax.scan(lambda c, t: (c + t, c), 0.0, r)[0]),
        [X],
        "8@x",
    ),
    "empty out_sharding": (lambda a: lax.empty((8,), np.float32, out_sharding=P("x")), [XY], "8@x"),
    "full_like": (lambda a: lax.full_like(a, 2.0), [XY], "8@x,4@y"),
    "bits out_sharding": (
        lambda a: lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (8,), out_sharding=P("x"))[
            1
        ],
        [XY],
        "8@x",
    ),
    "grad of dot out_sharding": (
        jx.grad(lambda a, b: (jnp.dot(a, b, out_sharding=P("x")) ** 2).sum()),
        [XY, ((4, 8), "y")],
        "8@x,4@y",
    ),
    "auto_axes": (lambda a: auto_axes(lambda a: a @ a.T, out_sharding=P("x"))(a), [XY], "8@x,8"),
    "shard_map": (
        lambda a: jx.shard_map(lambda a: a * 2, in_specs=P("x", "y"), out_specs=P("x", "y"))(a),
        [XY],
        "8@x,4@y",
    ),
    "shard_map sum": (
        lambda a: jx.shard_map(
            lambda a: lax.psum(a.sum(1), "y"), in_specs=P("x", "y"), out_specs=P("x")
        )(a),
        [XY],
        "8@x",
    ),
    "shard_map over one axis": (
        lambda a: jx.shard_map(
            lambda a: a * 2, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
        )(a),
        [XY],
        "8@x,4@y",
    ),
}


SPEC_NEEDED = re.compile("sharding|reshard|auto_axes|shard_map|arange")
COMMON = ["sin", "sum axis", "ravel both", "gather", "dot", "scan carry", "cond", "grad of weights"]
COMMON += ["vmap sum", "einsum out_sharding", "grad of dot out_sharding", "shard_map sum"]
EAGER = ["sum axis", "dot", "grad of whole weights", "dot out_sharding"]


def typed(x):
    return jx.typeof(x).short().partition("[")[2][:-1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_types_say_how_results_are_divided(name, put, explicit):
    function, given, sizes = PROGRAMS[name]
    with jx.set_mesh(explicit):
        (aval,) = jx.make_jaxpr(function)(*[put(*arg) for arg in given]).out_avals
    assert aval.short().partition("[")[2] == f"{sizes}]"


@pytest.mark.parametrize(
    "names",
    [
        COMMON,
        pytest.param([name for name in PROGRAMS if name not in COMMON], marks=pytest.mark.slow),
    ],
)
def test_results_lie_as_types_say_and_are_those_of_one_device(names, put, explicit):
    """All in one program each, for one compilation."""
    plain = [name for name in names if not SPEC_NEEDED.search(name)]

    def given(names, make):
        return {name: [make(*arg) for arg in PROGRAMS[name][1]] for name in names}

    with jx.set_mesh(explicit):
        divided = jx.jit(lambda args: {name: PROGRAMS[name][0](*args[name]) for name in names})(
            given(names, put)
        )
    whole = jx.jit(lambda args: {name: PROGRAMS[name][0](*args[name]) for name in plain})(
        given(plain, lambda shape, *entries: jnp.asarray(data(*shape)))
    )
    for name, out in divided.items():
        assert (name, typed(out)) == (name, PROGRAMS[name][2])
        assert out.sharding.mesh == explicit
        if name in whole:
            np.testing.assert_allclose(out, whole[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", EAGER)
def test_eager_results_are_divided_as_staged_ones(name, put, explicit):
    function, given, sizes = PROGRAMS[name]
    with jx.set_mesh(explicit):
        out = function(*[put(*arg) for arg in given])
    assert typed(out) == sizes
    if not SPEC_NEEDED.search(name):
        expected = function(*[data(*shape) for shape, *_ in given])
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


REFUSED = {
    "add": (jnp.add, [XY, ((8, 4), "y", "x")], "divide axis 0 differently, @x and @y"),
    "add twice": (jnp.add, [X, ((8, 4), None, "x")], "'x' would divide two axes .* [8@x,4@x]"),
    "cumsum": (lambda a: jnp.cumsum(a, 0), [XY], "it accumulates along axis 0, which @x divides"),
    "sort": (lambda a: jnp.sort(a, 0), [XY], "it sorts along axis 0"),
    "top_k": (lambda a: lax.top_k(a, 2), [XY], "it chooses along axis 1, which @y divides"),
    "reshape": (lambda a: a.reshape(4, 8), [XY], "reshape(..., out_sharding=P(...))"),
    "reshape splits": (lambda a: a.reshape(2, 4, 4), [X], "out_sharding=P(...)"),
    "ravel": (jnp.ravel, [Y], "out_sharding=P(...)"),
    "dot": (jnp.dot, [XY, ((4, 8), "y")], "both divided, @y and @y"),
    "dot twice": (jnp.dot, [X, ((4, 8), None, "x")], "would divide two axes"),
    "slice": (lambda a: a[:3], [XY], "it leaves 3 elements of axis 0"),
    "index": (lambda a: a[0], [XY], "axis 0, which @x divides"),
    "gather": (lambda a: a[jnp.array([0, 1])], [XY], "get(..., out_sharding=P(...))"),
    "pad": (lambda a: jnp.pad(a, ((1, 1), (0, 0))), [X], "10 elements of axis 0"),
    "diagonal": (jnp.diagonal, [((4, 4), "x")], "divides"),
    "factor": (jnp.linalg.cholesky, [((4, 4), "x")], "divide"),
    "scan": (lambda a: lax.map(jnp.sin, a), [X], "reshard(xs, P(None, None))"),
    "vmap": (
        lambda a, b: jx.vmap(jnp.add)(a, b),
        [X, ((8, 4), "y")],
        "whose mapped axes are divided differently",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_operands_leave_open_is_refused_with_what_to_write(name, put, explicit):
    function, given, words = REFUSED[name]
    args = [put(*arg) for arg in given]
    with jx.set_mesh(explicit), pytest.raises(ShardingTypeError) as caught:
        jx.make_jaxpr(function)(*args)
    assert re.search(re.escape(words).replace(r"\.\*", ".*"), str(caught.value))
    assert "@" in caught.value.operands
    assert "test_explicit_axes.py:" in caught.value.where


def test_eager_operations_are_refused_as_staged_ones(put, explicit):
    with pytest.raises(ShardingTypeError, match=r"(?s)add got .*reshard"):
        put(*XY) + put((8, 4), "y", "x")


def test_a_loop_that_divides_its_carry_anew_is_refused(put, explicit):
    def turn(carry, _):
        return reshard(carry, P("y", "x")), None

    with jx.set_mesh(explicit), pytest.raises(TypeError, match=r"f32\[8@x,4@y\].*f32\[8@y,4@x\]"):
        lax.scan(turn, put(*XY), None, length=2)
    with jx.set_mesh(explicit), pytest.raises(TypeError, match="branches whose results have one"):
        lax.cond(True, lambda a: reshard(a, P("x")), lambda a: a, put(*XY))


def test_types_and_programs_print_their_divisions(put, explicit):
    x = put(*XY)
    assert str(jx.typeof(x)) == "float32[8@x,4@y]"
    assert jx.typeof(x).sharding == NamedSharding(explicit.abstract_mesh, P("x", "y"))
    assert str(jx.make_jaxpr(lambda a: jnp.sin(a).sum(0))(x)) == (
        "{ lambda ; a:f32[8@x,4@y]. let\n"
        "    b:f32[8@x,4@y] = sin a\n"
        "    c:f32[4@y] = reduce_sum[axes=(0,)] b\n"
        "  in (c,) }"
    )
    with jx.set_mesh(explicit):
        assert jx.typeof(jnp.ones(3)).sharding == NamedSharding(explicit.abstract_mesh, P(None))
    shape = jx.ShapeDtypeStruct((8, 4), jnp.float32, sharding=NamedSharding(explicit, P("x")))
    assert jx.typeof(jx.eval_shape(lambda a: jnp.sin(a).T, shape)).short() == "f32[4,8@x]"


def test_calls_without_set_mesh_know_the_mesh_from_their_arguments(put, explicit):
    x = put(*XY)
    for function in (lambda a: jnp.sin(a) + 1, jx.jit(lambda a: a * 2)):
        for _ in range(2):  # first Python, then the C++ path
            assert function(x).sharding == NamedSharding(explicit, P("x", "y"))
    double = jx.jit(lambda a: (a * 2, a.sum(1)))
    for entries in (("x",), (), (("x", "y"),)):
        out, total = double(put((8, 4), *entries))
        assert out.sharding.is_equivalent_to(NamedSharding(explicit, P(*entries)), 2)
        assert total.sharding.is_equivalent_to(NamedSharding(explicit, P(*entries[:1])), 1)


def test_two_meshes_in_one_operation_are_refused(put, eight_devices):
    other = jx.make_mesh((2, 4), ("a", "b"))
    y = jx.device_put(data(8, 4), NamedSharding(other, P("a")))
    with pytest.raises(ShardingTypeError, match="over two meshes"):
        put(*XY) + y


def test_constraints_only_check_explicit_axes(put, explicit):
    x = put(*XY)
    with pytest.raises(ValueError, match=r"for f32\[8@x,4@y\].*reshard"):
        lax.with_sharding_constraint(x, NamedSharding(explicit, P("x")))
    with jx.set_mesh(explicit):
        assert lax.with_sharding_constraint(x, P("x", "y")) is x
        with pytest.raises(AssertionError, match=r"for f32\[8@x,4@y\].*reshard"):
            lax.with_sharding_constraint(x, P("x"))
        with pytest.raises(ValueError, match="says nothing"):
            reshard(x, None)
        with pytest.raises(ValueError, match="axis 0 into 4 pieces"):
            reshard(np.ones((6, 4)), P("x"))
        with pytest.raises(ValueError, match=r"is not how .* is divided"):
            jx.shard_map(lambda a: a, in_specs=P("y"), out_specs=P("y"))(x)
    mixed = jx.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    y = jx.device_put(data(8, 4), NamedSharding(mixed, P("x", "y")))
    assert str(jx.typeof(y)) == "float32[8@x,4]"
    out = jx.jit(lambda a: jnp.sin(a).T)(y)
    assert str(jx.typeof(out)) == "float32[4,8@x]"
    assert out.sharding == NamedSharding(mixed, P("y", "x"))
    with pytest.raises(ValueError, match="names the explicit axes"):
        lax.with_sharding_constraint(y, NamedSharding(mixed, P("x")))


def test_types_say_the_in_specs_of_shard_map(put, explicit):
    seen = []

    def inside(tree):
        seen.append((str(jx.typeof(tree["a"])), tree["b"].shape))
        return {"a": tree["a"] + tree["b"], "n": lax.psum(1, "x")}

    @jx.shard_map(out_specs={"a": P("x", "y"), "n": P()})
    def mapped(tree):
        return inside(tree)

    arguments = {"a": put(*XY), "b": 2.0}
    with jx.set_mesh(explicit):
        out = mapped(arguments)
        np.testing.assert_allclose(out["a"], data(8, 4) + 2)
        assert (str(jx.typeof(out["a"])), out["n"]) == ("float32[8@x,4@y]", 4)
        one_axis = jx.shard_map(inside, out_specs={"a": P("x"), "n": P()}, axis_names={"x"})
        assert str(jx.typeof(jx.jit(one_axis)(arguments)["a"])) == "float32[8@x,4@y]"
    assert seen == [("float32[2,2]{V:(x,y)}", ()), ("float32[2,4@y]{V:x}", ())]
    mixed = jx.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with pytest.raises(TypeError, match=r"needs in_specs: the mesh axes \['y'\] are not Explicit"):
        jx.shard_map(inside, mesh=mixed, out_specs=P())(arguments)


def test_auto_and_explicit_axes_hide_and_show_divisions(put, explicit):
    seen = []

    def inside(a):
        seen.append((jx.typeof(a).short(), jx.sharding.get_abstract_mesh().axis_types))
        return a * 2

    x = put(*XY)
    with jx.set_mesh(explicit):
        out = auto_axes(inside, axes="y", out_sharding=P("x", "y"))(x)
        assert out.sharding == NamedSharding(explicit, P("x", "y"))
        auto_axes(inside)(x, out_sharding=P("x"))
        with pytest.raises(TypeError, match="give it out_sharding"):
            auto_axes(inside)(x)
    assert seen == [
        ("f32[8@x,4]", (AxisType.Explicit, AxisType.Auto)),
        ("f32[8,4]", (AxisType.Auto, AxisType.Auto)),
    ]
    seen.clear()
    auto = explicit.update(axis_types=(AxisType.Auto,) * 2)
    y = jx.device_put(data(8, 4), NamedSharding(auto, P("x")))
    with jx.set_mesh(auto):
        out = jx.jit(explicit_axes(inside, in_sharding=P("x")))(y)
    assert seen == [("f32[8@x,4]", (AxisType.Explicit,) * 2)]
    assert out.sharding == NamedSharding(auto, P("x"))
    np.testing.assert_allclose(out, data(8, 4) * 2)


def test_primitives_without_a_rule_ask_to_leave_them_to_xla(put, explicit):
    halves_p = jx.extend.core.Primitive("explicit_axes_halves")
    halves_p.def_abstract_eval(lambda x: x)
    halves_p.def_lower(lambda context, x: x)
    with pytest.raises(ShardingTypeError, match="has no rule") as caught:
        halves_p.bind(put(*XY))
    for instead in ("auto_axes", "reshard(x, P())"):
        assert instead in str(caught.value)
    assert halves_p.bind(put(*WHOLE)).sharding == NamedSharding(explicit, P())
    halves_p.define(sharding=lambda out, x: x.entries)
    assert halves_p.bind(put(*XY)).sharding == NamedSharding(explicit, P("x", "y"))


DISTRIBUTIONS = [
    *[(name,) for name in ("exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell")],
    ("rademacher",),
    *[
        (name, 0.5)
        for name in ("bernoulli", "rayleigh", "pareto", "lognormal", "wald", "geometric")
    ],
    *[(name, 2.0) for name in ("gamma", "loggamma", "chisquare", "t", "poisson")],
    *[(name, 1.0, 2.0) for name in ("truncated_normal", "beta", "f")],
    ("generalized_normal", 2.0),
    ("triangular", 0.0, 1.0, 2.0),
]


def test_creation_and_drawing_divide_results_as_asked(explicit):
    with jx.set_mesh(explicit):
        for make in (
            lambda how: jnp.zeros((8, 2), out_sharding=how),
            lambda how: jnp.array(np.ones((8, 2)), out_sharding=how),
            lambda how: jx.random.normal(jx.random.key(0), (8, 2), out_sharding=how),
            lambda how: jx.nn.one_hot(jnp.arange(8), 2, out_sharding=how),
            lambda how: lax.broadcasted_iota(int, (8, 2), 0, out_sharding=how),
            lambda how: lax.dot(np.ones((8, 3)), np.ones((3, 2)), out_sharding=how),
            lambda how: jx.ops.segment_sum(np.ones((3, 2)), np.arange(3), 8, out_sharding=how),
        ):
            assert typed(make(P("x"))) == "8@x,2"
        for distribution, *parameters in DISTRIBUTIONS:
            draw = getattr(jx.random, distribution)

            def drawn(key, *args, draw=draw):
                return draw(key, *args, (8,), out_sharding=P("x"))

            (aval,) = jx.make_jaxpr(drawn)(jx.random.key(0), *parameters).out_avals
            assert aval.short().endswith("[8@x]"), distribution
        order = jx.random.permutation(jx.random.key(0), 8, out_sharding=P("x"))
        assert (typed(order), sorted(order.tolist())) == ("8@x", list(range(8)))
        chosen = jx.random.categorical(jx.random.key(0), jnp.zeros((8, 3)), out_sharding=P("x"))
        assert typed(chosen) == "8@x"
        with pytest.raises(TypeError, match="dot got out_sharding=3"):
            jnp.dot(np.ones(3), np.ones(3), out_sharding=3)
    with pytest.raises(RuntimeError, match="refers to no mesh"):
        jnp.dot(np.ones(3), np.ones(3), out_sharding=P())


def test_shardings_asked_for_alone_type_nothing_and_leave_results_to_the_compiler(explicit, put):
    rows, whole = NamedSharding(explicit, P("x")), NamedSharding(explicit, P())
    types = []

    def double(v):
        types.append(str(jx.typeof(v)))
        return v * 2

    x = data(8, 4)
    asked = jx.jit(double, in_shardings=rows)
    assert asked(x).sharding == rows
    assert asked.lower(jnp.asarray(x)).compile()(x).sharding == rows
    assert types == ["float32[8,4]"]
    assert asked(put(*X)).sharding.spec == P("x", None)
    assert types == ["float32[8,4]", "float32[8@x,4]"]
    assert jx.jit(double, in_shardings=rows, out_shardings=whole)(x).sharding == whole
    assert jx.jit(double)(put(*WHOLE)).sharding == whole


@pytest.fixture(scope="module")
def mixed(eight_devices):
    return jx.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))


CONSTRAINED = {
    "beside": (P("x"), P(None, "y"), P("x", "y")),
    "below": (P("x"), P("y"), P(("x", "y"))),
    "of a whole value": (P(), P("y"), P("y")),
    "that says whole": (P("x", "y"), P(), P("x")),
}


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_over_other_axes_keep_what_types_say(name, mixed):
    before, said, after = CONSTRAINED[name]
    with jx.set_mesh(mixed):
        x = jx.device_put(data(8, 8), before)

        def constrain(x):
            return lax.with_sharding_constraint(x, said)

        for found in (constrain(x), jx.jit(constrain)(x)):
            assert found.sharding.is_equivalent_to(NamedSharding(mixed, after), 2)
            assert jx.typeof(found) == jx.typeof(x)
        gradient = jx.grad(lambda x: (constrain(x) ** 2).sum())(x)
        assert jx.typeof(gradient) == jx.typeof(x)
        np.testing.assert_allclose(gradient, 2 * data(8, 8))
        every = jx.jit(jx.vmap(lambda x: lax.with_sharding_constraint(x, P("y"))))(x)
        assert jx.typeof(every) == jx.typeof(x)


def test_reshard_lets_lie_what_the_compiler_divides(mixed):
    with jx.set_mesh(mixed):
        x = jx.device_put(data(8, 8), P(None, "y"))
        for found in (reshard(x, P("x")), jx.jit(lambda x: reshard(x * 2, P("x")))(x)):
            assert found.sharding == NamedSharding(mixed, P("x", "y"))


def test_reshard_takes_explicit_axes_away_where_others_are_the_compilers(eight_devices):
    kinds = (AxisType.Explicit, AxisType.Explicit, AxisType.Auto)
    mesh = jx.make_mesh((2, 2, 2), ("x", "y", "z"), kinds)
    with jx.set_mesh(mesh):
        x = jx.device_put(data(8, 8), P(("x", "y"), "z"))
        for spec in (P("x"), P("y"), P(), P(None, "x"), P("x", "y")):
            found = jx.jit(lambda x, spec=spec: reshard(x, spec))(x)
            assert found.sharding.check_compatible_aval((8, 8)) is None
            left = [name for entry in spec for name in (entry or ())]
            named = [name for entry in found.sharding.spec for name in (entry or ())]
            assert [name for name in named if name != "z"] == left
            np.testing.assert_array_equal(found, data(8, 8))


def test_the_sharding_of_a_type_of_no_mesh_says_nothing():
    x = jnp.ones(3)
    where = jx.typeof(x).sharding
    assert (where.mesh.empty, where.spec) == (True, P(None))
    assert jnp.zeros(3, out_sharding=where).tolist() == [0, 0, 0]
    product = jnp.einsum("i,i->", x, x, out_sharding=jx.typeof(x[0]).sharding)
    assert product.item() == 3
    assert jx.jit(lambda x: reshard(x, where))(x).tolist() == [1, 1, 1]
    assert lax.with_sharding_constraint(x, where) is x
