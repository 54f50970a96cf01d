"""``buffer_callback``: what the function gets and may write, under each transform."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental.buffer_callback import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

VECTOR = jx.ShapeDtypeStruct((3,), np.float32)
X = np.arange(3.0, dtype=np.float32)


def sine(context, out, x):
    np.sin(x, out=np.asarray(out))


def test_the_function_gets_a_context_and_buffers():
    seen = []

    def look(context, out, x):
        seen.append((context, out, x))
        np.asarray(out)[...] = np.asarray(x) + 1

    found = buffer_callback(look, VECTOR)(X)
    np.testing.assert_array_equal(found, X + 1)
    ((context, out, x),) = seen
    assert type(context) is ExecutionContext
    assert context.stage is ExecutionStage.EXECUTE
    for buffer in (out, x):
        assert type(buffer) is Buffer
        assert (buffer.shape, buffer.ndim, buffer.dtype) == ((3,), 1, np.float32)
    assert out.writeable
    assert not x.writeable
    assert repr(out) == "Buffer(float32[3])"
    np.testing.assert_array_equal(np.from_dlpack(out), X + 1)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[...] = 0
    with pytest.raises(NotImplementedError, match="there is no stream"):
        context.stream  # noqa: B018


def test_compiled_calls_give_the_same():
    f = buffer_callback(sine, VECTOR)
    np.testing.assert_array_equal(jx.jit(f)(X), f(X))
    np.testing.assert_array_equal(f(jnp.asarray(X)), np.sin(X))


def test_trees_and_keywords_are_passed_on():
    def both(context, out, a, b, *, k):
        np.asarray(out["sum"])[...] = np.asarray(a["x"]) + np.asarray(b) * np.asarray(k)
        np.asarray(out["less"][0])[...] = np.asarray(a["x"]) - np.asarray(b)

    f = buffer_callback(both, {"sum": VECTOR, "less": [VECTOR]})
    found = jx.jit(f)({"x": X}, X, k=3)
    np.testing.assert_array_equal(found["sum"], X * 4)
    np.testing.assert_array_equal(found["less"][0], 0 * X)


@pytest.mark.parametrize("dtype", ["bfloat16", "bool", "int4", "complex64", "uint8"])
@pytest.mark.parametrize("shape", [(2,), (), (0,)])
def test_each_dtype_and_shape_is_passed(dtype, shape):
    def copy(context, out, x):
        np.asarray(out)[...] = np.asarray(x)

    x = jnp.ones(shape, dtype)
    found = jx.jit(buffer_callback(copy, x))(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found).astype(complex), np.ones(shape))


@pytest.mark.parametrize(
    "method",
    [
        *("sequential", "sequential_unrolled"),
        *("expand_dims", "broadcast_all", "legacy_vectorized"),
    ],
)
def test_vmap_calls_as_the_method_says(method):
    seen = []

    def add(context, out, x, y):
        seen.append((out.shape, x.shape, y.shape))
        np.add(x, y, out=np.asarray(out))

    f = buffer_callback(add, VECTOR, vmap_method=method)
    found = jx.vmap(f, (0, None))(np.stack([X, X + 1]), X)
    np.testing.assert_array_equal(found, [2 * X, 2 * X + 1])
    once = ((2, 3), (2, 3))
    assert seen == {
        "expand_dims": [(*once, (1, 3))],
        "broadcast_all": [(*once, (2, 3))],
        "legacy_vectorized": [(*once, (3,))],
    }.get(method, [((3,), (3,), (3,))] * 2)


def test_results_may_begin_as_copies_of_arguments():
    def add_one(context, out, x):
        np.asarray(out)[...] += 1

    f = buffer_callback(add_one, VECTOR, input_output_aliases={0: 0}, vmap_method="broadcast_all")
    for given in (X, jnp.asarray(X)):
        np.testing.assert_array_equal(f(given), X + 1)
        np.testing.assert_array_equal(jx.jit(f)(given), X + 1)
    np.testing.assert_array_equal(X, np.arange(3.0))
    np.testing.assert_array_equal(jx.vmap(f)(np.stack([X, X])), np.stack([X, X]) + 1)


def test_what_is_not_written_is_zero():
    assert buffer_callback(lambda context, out, x: None, VECTOR)(X).tolist() == [0.0, 0.0, 0.0]


def test_functions_with_effects_are_called_though_nothing_is_read():
    seen = []

    def note(context, out, x):
        seen.append(np.asarray(x).tolist())

    f = jx.jit(buffer_callback(note, None, has_side_effect=True))
    assert f(X) is None
    jx.effects_barrier()
    assert seen == [[0.0, 1.0, 2.0]]
    jx.jit(buffer_callback(note, None))(X)
    jx.effects_barrier()
    assert len(seen) == 1


def fails(context, out, x):
    raise ValueError("too small")


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda: buffer_callback(3, VECTOR), TypeError, "callable"),
        (
            lambda: buffer_callback(sine, VECTOR, vmap_method="rows"),
            ValueError,
            "buffer_callback got vmap_method='rows'",
        ),
        (lambda: buffer_callback(sine, 3), TypeError, "result_shape_dtypes"),
        (lambda: buffer_callback(sine, VECTOR)("text"), TypeError, "text"),
        (
            lambda: buffer_callback(sine, VECTOR, input_output_aliases={3: 0})(X),
            ValueError,
            "3: 0, and there are 1 arguments and 1 results",
        ),
        (
            lambda: buffer_callback(sine, VECTOR, input_output_aliases={0: 0})(X[:2]),
            ValueError,
            r"argument 0 is f32\[2\] where result 0 is f32\[3\]",
        ),
        (lambda: buffer_callback(fails, VECTOR)(X), jx.errors.JaxRuntimeError, "too small"),
        (
            lambda: jx.jit(buffer_callback(fails, VECTOR))(X).block_until_ready(),
            jx.errors.JaxRuntimeError,
            "too small",
        ),
        (
            lambda: buffer_callback(lambda context, out, x: x, VECTOR)(X),
            TypeError,
            "and returns nothing",
        ),
        (
            lambda: jx.grad(lambda x: buffer_callback(sine, VECTOR)(x).sum())(X),
            ValueError,
            "has no derivative",
        ),
        (
            lambda: jx.vmap(buffer_callback(sine, VECTOR))(X[None]),
            NotImplementedError,
            "vmap_method",
        ),
    ],
)
def test_uses_that_cannot_work_are_refused(use, error, said):
    with pytest.raises(error, match=said):
        use()
