"""The functions that transforms are given, and the numbers and names that choose arguments."""

import functools

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import custom_batching

ONE = np.float32(2.0)
TRANSFORMS = {
    "jit": lambda f: jx.jit(f),
    "grad": lambda f: jx.grad(f),
    "value_and_grad": lambda f: jx.value_and_grad(f),
    "jacfwd": lambda f: jx.jacfwd(f),
    "jacrev": lambda f: jx.jacrev(f),
    "hessian": lambda f: jx.hessian(f),
    "vmap": lambda f: jx.vmap(f),
    "pmap": lambda f: jx.pmap(f),
    "checkpoint": lambda f: jx.checkpoint(f),
    "make_jaxpr": lambda f: jx.make_jaxpr(f),
    "fwd_and_bwd": lambda f: jx.fwd_and_bwd(f, 0),
    "jvp": lambda f: jx.jvp(f, (ONE,), (ONE,)),
    "vjp": lambda f: jx.vjp(f, ONE),
    "linearize": lambda f: jx.linearize(f, ONE),
    "linear_transpose": lambda f: jx.linear_transpose(f, ONE),
}
DECORATORS = {
    "custom_jvp": jx.custom_jvp,
    "custom_vjp": jx.custom_vjp,
    "custom_vmap": custom_batching.custom_vmap,
    "custom_gradient": jx.custom_gradient,
    "named_call": jx.named_call,
}


def yields(x):
    yield x


class Named:
    """A callable that has uses of its own for the names of functions."""

    __name__ = 3
    __annotations__ = 4
    __doc__ = 5

    def __call__(self, x):
        return x * 2.0


class Slotted:
    """A callable that weak references cannot refer to."""

    __slots__ = ()

    def __call__(self, x):
        return x * 2.0


@pytest.mark.parametrize("name", [*TRANSFORMS, *DECORATORS])
def test_what_cannot_be_called_is_refused_where_it_is_given(name):
    with pytest.raises(TypeError, match=r"needs a callable as fun, got a list of length 1"):
        {**TRANSFORMS, **DECORATORS}[name]([3])


@pytest.mark.parametrize("name", TRANSFORMS)
def test_generators_and_static_methods_are_refused_where_they_are_given(name):
    with pytest.raises(TypeError, match="yields yields: it returns a generator"):
        TRANSFORMS[name](yields)
    with pytest.raises(TypeError, match="write @staticmethod above @"):
        TRANSFORMS[name](staticmethod(jnp.sin))


def test_jit_of_none_is_no_decorator():
    with pytest.raises(TypeError, match="jit needs a callable as fun, got None"):
        jx.jit(None)
    assert jx.jit(inline=True)(lambda x: x + 1)(1).item() == 2


@pytest.mark.parametrize("make", [Named, Slotted, lambda: functools.partial(Named())])
def test_objects_that_are_called_may_be_transformed(make):
    f = make()
    for wrap in (jx.jit, jx.vmap, jx.checkpoint, jx.pmap):
        assert wrap(f)(np.ones(1, np.float32)).tolist() == [2.0]
    for wrap in (jx.grad, jx.jacfwd, jx.jacrev):
        assert wrap(f)(1.0).item() == 2.0
    assert "mul" in str(jx.make_jaxpr(f)(1.0))


def test_an_object_without_weak_references_may_be_compiled_again():
    f = Slotted()
    assert [jx.jit(f)(1.0).item() for _ in range(3)] == [2.0, 2.0, 2.0]
    for _ in range(2):
        with pytest.raises(TypeError, match="NumPy asked for the data"):
            jx.jit(np.sin)(1.0)


def f(x, y=1.0):
    return jnp.sin(x) * y


@pytest.mark.parametrize("argnums", [1, -1, np.int32(1), np.array(1), jnp.array(1)])
def test_argnums_is_any_integer(argnums):
    for wrap in (jx.grad, jx.jacfwd, jx.jacrev):
        assert wrap(f, argnums)(0.0, 1.0).item() == 0.0
    assert jx.jit(f, static_argnums=argnums)(0.0, 2.0).item() == 0.0


@pytest.mark.parametrize("argnums", ["x", 1.5, None, (0.0,), (0, (1,)), slice(0, 1)])
def test_argnums_of_other_kinds_are_refused_where_they_are_given(argnums):
    for wrap in (jx.grad, jx.value_and_grad, jx.jacfwd, jx.jacrev, jx.hessian, jx.fwd_and_bwd):
        with pytest.raises(TypeError, match="argnums is the position"):
            wrap(f, argnums)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"static_argnums": "y"}, "static_argnums is the position of a parameter.*got 'y'"),
        ({"static_argnums": 1.5}, "static_argnums is the position of a parameter.*got 1.5"),
        ({"donate_argnums": (0.0,)}, "donate_argnums is the position of a parameter"),
        ({"static_argnames": 1}, "static_argnames is the name of a parameter.*got 1"),
        ({"static_argnames": b"y"}, "static_argnames is the name of a parameter.*got b'y'"),
        ({"donate_argnames": (1,)}, "donate_argnames is the name of a parameter"),
    ],
)
def test_positions_and_names_of_other_kinds_are_refused(given, message):
    with pytest.raises(TypeError, match=message):
        jx.jit(f, **given)


