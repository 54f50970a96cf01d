"""``custom_partitioning``: what the user is asked, what devices then do, and what is refused."""

from functools import partial

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.experimental.custom_partitioning import (
    ArrayMapping,
    SdyShardingRule,
    custom_partitioning,
)
from jxkernel.experimental.serialize_executable import deserialize_and_load, serialize
from jxkernel.sharding import Mesh
from tests.many_devices import over

A = np.arange(32.0, dtype=np.float32).reshape(8, 4)
B = np.arange(24.0, dtype=np.float32).reshape(4, 6)
RULE = "i j, j k -> i k"


def product(partition, rule=RULE, **options):
    """Return a product of matrices whose division is asked for."""

    @custom_partitioning
    def f(a, b):
        return a @ b

    f.def_partition(partition, sharding_rule=rule, **options)
    return f


def by_rows(mesh, arg_shapes, result_shape):
    rows, whole = over(mesh, "x", None), over(mesh, None, None)
    return mesh, lambda a, b: a @ b, rows, (rows, whole)


def counted(text, word):
    return text.count(f" {word}(")


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (RULE, {}),
        (RULE, {"reduction_factors": ("j",)}),
        (
            SdyShardingRule(
                (ArrayMapping("i", "j"), ArrayMapping("j", "k")), (ArrayMapping("i", "k"),)
            ),
            {},
        ),
        (lambda mesh, ins, outs: RULE if ins[0].shape == (8, 4) else None, {}),
    ],
)
def test_the_user_is_asked_and_devices_do_as_told(mesh, rule, options):
    asked = []

    def partition(mesh, arg_shapes, result_shape):
        asked.append((mesh, arg_shapes, result_shape))
        return by_rows(mesh, arg_shapes, result_shape)

    f = product(partition, rule, **options)
    a = jx.device_put(A, over(mesh, "x", None))
    compiled = jx.jit(f).lower(a, B).compile()
    found = compiled(a, B)
    np.testing.assert_array_equal(found, A @ B)
    assert found.sharding.spec[0] == "x"
    ((given, (first, second), result),) = asked
    assert given == mesh
    assert (first.shape, first.dtype, first.sharding.spec[0]) == ((8, 4), np.float32, "x")
    assert second.shape == (4, 6)
    assert (result.shape, result.sharding.spec[0]) == ((8, 6), "x")
    assert counted(compiled.as_text(), "dot") == 1
    assert "all-gather" not in compiled.as_text()


def test_pieces_may_communicate_and_arguments_be_static(mesh):
    @partial(custom_partitioning, static_argnums=(1,))
    def f(a, factor, b):
        return a @ b * factor

    def partition(factor, mesh, arg_shapes, result_shape):
        def piece(a, b):
            assert (a.shape, b.shape) == ((2, 2), (2, 6))
            return lax.psum(a @ b, "y") * factor + lax.axis_index("x") * 0

        return mesh, piece, over(mesh, "x"), (over(mesh, "x", "y"), over(mesh, "y"))

    f.def_partition(partition, sharding_rule=RULE, reduction_factors=("j",))
    a = jx.device_put(A, over(mesh, "x", "y"))
    for call in (f, jx.jit(lambda a, k, b: f(a, k, b), static_argnums=1)):
        found = call(a, 3, B)
        np.testing.assert_array_equal(found, A @ B * 3)
        assert found.sharding.is_equivalent_to(over(mesh, "x"), 2)
    np.testing.assert_array_equal(f(a, b=B, factor=2), A @ B * 2)


def test_results_may_be_trees_and_constants_be_closed_over(mesh):
    added = np.arange(4.0, dtype=np.float32)

    @custom_partitioning
    def f(x):
        return {"sum": x + added, "parts": [x.sum(axis=1)]}

    def partition(mesh, arg_shapes, result_shape):
        assert set(result_shape) == {"sum", "parts"}
        lies = arg_shapes[0].sharding
        results = {"sum": lies, "parts": [over(mesh, "x")]}

        def piece(x):
            return {"sum": x + added, "parts": [x.sum(axis=1)]}

        return mesh, piece, results, (lies,)

    f.def_partition(partition, sharding_rule="i j -> i, i j", need_replication_factors=("j",))
    found = jx.jit(f)(jx.device_put(A, over(mesh, "x", None)))
    np.testing.assert_array_equal(found["sum"], A + added)
    np.testing.assert_array_equal(found["parts"][0], A.sum(axis=1))


def test_without_a_mesh_and_inside_shard_map_it_is_the_function(mesh):
    def never(*args):
        raise AssertionError

    f = product(never)
    np.testing.assert_array_equal(f(A, B), A @ B)
    np.testing.assert_array_equal(jx.jit(f)(A, B), A @ B)
    rows = jx.P("x", None)
    mapped = jx.shard_map(f, mesh=mesh, in_specs=(rows, jx.P()), out_specs=rows)
    np.testing.assert_array_equal(jx.jit(mapped)(A, B), A @ B)


