"""Callbacks as users call them: values, structures, batching, and what goes wrong."""

import gc
import threading
import traceback
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.errors import JaxRuntimeError
from jxkernel.experimental import io_callback

F32 = jx.ShapeDtypeStruct((), np.float32)


@pytest.fixture(params=["eager", "jit"])
def run(request):
    """The two roads: the function called at once, and from a compiled program."""
    return (lambda f: f) if request.param == "eager" else jx.jit


@jx.jit
def _long(x):
    return lax.fori_loop(0, 8, lambda i, y: y @ x, x)[0, 0] * 0


def busy() -> Any:
    """Return a zero that does not exist yet: what takes it is dispatched asynchronously."""
    return _long(jx.numpy.ones((500, 500)))


def dispatched(f: Callable[[Any], Any]) -> Any:
    """Return the result of a jitted function that fails, as an array that is yet to fail."""
    for _ in range(50):
        try:
            return f(busy())
        except (
            JaxRuntimeError
        ):  # it was dispatched too late: after the argument had come into being
            continue
    raise AssertionError("never asynchronous")


# ---------------------------------------------------------------- pure_callback


def test_pure_callback_gives_what_the_function_returns(run):
    f = run(lambda x: jx.pure_callback(np.sin, F32, x))
    assert float(f(np.float32(0.5))) == pytest.approx(np.sin(0.5))


def test_pure_callback_takes_and_gives_trees(run):
    shapes = {"sum": F32, "parts": (jx.ShapeDtypeStruct((2,), np.int32), None)}

    def host(x, *, scale):
        return {"sum": x["a"] * scale, "parts": (np.arange(2, dtype=np.int32), None)}

    f = run(lambda x, s: jx.pure_callback(host, shapes, {"a": x}, scale=s))
    out = f(np.float32(2), np.float32(3))
    assert float(out["sum"]) == 6
    assert out["parts"][0].tolist() == [0, 1]
    assert out["parts"][1] is None


