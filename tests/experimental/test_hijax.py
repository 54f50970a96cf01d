"""Operations with rules of their own, written as classes."""

from collections import namedtuple

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.experimental import hijax
from jxkernel.experimental.hijax import HiPrim, NullAccum, ValAccum, Zero, instantiate_zeros
from jxkernel.extend.core import Effect


class Of(HiPrim):
    """An operation whose result has the type of its first argument."""

    def __init__(self, *avals, **params):
        self.in_avals, self.out_aval, self.params = avals, avals[0], params
        super().__init__()


def applied(cls, *args, **params):
    """Apply an operation to arguments of any types."""
    return cls(*map(jx.typeof, args), **params)(*args)


class Scaled(Of):
    """The sine times another, with rules for both directions that tell which was asked."""

    def expand(self, x, y):
        return jnp.sin(x) * y

    def vjp_fwd(self, nzs_in, x, y):
        return self(x, y), (jnp.cos(x), jnp.sin(x), y)

    def vjp_bwd_retval(self, res, g):
        cos_x, sin_x, y = res
        return 100 * cos_x * g * y, 100 * sin_x * g

    def jvp(self, primals, tangents):
        (x, y), (s, t) = primals, tangents
        return self(x, y), jnp.cos(x) * s * y + jnp.sin(x) * t


class Backward(Of):
    """The sine, with a rule for the way back alone."""

    def expand(self, x):
        return jnp.sin(x)

    def vjp_fwd(self, nzs_in, x):
        return self(x), x

    def vjp_bwd_retval(self, x, g):
        return (10 * jnp.cos(x) * g,)


class Forward(Of):
    """The sine, with a rule for the way forward alone."""

    def expand(self, x):
        return jnp.sin(x)

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, tangents
        return self(x), 7 * jnp.cos(x) * t


class Linear(Of):
    """The sine, linearized."""

    def expand(self, x):
        return jnp.sin(x)

    def lin(self, nzs_in, x):
        return self(x), jnp.cos(x)

    def linearized(self, cos_x, t):
        return 3 * cos_x * t


X = np.linspace(0.1, 2.0, 5, dtype=np.float32)


def test_an_operation_is_its_implementation():
    assert np.allclose(applied(Scaled, X, X), np.sin(X) * X)
    assert np.allclose(jx.jit(lambda x: applied(Scaled, x, x))(X), np.sin(X) * X)
    assert np.allclose(jx.vmap(lambda x: applied(Scaled, x, x))(X), np.sin(X) * X)


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit])
def test_each_direction_has_its_rule(wrap):
    f = wrap(lambda x, y: applied(Scaled, x, y))
    value, moved = jx.jvp(f, (0.5, 3.0), (1.0, 2.0))
    assert np.allclose([value, moved], [np.sin(0.5) * 3, np.cos(0.5) * 3 + np.sin(0.5) * 2])
    slopes = jx.grad(f, argnums=(0, 1))(0.5, 3.0)
    assert np.allclose(slopes, [100 * np.cos(0.5) * 3, 100 * np.sin(0.5)])
    _, linear = jx.linearize(f, 0.5, 3.0)
    assert np.allclose(linear(1.0, 0.0), np.cos(0.5) * 3)
    batched = jx.vmap(jx.grad(f), (0, None))(X, 2.0)
    assert np.allclose(batched, 200 * np.cos(X))
    assert np.allclose(
        jx.grad(lambda x: jx.vmap(f)(x, x).sum())(X), 100 * (np.cos(X) * X + np.sin(X))
    )


def test_rules_serve_in_higher_orders():
    f = jx.grad(lambda x: applied(Backward, x))
    assert np.allclose(f(0.5), 10 * np.cos(0.5))
    assert np.allclose(jx.grad(f)(0.5), -10 * np.sin(0.5))
    both = jx.grad(lambda x: applied(Scaled, x, 3.0))
    assert np.allclose(jx.grad(both)(0.5), -300 * np.sin(0.5))
    assert np.allclose(jx.jit(jx.grad(both))(0.5), -300 * np.sin(0.5))
    assert np.allclose(jx.hessian(lambda x: applied(Scaled, x, 3.0))(0.5), -300 * np.sin(0.5))
    assert np.allclose(jx.vmap(jx.grad(both))(X), -300 * np.sin(X))
    mixed = jx.grad(jx.grad(lambda x, y: applied(Scaled, x, y)), argnums=1)
    assert np.allclose(mixed(0.5, 3.0), 100 * np.cos(0.5))
    second = jx.grad(jx.grad(lambda x: applied(Forward, x)))
    assert np.allclose(second(0.5), -7 * np.sin(0.5))


