"""Operations of ``lax`` take operands of one dtype, Python numbers among them."""

import pickle

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.api import operand_dtypes

OPERANDS = {
    "1": (1, "int32"),
    "1.0": (1.0, "float32"),
    "1j": (1j, "complex64"),
    **{
        kind: (np.array([1, 1]).astype(kind), kind)
        for kind in ("bool", "int8", "int32", "float16", "float32", "complex64")
    },
    "bfloat16": (jnp.ones(2, "bfloat16"), "bfloat16"),
    "weak": (jnp.asarray(1.0), "float32"),
}
OF_TWO = [
    name
    for name in operand_dtypes.__all__
    if name not in ("betainc", "clamp", "pad", "pow", "select", "select_n")
]
CALLS = {
    **{name: getattr(lax, name) for name in OF_TWO},
    "pad": lambda x, y: lax.pad(x, y if np.ndim(y) == 0 else y[0], [(1, 0, 0)] * np.ndim(x)),
    "select": lambda x, y: lax.select(True, x, y),
    "select_n": lambda x, y: lax.select_n(1, x, y),
    "clamp from": lambda x, y: lax.clamp(x, y, y),
    "clamp to": lambda x, y: lax.clamp(x, x, y),
    "clamp by name": lambda x, y: lax.clamp(min=x, x=x, max=y),
    "betainc": lambda x, y: lax.betainc(x, x, y),
}


def outcome(call, x, y):
    try:
        jx.make_jaxpr(lambda: call(x, y))()
    except TypeError as error:
        return str(error)
    return "works"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_python_numbers_count_by_their_own_dtype(call):
    """Those of one dtype work or are not taken at all; others never work, as in the reference."""
    works = 0
    for x, of_x in OPERANDS.values():
        for y, of_y in OPERANDS.values():
            found = outcome(call, x, y)
            if of_x != of_y:
                assert found != "works", (x, y)
                assert "one dtype" in found or "does not accept" in found, (x, y)
            elif np.ndim(x) == np.ndim(y):
                assert found == "works" or "does not accept" in found, (x, y, found)
                works += found == "works"
    assert works


@pytest.mark.parametrize(
    ("x", "y", "dtype"),
    [
        (2.0, 3, "float32"),
        (2.0, jnp.int32(3), "float32"),
        (np.float16([2]), 3, "float16"),
        (2j, 3, "complex64"),
        (np.float16([2]), 3.0, None),
        (2, np.float32([2]), None),
        (2, 3, None),
    ],
)
def test_exponents_may_be_integers(x, y, dtype):
    if dtype is None:
        with pytest.raises(TypeError, match=r"one dtype|does not accept dtype int32"):
            lax.pow(x, y)
    else:
        assert lax.pow(x, y).dtype == dtype


def test_the_default_dtypes_are_those_of_the_settings():
    x = np.float32([1.5])
    assert lax.mul(x, 2.0).tolist() == [3.0]
    with jx.enable_x64(True):
        with pytest.raises(TypeError, match=r"got f32 and the Python number 2.0 \(f64\)"):
            lax.mul(x, 2.0)
        assert lax.mul(np.float64([1.5]), 2.0).tolist() == [3.0]


def test_the_message_says_what_to_write():
    wanted = r"add needs operands of one dtype, got the Python number 1 \(i32\) and the Python"
    with pytest.raises(TypeError, match=wanted):
        lax.add(1, 1.0)
    with pytest.raises(TypeError, match=r"or use the function of jxkernel\.numpy, which"):
        lax.add(x=np.float32([1]), y=1)
    with pytest.raises(TypeError, match="one dtype"):
        jx.jit(lambda x: lax.max(x, 0))(np.float32([1]))


def test_a_dtype_of_the_result_decides_what_products_are_taken_in():
    assert lax.mul(np.float32([1.5]), 2, out_dtype=np.float32).tolist() == [3.0]


def test_they_are_the_operations_to_all_who_look():
    assert lax.add.__doc__ == operand_dtypes.arithmetic.add.__doc__
    assert pickle.loads(pickle.dumps(lax.add)) is lax.add
    [eqn] = jx.make_jaxpr(lambda x: lax.mul(x, 2.0))(1.0).eqns
    assert eqn.primitive is lax.mul_p
    assert float(lax.reduce(np.float32([1, 2]), 0.0, lax.add, (0,))) == 3.0
