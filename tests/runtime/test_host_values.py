"""Values from the host: what NumPy can hold and a device cannot becomes right, or is an error."""

import copy
import pickle

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import TracerIntegerConversionError

FOREIGN = np.arange(1, 4).astype(">f4")
MASKED = np.ma.array([1, 2, 3], mask=[0, 1, 0])
GREAT = 2**40

DOORS = {
    "jit": lambda x: jx.jit(lambda q: q * 2)(x),
    "jit that closes over it": lambda x: jx.jit(lambda: jnp.sin(x))(),
    "device_put": jx.device_put,
    "ufunc": jnp.sin,
    "reduction": jnp.sum,
    "dot": lambda x: jnp.dot(x, x),
    "where": lambda x: jnp.where(True, x, 0),
    "array + x": lambda x: jnp.ones(3) + x,
    "x + array": lambda x: x + jnp.ones(3),
    "lax": lambda x: lax.mul(x, x),
    "vmap": lambda x: jx.vmap(lambda y: y * 2)(x),
    "scan": lambda x: lax.scan(lambda c, y: (c, y), 0.0, x),
    "set": lambda x: jnp.zeros(3).at[:].set(x),
    "callback": lambda x: jx.make_array_from_callback(
        (3,), jx.sharding.SingleDeviceSharding(jx.devices()[0]), lambda place: x[place]
    ),
    "eval_shape": lambda x: jx.eval_shape(lambda q: q, x),
    "grad": jx.grad(jnp.sum),
    "tree": lambda x: jx.jit(lambda t: t["a"])({"a": x}),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_arrays_of_another_byte_order_are_refused_everywhere(door):
    door(FOREIGN.astype("=f4"))  # from here on C++ knows calls of this kind
    with pytest.raises(TypeError, match=r'newbyteorder\("="\)'):
        door(FOREIGN)


def test_bytes_of_another_order_are_refused_where_the_same_call_is_known():
    double = jx.jit(lambda q: q * 2)
    compiled = double.lower(FOREIGN.astype("=f4")).compile()
    scalar = np.array(3, ">f4")
    for known in (double, compiled, lax.neg, jnp.sin, jx.vmap(double)):
        known(FOREIGN.astype("=f4"))
        with pytest.raises(TypeError, match="newbyteorder"):
            known(FOREIGN)
    double(np.float32(3))
    with pytest.raises(TypeError, match="newbyteorder"):
        double(scalar)
    with pytest.raises(TypeError, match="newbyteorder"):
        jx.jit(lambda a, b: a + b)(jnp.ones(3), FOREIGN)


def test_swapped_bytes_are_taken():
    native = FOREIGN.astype(FOREIGN.dtype.newbyteorder("="))
    np.testing.assert_array_equal(jnp.asarray(native) + 1, [2.0, 3.0, 4.0])


MASKED_DOORS = {
    name: door for name, door in DOORS.items() if name not in ("eval_shape", "grad", "callback")
} | {"asarray": jnp.asarray, "stack": lambda x: jnp.stack([x])}


@pytest.mark.parametrize("door", MASKED_DOORS.values(), ids=MASKED_DOORS)
def test_masked_arrays_are_refused_everywhere(door):
    door(MASKED.filled(0))
    with pytest.raises(ValueError, match=r"masked array would lose its own: write x.filled"):
        door(MASKED)


CONVERSIONS = {
    "convert_element_type": lambda: lax.convert_element_type(np.int64(GREAT), jnp.float32),
    "traced": lambda: jx.jit(lambda: lax.convert_element_type(np.array(GREAT), jnp.float32))(),
    "array": lambda: jnp.array([jnp.ones(2), np.array([GREAT, 3])])[1, 0],
    "array of numbers": lambda: jnp.array([GREAT], dtype=jnp.float32)[0],
    "asarray": lambda: jnp.asarray(np.int64(GREAT), jnp.float32),
    "full": lambda: jnp.full(2, np.int64(GREAT), jnp.float32)[0],
    "full of a Python number": lambda: jnp.full(2, GREAT, jnp.float32)[0],
    "set": lambda: jnp.zeros(2).at[0].set(np.int64(GREAT))[0],
    "Python number": lambda: lax.convert_element_type(GREAT, jnp.float32),
    "scalar type": lambda: jnp.float32(np.int64(GREAT)),
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_integers_of_64_bits_become_floats_from_their_value(convert):
    assert float(convert()) == np.float32(GREAT)


def test_integers_of_64_bits_keep_their_truth():
    assert bool(lax.convert_element_type(np.int64(2**32), bool))


def test_python_integers_of_an_unsigned_range():
    greatest = 2**32 - 1
    assert jnp.full(2, greatest, jnp.uint32)[0] == np.uint32(greatest)
    assert jnp.full_like(jnp.zeros(2, jnp.uint32), greatest)[1] == np.uint32(greatest)
    assert jnp.zeros(2, jnp.uint32).at[0].set(greatest)[0] == np.uint32(greatest)
    assert float(lax.convert_element_type(2**100, jnp.float32)) == 2.0**100
    with pytest.raises(OverflowError, match="does not fit uint32"):
        jnp.full(2, 2**32, jnp.uint32)


@pytest.mark.parametrize(
    "ask", [lambda n: jx.eval_shape(lambda q: q, n), lambda n: jx.make_jaxpr(lambda q: q)(n)]
)
def test_python_integers_that_fit_no_array_have_no_type(ask):
    with pytest.raises(OverflowError, match=f"{2**100} does not fit int32"):
        ask(2**100)


@pytest.mark.parametrize("number", [256, -1, 2**63, -(2**63) - 1, 2**70])
@pytest.mark.parametrize(
    "use",
    [
        lambda n: jnp.array([[1], [n]], "uint8"),
        lambda n: lax.full((2,), n, "uint8"),
        lambda n: jnp.arange(n, n + 2, dtype="uint8"),
        lambda n: jnp.take(jnp.zeros(1, "uint8"), jnp.array([5]), mode="fill", fill_value=n),
    ],
    ids=["array", "full", "arange", "take"],
)
def test_python_integers_out_of_range_are_refused_in_words(use, number):
    with pytest.raises(OverflowError, match=f"{number} does not fit uint8, which holds 0 to 255"):
        use(number)


@pytest.mark.parametrize("number", [2**31, 2**63, -(2**63) - 1])
@pytest.mark.parametrize(
    "use",
    [
        lambda n: jnp.zeros(1, "uint32") + n,
        lambda n: jnp.where(jnp.ones(1, bool), 0, n),
        lambda n: jnp.clip(jnp.zeros(1), 0, n),
        lambda n: jnp.pad(jnp.zeros(1, int), 1, constant_values=n),
        lambda n: jx.device_put(n),
        lambda n: jnp.asarray([n]),
        lambda n: lax.add(jnp.zeros(1, int), n),
    ],
    ids=["add", "where", "clip", "pad", "device_put", "asarray", "lax.add"],
)
def test_python_integers_beyond_the_default_are_refused_in_words(use, number):
    with pytest.raises(OverflowError, match=f"{number} does not fit int32, which holds"):
        use(number)


@pytest.mark.parametrize("repeat", [[1.0, 2.0], (1, 2)])
def test_a_list_is_not_repeated_by_an_array(repeat):
    for count in (jnp.asarray(2), jnp.arange(3)):
        for multiply in (lambda count: repeat * count, lambda count: count * repeat):
            with pytest.raises(TypeError, match=r"jnp.asarray\(...\) around it"):
                multiply(count)


@pytest.mark.parametrize("text", ["ab", b"ab", bytearray(b"ab")])
def test_a_text_is_repeated_by_an_integer_alone(text):
    for multiply in (lambda count: text * count, lambda count: count * text):
        with pytest.raises(TypeError, match=r"write int\(...\) around the number to repeat it"):
            multiply(jnp.asarray(2))
        with pytest.raises(TypeError, match=rf"numbers, got a {type(text).__name__}(\n|$)"):
            multiply(jnp.arange(3))
        with pytest.raises(TracerIntegerConversionError):
            jx.jit(multiply)(2)
    assert not jnp.any(jnp.arange(3) == text)


def test_powers_by_numpy_integers_keep_the_dtype():
    for exponent in (np.int64(2), np.uint8(2), np.array(2)):
        for x in (jnp.uint16(3), jnp.full(2, 3, jnp.int8)):
            for y in (x**exponent, jnp.power(x, exponent), jx.jit(lambda q, e=exponent: q**e)(x)):
                assert y.dtype == x.dtype
                assert (y == 9).all()


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_descriptions_are_copied_and_pickled(again):
    for x in (
        jx.ShapeDtypeStruct((2, 3), jnp.float32),
        jx.ShapeDtypeStruct((), jnp.int32, weak_type=True),
    ):
        assert again(x) == x


TOO_LARGE = {
    "arange": lambda: jnp.arange(2**40),
    "iota": lambda: lax.iota("int8", 2**37),
    "zeros": lambda: jnp.zeros((2**64,)),
    "zeros of two axes": lambda: jnp.zeros((2**62, 2**62)),
    "broadcast": lambda: jx.jit(lambda x: jnp.broadcast_to(x, (2**62,)))(1.0),
}


@pytest.mark.parametrize("make", TOO_LARGE.values(), ids=TOO_LARGE)
def test_arrays_that_no_memory_holds_are_refused(make):
    with pytest.raises(TypeError, match=r"shape \(\d+,.*(memory has addresses|no device)"):
        make()


@pytest.mark.parametrize(
    "kind", [np.bool_, np.int8, np.uint16, np.int32, np.float16, np.float32, np.complex64, np.int64]
)
def test_numbers_of_numpy_are_arguments_of_a_known_call(kind):
    same = jx.jit(lambda x: x)
    for number in (1, 0, 1):
        found = same(kind(number))
        assert found.dtype == (np.int32 if kind is np.int64 else kind)
        assert found.shape == ()
        assert found == number
