"""Arrays of keys go through what moves elements, as arrays of numbers do."""

import copy
import pickle

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax, random
from jxkernel.dtypes import float0
from jxkernel.errors import AxisError, ImmutableArrayError, KeyTypeError

KEYS = random.split(random.key(3), 6)
TABLE = KEYS.reshape(2, 3)
ONE = random.key(7)
OTHER = random.key(0, impl="rbg")
NUMBERS = np.arange(6)
FEW = jnp.arange(6) < 2

GATHERED = lax.GatherDimensionNumbers((), (0,), (0,))
SCATTERED = lax.ScatterDimensionNumbers((), (0,), (0,))


def _turned(keys):
    last, _ = lax.while_loop(lambda c: c[1] < 2, lambda c: (jnp.roll(c[0], 1), c[1] + 1), (keys, 0))
    return last


MOVES = {
    "reshape": lambda x: jnp.reshape(x, (2, -1)),
    "method": lambda x: x.reshape(2, 3).T,
    "fortran": lambda x: jnp.reshape(x, (2, 3), order="F"),
    "ravel": lambda x: jnp.ravel(x.reshape(3, 2)),
    "flatten": lambda x: x.reshape(3, 2).flatten(),
    "stack": lambda x: jnp.stack([x[0], x[1]]),
    "stack_last": lambda x: jnp.stack([x, x[::-1]], axis=-1),
    "concatenate": lambda x: jnp.concatenate([x, x[:2]]),
    "vstack": lambda x: jnp.vstack([x, x]),
    "block": lambda x: jnp.block([x, x]),
    "append": lambda x: jnp.append(x, x[0]),
    "array": lambda x: jnp.array([x[0], x[4]]),
    "nested": lambda x: jnp.array([[x[0], x[4]], [x[1], x[1]]]),
    "asarray": jnp.asarray,
    "asarray_dtype": lambda x: jnp.asarray(x, dtype=x.dtype),
    "astype": lambda x: x.astype(x.dtype),
    "copy": jnp.copy,
    "where": lambda x: jnp.where(FEW, x, x[::-1]),
    "where_one": lambda x: jnp.where(FEW, x, x[3]),
    "select": lambda x: jnp.select([FEW], [x], x[0]),
    "choose": lambda x: jnp.choose(jnp.array([1, 0]), [x[:2], x[2:4]], mode="clip"),
    "full": lambda x: jnp.full((2, 2), x[3]),
    "full_like": lambda x: jnp.full_like(x, x[3]),
    "broadcast_to": lambda x: jnp.broadcast_to(x, (3, 6)),
    "broadcast_arrays": lambda x: jnp.broadcast_arrays(x[0], x)[0],
    "expand_dims": lambda x: jnp.expand_dims(x, 0),
    "squeeze": lambda x: jnp.squeeze(x[None]),
    "moveaxis": lambda x: jnp.moveaxis(x.reshape(2, 3, 1), 0, -1),
    "transpose": lambda x: x.reshape(1, 2, 3).transpose(2, 0, 1),
    "matrix_transpose": lambda x: x.reshape(2, 3).mT,
    "tile": lambda x: jnp.tile(x, (2, 1)),
    "repeat": lambda x: jnp.repeat(x, 2),
    "repeat_counts": lambda x: jnp.repeat(x, np.array([0, 1, 2, 0, 1, 1])),
    "flip": jnp.flip,
    "roll": lambda x: jnp.roll(x, 2),
    "rot90": lambda x: jnp.rot90(x.reshape(2, 3)),
    "take": lambda x: jnp.take(x, jnp.array([4, 0])),
    "take_along_axis": lambda x: jnp.take_along_axis(x, jnp.array([4, 0]), 0),
    "split": lambda x: jnp.split(x, 2)[1],
    "unstack": lambda x: jnp.unstack(x)[2],
    "diagonal": lambda x: x.reshape(2, 3).diagonal(),
    "delete": lambda x: jnp.delete(x, 1),
    "insert": lambda x: jnp.insert(x, 1, x[4]),
    "compress": lambda x: jnp.compress(np.arange(6) > 2, x),
    "resize": lambda x: jnp.resize(x, (4, 2)),
    "meshgrid": lambda x: jnp.meshgrid(x, x[:2])[0],
    "at_set": lambda x: x.at[1].set(x[5]),
    "at_set_several": lambda x: x.at[jnp.array([0, 1])].set(x[3:5]),
    "at_set_beyond": lambda x: x.at[9].set(x[0]),
    "at_get": lambda x: x.at[jnp.array([2, 3])].get(mode="clip"),
    "index": lambda x: x[jnp.array([[0, 1], [2, 3]])],
    "index_step": lambda x: x[1::2],
    "index_new": lambda x: x.reshape(2, 3)[..., None, 0],
    "list_index": lambda x: x.reshape(2, 3)[[0, 1], 1:],
    "mask": lambda x: x[np.arange(6) < 2],
    "lax_select": lambda x: lax.select(FEW, x, x[::-1]),
    "lax_select_scalar": lambda x: lax.select(True, x, x[::-1]),
    "lax_select_n": lambda x: lax.select_n(jnp.arange(6) % 3, x, x[::-1], x),
    "lax_slice": lambda x: lax.slice(x, (1,), (6,), (2,)),
    "lax_slice_in_dim": lambda x: lax.slice_in_dim(x.reshape(2, 3), 1, 3, axis=1),
    "lax_dynamic_slice": lambda x: lax.dynamic_slice(x, (jnp.int32(4),), (3,)),
    "lax_dynamic_index": lambda x: lax.dynamic_index_in_dim(x, 2, 0, keepdims=False),
    "lax_dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:2], (3,)),
    "lax_dynamic_update_index": lambda x: lax.dynamic_update_index_in_dim(x, x[0], 2, 0),
    "lax_concatenate": lambda x: lax.concatenate([x.reshape(2, 3), x.reshape(2, 3)], 1),
    "lax_broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (2, 6), (1,)),
    "lax_broadcast": lambda x: lax.broadcast(x, (3,)),
    "lax_reshape": lambda x: lax.reshape(x, (3, 2)),
    "lax_reshape_order": lambda x: lax.reshape(x.reshape(2, 3), (6,), (1, 0)),
    "lax_transpose": lambda x: lax.transpose(x.reshape(2, 3), (1, 0)),
    "lax_squeeze": lambda x: lax.squeeze(x[None], (0,)),
    "lax_expand_dims": lambda x: lax.expand_dims(x, (0, 2)),
    "lax_rev": lambda x: lax.rev(x, (0,)),
    "lax_split": lambda x: lax.split(x, (2, 4))[1],
    "lax_tile": lambda x: lax.tile(x, (2,)),
    "lax_pad": lambda x: lax.pad(x, x[0], ((1, 2, 1),)),
    "lax_gather": lambda x: lax.gather(x, np.array([[1], [9]]), GATHERED, (1,), mode="clip"),
    "lax_scatter": lambda x: lax.scatter(x, np.array([[1], [4]]), x[:2], SCATTERED),
    "lax_full": lambda x: lax.full((2,), x[1]),
    "lax_stop_gradient": lax.stop_gradient,
    "lax_optimization_barrier": lax.optimization_barrier,
    "scan": lambda x: lax.scan(lambda c, k: (k, c), x[0], x)[1],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, x: x.at[i].set(x[5 - i]), x),
    "while_loop": _turned,
    "cond": lambda x: lax.cond(True, lambda x: x[::-1], lambda x: x, x),
    "switch": lambda x: lax.switch(1, [lambda x: x, lambda x: x[::-1]], x),
    "map": lambda x: lax.map(lambda k: k, x, batch_size=4),
    "vmap": lambda x: jx.vmap(lambda k: k[::-1])(x.reshape(2, 3)),
    "vmap_last": lambda x: jx.vmap(lambda k: k, in_axes=-1)(x.reshape(2, 3)),
    "vmap_out_last": lambda x: jx.vmap(lambda k: k, out_axes=-1)(x.reshape(2, 3)),
    "vmap_index": lambda x: jx.vmap(lambda i: x[i])(jnp.array([3, 1])),
    "vmap_set": lambda x: jx.vmap(lambda i: x.at[i].set(x[0]))(jnp.array([3, 1])),
    "vmap_cond": lambda x: jx.vmap(lambda k, p: lax.cond(p, lambda: k, lambda: x[0]))(x, FEW),
    "checkpoint": lambda x: jx.checkpoint(lambda x: x[::-1])(x),
    "device_put": jx.device_put,
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MOVES)
def test_keys_move_as_numbers_do(name):
    move = MOVES[name]
    where = np.asarray(move(jnp.asarray(NUMBERS)))
    moved = move(KEYS)
    assert moved.dtype == KEYS.dtype
    assert moved.shape == where.shape
    words = np.asarray(random.key_data(KEYS))[where]
    assert (np.asarray(random.key_data(moved)) == words).all()
    assert (np.asarray(random.key_data(jx.jit(move)(KEYS))) == words).all()