def test_a_rule_of_one_direction():
    assert np.allclose(jx.jvp(lambda x: applied(Forward, x), (0.5,), (1.0,))[1], 7 * np.cos(0.5))
    assert np.allclose(jx.grad(lambda x: applied(Forward, x))(0.5), 7 * np.cos(0.5))
    assert np.allclose(jx.grad(lambda x: applied(Linear, x))(0.5), 3 * np.cos(0.5))
    assert np.allclose(jx.linearize(lambda x: applied(Linear, x), 0.5)[1](2.0), 6 * np.cos(0.5))
    with pytest.raises(TypeError, match="jvp"):
        jx.jvp(lambda x: applied(Backward, x), (0.5,), (1.0,))


class FromJvp(Forward):
    lin, linearized = hijax.linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin


class Again(Forward):
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp


class FromLin(Linear):
    jvp = hijax.jvp_from_lin
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin


@pytest.mark.parametrize(("cls", "factor"), [(FromJvp, 7), (Again, 7), (FromLin, 3)])
def test_rules_are_derived_from_others(cls, factor):
    def f(x):
        return applied(cls, x)

    assert np.allclose(jx.jvp(f, (0.5,), (1.0,))[1], factor * np.cos(0.5))
    assert np.allclose(jx.grad(f)(0.5), factor * np.cos(0.5))
    assert np.allclose(jx.jit(jx.grad(f))(0.5), factor * np.cos(0.5))
    assert np.allclose(jx.vmap(jx.grad(f))(X), factor * np.cos(X))
    assert np.allclose(jx.grad(jx.grad(f))(0.5), -factor * np.sin(0.5))
    assert np.allclose(cls(jx.typeof(0.5)).vjp_fwd((True,), 0.5)[0], np.sin(0.5))


def test_rules_do_not_derive_each_other():
    with pytest.raises(TypeError, match="derives jvp from lin, and lin from jvp"):
        type("Round", (Of,), {"jvp": hijax.jvp_from_lin, "lin": hijax.linearize_from_jvp[0]})


class Choosing(Of):
    """Chooses in Python, where the values are known."""

    def expand(self, x):
        return jnp.sin(x) if x > 0 else jnp.cos(x)

    def vjp_fwd(self, nzs_in, x):
        return self(x), x

    def vjp_bwd_retval(self, x, g):
        return (2 * g if x > 0 else 3 * g,)


def test_rules_may_choose_in_python_where_values_are_known():
    f = jx.grad(lambda x: applied(Choosing, x))
    assert [f(1.0).item(), f(-1.0).item()] == [2.0, 3.0]


class Clip(HiPrim):
    """The identity, with bounds for cotangents."""

    def __init__(self, lo, hi, x):
        self.in_avals, self.out_aval, self.params = (lo, hi, x), x, {}
        super().__init__()

    def expand(self, lo, hi, x):
        return x

    def vjp_fwd(self, nzs_in, lo, hi, x):
        return self(lo, hi, x), (lo, hi)

    def vjp_bwd_retval(self, res, g):
        return None, None, jnp.clip(g, *res)


def test_none_is_a_cotangent_of_zero():
    def f(lo, hi, x):
        return jnp.sin(applied(Clip, lo, hi, x))

    assert np.allclose(
        jx.vmap(jx.grad(f, 2), (None, None, 0))(-0.75, 0.75, X), np.clip(np.cos(X), -0.75, 0.75)
    )
    assert jx.grad(f)(-0.75, 0.75, 0.1).item() == 0


class Take(HiPrim):
    """One element, known by its number."""

    def __init__(self, aval, at):
        self.in_avals, self.params = (aval,), {"at": at}
        self.out_aval = hijax.ShapedArray((), aval.dtype)
        super().__init__()

    def expand(self, x):
        return x[self.at]

    def vjp_fwd(self, nzs_in, x):
        return self(x), (), True, {"kept": x}

    def vjp_bwd(self, res, kept, g, x_accum):
        assert isinstance(x_accum, ValAccum)
        assert kept["kept"].shape == x_accum.aval.shape
        x_accum.accum(jnp.zeros(x_accum.aval.shape).at[self.at].add(g))
        x_accum.accum(None)


