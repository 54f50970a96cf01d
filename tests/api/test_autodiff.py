"""Derivatives: values, structures, conventions, and errors that say what to write instead."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import dtypes, lax
from jxkernel.lax import add, cos, mul, neg, sin, sub
from jxkernel.primitives.shape.broadcast import reduce_sum
from jxkernel.test_util import check_grads

X = np.linspace(-1, 1, 5, dtype=np.float32)


def total(x):
    return reduce_sum(x, tuple(range(np.ndim(x))))


def f(x):
    return mul(sin(x), x)


def df(x):
    return np.cos(x) * x + np.sin(x)


def ddf(x):
    return 2 * np.cos(x) - np.sin(x) * x


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-5)


WAYS = {
    "grad": lambda x: jx.grad(lambda x: total(f(x)))(x),
    "grad of jit": lambda x: jx.grad(jx.jit(lambda x: total(f(x))))(x),
    "jit of grad": lambda x: jx.jit(jx.grad(lambda x: total(f(x))))(x),
    "jvp": lambda x: jx.jvp(f, (x,), (np.ones_like(x),))[1],
    "jit of jvp of jit": lambda x: jx.jit(lambda x: jx.jvp(jx.jit(f), (x,), (np.ones_like(X),))[1])(
        x
    ),
    "vjp": lambda x: jx.vjp(f, x)[1](np.ones_like(x))[0],
    "linearize": lambda x: jx.linearize(f, x)[1](jnp.ones_like(x)),
    "vmap of grad": lambda x: jx.vmap(jx.grad(f))(x),
    "jit of vmap of grad of jit": lambda x: jx.jit(jx.vmap(jx.grad(jx.jit(f))))(x),
    "grad of vmap": lambda x: jx.grad(lambda x: total(jx.vmap(f)(x)))(x),
    "grad of sum of jit of vmap": lambda x: jx.grad(lambda x: total(jx.jit(jx.vmap(f))(x)))(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_first_derivative(way):
    close(WAYS[way](X), df(X))


SECOND = {
    "grad of grad": lambda x: jx.vmap(jx.grad(jx.grad(f)))(x),
    "jvp of grad": lambda x: jx.jvp(jx.grad(lambda x: total(f(x))), (x,), (np.ones_like(x),))[1],
    "grad of jvp": lambda x: jx.grad(lambda x: total(jx.jvp(f, (x,), (jnp.ones_like(x),))[1]))(x),
    "jit of grad of jit of grad": lambda x: jx.vmap(jx.jit(jx.grad(jx.jit(jx.grad(f)))))(x),
    "linearize of grad": lambda x: jx.linearize(jx.vmap(jx.grad(f)), x)[1](np.ones_like(x)),
    "grad of linearize": lambda x: jx.grad(
        lambda x: total(jx.linearize(f, x)[1](jnp.ones_like(x)))
    )(x),
}


@pytest.mark.parametrize("way", SECOND)
def test_every_way_gives_the_same_second_derivative(way):
    close(SECOND[way](X), ddf(X))


def test_third_derivatives():
    third = jx.jit(jx.grad(jx.grad(jx.grad(sin))))
    close(third(0.3), -np.cos(0.3))


def test_gradients_follow_the_structure_of_the_arguments():
    def loss(params, x):
        return total(add(mul(params["w"], x), params["b"][0]))

    params = {"w": X, "b": (np.float32(1), None)}
    gradients = jx.grad(loss)(params, X)
    close(gradients["w"], X)
    close(gradients["b"][0], 5)
    assert gradients["b"][1] is None


def test_argnums_select_arguments():
    g = lambda x, y: mul(x, sin(y))  # noqa: E731
    close(jx.grad(g, argnums=1)(2.0, 0.5), 2 * np.cos(0.5))
    both = jx.grad(g, argnums=(0, -1))(2.0, 0.5)
    assert isinstance(both, tuple)
    close(both[0], np.sin(0.5))
    close(both[1], 2 * np.cos(0.5))


def test_value_and_grad_with_auxiliary_results():
    (value, aux), gradient = jx.value_and_grad(
        lambda x: (mul(x, x), {"twice": add(x, x), "note": None}), has_aux=True
    )(3.0)
    assert (float(value), float(aux["twice"]), float(gradient)) == (9, 6, 6)
    gradient, aux = jx.grad(lambda x: (mul(x, x), x), has_aux=True)(3.0)
    assert (float(gradient), float(aux)) == (6, 3)


def test_unused_and_constant_results_have_zero_gradients():
    close(jx.grad(lambda x, y: mul(x, x), argnums=1)(1.0, 2.0), 0)
    close(jx.grad(lambda x: 3.0)(1.0), 0)
    close(jx.jvp(lambda x: 3.0, (1.0,), (1.0,))[1], 0)


def test_gradients_have_the_dtype_of_the_argument():
    assert jx.grad(lambda x: mul(x, x))(np.float16(2)).dtype == np.float16
    with jx.config.enable_x64(True):
        assert jx.grad(lambda x: mul(x, x))(np.float64(2)).dtype == np.float64


def test_gradients_are_weak_where_all_they_are_made_of_is():
    def g(x):
        return x**2

    assert jx.grad(g)(3.0).weak_type
    assert jx.jit(jx.grad(g))(3.0).weak_type
    assert jx.grad(jx.jit(g))(3.0).weak_type
    assert jx.grad(lambda x: np.float16(2) * x)(3.0).weak_type
    assert not jx.grad(g)(np.float32(3)).weak_type

    def by_strong(x):
        return mul(x, np.float32(2))

    assert not jx.grad(by_strong)(3.0).weak_type
    assert not jx.vjp(by_strong, 3.0)[1](np.float32(1))[0].weak_type
    assert jx.jacrev(by_strong)(3.0).weak_type
    # A conversion to a strong dtype is undone, and zeros are of the argument's type.
    for function in (jx.numpy.sum, lambda x: np.float32(1)):
        assert jx.grad(function)(3.0).weak_type
    # What yields to other dtypes stays so: a step of half precision remains one.
    assert (jx.grad(g)(3.0) * jx.numpy.float16(2)).dtype == np.float16


def test_auxiliary_results_may_be_anything():
    _, aux = jx.value_and_grad(lambda x: (x, {"name": "f", "y": 2 * x}), has_aux=True)(1.0)[0]
    assert aux["name"] == "f"
    assert float(aux["y"]) == 2
    assert jx.vjp(lambda x: (x, "note"), 1.0, has_aux=True)[2] == "note"
    assert jx.jvp(lambda x: (x, "note"), (1.0,), (1.0,), has_aux=True)[2] == "note"


def test_integer_arguments_give_float0_where_allowed():
    gradient = jx.grad(lambda n, x: x, argnums=(0, 1), allow_int=True)(3, 2.0)
    assert gradient[0].dtype == dtypes.float0
    close(gradient[1], 1)
    _, pullback = jx.vjp(lambda n, x: mul(x, x), 3, 2.0)
    n_cotangent, x_cotangent = pullback(np.float32(1))
    assert n_cotangent.dtype == dtypes.float0
    close(x_cotangent, 4)


def test_holomorphic_and_real_valued_complex_functions():
    z = np.complex64(1 + 2j)
    close(jx.grad(lambda z: mul(z, z), holomorphic=True)(z), 2 * z)


def test_values_are_known_while_differentiating_eagerly():
    def abs_by_branch(x):
        return x if x > 0 else neg(x)

    close(jx.grad(abs_by_branch)(-2.0), -1)
    close(jx.jvp(abs_by_branch, (2.0,), (1.0,))[1], 1)


def test_linearize_keeps_nothing_of_what_its_result_does_not_read():
    f = jx.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * 2,))
    pushed = jx.grad(lambda y: jx.linearize(lambda x: (f(x), x * y)[1], y)[1](1.0))
    assert pushed(3.0) == 1.0


def test_linearize_evaluates_the_function_once():
    count = []

    def g(x):
        count.append(1)
        return sin(x)

    value, linear = jx.linearize(g, 0.5)
    close(value, np.sin(0.5))
    close([linear(1.0), linear(2.0)], [np.cos(0.5), 2 * np.cos(0.5)])
    assert len(count) == 1


def test_pullbacks_can_be_used_many_times_and_under_vmap():
    _, pullback = jx.vjp(lambda x: mul(x, x), X)
    close(jx.vmap(pullback)(np.eye(5, dtype=np.float32))[0], np.diag(2 * X))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.grad(3), TypeError, "grad needs a callable as fun, got 3"),
        (lambda: jx.grad(f)(X), TypeError, r"scalar-output.*returned shape \(5,\).*\.sum\(\)"),
        (lambda: jx.grad(f)(3), TypeError, "got int32.*astype"),
        (lambda: jx.grad(lambda x: "s")(1.0), TypeError, "return a scalar, got 's' of type str"),
        (lambda: jx.grad(lambda x: (x, x))(1.0), TypeError, "got a tuple.*has_aux"),
        (lambda: jx.grad(f, argnums=2)(1.0), TypeError, "argnums=2 needs at least 3"),
        (lambda: jx.grad(f, has_aux=True)(1.0), TypeError, "return a pair"),
        (lambda: jx.grad(f, holomorphic=True)(1.0), TypeError, "needs complex arguments"),
        (lambda: jx.grad(f)(np.complex64(1)), TypeError, "holomorphic=True"),
        (lambda: jx.jvp(f, X, X), TypeError, "tuples or lists"),
        (lambda: jx.jvp(f, (X,), (X[:2],)), ValueError, r"must have type f32\[5\], got f32\[2\]"),
        (lambda: jx.jvp(f, (X,), (X, X)), TypeError, "one structure"),
        (lambda: jx.jvp(f, (1.0,), (1,)), TypeError, r"must have type f32\[\], got i32\[\]"),
        (lambda: jx.jvp(f, (np.float16(1),), (1.0,)), TypeError, r"f16\[\], got f32\[\]"),
        (lambda: jx.jvp(f, (1,), (1,)), TypeError, r"write np.zeros\(\(\), float0\)"),
        (lambda: jx.vjp(f, X)[1](X[:2]), ValueError, r"must have type f32\[5\], got f32\[2\]"),
        (lambda: jx.linearize(f, X)[1](X[:2]), ValueError, r"f32\[5\], got f32\[2\]"),
        (lambda: jx.vjp(f, X)[1]((X, X)), ValueError, "structure of the value"),
        (lambda: jx.linearize(f, X)[1](X, X), TypeError, "takes tangents of structure"),
        (lambda: jx.vjp(f, X)[1](X, X), TypeError, "takes one argument, a cotangent.*got 2"),
        (lambda: jx.vjp(f, X)[1](X * 1j), ValueError, r"must have type f32\[5\], got c64\[5\]"),
        (lambda: jx.jvp(f, (3,), (1.0,)), TypeError, r"has dtype float0, got f32\[\].*astype"),
        (lambda: jx.jvp(f, (X,), (X.astype(np.float16),)), TypeError, r"f32\[5\], got f16\[5\]"),
        (lambda: jx.grad(f, argnums="x")(1.0), TypeError, "argnums is the position.*got 'x'"),
        (lambda: jx.grad(f, argnums=1.0)(1.0), TypeError, "argnums is the position.*got 1.0"),
        (lambda: jx.grad(mul, argnums=(0, -2))(1.0, 2.0), ValueError, "names one argument twice"),
        (lambda: jx.fwd_and_bwd(3, 0), TypeError, "fwd_and_bwd needs a callable as fun, got 3"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_jaxpr_of_a_gradient_recomputes_nothing():
    names = [e.primitive.name for e in jx.make_jaxpr(jx.grad(lambda x: sin(sin(x))))(1.0).eqns]
    assert names.count("sin") == 2
    assert names.count("cos") == 2


def test_gradient_of_a_jitted_function_calls_two_programs():
    g = jx.jit(lambda x: total(mul(sub(sin(x), cos(x)), x)))
    names = [e.primitive.name for e in jx.make_jaxpr(jx.grad(g))(X).eqns]
    assert names == ["jit", "jit"]


# ---------------------------------------------------------------- complex numbers
#
# A cotangent pairs with a tangent by the real part of their product, not conjugated.  So the
# gradient of a real function of x + iy is df/dx - i df/dy.

Z, C = np.complex64(0.6 - 0.8j), np.complex64(0.5 + 2j)

PULLED = {
    "abs": (jnp.abs, Z, 0.5, 0.5 * np.conj(Z)),
    "square of abs": (lambda z: jnp.abs(z) ** 2, Z, 1.0, 2 * np.conj(Z)),
    "real part": (jnp.real, Z, 1.0, 1.0),
    "imaginary part": (jnp.imag, Z, 1.0, -1j),
    "conjugate": (jnp.conj, Z, C, np.conj(C)),
    "square": (lambda z: mul(z, z), Z, C, 2 * Z * C),
    "exponential": (jnp.exp, Z, C, np.exp(Z) * C),
    "not holomorphic": (lambda z: z * jnp.conj(z), Z, C, C * np.conj(Z) + np.conj(C * Z)),
    "real to complex": (lambda x: lax.complex(x, 2 * x), np.float32(0.7), C, (C * (1 + 2j)).real),
    "angle": (lambda z: jnp.arctan2(jnp.imag(z), jnp.real(z)), Z, 1.0, -Z.imag - 1j * Z.real),
}


@pytest.mark.parametrize("case", PULLED)
def test_cotangents_of_complex_functions(case):
    function, point, cotangent, expected = PULLED[case]
    value, pullback = jx.vjp(function, point)
    pulled = pullback(np.asarray(cotangent, np.asarray(value).dtype))[0]
    assert pulled.dtype == point.dtype
    close(pulled, expected)
    check_grads(function, (point,), order=2)


def test_gradients_of_complex_functions():
    close(jx.grad(lambda z: jnp.abs(z) ** 2)(Z), 2 * np.conj(Z))
    close(jx.grad(lambda z: mul(z, mul(z, z)), holomorphic=True)(Z), 3 * Z**2)
    for wrong in (lambda: jx.grad(jnp.conj)(Z), lambda: jx.grad(jnp.abs, holomorphic=True)(Z)):
        with pytest.raises(TypeError, match=r"grad requires .* to return a (real|complex)"):
            wrong()


# ---------------------------------------------------------------- the two ways apart


def test_what_is_kept_crosses_jit():
    value, pullback = jx.jit(lambda x: jx.vjp(lambda x: sin(sin(x)), x))(X)
    expected = np.cos(np.sin(X)) * np.cos(X)
    close(value, np.sin(np.sin(X)))
    close(pullback(np.ones_like(X))[0], expected)
    close(jx.jit(lambda p, ct: p(ct)[0])(pullback, np.ones_like(X)), expected)
    assert len(jx.tree.leaves(jx.vjp(lambda x: mul(x, X), X)[1])) == 1
    _, linear = jx.jit(lambda x: jx.linearize(sin, x))(X)
    close(linear(np.ones_like(X)), np.cos(X))
    assert "pullback of sin" in repr(jx.vjp(sin, X)[1])


@pytest.mark.parametrize("jitted", [True, False])
def test_fwd_and_bwd(jitted):
    fwd, bwd = jx.fwd_and_bwd(lambda d, y: mul(d["x"], y), argnums=0, jitted=jitted)
    for point in (2.0, 3.0):
        value, residuals = fwd({"x": point}, 5.0)
        close(value, 5.0 * point)
        close(bwd(residuals, 1.0)["x"], 5.0)
    fwd, bwd = jx.fwd_and_bwd(lambda x, y: (mul(x, y), {"n": y}), (0, 1), True, jitted)
    value, residuals, aux = fwd(2.0, 3.0)
    assert float(aux["n"]) == 3.0
    close(bwd(residuals, 1.0), (3.0, 2.0))
    assert jitted is hasattr(fwd, "lower")


def test_arrays_of_64_bits_have_derivatives_where_these_are_off():
    with jx.enable_x64(True):
        x = jnp.arange(3.0)
    assert x.dtype == np.float64
    for gradient in (
        jx.grad(lambda x: jnp.sum(x * x))(x),
        jx.jacfwd(lambda x: x * x)(x).sum(0),
        jx.jacrev(lambda x: x * x)(x).sum(0),
    ):
        np.testing.assert_array_equal(gradient, [0.0, 2.0, 4.0])
    assert jx.grad(jnp.sum)(x).dtype == np.float64
    assert (jnp.mean(x), jnp.mean(x).dtype, jnp.var(x).dtype) == (1.0, np.float32, np.float32)


NO_NUMBERS = np.zeros(3, jx.float0)


def _by_number(n):
    return jx.grad(lambda n: n * 1.0, allow_int=True)(n)


def _printed(t):
    jx.debug.callback(lambda: None)
    return t


@pytest.mark.parametrize(
    "tangent",
    [
        lambda: jx.jvp(lambda x: x > 0, (2.0,), (1.0,))[1],
        lambda: jx.linearize(lambda x: x > 0, 2.0)[1](1.0),
        lambda: jx.vjp(lambda n: n * 1.0, 3)[1](1.0)[0],
        lambda: jx.grad(lambda n: n * 1.0, allow_int=True)(3),
        lambda: jx.jit(_by_number)(3),
        lambda: [jx.jit(_by_number)(n) for n in (3, 4, 5)][-1],
        lambda: jx.vmap(_by_number)(np.arange(3)),
        lambda: jx.lax.map(_by_number, np.arange(3)),
        lambda: jx.lax.scan(lambda c, t: (t, t), np.zeros((), jx.float0), NO_NUMBERS)[1],
        lambda: jx.lax.cond(True, lambda t: t, lambda t: t, NO_NUMBERS),
        lambda: jx.pmap(lambda t: t)(NO_NUMBERS[None]),
        lambda: jx.jit(_printed)(NO_NUMBERS),
        lambda: jx.device_put(NO_NUMBERS),
        lambda: jnp.asarray(NO_NUMBERS),
    ],
    ids=[
        *("jvp", "linearize", "vjp", "grad", "jit", "jit again", "vmap", "map", "scan", "cond"),
        *("pmap", "jit with an effect", "device_put", "asarray"),
    ],
)
def test_derivatives_of_integers_and_booleans_are_float0_to_numpy_as_well(tangent):
    assert np.asarray(tangent()).dtype == jx.dtypes.float0