def test_one_device_is_a_mesh_too(eight_devices):
    one = Mesh(np.array(eight_devices[:1]), ("x",))
    a = jx.device_put(A, over(one, "x"))
    np.testing.assert_array_equal(jx.jit(product(by_rows))(a, B), A @ B)


def test_calls_after_the_first_ask_nobody(mesh):
    asked = []

    def partition(*given):
        asked.append(given)
        return by_rows(*given)

    f, a = product(partition), jx.device_put(A, over(mesh, "x", None))
    jitted = jx.jit(f)
    for _ in range(3):
        jitted(a, B)
        f(a, B)
    assert len(asked) == 2


def test_executables_leave_their_process(mesh):
    a = jx.device_put(A, over(mesh, "x", None))
    compiled = jx.jit(product(by_rows)).lower(a, B).compile()
    np.testing.assert_array_equal(deserialize_and_load(*serialize(compiled))(a, B), A @ B)


def test_rules_for_derivatives_and_examples_may_be_given(mesh):
    inner = product(by_rows)
    f = jx.custom_vjp(inner)
    f.defvjp(lambda a, b: (inner(a, b), (a, b)), lambda ab, ct: (ct @ ab[1].T, ab[0].T @ ct))
    a = jx.device_put(A, over(mesh, "x", None))
    slopes = jx.jit(jx.grad(lambda a: f(a, B).sum()))(a)
    np.testing.assert_array_equal(slopes, np.ones((8, 6), np.float32) @ B.T)


def fails(mesh, arg_shapes, result_shape):
    raise LookupError("no such plan")


def with_piece(piece):
    def partition(mesh, *shapes):
        _, _, outs, ins = by_rows(mesh, *shapes)
        return mesh, piece, outs, ins

    return partition


@pytest.mark.parametrize(
    ("partition", "error", "said"),
    [
        (fails, LookupError, "no such plan"),
        (lambda mesh, *_: (mesh, len), TypeError, "partition of f returns \\(mesh, function"),
        (
            lambda mesh, *_: (mesh, len, over(mesh), (over(mesh),)),
            TypeError,
            "for the arguments a NamedSharding for each array",
        ),
        (
            lambda mesh, *_: (mesh, len, None, (over(mesh), over(mesh))),
            TypeError,
            "for the result a NamedSharding",
        ),
        (
            with_piece(lambda a, b: (a @ b).T),
            TypeError,
            r"gave f32\[6,2\] where a piece .* f32\[2,6\]",
        ),
        (with_piece(lambda a, b: (a, b)), TypeError, "the function of pieces of f returns"),
        (
            with_piece(lambda a, b: (jx.debug.print("{}", a), a @ b)[1]),
            ValueError,
            "has an effect",
        ),
    ],
)
def test_what_the_user_says_wrongly_is_said(mesh, partition, error, said):
    a = jx.device_put(A, over(mesh, "x", None))
    with pytest.raises(error, match=said):
        jx.jit(product(partition))(a, B)


def test_rules_that_do_not_fit_are_refused(mesh):
    a = jx.device_put(A, over(mesh, "x", None))
    for rule, error, said in (
        (None, NotImplementedError, "needs a sharding_rule"),
        ("i j, j k, l -> i k", ValueError, "for 3 operands, and there are 2"),
    ):
        with pytest.raises(error, match=said):
            jx.jit(product(by_rows, rule))(a, B)


def closing_over(a):
    f = custom_partitioning(lambda b: a @ b)
    f.def_partition(by_rows, sharding_rule="j k -> i k")
    return f(B)


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda: custom_partitioning(3), TypeError, "callable"),
        (lambda: custom_partitioning(len)([1.0]), ValueError, "call def_partition first"),
        (lambda: product(3), TypeError, "callable"),
        (lambda: product(by_rows, 3), TypeError, "a text, an SdyShardingRule or a function"),
        (lambda: product(by_rows, None, j=3), ValueError, "j: these are for a sharding_rule that"),
        (lambda: product(by_rows)("text", B), TypeError, "text"),
        (
            lambda: jx.grad(lambda a: product(by_rows)(a, B).sum())(A),
            NotImplementedError,
            "custom_vjp",
        ),
        (
            lambda: jx.vmap(product(by_rows), (0, None))(A[None], B),
            NotImplementedError,
            "custom_vm",
        ),
    ],
)
def test_uses_that_cannot_work_are_refused(use, error, said):
    with pytest.raises(error, match=said):
        use()