def test_cotangents_are_put_into_accumulators():
    def f(x):
        return Take(jx.typeof(x), 3)(x)

    assert jx.grad(f)(X).tolist() == [0, 0, 0, 1, 0]
    gathered = jx.new_ref(jnp.zeros(5))
    for _ in range(2):
        jx.vjp(f, X)[1].with_refs(gathered)(1.0)
    assert gathered[...].tolist() == [0, 0, 0, 2, 0]


Point = namedtuple("Point", "x y")


class OfTrees(HiPrim):
    """A function of a point, with integers beside."""

    def __init__(self, point, count):
        self.in_avals = (point, count)
        self.out_aval = {"a": point.x, "b": (point.y, count)}
        self.params = {}
        super().__init__()

    def expand(self, point, count):
        return {"a": point.x**2, "b": (jnp.cos(point.y) * count, count)}

    def vjp_fwd(self, nzs_in, point, count):
        assert nzs_in == (Point(True, True), False)
        return self(point, count), (point, count)

    def vjp_bwd(self, res, g, point_accums, count_accum):
        point, count = res
        assert isinstance(g["b"][1], Zero)
        assert isinstance(count_accum, NullAccum)
        a, b = map(instantiate_zeros, (g["a"], g["b"][0]))
        point_accums.x.accum(2 * point.x * a)
        point_accums.y.accum(-jnp.sin(point.y) * b * count)


class OfTreesForward(OfTrees):
    """The same with a rule for the way forward."""

    def jvp(self, primals, tangents):
        (point, count), (moved, of_count) = primals, tangents
        assert isinstance(of_count, Zero)
        out = {
            "a": 2 * point.x * moved.x,
            "b": (-jnp.sin(point.y) * moved.y * count, of_count),
        }
        return self(point, count), out


@pytest.mark.parametrize("cls", [OfTrees, OfTreesForward])
@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit])
def test_trees_and_integers(cls, wrap):
    def f(point, count):
        out = cls(jx.tree.map(jx.typeof, point), jx.typeof(count))(point, count)
        return out["a"] + out["b"][0] * out["b"][1]

    slopes = jx.grad(wrap(f))(Point(2.0, 0.5), 3)
    assert np.allclose(slopes, [4.0, -np.sin(0.5) * 9])
    if cls is OfTreesForward:

        def g(point):
            return f(point, 3)

        _, moved = jx.jvp(wrap(g), (Point(2.0, 0.5),), (Point(1.0, 1.0),))
        assert np.allclose(moved, 4.0 - np.sin(0.5) * 9)


class Product(HiPrim):
    """A matrix times a vector, with a rule for many vectors."""

    def __init__(self, a, x):
        self.in_avals, self.params = (a, x), {}
        self.out_aval = hijax.ShapedArray((a.shape[0],), a.dtype)
        super().__init__()

    def expand(self, a, x):
        return a @ x

    def batch(self, axis_data, args, dims):
        a, xs = args
        assert dims == (None, 0)
        assert axis_data.size == 4
        return (a @ xs.T) * 10, 1

    def jvp(self, primals, tangents):
        (a, x), (da, dx) = primals, tangents
        return self(a, x), a @ dx + da @ x


def test_a_rule_for_many_examples():
    a, xs = (
        np.arange(6.0, dtype=np.float32).reshape(2, 3),
        np.arange(12.0, dtype=np.float32).reshape(4, 3),
    )

    def f(x):
        return applied(Product, a, x)

    for mapped in (jx.vmap(f), jx.jit(jx.vmap(f))):
        assert np.allclose(mapped(xs), 10 * xs @ a.T)
    slopes = jx.vmap(jx.grad(lambda x: f(x).sum()))(xs)
    assert np.allclose(slopes, np.tile(a.sum(0), (4, 1)))