def test_positions_and_names_complete_each_other_unless_both_are_given():
    seen = []

    def look(x, n):
        seen.append(type(n))
        return x

    jx.jit(look, static_argnums=1)(1.0, n=2)
    jx.jit(look, static_argnames="n")(2.0, 2)
    assert seen == [int, int]
    jx.jit(look, static_argnums=1, static_argnames=())(1.0, n=2.5)
    jx.jit(look, static_argnums=(), static_argnames="n")(2.0, 2.5)
    assert {int, float}.isdisjoint(seen[2:])
    assert len(seen) == 4


@pytest.mark.parametrize("axes", [False, True, 0.0, "a", np.int32(0), np.array(0), object()])
def test_axes_are_ints_where_they_are_given(axes):
    for name, wrap in (("vmap", jx.vmap), ("pmap", jx.pmap)):
        with pytest.raises(TypeError, match=f"{name} in_axes must hold ints and None, got"):
            wrap(f, in_axes=(axes,))
        with pytest.raises(TypeError, match=f"{name} out_axes must hold ints and None, got"):
            wrap(f, out_axes={"a": axes})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.vmap(f, axis_name=[1]), TypeError, r"axis_name must be hashable.*got \[1\]"),
        (lambda: jx.vmap(f, axis_size=2.0)(np.ones(2)), TypeError, "axis_size must be an int, got"),
        (
            lambda: jx.vmap(lambda x: [x, x], out_axes=(0, 0))(np.ones(2)),
            ValueError,
            "the result has",
        ),
        (
            lambda: jx.vmap(lambda x: (x, "a"), out_axes=(0, None))(np.ones(2)),
            TypeError,
            r"<lambda> returned a value of type str at result\[1\]",
        ),
    ],
)
def test_wrong_maps_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_reduce_axes_is_taken_while_it_asks_for_nothing():
    assert jx.grad(f, reduce_axes=())(0.0).item() == 1.0
    assert jx.value_and_grad(f, reduce_axes=())(0.0)[1].item() == 1.0
    assert jx.vjp(f, 0.0, reduce_axes=())[1](1.0)[0].item() == 1.0
    assert jx.linear_transpose(lambda x: 3.0 * x, 0.0, reduce_axes=())(1.0)[0].item() == 3.0
    for wrap in (jx.grad, jx.value_and_grad, functools.partial(jx.vjp), jx.linear_transpose):
        with pytest.raises(NotImplementedError, match=r"reduce_axes=\('i',\), which is gone"):
            wrap(f, reduce_axes=("i",))


WITH_AUX = {
    "grad": lambda f: jx.grad(f, has_aux=True)(1.0)[1],
    "jacfwd": lambda f: jx.jacfwd(f, has_aux=True)(1.0)[1],
    "jacrev": lambda f: jx.jacrev(f, has_aux=True)(1.0)[1],
    "jvp": lambda f: jx.jvp(f, (1.0,), (1.0,), has_aux=True)[2],
    "vjp": lambda f: jx.vjp(f, 1.0, has_aux=True)[2],
    "linearize": lambda f: jx.linearize(f, 1.0, has_aux=True)[2],
}


@pytest.mark.parametrize("name", WITH_AUX)
def test_auxiliary_results_come_in_a_tuple_or_list_of_two(name):
    assert WITH_AUX[name](lambda x: [x * 2.0, 3]) == 3

    def three(x):
        return [x, x, x]

    with pytest.raises(
        TypeError, match=r"three to return a pair \(value, aux\), got a list of length 3"
    ):
        WITH_AUX[name](three)


DERIVATIVES = {
    "jvp": lambda f, x: jx.jvp(f, (x,), (x,))[1],
    "linearize": lambda f, x: jx.linearize(f, x)[1](x),
    "vjp": lambda f, x: jx.vjp(f, x)[1](x)[0],
    "linear_transpose": lambda f, x: jx.linear_transpose(f, x)(x)[0],
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("x", [1.0, np.float32(1.0), np.ones(2)], ids=["float", "scalar", "array"])
def test_derivatives_are_arrays(name, x):
    for fun in (lambda x: x + 1, lambda x: x, jnp.negative):
        if name != "linear_transpose" or fun(1.0) != 2.0:
            assert isinstance(DERIVATIVES[name](fun, x), jx.Array)


def test_primals_and_tangents_have_one_structure():
    with pytest.raises(TypeError, match="primals and tangents of one structure"):
        jx.jvp(f, (1.0,), [1.0])
    assert jx.jvp(f, [0.0], [1.0])[1].item() == 1.0


def test_any_cotangent_of_an_integer_is_zero():
    pullback = jx.vjp(lambda x: (x * 2.0, x.astype(int)), ONE)[1]
    for ct in (1.0, 1, np.zeros((), jx.dtypes.float0)):
        assert pullback((1.0, ct))[0].item() == 2.0
    with pytest.raises(ValueError, match=r"must have type float0\[\], got f\d\d\[2\]"):
        pullback((1.0, np.ones(2)))


@pytest.mark.parametrize(
    "function",
    [lambda a: a * a, lambda a: a @ a, lambda a: jnp.where(a > 0, a, 0)],
    ids=["square", "product", "choice"],
)
def test_a_function_that_is_not_linear_has_no_transpose(function):
    with pytest.raises(TypeError, match=r"only a linear function has a transpose.*take its vjp"):
        jx.linear_transpose(function, jnp.ones(2))(function(jnp.ones(2)))
