"""Programs with symbolic sizes: exported once, run at every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export, lax, random
from jxkernel.errors import InconclusiveDimensionOperation

TABLE: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: jnp.sin(x) * 2 + x,
    "reductions": lambda x: [x.sum(), x.sum(0), x.max(1), x.prod(0), x.argmax(1), x.any()],
    "means": lambda x: [x.mean(), x.mean(0), x.var(0), x.std(), jnp.linalg.norm(x, axis=1)],
    "contractions": lambda x: [x @ jnp.ones((4, 5)), x.T @ x, x @ x.T, jnp.dot(x, jnp.ones(4))],
    "einsum": lambda x: jnp.einsum("bi,bj->bij", x, x),
    "reshape": lambda x: [x.reshape(-1), x.ravel(), x.reshape(x.shape[0], 2, 2), x[:, None]],
    "flattened again": lambda x: x.reshape(2 * x.shape[0], 2),
    "broadcasting": lambda x: [
        x + jnp.ones(4),
        x + x[:, :1],
        jnp.broadcast_to(x[:, None], (x.shape[0], 3, 4)),
    ],
    "creation": lambda x: [
        jnp.zeros(x.shape) + x,
        jnp.full((x.shape[0], 2), 3.0),
        jnp.ones_like(x),
        jnp.arange(x.shape[0]),
        jnp.eye(x.shape[0]),
    ],
    "sizes as numbers": lambda x: [x * x.shape[0], jnp.float32(2 * x.shape[0]) + x, x / x.size],
    "sizes among numbers": lambda x: [
        5.0 + x.shape[0],
        x.shape[0] - np.arange(3, dtype=np.int32),
        np.float32(2) * x.shape[0],
        x.shape[0] / 2,
        2 ** x.shape[0],
        x.shape[0] ** -0.5,
        divmod(x.shape[0], 1.5),
        jnp.array(x.shape) + jnp.sin(x.shape[0]),
    ],
    "joining": lambda x: [
        jnp.concatenate([x, 2 * x]),
        jnp.concatenate([x, x], axis=1),
        jnp.stack([x, x]),
        jnp.tile(x, (2, 1)),
        jnp.repeat(x, 2, axis=0),
        jnp.pad(x, ((2, 1), (1, 0))),
    ],
    "indexing": lambda x: [x[0], x[-1], x[1:], x[:-1], x[:2], x[-2:], x[::-1], x[::2], x[:, 1:3]],
    "gathers": lambda x: [
        x[jnp.array([0, 0])],
        jnp.take_along_axis(x, jnp.zeros((x.shape[0], 1), jnp.int32), 1),
        x.at[0].set(1.0),
        jnp.split(x, 2, axis=1),
        jnp.take(x, jnp.array([0, 7, -1]), 0),
        jnp.take(x, jnp.array([0, 7, -1]), 0, mode="clip"),
        jnp.take_along_axis(x, jnp.zeros((1, 4), jnp.int32), 0),
        x.at[-1].add(3.0),
        x.at[jnp.array([0, 7])].set(2.0, mode="clip"),
        random.choice(random.key(0), x),
    ],
    "ranks and windows": lambda x: [
        jnp.median(x, 0),
        jnp.quantile(x, 0.3),
        jnp.trapezoid(x, axis=0),
        lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), "VALID"),
        lax.reduce_window(x, 0.0, lax.add, (2, 1), (2, 1), [(1, 1), (0, 0)]),
    ],
    "diagonals": lambda x: [jnp.trace(x @ x.T), jnp.diagonal(x @ x.T), jnp.diagonal(x, 1)],
    "rolling": lambda x: [jnp.roll(x, 1, 0), jnp.roll(x, -7, 0), jnp.roll(x, 2, 1)],
    "places of values": lambda x: [
        jnp.nonzero(x > 0, size=2),
        jnp.unique(x, size=3),
        jnp.searchsorted(jnp.sort(x[:, 0]), x, "right"),
        jnp.isin(x, x[0]),
        jnp.intersect1d(x, x[0], size=2),
        jnp.digitize(x, jnp.array([0.0, 1.0])),
        jnp.histogram(x, bins=3),
        jnp.bincount(x[:, 0].astype(int).clip(0), length=3),
    ],
    "cumulation": lambda x: [jnp.cumsum(x, 0), jnp.cumsum(x, 1), jnp.sort(x, 0), jnp.flip(x, 0)],
    "selection": lambda x: [jnp.where(x > 0, x, 0), x.clip(0, 1), jnp.minimum(x, 2.0)],
    "nn": lambda x: [jx.nn.softmax(x), jx.nn.gelu(x), jx.nn.logsumexp(x, axis=-1)],
    "one_hot": lambda x: [
        jx.nn.one_hot(jnp.zeros(x.shape[0], jnp.int32), 3),
        jx.nn.one_hot(jnp.arange(3), x.shape[0]),
    ],
    "jit": lambda x: jx.jit(jnp.cos)(x) + jx.jit(jnp.cos)(x),
    "vmap": lambda x: jx.vmap(lambda row: (row * row).sum())(x),
    "grad": lambda x: jx.grad(lambda x: (jnp.tanh(x) ** 2).mean())(x),
    "scan over a symbolic axis": lambda x: lax.scan(lambda c, r: (c + r, 2 * r), jnp.zeros(4), x),
    "scan": lambda x: lax.scan(lambda c, _: (c + x, None), jnp.zeros_like(x), None, length=3)[0],
    "fori_loop": lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], jnp.zeros(4)),
    "cond": lambda x: lax.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, x),
}


def every(x: Any) -> dict[str, Any]:
    return {name: function(x) for name, function in TABLE.items()}


def spec(*shape: Any, dtype: Any = np.float32) -> jx.ShapeDtypeStruct:
    return jx.ShapeDtypeStruct(shape, dtype)


def symbols(text: str, **rest: Any) -> Any:
    return export.symbolic_shape(text, **rest)


@pytest.fixture(scope="module")
def exported() -> export.Exported:
    (b,) = symbols("b")
    made = export.export(jx.jit(every))(spec(b, 4))
    return export.deserialize(made.serialize())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1, 5])
def test_every_operation_gives_at_each_size_what_jit_gives(exported, size):
    x = np.linspace(-1, 2, 4 * size, dtype=np.float32).reshape(size, 4)
    found, want = exported.call(x), jx.jit(every)(x)
    for name in TABLE:
        for one, other in zip(jx.tree.leaves(found[name]), jx.tree.leaves(want[name]), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), name
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6, err_msg=name)


def test_types_are_symbolic_and_the_module_has_unknown_sizes(exported):
    assert [aval.short() for aval in exported.in_avals] == ["f32[b,4]"]
    found = {aval.short() for aval in exported.out_avals}
    assert {"f32[4*b]", "f32[b,2,2]", "f32[2*b,4]", "f32[b,b]", "f32[b - 1,4]"} <= found
    assert "tensor<?x4xf32>" in exported.mlir_module()


def test_under_jit_the_sizes_are_known():
    (b,) = symbols("b")
    one = export.export(jx.jit(lambda x: x.reshape(-1) + 1))(spec(b, 4))
    text = jx.jit(lambda x: [one.call(x), one.call(x[:2])]).lower(spec(7, 4)).as_text()
    assert "?" not in text
    assert "tensor<28xf32>" in text
    assert "tensor<8xf32>" in text


def test_an_exported_program_joins_another_of_symbolic_sizes():
    (b,) = symbols("b")
    inner = export.export(jx.jit(lambda x: x.reshape(-1)))(spec(b, 4))
    (n,) = symbols("n")
    outer = export.export(jx.jit(lambda x: 2 * inner.call(x)))(spec(2 * n, 4))
    assert outer.out_avals[0].short() == "f32[8*n]"
    x = np.ones((6, 4), np.float32)
    np.testing.assert_array_equal(outer.call(x), np.full(24, 2.0, np.float32))


def test_derivatives_keep_the_symbols():
    (b,) = symbols("b")
    made = export.export(jx.jit(lambda w, x: jnp.mean((x @ w) ** 2)))(spec(4), spec(b, 4))
    one = export.deserialize(made.serialize(vjp_order=1))
    assert [aval.short() for aval in one.vjp().out_avals] == ["f32[4]", "f32[b,4]"]
    w, x = np.ones(4, np.float32), np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    want = jx.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    np.testing.assert_allclose(jx.grad(one.call)(w, x), want, rtol=1e-5)


def test_several_symbols_follow_from_the_arguments():
    a, b = symbols("a, b")
    one = export.export(jx.jit(lambda x, y: (x.sum(), y * a)))(spec(2 * a + 1, a + b), spec(b))
    total, scaled = one.call(np.ones((7, 5), np.float32), np.ones(2, np.float32))
    assert float(total) == 35
    np.testing.assert_array_equal(scaled, [3.0, 3.0])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((6, 5), (2,)), r"no a of 1 or more makes axis 0 6"),
        (((1, 5), (2,)), r"no a of 1 or more makes axis 0 1"),
        (((7, 5), (3,)), r"f32\[b\] as args\[1\] and got f32\[3\], where a = 3, b = 2"),
        (((7, 5), (2, 1)), r"f32\[b\] as args\[1\] and got f32\[2,1\]"),
    ],
    ids=["not whole", "too small", "another size", "rank"],
)
def test_sizes_that_do_not_fit_are_refused(shapes, message):
    a, b = symbols("a, b")
    one = export.export(jx.jit(lambda x, y: x.sum() + y.sum()))(spec(2 * a + 1, a + b), spec(b))
    with pytest.raises(ValueError, match=message):
        one.call(*[np.ones(shape, np.float32) for shape in shapes])


def test_a_size_and_an_integer_of_any_kind_are_a_size():
    (b,) = symbols("b")
    assert b + np.int32(2) == np.int32(2) + b == b + 2
    assert b ** np.int64(2) == b * b
    assert np.prod((b, 4)) == 4 * b


def test_a_promise_may_speak_of_a_remainder():
    (b,) = symbols("b", constraints=["b >= mod(b, 3)"])
    made = export.export(jx.jit(lambda x: x[: x.shape[0] % 3]))(spec(b))
    np.testing.assert_array_equal(made.call(np.arange(5, dtype=np.float32)), [0.0, 1.0])


def test_promises_decide_comparisons_and_are_kept():
    (n,) = symbols("n", constraints=["n >= 4", "n <= 1000"])
    made = export.export(jx.jit(lambda x: x[:4] if x.shape[0] >= 4 else x))(spec(n))
    one = export.deserialize(made.serialize())
    assert one.call(np.ones(6, np.float32)).shape == (4,)
    with pytest.raises(ValueError, match=r"with the constraints n >= 4, n <= 1000, .*n = 3"):
        one.call(np.ones(3, np.float32))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.shape[0] > 5 else x + 1,
        lambda x: [x[i] for i in range(x.shape[0])],
        lambda x: len(x),
        lambda x: np.zeros(x.shape),
    ],
    ids=["if", "range", "len", "numpy"],
)
def test_what_a_symbol_cannot_decide_is_an_error_where_it_is_asked(function):
    (b,) = symbols("b")
    with pytest.raises(InconclusiveDimensionOperation, match="cannot be decided"):
        export.export(jx.jit(function))(spec(b))


def test_different_symbols_do_not_broadcast():
    b, c = symbols("b, c")
    with pytest.raises((TypeError, ValueError), match="b"):
        export.export(jx.jit(lambda x, y: x + y))(spec(b), spec(c))


def test_a_symbol_that_no_size_determines_is_refused():
    b, c = symbols("b, c")
    with pytest.raises(ValueError, match="dimension variables b, c do not follow"):
        export.export(jx.jit(lambda x: x.sum()))(spec(b * c))


def test_shapes_are_written_as_text():
    assert symbols("(3, 4,)") == (3, 4)
    assert symbols("") == ()
    assert symbols(None, like=(2, 3)) == (2, 3)
    assert symbols("_, ...", like=(2, 3, 4)) == (2, 3, 4)
    scope = export.SymbolicScope(["b >= 8"])
    (b,) = symbols("b", scope=scope)
    assert symbols("b", scope=scope) == (b,)
    assert export.symbolic_dim_bounds(2 * b) == (16, 2 * (2**31 - 1))
    assert all(type(end) is int for end in export.symbolic_dim_bounds(b))
    assert "b >= 8" in repr(scope)
    specs = export.symbolic_args_specs(
        {"x": np.ones((3, 4)), "y": np.ones(3)}, {"x": "b, ...", "y": "b"}
    )
    assert specs["x"].shape[0] == specs["y"].shape[0]
    assert export.is_symbolic_dim(specs["y"].shape[0])


@pytest.mark.parametrize(
    ("text", "rest", "message"),
    [
        ("a b", {}, "syntax error in symbolic shape 'a b'"),
        ("a.b", {}, r"'a.b' is no size"),
        ("1.5", {}, r"'1.5' is no size"),
        ("sin(a, b)", {}, "there are floordiv, mod, max and min"),
        ("_", {}, "leaves axis 0 open"),
        ("...", {}, "give the shape it is like"),
        ("a, b", {"like": (1,)}, "does not fit"),
        ("a", {"constraints": ["a"]}, "is no comparison"),
        ("a", {"constraints": ["a != 2"]}, "is none of >="),
        ("a", {"constraints": ["a >= 2"], "scope": export.SymbolicScope()}, "one of the two"),
    ],
)
def test_text_that_is_no_shape_is_refused(text, rest, message):
    with pytest.raises(ValueError, match=message):
        symbols(text, **rest)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("find", [lax.top_k, jnp.top_k])
def test_the_greatest_elements_may_be_symbolically_many(find, dtype):
    k, n = export.symbolic_shape("k, n", constraints=["n >= k"])
    types = [jx.ShapeDtypeStruct((2, n), dtype), jx.ShapeDtypeStruct((k,), dtype)]
    exported = export.export(jx.jit(lambda x, y: find(x, y.shape[0])))(*types)
    assert [aval.shape for aval in exported.out_avals] == [(2, k), (2, k)]
    x = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]], dtype)
    for count in (1, 3, 5):
        values, places = exported.call(x, np.zeros(count, dtype))
        np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :count])
        np.testing.assert_array_equal(places, np.argsort(-x, 1, kind="stable")[:, :count])
    with pytest.raises(ValueError, match=r"top_k got k=n \+ 1 for an array of shape \(2, n\)"):
        export.export(jx.jit(lambda x: lax.top_k(x, x.shape[1] + 1)))(types[0])