class Outer(HiPrim):
    """A product of a vector with numbers, whose rule for many examples is made by helpers."""

    def __init__(self, a, x):
        self.in_avals, self.out_aval, self.params = (a, x), a, {}
        super().__init__()

    def expand(self, a, x):
        return a * x

    def batch(self, axis_data, args, dims):
        assert dims == (0, None)
        a, x = hijax.bdims_at_front(axis_data, args, dims)
        assert (a.shape, x.shape) == ((3, 2), (3,))
        types = hijax.unmap_avals(axis_data, self.in_avals, (1, None))
        assert [one.shape for one in types] == [(2, 3), ()]

        def rule(a, x, zero):
            assert isinstance(zero, Zero)
            return {"product": a * x, "zero": zero, "same": 5 * jnp.ones(2)}

        zero = Zero(hijax.ShapedArray((4, 3), np.float32))
        places = {"product": 1, "zero": 1, "same": None}
        mapped = hijax.vmap_rule(axis_data, rule, (0, None, 1), places)
        out = mapped(args[0], args[1], zero)
        assert [out["product"].shape, out["zero"].shape, out["same"].shape] == [
            (2, 3),
            (4, 3),
            (2,),
        ]
        with pytest.raises(NotImplementedError, match="sums nothing"):
            hijax.vmap_rule(axis_data, rule, 0, 0, sum_match=True)
        return out["product"], 1


def test_helpers_for_many_examples():
    a = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    found = jx.vmap(lambda a: applied(Outer, a, 2.0), in_axes=1)(a)
    assert np.allclose(found, 2 * a.T)


def test_control_flow_holds_operations():
    def f(x):
        return lax.scan(lambda c, _: (applied(Scaled, c, 2.0), None), x, length=3)[0]

    assert np.allclose(f(0.5), 2 * np.sin(2 * np.sin(2 * np.sin(0.5))))
    eager = jx.grad(lambda x: applied(Scaled, applied(Scaled, applied(Scaled, x, 2.0), 2.0), 2.0))
    assert np.allclose(jx.grad(f)(0.5), eager(0.5))


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (
            lambda: applied(Of, X),
            NotImplementedError,
            "for evaluation, the operation Of defines ex",
        ),
        (
            lambda: Backward(jx.typeof(X))(X[:2]),
            TypeError,
            r"takes f32\[5\], and there is f32\[2\]",
        ),
        (lambda: Backward(jx.typeof(X))(X, X), TypeError, "Backward takes"),
        (
            lambda: Forward(hijax.HiType()),
            NotImplementedError,
            "Forward is of a type above arrays, .*: register the class as a pytree",
        ),
        (
            lambda: type("Bare", (HiPrim,), {})(),
            TypeError,
            "Bare sets in_avals, out_aval, params in",
        ),
        (
            lambda: jx.grad(lambda x: applied(type("No", (Of,), {"expand": lambda self, x: x}), x))(
                1.0
            ),
            NotImplementedError,
            "the operation No defines",
        ),
    ],
)
def test_what_is_missing_is_said(use, error, said):
    with pytest.raises(error, match=said):
        use()


def test_results_are_of_the_type_that_is_declared():
    wrong = type("Wrong", (Of,), {"expand": lambda self, x: x[:1]})
    with pytest.raises(TypeError, match=r"Wrong gives f32\[5\], and there is f32\[1\]"):
        applied(wrong, X)


class Counted(Effect):
    """An effect of a user."""


class WithEffects(Forward):
    effects = frozenset({Counted()})


def test_operations_with_effects_stay_in_programs_and_loops():
    def unused(x):
        applied(WithEffects, x)
        return x * 2

    assert jx.make_jaxpr(unused)(X).effects == WithEffects.effects
    assert "effects" in str(jx.make_jaxpr(jx.checkpoint(unused))(X))
    for f in (unused, jx.jit(unused), lambda x: lax.fori_loop(0, 1, lambda i, x: unused(x), x)):
        assert np.allclose(f(X), X * 2)
        assert np.allclose(jx.vmap(f)(X[None])[0], X * 2)
        assert np.allclose(jx.grad(lambda x, f=f: f(x).sum())(X), 2)
    assert np.allclose(lax.cond(X[0] < 9, unused, lambda x: x, X), X * 2)
    kinds = hijax.control_flow_allowed_effects
    assert kinds.contains(Counted())
    kinds.add_type(Counted)
    assert kinds.filter_in([Counted()]) == [Counted()]
    assert kinds.filter_not_in([Counted()]) == []


def test_definitions_of_types_are_taken():
    hijax.register_hitype(int, type)
    assert hijax.aval_property(len).fget is hijax.aval_method(len).fun is len
    ref = jx.new_ref(jnp.zeros(3))
    assert isinstance(ref.at[0], hijax.TransformedRef)
    assert isinstance(ref.aval, hijax.AbstractRef)
    accum = hijax.RefAccum(jx.typeof(X[:3]), ref)
    accum.accum(jnp.ones(3))
    assert (ref[...].tolist(), type(accum.freeze())) == ([1.0] * 3, Zero)
