"""What stands for an array where nothing is computed: descriptions, types, anything like them."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import core, export, random
from jxkernel.errors import ArgumentTypeError
from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

ONE = random.key(0)
WIDTH = jx.ShapeDtypeStruct((2,), "float32")


class Like:
    """A shape and a dtype."""

    def __init__(self, shape=(2,), dtype="float32", **others):
        self.shape = shape
        self.dtype = dtype
        self.__dict__.update(others)


def double(x):
    return x * 2.0


STANDINS = {
    "description": WIDTH,
    "type": core.ShapedArray((2,), np.float32),
    "anything": Like(),
    "with a list": Like([2], np.float32),
    "array": np.ones(2, np.float32),
}


@pytest.mark.parametrize("name", STANDINS)
def test_descriptions_stand_for_arrays(name):
    given = STANDINS[name]
    assert jx.eval_shape(double, given) == WIDTH
    assert jx.eval_shape(lambda tree: double(tree["a"][0]), {"a": [given]}) == WIDTH
    assert jx.eval_shape(jx.grad(lambda x: jnp.sum(double(x))), given) == WIDTH
    assert jx.eval_shape(jx.jit(double), x=given) == WIDTH
    assert jx.eval_shape(jnp.negative, given) == WIDTH
    assert [aval.short() for aval in jx.make_jaxpr(double)(given).in_avals] == ["f32[2]"]
    assert jx.jit(double).trace(given).out_info == WIDTH
    compiled = jx.jit(double).lower(given).compile()
    assert compiled(np.ones(2, np.float32)).tolist() == [2.0, 2.0]
    transposed = jx.linear_transpose(double, given)
    assert transposed(np.ones(2, np.float32))[0].tolist() == [2.0, 2.0]
    assert export.export(jx.jit(double))(given).out_avals[0].short() == "f32[2]"


def test_weak_types_are_described():
    for given in (Like((), weak_type=True), core.ShapedArray((), np.float32, True), 1.0):
        assert jx.eval_shape(double, given).weak_type
    assert jx.eval_shape(double, Like((), np.float64)).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.jit(double)(Like()), ArgumentTypeError, "as x"),
        (lambda: jx.eval_shape(double, Like([2.5])), TypeError, r"of integers, got \[2.5\]"),
        (lambda: jx.eval_shape(double, "text"), ArgumentTypeError, "given 'text'"),
        (lambda: jx.eval_shape(3), TypeError, "eval_shape needs a callable as fun, got 3"),
        (lambda: jx.ShapeDtypeStruct(2, "float32"), TypeError, "a sequence of sizes as shape, got"),
        (lambda: jx.jit(double)(WIDTH), TypeError, "describes an array and has no values"),
        (lambda: jx.grad(jnp.sum)(WIDTH), TypeError, "describes an array and has no values"),
        (lambda: jnp.sin(WIDTH), TypeError, "describes an array and has no values"),
        (lambda: jx.device_put(WIDTH), TypeError, "describes an array and has no values"),
    ],
)
def test_what_has_no_value_cannot_be_computed_with(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---------------------------------------------------------------- keys


def test_keys_are_described_as_one():
    described = jx.ShapeDtypeStruct((), ONE.dtype)
    assert jx.eval_shape(random.key, 0) == described
    assert jx.eval_shape(lambda key: {"k": key}, ONE) == {"k": described}
    many = jx.eval_shape(random.split, described)
    assert isinstance(many, jx.ShapeDtypeStruct)
    assert (many.shape, many.dtype, many.ndim, many.size) == ((2,), ONE.dtype, 1, 2)
    assert many == described.update(shape=(2,)) == jx.ShapeDtypeStruct.like(random.split(ONE))
    assert jx.tree.leaves(many) == [many]
    assert repr(many) == "ShapeDtypeStruct(shape=(2,), dtype=key<fry>)"


@pytest.mark.parametrize(
    "given",
    [
        jx.ShapeDtypeStruct((), ONE.dtype),
        core.ShapedArray((), ONE.dtype),
        jx.typeof(ONE),
        Like((), ONE.dtype),
        ONE,
    ],
    ids=["description", "type", "type of", "anything", "key"],
)
def test_descriptions_stand_for_keys(given):
    assert jx.eval_shape(random.normal, given).shape == ()
    lowered = jx.jit(lambda key: (random.normal(key), key)).lower(given)
    assert lowered.out_info[1] == jx.ShapeDtypeStruct((), ONE.dtype)
    assert [aval.short() for aval in lowered.in_avals[0]] == ["key<fry>[]"]
    assert lowered.args_info[0][0].dtype == ONE.dtype
    assert lowered.compile()(ONE)[0] == random.normal(ONE)


# ---------------------------------------------------------------- shardings


def test_shardings_that_were_asked_for_are_described():
    device = jx.devices()[0]
    split = NamedSharding(Mesh(np.array([device]), ("x",)), PartitionSpec("x"))
    for lies in (split, SingleDeviceSharding(device)):
        f = jx.jit(double, out_shardings=lies)
        assert jx.eval_shape(f, WIDTH).sharding == lies
        assert f.eval_shape(WIDTH).sharding == lies
        assert f.lower(WIDTH).out_info.sharding == lies
    both = jx.jit(lambda k: (k, k), out_shardings=(split, None))
    keys = random.split(ONE)
    assert [each.sharding for each in both.eval_shape(keys)] == [split, None]
    assert jx.jit(double).eval_shape(WIDTH).sharding is None
