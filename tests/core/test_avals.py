"""Abstract values: interning, printing, and what can be abstracted."""

import pickle

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
from jxkernel import dtypes
from jxkernel.config import enable_x64
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words, rank_of, shape_of
from jxkernel.core.zeros import UndefinedPrimal

F32 = np.dtype(np.float32)


def test_equal_avals_are_one_object():
    assert ShapedArray((2, 3), F32) is ShapedArray((2, 3), np.dtype("float32"))
    assert ShapedArray((2, 3), F32) is not ShapedArray((2, 3), F32, True)


def test_avals_survive_pickling_as_the_same_object():
    aval = ShapedArray((2,), F32, True)
    assert pickle.loads(pickle.dumps(aval)) is aval


def test_avals_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        ShapedArray((2,), F32).shape = (3,)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "bool[]"),
        (1, "i32*[]"),
        (1.5, "f32*[]"),
        (1j, "c64*[]"),
        (np.float64(2), "f32[]"),
        (np.zeros((2, 0), np.int64), "i32[2,0]"),
        (np.zeros(3, ml_dtypes.bfloat16), "bf16[3]"),
        (np.uint8(3), "u8[]"),
    ],
)
def test_abstractify_gives_the_canonical_type(value, expected):
    assert abstractify(value).short(weak=True) == expected


@pytest.mark.parametrize(
    ("aval", "shown"),
    [
        (ShapedArray((3,), F32), "ShapedArray(float32[3])"),
        (abstractify(1), "ShapedArray(int32[], weak_type=True)"),
        (ShapedArray((3,), F32, vma=frozenset("x")), "ShapedArray(float32[3]{V:x})"),
        (ShapedArray((3,), F32, vma=frozenset("yx")), "ShapedArray(float32[3]{V:(x,y)})"),
    ],
)
def test_the_representation_has_the_dtype_in_full(aval, shown):
    assert repr(aval) == shown


def test_abstractify_keeps_64_bits_when_enabled():
    with enable_x64(True):
        assert abstractify(np.zeros(2)).short() == "f64[2]"
        assert abstractify(1).short(weak=True) == "i64*[]"


@pytest.mark.parametrize("value", ["text", None, [1.0], object()])
def test_abstractify_refuses_what_is_no_array(value):
    with pytest.raises(TypeError, match="not a valid array type"):
        abstractify(value)


def test_tangent_type_is_float0_for_integers_and_the_same_for_floats():
    assert ShapedArray((2,), np.dtype(np.int32)).tangent().dtype == dtypes.float0
    assert ShapedArray((), F32, True).tangent() is ShapedArray((), F32, True)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (True, ()),
        (2, ()),
        (2.5, ()),
        (1j, ()),
        (np.float32(2), ()),
        (np.zeros((2, 0, 3)), (2, 0, 3)),
        ([[1, 2, 3], [4, 5, 6]], (2, 3)),
        (ShapedArray((4, 5), F32), (4, 5)),
        (UndefinedPrimal(ShapedArray((4, 5), F32)), (4, 5)),
    ],
    ids=repr,
)
def test_shape_and_rank_of_every_kind_of_value(value, shape):
    assert shape_of(value) == shape
    assert rank_of(value) == len(shape)


@pytest.mark.parametrize("shape", [(2, 3), [2, 3], (np.int64(2), 3), np.array([2, 3])])
@pytest.mark.parametrize("dtype", [np.float32, "float32", np.dtype("float32")])
def test_types_are_made_of_any_shape_and_dtype(shape, dtype):
    aval = ShapedArray(shape, dtype)
    assert aval is ShapedArray((2, 3), np.dtype(np.float32))
    assert aval.dtype == np.float32
    assert all(type(size) is int for size in aval.shape)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (((2.0,), np.float32), r"a shape of integers, got \(2.0,\)"),
        (("a", np.float32), "a shape of integers, got 'a'"),
        (((2,), None), "needs a dtype, got None"),
    ],
)
def test_types_of_other_things_are_refused(parts, message):
    with pytest.raises(TypeError, match=message):
        ShapedArray(*parts)


def test_types_in_one_word():
    aval = ShapedArray((2, 3), F32, True)
    assert (aval.str_short(), aval.str_short(short_dtypes=True)) == ("float32[2,3]", "f32[2,3]")
    assert aval.mat == aval.manual_axis_type
    assert aval.mat.unreduced == aval.mat.reduced == frozenset()


def test_a_sharding_gives_a_type_its_explicit_axes_alone() -> None:
    def mesh(kind: jx.sharding.AxisType) -> jx.sharding.AbstractMesh:
        return jx.sharding.AbstractMesh((2,), ("x",), axis_types=(kind,))

    kinds = jx.sharding.AxisType
    auto, explicit = (
        jx.sharding.NamedSharding(mesh(kind), jx.P("x")) for kind in (kinds.Auto, kinds.Explicit)
    )
    plain = ShapedArray((4,), np.float32)
    assert ShapedArray(shape=(4,), dtype=np.float32, sharding=plain.sharding) is plain
    assert ShapedArray((4,), np.float32, sharding=auto) is plain
    divided = ShapedArray((4,), np.float32, sharding=explicit)
    assert (divided.sharding, divided.short()) == (explicit, "f32[4@x]")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones((2, 3), np.float32), "an array f32[2,3]"),
        ((1, 2), "a tuple of length 2"),
        ([], "a list of length 0"),
        (None, "None"),
        (3, "3 of type int"),
        ("a", "'a' of type str"),
    ],
)
def test_messages_say_what_a_value_is(value, words):
    assert kind_in_words(value) == words
    assert "Tracer" not in kind_in_words(value)


def test_messages_say_a_traced_value_by_its_type():
    said = []
    jx.jit(jx.vmap(jx.grad(lambda x: said.append(kind_in_words(x)) or x)))(np.ones(3, np.float32))
    assert said == ["an array f32[]"]
