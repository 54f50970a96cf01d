"""``ufunc``: the five methods of elementwise functions, built in or made of a function."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

X = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
I = np.array([[7, 3, 2, 5], [1, 6, 2, 8]], np.int32)  # noqa: E741
B = np.array([[True, False, True, True], [False, False, True, True], [True] * 4])
NAMES = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "subtract",
]


def operand(name):
    return I if name.startswith("bitwise") else X


def made(name):
    """Return the function of NumPy's name as one made of a Python function."""
    own = getattr(jnp, name)
    return jnp.frompyfunc(lambda x, y: own(x, y), 2, 1, identity=own.identity)


def same(found, wanted):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", [lambda name: getattr(jnp, name), made], ids=["own", "made"])
@pytest.mark.parametrize("name", NAMES)
def test_methods_give_what_numpys_give(name, make):
    ours, theirs, x = make(name), getattr(np, name), operand(name)
    same(ours.reduce(x), theirs.reduce(x))
    same(ours.accumulate(x, 1), theirs.accumulate(x, 1))
    same(ours.outer(x[0], x), theirs.outer(x[0], x))
    same(ours.reduceat(x, np.array([0, 2, 1]), 1), theirs.reduceat(x, [0, 2, 1], 1))
    changed = x.copy()
    theirs.at(changed, ([0, 0, 1],), x[:1])
    same(ours.at(x, (np.array([0, 0, 1]),), x[:1], inplace=False), changed)


@pytest.mark.parametrize("name", ["add", "maximum", "logaddexp", "logical_or"])
@pytest.mark.parametrize("make", [lambda name: getattr(jnp, name), made], ids=["own", "made"])
def test_reduce_takes_what_numpys_takes(name, make):
    ours, theirs = make(name), getattr(np, name)
    same(ours.reduce(X, (0, 1)), theirs.reduce(X, (0, 1)))
    same(ours.reduce(X, None, keepdims=True), theirs.reduce(X, None, keepdims=True))
    start = {"initial": np.float32(-0.5)} if name != "logical_or" else {"initial": False}
    same(ours.reduce(X, 1, where=B, **start), theirs.reduce(X, 1, where=B, **start))
    dtype = np.float32 if name != "logical_or" else np.bool_
    same(ours.reduce(I, 0, dtype=dtype), theirs.reduce(I, 0, dtype=dtype))


def test_standard_functions_are_universal_ones():
    found = {name for name in jnp.__all__ if isinstance(getattr(jnp, name), jnp.ufunc)}
    assert found == {*NAMES, "negative"}
    assert jnp.add.identity == 0
    assert (jnp.negative.nin, jnp.negative.nout, jnp.negative.nargs) == (1, 1, 1)
    same(jnp.negative.at(X, (0, 1), inplace=False)[0, 1], -X[0, 1])


def test_methods_can_be_traced_mapped_and_differentiated():
    same(jx.jit(jnp.subtract.reduce)(X), np.subtract.reduce(X))
    same(jx.vmap(jnp.multiply.reduce)(X), X.prod(1))
    hypot = jnp.frompyfunc(jnp.hypot, 2, 1)
    same(jx.grad(hypot.reduce)(X[0]), X[0] / np.linalg.norm(X[0]))


def test_a_function_may_have_several_results_and_one_argument():
    both = jnp.frompyfunc(lambda x: (x, -x), 1, 2)(X)
    same(both[1], -X)
    assert "lambda" in repr(jnp.frompyfunc(lambda x: x, 1, 1))


def test_universal_functions_of_one_function_are_equal_and_do_not_change():
    def function(x, y):
        return x + y

    one, two = (jnp.frompyfunc(function, 2, 1, identity=0) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != jnp.frompyfunc(function, 2, 1, identity=1)
    assert one != function
    with pytest.raises(AttributeError):
        one.nin = 3


def test_reduceat_of_no_indices_is_nothing():
    none = np.zeros(0, np.int32)
    assert jnp.add.reduceat(np.arange(6.0).reshape(2, 3), none, axis=1).shape == (2, 0)


def test_reduceat_outside_of_the_axis_is_no_element():
    found = jnp.add.reduceat(np.array([1.0, 2.0, 3.0]), jnp.array([1, 5, -7]))
    np.testing.assert_array_equal(found, [5.0, np.nan, np.nan])
    assert int(jnp.add.reduceat(np.array([1, 2]), jnp.array([2]))[0]) == np.iinfo(np.int32).min


def test_reduce_of_nothing_is_the_identity():
    same(made("add").reduce(X[:0]), np.zeros(4))
    assert made("add").accumulate(X[:0]).shape == (0, 4)


WRONG = [
    (lambda: jnp.frompyfunc(3, 1, 1), TypeError, "callable, got 3"),
    (lambda: made("add")(X), TypeError, "takes 2 arguments, got 1"),
    (lambda: jnp.frompyfunc(lambda x: x, 1, 2)(X), TypeError, "1 result, and has nout=2"),
    (lambda: jnp.negative.reduce(X), ValueError, "negative.reduce is for functions of two"),
    (lambda: jnp.negative.outer(X, X), ValueError, "negative.outer"),
    (lambda: jnp.subtract.reduce(X[:0]), ValueError, "no elements needs initial"),
    (lambda: jnp.subtract.reduce(X, where=B), ValueError, "where= needs initial"),
    (lambda: jnp.add.reduce(X, out=X), NotImplementedError, "out"),
    (lambda: jnp.subtract.accumulate(X, 2), ValueError, "subtract.accumulate got axis 2"),
    (lambda: jnp.add.at(X, 0, 1), NotImplementedError, "inplace=False"),
    (lambda: jnp.add.at(X, 0, inplace=False), ValueError, "it takes 2"),
    (lambda: jnp.add.reduceat(X, np.float32([1])), ValueError, "vector of integers"),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_wrong_calls_say_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("function", [jnp.add, jnp.multiply, jnp.divide, jnp.maximum])
def test_primitives_repeat_axes_of_size_one_themselves(function) -> None:
    x, y = jnp.ones((3, 4)), jnp.full(3, 2.0)
    jaxpr = jx.make_jaxpr(lambda x, y: function(x, y[:, None]))(x, y)
    last = jaxpr.eqns[-1]
    assert [variable.aval.shape for variable in last.invars] == [(3, 4), (3, 1)]
    slopes = jx.vjp(lambda y: function(x, y[:, None]), y)[1](jnp.ones((3, 4)))
    assert slopes[0].shape == (3,)
