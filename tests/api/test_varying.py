"""Inside ``shard_map``: along which axes values vary, and derivatives taken there."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.sharding import Mesh
from jxkernel.sharding import PartitionSpec as P

SIZE = 4
X = np.linspace(-1.0, 1.0, SIZE * 3, dtype=np.float32).reshape(SIZE, 3)
W = np.array([0.5, -0.25, 1.5], np.float32)
MATRIX = np.eye(3, dtype=np.float32) * 3


@pytest.fixture(scope="module")
def line(eight_devices):
    """Return a mesh of one axis, i."""
    return Mesh(eight_devices[:SIZE], "i")


def mapped(line: Mesh, fun: Any, in_specs: Any = (P(), P("i")), out_specs: Any = P()) -> Any:
    """Return a function over the axis i, jitted."""
    return jx.jit(jx.shard_map(fun, mesh=line, in_specs=in_specs, out_specs=out_specs))


VARYING = {
    "argument": (lambda x: x, {"i"}),
    "constant": (lambda x: jnp.ones(3), set()),
    "sum": (lambda x: x + jnp.ones(3), {"i"}),
    "psum": (lambda x: lax.psum(x, "i"), set()),
    "pmean": (lambda x: lax.pmean(x, "i"), set()),
    "pmax": (lambda x: lax.pmax(x, "i"), set()),
    "psum-groups": (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]), {"i"}),
    "all_gather": (lambda x: lax.all_gather(x, "i"), {"i"}),
    "all_gather-invarying": (lambda x: lax.all_gather(x, "i", to="invarying"), set()),
    "ppermute": (lambda x: lax.ppermute(jnp.ones(3), "i", [(0, 1)]), {"i"}),
    "psum_scatter": (lambda x: lax.psum_scatter(jnp.ones(4), "i"), {"i"}),
    "all_to_all": (lambda x: lax.all_to_all(jnp.ones(4), "i", 0, 0), {"i"}),
    "axis_index": (lambda x: lax.axis_index("i"), {"i"}),
    "pcast": (lambda x: lax.pcast(jnp.ones(3), "i", to="varying"), {"i"}),
    "jit": (lambda x: jx.jit(lambda v: lax.psum(v, "i"))(x), set()),
    "vmap": (lambda x: jx.vmap(lambda v: v * 2)(x), {"i"}),
    "vmap-axis": (lambda x: jx.vmap(lambda v: lax.psum(v, ("i", "k")), axis_name="k")(x), set()),
    "hidden": (lambda x: jx.vmap(lambda v: lax.psum(v, "i"), axis_name="i")(x), {"i"}),
    "cond": (lambda x: lax.cond(True, lambda: jnp.zeros(3), lambda: x.reshape(3)), {"i"}),
    "cond-choice": (lambda x: lax.cond(x.sum() > 0, lambda: 1.0, lambda: 2.0), {"i"}),
    "scan": (lambda x: lax.scan(lambda c, _: (c + x, c), jnp.zeros((1, 3)), None, 2)[1], {"i"}),
    "while": (lambda x: lax.while_loop(lambda n: n < x.sum(), lambda n: n + 1, 0.0), {"i"}),
}


@pytest.mark.parametrize("name", VARYING)
def test_type_says_along_which_axes_a_value_varies(line, name):
    fun, expected = VARYING[name]
    found: list[Any] = []

    def local(x: Any) -> Any:
        found.append(jx.typeof(fun(x)).manual_axis_type.varying)
        return x

    jx.make_jaxpr(jx.shard_map(local, mesh=line, in_specs=P("i"), out_specs=P("i")))(X)
    assert found == [expected]


def test_type_is_printed_with_the_axes_it_varies_along(line):
    text = str(jx.make_jaxpr(mapped(line, lambda w, x: lax.psum(w * x, "i")))(W, X))
    assert "f32[1,3]{V:i} = mul" in text
    assert "pvary[axes=(i,)]" in text
    assert ":f32[1,3] = psum_invariant[axes=(i,)]" in text


@jx.custom_jvp
def _tripled(w: Any, x: Any) -> Any:
    return 3 * w + x


_tripled.defjvps(lambda t, y, w, x: 3 * t + jnp.zeros_like(y), lambda t, y, w, x: t)


@jx.custom_vjp
def _scaled(w: Any, x: Any) -> Any:
    return w * x


_scaled.defvjp(
    lambda w, x: (w * x, (w, x)),
    lambda kept, ct: (lax.psum((ct * kept[1]).sum(0), "i"), ct * kept[0]),
)


def _walk(w: Any, x: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.sin(c * w) + x, c), jnp.zeros((1, 3)), None, 3)[0].sum()


def _looped(w: Any, x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda n, v: v * w, w).sum() + x.sum()


LOSSES = {
    "product": lambda w, x: jnp.sin(w * x).sum(),
    "sum": lambda w, x: (w + x).sum(),
    "matmul": lambda w, x: jnp.tanh(x @ (MATRIX * w)).sum(),
    "where": lambda w, x: jnp.where(x > 0, w, 2 * w).sum(),
    "concatenate": lambda w, x: (jnp.concatenate([w, x[0]]) ** 2).sum(),
    "jit": lambda w, x: jx.jit(lambda w: jnp.cos(w) * x)(w).sum(),
    "checkpoint": lambda w, x: jx.checkpoint(lambda w: jnp.sin(jnp.sin(w) * x).sum())(w),
    "vmap": lambda w, x: jx.vmap(lambda v: jnp.exp(v * x).sum())(w).sum(),
    "scan": _walk,
    "fori": _looped,
    "cond": lambda w, x: lax.cond(x.sum() > 0, lambda w: (w**2).sum(), lambda w: w.sum(), w),
    "cond-closure": lambda w, x: lax.cond(x.sum() > 0, lambda: (w * x).sum(), lambda: w.sum()),
    "cond-same": lambda w, x: lax.cond(w[0] > 0, lambda: (w * x).sum(), lambda: (w**2).sum()),
    "solve": lambda w, x: jnp.linalg.solve(MATRIX * w, x[0]).sum(),
    "solve-side": lambda w, x: jnp.linalg.solve(MATRIX + jnp.diag(x[0]), w).sum(),
    "custom_jvp": lambda w, x: (_tripled(w, x) ** 2).sum(),
    "indexing": lambda w, x: (w[jnp.argmax(x[0])] * x).sum(),
    "sort": lambda w, x: (jnp.sort(w + x[0]) * jnp.arange(3.0)).sum(),
}


def test_gradients_inside_are_those_of_all_devices_losses(line):
    """One program holds them all."""

    def every(w: Any, x: Any) -> Any:
        return {name: jx.grad(loss)(w, x) for name, loss in LOSSES.items()}

    def totals(w: Any, x: Any) -> Any:
        return {name: lax.psum(loss(w, x), "i") for name, loss in LOSSES.items()}

    def plain(w: Any) -> Any:
        return {name: sum(loss(w, x[None]) for x in X) for name, loss in LOSSES.items()}

    expected = jx.jit(jx.jacrev(plain))(W)
    whole = jx.jit(jx.jacrev(mapped(line, totals)))(W, X)
    inside = mapped(line, every)(W, X)
    for name, wanted in expected.items():
        for found in (inside[name], whole[name]):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=name)


COLLECTIVES = {
    "psum": (lambda w, x: lax.psum((w * x).sum(), "i"), X.sum(0)),
    "pmean": (lambda w, x: lax.pmean((w * x).sum(), "i"), X.mean(0)),
    "pmax": (lambda w, x: lax.pmax((w * x)[0, 0], "i"), [X[-1, 0], 0, 0]),
    "psum-of-data": (lambda w, x: (lax.psum(x, "i") * w).sum(), X.sum(0)),
    "psum-of-one": (lambda w, x: lax.psum(w, "i").sum(), [SIZE] * 3),
    "gather": (lambda w, x: lax.all_gather(w * x[0], "i", to="invarying").sum(), X.sum(0)),
    "gather-tiled": (
        lambda w, x: lax.all_gather(w * x[0], "i", tiled=True, to="invarying").sum(),
        X.sum(0),
    ),
    "ppermute": (lambda w, x: lax.ppermute(w * x, "i", [(0, 1)]).sum(), X[0]),
    "custom_vjp": (lambda w, x: _scaled(w, x).sum(), X.sum(0)),
    "same-on-all": (lambda w, x: (w**3).sum(), 3 * W**2),
}


def test_gradients_inside_through_collectives_are_summed_once(line):
    def every(w: Any, x: Any) -> Any:
        return {name: jx.grad(loss)(w, x) for name, (loss, _) in COLLECTIVES.items()}

    found = mapped(line, every)(W, X)
    for name, (_, expected) in COLLECTIVES.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, err_msg=name)


def test_higher_derivatives_inside_are_those_of_the_sum(line):
    def loss(w: Any, x: Any) -> Any:
        return jnp.sum(jnp.sin(w * x) * w)

    def total(w: Any) -> Any:
        return loss(w, X)

    found = mapped(line, lambda w, x: jx.hessian(loss)(w, x))(W, X)
    np.testing.assert_allclose(found, jx.hessian(total)(W), rtol=1e-4, atol=1e-5)
    tangents = mapped(line, lambda w, x: jx.jvp(lambda w: jx.grad(loss)(w, x), (w,), (w,))[1])
    expected = jx.jvp(jx.grad(total), (W,), (W,))[1]
    np.testing.assert_allclose(tangents(W, X), expected, rtol=1e-4, atol=1e-5)
    outside = jx.grad(lambda w: mapped(line, lambda w, x: jx.grad(loss)(w, x))(w, X).sum())
    np.testing.assert_allclose(
        outside(W), jx.grad(lambda w: jx.grad(total)(w).sum())(W), rtol=1e-4, atol=1e-5
    )


def test_unchecked_gradient_inside_is_that_of_one_device(line):
    fun = jx.shard_map(
        lambda w, x: jx.grad(lambda w: (w * x).sum())(w)[None],
        mesh=line,
        in_specs=(P(), P("i")),
        out_specs=P("i"),
        check_vma=False,
    )
    np.testing.assert_allclose(fun(W, X), X)


def test_gradients_over_two_axes_are_summed_over_those_an_argument_lacks(mesh):
    data = np.arange(64, dtype=np.float32).reshape(8, 8)
    row = np.arange(8, dtype=np.float32)

    def local(w: Any, x: Any) -> Any:
        return jx.grad(lambda w: (w * x).sum())(w)

    fun = jx.shard_map(local, mesh=mesh, in_specs=(P("y"), P("x", "y")), out_specs=P("y"))
    np.testing.assert_allclose(fun(row, data), data.sum(0))


def test_examples_of_an_outer_vmap_are_kept_apart(line):
    inside = mapped(line, lambda w, x: jx.grad(LOSSES["product"])(w, x))
    many = np.stack([W, 2 * W])
    expected = np.stack([inside(w, X) for w in many])
    np.testing.assert_allclose(jx.vmap(inside, (0, None))(many, X), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("fun", "message"),
    [
        (lambda w, x: w * x, r"out_specs, the result of .*P\(\) does not name 'i'.*psum\(x, 'i'\)"),
        (lambda w, x: {"a": lax.axis_index("i")}, r"out_specs, \['a'\] of .*does not name 'i'"),
        (
            lambda w, x: lax.all_gather(x, "i", to="reduced"),
            r"the spec P\(\) is not what its type .*\{R:i\} says of sums that are put off",
        ),
        (
            lambda w, x: lax.all_gather(x, "i", to="whole"),
            r"all_gather: to='whole' is none of 'varying', 'invarying' and 'reduced'",
        ),
        (lambda w, x: lax.pcast(w, "i", to="invarying"), r"pcast: there is no way to cast to"),
    ],
)
def test_results_that_vary_where_their_spec_says_they_do_not_are_refused(line, fun, message):
    with pytest.raises(ValueError, match=message):
        mapped(line, fun)(W, X)


def test_custom_cotangent_that_varies_where_its_value_does_not_is_refused(line):
    @jx.custom_vjp
    def scaled(w: Any, x: Any) -> Any:
        return w * x

    scaled.defvjp(
        lambda w, x: (w * x, (w, x)), lambda kept, ct: ((ct * kept[1]).sum(0), ct * kept[0])
    )
    with pytest.raises(ValueError, match=r"args\[0\], got f32\[3\]\{V:i\}.*lax.psum"):
        mapped(line, lambda w, x: jx.grad(lambda w: scaled(w, x).sum())(w))(W, X)


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("inner", [False, True])
def test_copies_that_a_spec_makes_of_one_value_each_count_backwards(line, check_vma, inner):
    """A result that is the same on all devices, under a spec that stacks it once for each."""

    def fun(w: Any, x: Any) -> Any:
        return jnp.sin(jx.jit(lambda w: w * 2)(w) if inner else w * 2)

    stacked = jx.shard_map(
        fun, mesh=line, in_specs=(P(), P("i")), out_specs=P("i"), check_vma=check_vma
    )
    weights = np.arange(SIZE * 3, dtype=np.float32) + 1
    plain = jnp.cos(2 * W) * 2
    grad = jx.grad(lambda w: (stacked(w, X) * weights).sum())(W)
    np.testing.assert_allclose(grad, plain * weights.reshape(SIZE, 3).sum(0), rtol=1e-5)
    _, tangent = jx.jvp(lambda w: stacked(w, X), (W,), (W,))
    np.testing.assert_allclose(tangent, np.tile(plain * W, SIZE), rtol=1e-5)
    batched = jx.vmap(jx.grad(lambda w: stacked(w, X).sum()))(np.stack([W, 2 * W]))
    np.testing.assert_allclose(batched[0], SIZE * plain, rtol=1e-5)