def test_keys_are_arrays_but_not_of_numbers():
    assert isinstance(KEYS, jx.Array)
    assert not isinstance(jnp.ones(2), type(KEYS))
    assert (KEYS.shape, KEYS.ndim, KEYS.size) == ((6,), 1, 6)
    assert (KEYS.itemsize, KEYS.nbytes) == (8, 48)
    assert [key.shape for key in TABLE] == [(3,), (3,)]
    assert len(KEYS) == 6
    assert jnp.isscalar(ONE)
    assert jx.dtypes.issubdtype(KEYS.dtype, jx.dtypes.prng_key)
    assert not jx.dtypes.issubdtype(KEYS.dtype, np.number)
    # The module's keys may be from before another test changed the devices.
    assert random.key(0).devices() == jnp.ones(1).devices()
    assert not ONE.is_deleted()


@pytest.mark.parametrize("wrong", [len, list, iter], ids=str)
def test_a_single_key_has_no_axis_to_go_along(wrong):
    with pytest.raises(TypeError):
        wrong(ONE)


REFUSED = {
    "add": lambda: KEYS + 1,
    "radd": lambda: 1 + KEYS,
    "array": lambda: jnp.ones(6) * KEYS,
    "sub": lambda: KEYS - KEYS,
    "matmul": lambda: KEYS @ KEYS,
    "neg": lambda: -KEYS,
    "invert": lambda: ~KEYS,
    "abs": lambda: abs(KEYS),
    "pow": lambda: KEYS**2,
    "less": lambda: KEYS < KEYS,
    "equal_number": lambda: ONE == 1,
    "equal_words": lambda: random.key_data(ONE) == ONE,
    "equal_other": lambda: ONE == OTHER,
    "not_equal_other": lambda: ONE != OTHER,
    "sum": lambda: jnp.sum(KEYS),
    "sum_of_one": lambda: ONE.sum(),
    "mean": lambda: KEYS.mean(),
    "max": lambda: jnp.max(KEYS),
    "any": lambda: jnp.any(KEYS),
    "argmax": lambda: jnp.argmax(KEYS),
    "sort": lambda: jnp.sort(KEYS),
    "cumsum": lambda: jnp.cumsum(KEYS),
    "dot": lambda: jnp.dot(KEYS, KEYS),
    "sin": lambda: jnp.sin(ONE),
    "isnan": lambda: jnp.isnan(ONE),
    "maximum": lambda: jnp.maximum(ONE, ONE),
    "astype": lambda: KEYS.astype("uint32"),
    "asarray": lambda: jnp.asarray(KEYS, dtype="float32"),
    "view": lambda: KEYS.view("uint32"),
    "where": lambda: jnp.where(FEW, KEYS, 0),
    "stack": lambda: jnp.stack([ONE, OTHER]),
    "array_of": lambda: jnp.array([ONE, 1]),
    "concatenate": lambda: jnp.concatenate([KEYS, jnp.ones(2)]),
    "at_set": lambda: KEYS.at[0].set(1),
    "at_set_other": lambda: KEYS.at[0].set(OTHER),
    "at_add": lambda: KEYS.at[0].add(ONE),
    "lax_add": lambda: lax.add(KEYS, KEYS),
    "lax_not": lambda: lax.bitwise_not(KEYS),
    "lax_eq_other": lambda: lax.eq(ONE, OTHER),
    "lax_select_other": lambda: lax.select(True, ONE, OTHER),
    "lax_concatenate": lambda: lax.concatenate([KEYS, jnp.ones(2)], 0),
    "lax_update": lambda: lax.dynamic_update_slice(KEYS, jnp.ones(2), (0,)),
    "lax_scatter_add": lambda: lax.scatter_add(KEYS, np.array([[1]]), KEYS[:1], SCATTERED),
    "lax_argmax": lambda: lax.argmax(KEYS, 0, "int32"),
    "lax_convert": lambda: lax.convert_element_type(KEYS, "float32"),
    "lax_bitcast": lambda: lax.bitcast_convert_type(KEYS, "uint32"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arithmetic_on_keys_is_refused(name):
    for call in (REFUSED[name], lambda: jx.jit(lambda _: REFUSED[name]())(0)):
        with pytest.raises(KeyTypeError, match=r"key<(fry|rbg)>[^$]*random\.key_data"):
            call()


def test_what_is_no_number_is_refused_by_its_own_words():
    with pytest.raises(TypeError, match="key_data"):
        np.asarray(KEYS)
    with pytest.raises(ImmutableArrayError):
        KEYS[0] = ONE
    with pytest.raises(TypeError):
        hash(ONE)


def test_keys_equal_word_by_word():
    assert (KEYS == KEYS).tolist() == [True] * 6
    assert (KEYS[::-1] == KEYS).tolist() == [False] * 6
    assert (KEYS[2] != KEYS).tolist() == [True, True, False, True, True, True]
    assert lax.eq(KEYS, KEYS).tolist() == [True] * 6
    assert jnp.equal(TABLE, TABLE[0]).tolist() == [[True] * 3, [False] * 3]
    assert bool(jnp.array_equal(KEYS, KEYS))
    assert not jnp.array_equal(KEYS, KEYS[::-1])
    assert bool(jnp.array_equal(KEYS, KEYS, equal_nan=True))
    assert not jnp.array_equal(KEYS, KEYS[::-1], equal_nan=True)
    assert bool(jx.jit(lambda x, y: (x == y).all())(KEYS, KEYS))
    assert ONE is not None
    assert (ONE == None) is False  # noqa: E711


def test_keys_are_created_from_a_dtype():
    for made in (
        jnp.zeros_like(KEYS),
        jnp.empty_like(KEYS),
        jnp.full_like(KEYS, 0),
        jnp.zeros(6, KEYS.dtype),
        lax.full_like(KEYS, 0),
        lax.full((6,), 0, KEYS.dtype),
    ):
        assert made.dtype == KEYS.dtype
        assert random.key_data(made).tolist() == [[0, 0]] * 6
    assert random.key_data(jnp.ones_like(ONE)).tolist() == [1, 1]


def test_shapes_of_keys_stand_for_keys():
    struct = jx.ShapeDtypeStruct((), ONE.dtype)
    assert (struct.shape, struct.dtype) == ((), ONE.dtype)
    assert jx.eval_shape(random.split, struct).shape == (2,)
    assert jx.eval_shape(random.key, 0).dtype == ONE.dtype
    draw = jx.jit(lambda key: random.normal(key)).lower(struct).compile()
    assert draw(ONE) == random.normal(ONE)


def test_keys_are_copied_and_pickled():
    for key in (ONE, OTHER, TABLE):
        for other in (copy.copy(key), copy.deepcopy(key), pickle.loads(pickle.dumps(key))):
            assert bool((other == key).all())
        assert pickle.loads(pickle.dumps(key.dtype)) == key.dtype


def test_loops_do_not_go_along_words():
    with pytest.raises(AxisError, match="scalar"):
        jx.vmap(lambda key: key)(ONE)
    with pytest.raises(AxisError, match="out of range"):
        jx.vmap(lambda key: key, in_axes=2)(TABLE)
    with pytest.raises(AxisError, match="out of range"):
        jx.vmap(lambda key: key, out_axes=2)(TABLE)
    with pytest.raises(ValueError, match="scalar"):
        lax.scan(lambda c, key: (c, key), 0, ONE)
    with pytest.raises(ValueError, match="scalar"):
        lax.map(lambda key: key, ONE)
    last = lax.associative_scan(lambda a, b: b, TABLE, axis=-1)
    assert bool((last == TABLE).all())


@pytest.mark.parametrize("zero", [None, np.zeros((), float0)], ids=["none", "float0"])
def test_the_cotangent_of_a_key_is_zero(zero):
    @jx.custom_vjp
    def scaled(x, key):
        return x * random.normal(key)

    scaled.defvjp(
        lambda x, key: (scaled(x, key), key),
        lambda key, ct: (ct * random.normal(key), zero),
    )
    assert jx.grad(scaled)(2.0, ONE) == random.normal(ONE)
    assert jx.jit(jx.grad(scaled))(2.0, ONE) == random.normal(ONE)


def test_derivatives_pass_keys_by():
    @jx.custom_jvp
    def scaled(x, key):
        return x * random.normal(key)

    scaled.defjvp(lambda p, t: (scaled(*p), t[0] * random.normal(p[1])))
    draw = random.normal(ONE)
    assert jx.grad(scaled)(2.0, ONE) == draw
    assert jx.grad(jx.checkpoint(lambda x, key: x * random.normal(key)))(2.0, ONE) == draw
    slopes = jx.grad(lambda key, x: x * random.normal(key), argnums=(0, 1), allow_int=True)
    assert slopes(ONE, 2.0)[1] == draw
    with pytest.raises(TypeError):
        jx.grad(lambda key: random.normal(key))(ONE)


COLLECTIVES = {
    "gathered in front": lambda x: lax.all_gather(x, "i"),
    "gathered behind": lambda x: lax.all_gather(x, "i", axis=-1),
    "gathered in blocks": lambda x: lax.all_gather(x, "i", axis=-1, tiled=True),
    "exchanged": lambda x: lax.all_to_all(x, "i", -1, -1, tiled=True),
    "permuted": lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]),
    "sent": lambda x: lax.pbroadcast(x, "i", 1),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_move_keys_as_numbers(name):
    keys = KEYS[:4].reshape(2, 2)
    move = jx.vmap(COLLECTIVES[name], axis_name="i")
    places = np.asarray(move(np.arange(4).reshape(2, 2)))
    np.testing.assert_array_equal(
        random.key_data(move(keys)), np.asarray(random.key_data(KEYS[:4]))[places]
    )


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin", "psum_scatter"])
def test_collectives_that_compute_refuse_keys(name):
    with pytest.raises(KeyTypeError, match=r"got key<fry>\[2\]"):
        jx.vmap(lambda x: getattr(lax, name)(x, "i"), axis_name="i")(KEYS[:4].reshape(2, 2))


@pytest.mark.parametrize(("shape", "axis", "independent"), [((4,), 0, False), ((2, 2), 1, True)])
def test_permutations_of_keys_are_those_of_numbers(shape, axis, independent):
    def permute(x):
        return random.permutation(random.key(1), x.reshape(shape), axis, independent)

    np.testing.assert_array_equal(
        random.key_data(permute(KEYS[:4])),
        np.asarray(random.key_data(KEYS[:4]))[np.asarray(permute(np.arange(4, dtype=np.int32)))],
    )


# ---------------------------------------------------------------- tangents of keys


def drawn(key, x):
    return random.split(key), x * random.uniform(key)


def zeros(*shape):
    return np.zeros(shape, float0)


def is_zeros(x, *shape):
    return x.dtype == float0 and x.shape == shape


def test_tangents_of_keys_are_one_zero_for_each():
    (keys, y), (along_keys, along) = jx.jvp(drawn, (ONE, 2.0), (zeros(), 1.0))
    assert keys.dtype == ONE.dtype
    assert is_zeros(along_keys, 2)
    assert along == random.uniform(ONE)
    value, push = jx.linearize(drawn, ONE, 2.0)
    assert is_zeros(push(zeros(), 1.0)[0], 2)
    assert value[1] == y
    assert is_zeros(jx.jvp(jnp.stack, ([ONE, ONE],), ([zeros(), zeros()],))[1], 2)
    assert is_zeros(jx.jit(lambda k: jx.jvp(random.split, (k,), (zeros(),))[1])(ONE), 2)
    assert is_zeros(jx.vmap(lambda k: jx.jvp(random.split, (k,), (zeros(),))[1])(KEYS[:3]), 3, 2)


def test_cotangents_of_keys_are_one_zero_for_each():
    (keys, _), pull = jx.vjp(drawn, ONE, 2.0)
    for given in (zeros(2), keys):
        by_key, by_x = pull((given, jnp.float32(1)))
        assert is_zeros(by_key)
        assert by_x == random.uniform(ONE)
    assert is_zeros(jx.vjp(lambda k: k[1], KEYS)[1](zeros())[0], *KEYS.shape)
    tree = jx.grad(lambda p: p["x"] * random.uniform(p["k"]), allow_int=True)({"x": 2.0, "k": ONE})
    assert is_zeros(tree["k"])
    moved = jx.jvp(lambda x: lax.scan(lambda c, k: (c * x, k), x, KEYS[:3]), (2.0,), (1.0,))[1]
    assert is_zeros(moved[1], 3)


def test_rules_are_given_one_zero_for_each_key():
    seen = []

    @jx.custom_jvp
    def split_jvp(key, x):
        return drawn(key, x)

    @split_jvp.defjvp
    def _(primals, tangents):
        seen.append(tangents[0])
        out = drawn(*primals)
        return out, (zeros(2), tangents[1] * random.uniform(primals[0]))

    assert is_zeros(jx.jvp(split_jvp, (ONE, 2.0), (zeros(), 1.0))[1][0], 2)

    @jx.custom_vjp
    def split_vjp(key, x):
        return drawn(key, x)

    def backwards(key, ct):
        seen.append(ct[0])
        return None, ct[1] * random.uniform(key)

    split_vjp.defvjp(lambda key, x: (drawn(key, x), key), backwards)
    assert jx.grad(lambda x: split_vjp(ONE, x)[1])(2.0) == random.uniform(ONE)
    assert [(x.dtype, x.shape) for x in seen] == [(float0, ()), (float0, (2,))]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: jx.jvp(random.split, (ONE,), (ONE,)),
            TypeError,
            r"jvp of .* got keys: write np.zeros\(\(\)",
        ),
        (lambda: jx.jvp(random.split, (ONE,), (1.0,)), TypeError, "has dtype float0, got 1.0"),
        (lambda: jx.jvp(jnp.ravel, (KEYS,), (zeros(),)), ValueError, "their shape, got shape"),
        (lambda: jx.vjp(drawn, ONE, 2.0)[1]((None, 1.0)), TypeError, "cotangent of keys .* None"),
        (lambda: jx.grad(lambda k: random.uniform(k))(ONE), TypeError, "grad .* got keys, which"),
        (lambda: jx.jacfwd(lambda k: random.uniform(k))(ONE), TypeError, "jacfwd .* got keys"),
        (lambda: jx.jacrev(lambda x: random.split(ONE))(1.0), TypeError, "jacrev .* got keys"),
    ],
)
def test_what_is_no_tangent_of_keys_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