@pytest.mark.parametrize("name", ["float32", "int8", "bool", "complex64", "bfloat16", "uint4"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_callback_dtypes_and_shapes_survive_the_way_there_and_back(run, name, shape):
    dtype = jx.numpy.dtype(name)
    x = np.ones(shape, dtype)
    seen = []

    def host(v):
        seen.append((v.dtype, v.shape))
        return np.asarray(v)

    y = run(lambda x: jx.pure_callback(host, jx.ShapeDtypeStruct(shape, dtype), x))(x)
    assert (y.dtype, y.shape) == (dtype, shape)
    assert np.asarray(y).tobytes() == x.tobytes()
    # A result without elements is known without asking.
    assert seen == [(dtype, shape)] or 0 in shape


def test_results_of_callbacks_follow_committed_arguments(run):
    f = run(lambda x: jx.pure_callback(np.sin, F32, x))
    assert not f(np.float32(1)).committed
    assert f(jx.device_put(np.float32(1), jx.devices()[0])).committed


def test_callback_results_need_not_be_contiguous(run):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    shape = jx.ShapeDtypeStruct((3, 2), np.float32)
    y = run(lambda x: jx.pure_callback(lambda v: np.asarray(v).T, shape, x))(x)
    np.testing.assert_array_equal(y, x.T)


def test_callback_of_64_bits_under_x64(run):
    with jx.enable_x64(True):
        wide = jx.ShapeDtypeStruct((), np.float64)
        y = run(lambda x: jx.pure_callback(lambda v: v * 2, wide, x))(np.float64(1) / 3)
        assert y.dtype == np.float64
        assert float(y) == 2 / 3
        # In a thread of the runtime, which does not know of the setting here.
        z = jx.jit(lambda x, b: jx.pure_callback(lambda v: v * 2, wide, x + 0 * b))
        assert float(z(np.float64(1) / 3, busy().astype(np.float64))) == 2 / 3


RESULTS = {
    "float64 array": (np.float64(2), None),
    "python float": (2.0, None),
    "python int": (2, None),
    "other dtype": (np.int32(2), r"returned int32\[\] as result 0, where float32\[\]"),
    "complex number": (2j, r"returned complex128\[\]"),
    "longer": (np.zeros(1000, np.float32), r"returned float32\[1000\] as result 0"),
    "structure": ((np.float32(2),), r"returned \(\*,\), where result_shape_dtypes announced"),
    "None": (None, r"returned None, where"),
    "foreign": ("two", "returned"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_callback_results_are_checked(run, case):
    value, message = RESULTS[case]
    f = run(lambda x: jx.pure_callback(lambda v: value, F32, x))
    if message is None:
        assert float(f(1.0)) == 2
    else:
        with pytest.raises(TypeError, match=message):
            f(1.0).block_until_ready()


def test_unused_pure_callback_is_dropped():
    calls = []

    def f(x):
        jx.pure_callback(lambda v: calls.append(v) or v, F32, x)
        return x + 1

    jaxpr = jx.make_jaxpr(f)(1.0).jaxpr
    assert not jaxpr.effects
    assert float(jx.jit(f)(1.0)) == 2


REFUSED = {
    "not callable": (lambda: jx.pure_callback(3, F32), TypeError, "needs a callable"),
    "argument": (lambda: jx.pure_callback(np.sin, F32, "x"), TypeError, "pure_callback was given"),
    "shape": (lambda: jx.pure_callback(np.sin, 3.0, 1.0), TypeError, "has a shape and a dtype"),
    "64 bits": (
        lambda: jx.pure_callback(np.sin, jx.ShapeDtypeStruct((), np.float64), 1.0),
        ValueError,
        "announce float32",
    ),
    "method": (
        lambda: jx.pure_callback(np.sin, F32, 1.0, vmap_method="loop"),
        ValueError,
        "vmap_method='loop'",
    ),
    "sharding": (
        lambda: jx.pure_callback(np.sin, F32, 1.0, sharding=1),
        NotImplementedError,
        "one device",
    ),
    "no vmap method": (
        lambda: jx.vmap(lambda x: jx.pure_callback(np.sin, F32, x))(np.ones(2)),
        NotImplementedError,
        "vmap_method=m",
    ),
    "ordered vmap": (
        lambda: jx.vmap(lambda x: io_callback(np.sin, F32, x, ordered=True))(np.ones(2)),
        ValueError,
        "vmap of an ordered io_callback",
    ),
    "derivative": (
        lambda: jx.grad(lambda x: jx.pure_callback(np.sin, F32, x))(1.0),
        ValueError,
        "custom_jvp",
    ),
    "io derivative": (
        lambda: jx.jvp(lambda x: io_callback(np.sin, F32, x), (1.0,), (1.0,)),
        ValueError,
        "io_callback has no derivative",
    ),
    "reduction": (
        lambda: lax.reduce(
            np.ones(3, np.float32),
            np.float32(0),
            lambda x, y: (jx.debug.callback(print, x), x + y)[1],
            (0,),
        ),
        TypeError,
        "has the effect Debug",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_callback_misuse_is_refused(case):
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


METHODS = {
    "sequential": [((2,), ())] * 3,
    "sequential_unrolled": [((2,), ())] * 3,
    "expand_dims": [((3, 2), (1,))],
    "broadcast_all": [((3, 2), (3,))],
    "legacy_vectorized": [((3, 2), ())],
}


@pytest.mark.parametrize("method", METHODS)
def test_pure_callback_vmap_methods(run, method):
    shapes = []

    def host(a, b):
        shapes.append((a.shape, b.shape))
        a, b = np.asarray(a), np.asarray(b)
        return a * (b[:, None] if b.ndim else b)

    two = jx.ShapeDtypeStruct((2,), np.float32)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    f = jx.vmap(
        lambda a, b: jx.pure_callback(host, two, a, b, vmap_method=method), in_axes=(1, None)
    )
    np.testing.assert_array_equal(run(f)(a, np.float32(10)), 10 * a.T)
    assert shapes == METHODS[method]


def test_nested_vmap_of_a_sequential_callback(run):
    f = jx.vmap(jx.vmap(lambda x: jx.pure_callback(np.cos, F32, x, vmap_method="sequential")))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(run(f)(x), np.cos(x), rtol=1e-6)


def test_vmap_over_no_examples_calls_nothing(run):
    calls = []

    def host(x):
        calls.append(x)
        return x

    f = jx.vmap(lambda x: jx.pure_callback(host, F32, x, vmap_method="sequential"))
    assert run(f)(np.zeros(0, np.float32)).shape == (0,)
    assert calls == []


def test_vectorized_is_the_older_name_of_vmap_method():
    with pytest.warns(DeprecationWarning, match="vmap_method='legacy_vectorized'"):
        y = jx.vmap(lambda x: jx.pure_callback(np.sin, F32, x, vectorized=True))(np.ones(2))
    assert y.shape == (2,)


def test_custom_jvp_gives_a_callback_its_derivative(run):
    @jx.custom_jvp
    def sin(x):
        return jx.pure_callback(np.sin, jx.ShapeDtypeStruct(x.shape, x.dtype), x)

    sin.defjvps(lambda t, y, x: t * jx.numpy.cos(x))
    assert float(run(jx.grad(sin))(np.float32(0.5))) == pytest.approx(np.cos(0.5))


# ---------------------------------------------------------------- io_callback and debug.callback


def test_io_callback_under_vmap_is_called_for_each_example(run):
    seen = []

    def host(x, y):
        seen.append((float(x), float(y)))
        return x + y

    f = jx.vmap(lambda x: io_callback(host, F32, x, np.float32(1)))
    np.testing.assert_array_equal(run(f)(np.arange(3, dtype=np.float32)), [1, 2, 3])
    assert seen == [(0, 1), (1, 1), (2, 1)]


def test_debug_callback_shows_primals_and_keeps_other_values(run):
    seen = []

    def f(x):
        jx.debug.callback(lambda tag, v, *, k: seen.append((tag, float(v), k)), "x", x, k=None)
        return x * x

    assert float(run(jx.grad(f))(3.0)) == 6
    assert float(jx.grad(run(f))(4.0)) == 8
    jx.effects_barrier()
    assert seen == [("x", 3.0, None), ("x", 4.0, None)]


def test_callback_arguments_may_be_kept():
    kept = []
    f = jx.jit(lambda x: (jx.debug.callback(kept.append, x), x + 1)[1])
    for i in range(5):
        f(np.full(4, i, np.float32))
    jx.effects_barrier()
    gc.collect()
    assert [v.tolist() for v in kept] == [[i] * 4 for i in range(5)]
    assert isinstance(kept[0], jx.Array)


# ---------------------------------------------------------------- failures


class Trouble(Exception):
    """What the callbacks of these tests raise."""


def fails(x: Any) -> Any:
    raise Trouble(f"with {float(x)}")


def lines_of(error):
    """Return the names of the functions that a traceback shows."""
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


WAITS = {
    "block_until_ready": lambda y: y.block_until_ready(),
    "jax.block_until_ready": lambda y: jx.block_until_ready([y]),
    "float": float,
    "repr": repr,
    "device_get": jx.device_get,
    "what is computed from it": lambda y: (y + 1).block_until_ready(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_exception_of_an_asynchronous_callback_surfaces_where_the_result_is_waited_for(wait):
    y = dispatched(jx.jit(lambda x: jx.pure_callback(fails, F32, x)))
    for _ in range(2):
        with pytest.raises(JaxRuntimeError, match=r"a callback raised Trouble: with 0.0") as caught:
            WAITS[wait](y)
        assert lines_of(caught.value.__cause__)[-1] == "fails"
    jx.effects_barrier()


def test_exception_of_a_synchronous_callback_surfaces_in_the_call(run):
    f = run(lambda x: jx.pure_callback(fails, F32, x))
    for _ in range(2):
        with pytest.raises(JaxRuntimeError, match=r"a callback raised Trouble: with 1.0") as caught:
            f(1.0)
        assert type(caught.value.__cause__) is Trouble
        assert lines_of(caught.value.__cause__)[-1] == "fails"
    assert float(run(lambda x: x + 1)(1.0)) == 2


def test_exception_keeps_its_cause():
    def host(x):
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise Trouble from error

    with pytest.raises(JaxRuntimeError) as caught:
        jx.jit(lambda x: jx.pure_callback(host, F32, x))(1.0)
    assert type(caught.value.__cause__) is Trouble
    assert isinstance(caught.value.__cause__.__cause__, KeyError)


def test_interrupt_in_a_callback_is_an_interrupt():
    def host(x):
        raise KeyboardInterrupt

    for x in (1.0, busy()):
        with pytest.raises(KeyboardInterrupt):
            jx.jit(lambda x: jx.pure_callback(host, F32, x))(x).block_until_ready()
    assert float(jx.jit(lambda x: x + 1)(1.0)) == 2


def test_barrier_raises_what_nobody_waited_for_once():
    f = jx.jit(lambda x: jx.debug.callback(fails, x))
    dispatched(f)
    dispatched(f)
    with pytest.raises(JaxRuntimeError, match="Trouble") as caught:
        jx.effects_barrier()
    assert caught.value.__notes__ == ["Another callback failed: Trouble: with 0.0"]
    jx.effects_barrier()


def test_ordered_programs_run_on_after_a_failure():
    seen = []

    def host(x):
        if x < 0:
            raise Trouble
        seen.append(float(x))

    f = jx.jit(lambda x: io_callback(host, None, x, ordered=True))
    with pytest.raises(JaxRuntimeError, match="Trouble"):
        f(-1.0)
    f(1.0)
    dispatched(jx.jit(lambda x: f(x - 1)))
    with pytest.raises(JaxRuntimeError, match="Trouble"):
        jx.effects_barrier()
    f(2.0)
    jx.effects_barrier()
    assert seen == [1, 2]


# ---------------------------------------------------------------- threads and lives


def test_operations_inside_callbacks_do_not_deadlock():
    weights = jx.numpy.ones((300, 300))
    inner = jx.jit(lambda w, x: (w @ w @ w).sum() + x)

    def host(x):
        y = inner(weights, x) + jx.numpy.sum(weights[0])
        jx.debug.print("", ordered=True) if x < 0 else None
        return np.asarray(y)

    f = jx.jit(lambda x: jx.pure_callback(host, F32, x))
    expected = float(host(0.0))
    outs: list[Any] = []
    threads = [threading.Thread(target=lambda: outs.append(float(f(busy())))) for _ in range(4)]
    for thread in threads:
        thread.start()
    outs.append(float(f(busy())))
    for thread in threads:
        thread.join(60)
    assert outs == [expected] * 5


def test_callbacks_live_as_long_as_their_programs():
    class Host:
        def __call__(self, x):
            return np.asarray(x)

    def make():
        host = Host()
        return jx.jit(lambda x: jx.pure_callback(host, F32, x) + 1), weakref.ref(host)

    f, alive = make()
    y = f(busy())
    gc.collect()
    assert float(f(1.0)) == 2
    assert alive() is not None
    del f
    assert float(y) == 1
    gc.collect()
    # The runtime lets go of Python objects when it is next entered.
    jx.jit(lambda x: x + 2)(1.0)
    assert alive() is None


def test_eager_callbacks_are_not_kept():
    class Host:
        def __call__(self, x):
            return np.asarray(x)

    def call() -> Any:
        host = Host()
        jx.pure_callback(host, F32, 1.0)
        jx.vmap(lambda x: jx.pure_callback(host, F32, x, vmap_method="sequential"))(np.ones(2))
        jx.make_jaxpr(lambda x: jx.pure_callback(host, F32, x))(1.0)
        return weakref.ref(host)

    alive = call()
    gc.collect()
    assert alive() is None


# ---------------------------------------------------------------- compiled programs


def test_stages_of_programs_with_callbacks(capsys):
    f = jx.jit(lambda x: (jx.debug.print("x = {}", x, ordered=True), x + 1)[1])
    lowered = f.lower(F32)
    assert "xla_ffi_python_cpu_callback" in lowered.as_text()
    compiled = lowered.compile()
    assert float(compiled(np.float32(1))) == 2
    assert float(compiled(np.float32(2))) == 3
    assert jx.eval_shape(f, F32).shape == ()
    assert capsys.readouterr().out == "x = 1.0\nx = 2.0\n"


def test_donated_arguments_beside_tokens():
    seen = []

    @partial(jx.jit, donate_argnums=0)
    def f(x, y):
        io_callback(lambda v: seen.append(v.tolist()), None, x, ordered=True)
        return y - 1, x + 1

    x = jx.numpy.arange(3.0)
    down, up = f(x, np.float32(1))
    assert (float(down), up.tolist()) == (0, [1, 2, 3])
    assert x.is_deleted()
    assert seen == [[0, 1, 2]]


def test_a_function_called_twice_is_lowered_once_and_keeps_order():
    seen = []

    @jx.jit
    def step(x):
        io_callback(lambda v: seen.append(int(v)), None, x, ordered=True)
        return x + 1

    whole = jx.jit(lambda x: step(step(step(x))))
    assert int(whole(0)) == 3
    assert seen == [0, 1, 2]
    assert whole.lower(0).as_text().count("xla_ffi_python_cpu_callback") == 1


def test_ordered_programs_may_be_called_inside_callbacks():
    seen = []
    inner = jx.jit(lambda x: io_callback(lambda v: seen.append(int(v)), None, x, ordered=True))

    def host(x):
        inner(10 + x)
        seen.append(int(x))

    outer = jx.jit(lambda x: io_callback(host, None, x, ordered=True))
    outer(1)
    outer(2)
    jx.effects_barrier()
    assert seen == [11, 1, 12, 2]


def test_options_of_a_debug_callback_may_come_first(capsys):
    jx.debug.print(ordered=True)("x = {}", 1)
    jx.debug.callback(ordered=True)(print, "y", 2)
    assert capsys.readouterr().out == "x = 1\ny 2\n"


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "transform", [lambda f: f, jx.vmap, lambda f: lambda x: jx.jvp(f, (x,), (x,))]
)
def test_what_a_look_raises_outside_of_programs_is_raised_as_it_is(ordered, transform):
    def look(x):
        raise ZeroDivisionError("the look")

    def f(x):
        jx.debug.callback(look, x, ordered=ordered)
        return x

    with pytest.raises(ZeroDivisionError, match="the look") as caught:
        transform(f)(np.ones(2, np.float32))
    assert caught.traceback[-1].name == "look"
