"""``jit``: one trace per kind of arguments, static and donated arguments, caches, nesting."""

import gc
import threading
import weakref
from functools import partial

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import config, events
from jxkernel.errors import (
    ArgumentTypeError,
    DeletedArrayError,
    NonHashableStaticArgumentError,
    UnexpectedTracerError,
)
from jxkernel.lax import add, mul, sin
from jxkernel.primitives.shape.broadcast import reduce_sum

X = np.arange(3, dtype=np.float32)


class Counted:
    """A function that counts how often Python runs it."""

    def __init__(self, fun):
        self.fun = fun
        self.count = 0

    def __call__(self, *args, **kwargs):
        self.count += 1
        return self.fun(*args, **kwargs)


def counted(fun, **options):
    counter = Counted(fun)
    return counter, jx.jit(lambda *args, **kwargs: counter(*args, **kwargs), **options)


@pytest.mark.parametrize(
    ("first", "second", "traces"),
    [
        (X, X + 1, 1),
        (X, jx.device_put(X), 1),
        (X, np.arange(4, dtype=np.float32), 2),
        (X, X.astype(np.int32), 2),
        (np.float32(1), 1.0, 2),
        (1.0, 2.0, 1),
        (X, X.astype(np.float64), 1),
    ],
    ids=["values", "device", "shape", "dtype", "weak", "scalars", "canonical dtype"],
)
def test_a_function_is_traced_once_per_kind_of_argument(first, second, traces):
    counter, f = counted(lambda x: add(x, x))
    f(first), f(second), f(first)
    assert counter.count == traces


def test_jitting_the_same_function_again_shares_its_trace():
    count = []

    def f(x):
        count.append(1)
        return sin(x)

    for _ in range(3):
        jx.jit(f)(X)
    assert len(count) == 1


def test_a_redefined_function_is_traced_again():
    def make(scale):
        return lambda x: mul(x, scale)

    assert jx.jit(make(2.0))(1.0) == 2
    assert jx.jit(make(3.0))(1.0) == 3


def test_results_keep_their_structure():
    out = jx.jit(lambda p: {"sum": add(p["a"], p["b"][0]), "none": None, "t": (p["a"],)})(
        {"a": X, "b": [X]}
    )
    assert set(out) == {"sum", "none", "t"}
    assert out["none"] is None
    np.testing.assert_array_equal(out["sum"], X + X)
    assert isinstance(out["t"], tuple)


def test_static_arguments_are_constants_of_the_trace():
    counter, f = counted(lambda x, n: mul(x, float(n)), static_argnums=1)
    assert [float(f(2.0, n)) for n in (1, 3, 3)] == [2, 6, 6]
    assert counter.count == 2


def test_static_names_and_numbers_complete_each_other():
    def f(x, n=2):
        return mul(x, float(n))

    by_name = jx.jit(f, static_argnames="n")
    assert by_name(2.0, 5) == by_name(2.0, n=5) == 10
    assert by_name(2.0) == 4
    by_number = jx.jit(f, static_argnums=1)
    assert by_number(2.0, n=5) == 10


def test_equal_statics_of_different_types_are_different():
    seen = []
    f = jx.jit(lambda x, s: (seen.append(type(s)), x)[1], static_argnums=1)
    f(1.0, 1), f(1.0, True), f(1.0, 1.0)
    assert seen == [int, bool, float]


def test_an_unhashable_static_is_refused():
    with pytest.raises(ValueError, match=r"[Nn]on-hashable static"):
        jx.jit(lambda x, s: x, static_argnums=1)(1.0, [1])


class Unkeyed:
    """A static value whose hash, or whose comparison with others, fails."""

    def __init__(self, hashed: object) -> None:
        self.hashed = hashed

    def __hash__(self) -> int:
        if isinstance(self.hashed, Exception):
            raise self.hashed
        return 1

    def __eq__(self, other: object) -> bool:
        raise ArithmeticError("no order")

    def __repr__(self) -> str:
        return "Unkeyed()"


@pytest.mark.parametrize(
    ("static", "message"),
    [
        ([1, 2], r"f was given a list, \[1, 2\], as the static argument n \(position 1\).*a tuple"),
        ((1, [2]), r"a tuple, \(1, \[2\]\), as.*unhashable type: 'list'.*nested lists as tuples"),
        (np.ones(2), r"an array, array\(\[1., 1.\]\), as.*leave n traced.*out of static_argnums"),
        (Unkeyed(TypeError("no")), r"a Unkeyed, Unkeyed\(\), as.*TypeError: no.*frozen=True"),
        (Unkeyed(KeyError("no")), r"as the static argument n.*KeyError: 'no'"),
        (Unkeyed(1), r"as the static argument n \(position 1\).*ArithmeticError: no order"),
    ],
)
def test_a_static_that_cannot_be_a_key_is_named_where_calls_are_traced(static, message):
    def f(x, n):
        return x

    jitted = jx.jit(f, static_argnums=1)
    jitted.lower(1.0, Unkeyed(1))
    with pytest.raises(NonHashableStaticArgumentError, match=f"(?s){message}"):
        jx.jit(lambda x: jitted(x, static))(1.0)
    with pytest.raises(NonHashableStaticArgumentError, match=f"(?s){message}"):
        jitted.lower(1.0, static)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"static_argnames": "z"}, "names 'z', which is not a parameter of f: it has x"),
        ({"static_argnums": 4}, "names position 4, and f takes 1 positional"),
        ({"donate_argnums": 4}, "donate_argnums"),
    ],
)
def test_a_parameter_that_does_not_exist_is_refused(options, message):
    def f(x):
        return x

    with pytest.raises(ValueError, match=message):
        jx.jit(f, **options)


def test_a_wrong_argument_is_named():
    def f(x, p):
        return x

    with pytest.raises(ArgumentTypeError, match=r"f was given 'abc' of type str as p\['b'\]"):
        jx.jit(f)(X, {"a": X, "b": "abc"})


def test_a_wrong_result_is_named():
    def f(x):
        return {"ok": x, "bad": "text"}

    with pytest.raises(TypeError, match=r"f returned a value of type str at result\['bad'\]"):
        jx.jit(f)(X)


def test_jit_refuses_what_is_not_callable():
    with pytest.raises(TypeError, match="jit needs a callable as fun, got 3"):
        jx.jit(3)


def test_donated_arguments_are_deleted_and_named_when_used_again():
    f = jx.jit(lambda x: add(x, 1.0), donate_argnums=0)
    x = jx.device_put(X)
    np.testing.assert_array_equal(f(x), X + 1)
    assert x.is_deleted()
    with pytest.raises(DeletedArrayError, match=r"f32\[3\]"):
        np.asarray(x)


def test_a_donated_argument_that_no_result_fits_warns_once_and_stays():
    fun = jx.jit(lambda p, x: {"sum": p["w"].sum(), "x": x + 1.0}, donate_argnums=(0, 1))
    given = {"w": jx.numpy.arange(8.0)}
    words = r"not usable: p\['w'\] of type f32\[8\]\. No result of <lambda>.*donate_argnums"
    with pytest.warns(UserWarning, match=words) as seen:
        fun(given, jx.numpy.arange(3.0))
    assert [warning.filename for warning in seen] == [__file__]
    assert not given["w"].is_deleted()
    fun(given, jx.numpy.arange(3.0))
    with pytest.warns(UserWarning, match=r"p\['w'\] of type f32\[5\]"):
        fun.lower({"w": jx.numpy.arange(5.0)}, jx.numpy.arange(3.0))


def test_captured_arrays_are_constants_snapshotted_at_the_trace():
    captured = X.copy()
    on_device = jx.device_put(X)
    f = jx.jit(lambda x: add(mul(x, captured), on_device))
    np.testing.assert_array_equal(f(X), X * X + X)
    captured[:] = 100
    for _ in range(2):  # the first answer comes from Python, the second from C++
        np.testing.assert_array_equal(f(X), X * X + X)


def test_unread_arguments_are_dropped_unless_kept():
    f = jx.jit(lambda x, y: x)
    assert f.lower(X, X).as_text().count("%arg") < jx.jit(lambda x, y: x, keep_unused=True).lower(
        X, X
    ).as_text().count("%arg")
    for _ in range(2):
        np.testing.assert_array_equal(f(X, X + 1), X)


def test_a_nested_jit_is_lowered_once_however_often_called():
    inner = jx.jit(lambda x: sin(x))

    def f(x):
        for _ in range(5):
            x = inner(x)
        return x

    text = jx.jit(f).lower(X).as_text()
    assert text.count("stablehlo.sine") == 1
    assert text.count("call @") == 5


def test_inline_writes_the_equations_out():
    inner = jx.jit(sin, inline=True)
    assert [e.primitive.name for e in jx.make_jaxpr(lambda x: inner(x))(X).eqns] == ["sin"]


def test_a_closure_over_an_outer_tracer_is_not_remembered():
    def outer(x):
        return jx.jit(lambda y: mul(x, y))(2.0)

    f = jx.jit(outer)
    assert f(3.0) == 6
    assert jx.grad(outer)(3.0) == 2
    np.testing.assert_array_equal(jx.vmap(outer)(X), X * 2)


def test_a_leaked_tracer_is_refused_and_says_where_it_came_from():
    leaks = []

    def leaky(x):
        leaks.append(sin(x))
        return x

    jx.jit(leaky)(X)
    for use in (
        lambda: add(leaks[0], 1.0),
        lambda: jx.jit(lambda x: add(x, leaks[0]))(X),
        lambda: jx.jit(sin)(leaks[0]),
    ):
        with pytest.raises(UnexpectedTracerError, match=r"(?s)while leaky was traced.*argument x"):
            use()


def test_a_failed_trace_leaves_nothing_behind():
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("first")
        return sin(x)

    jitted = jx.jit(f)
    with pytest.raises(RuntimeError, match="first"):
        jitted(X)
    np.testing.assert_allclose(jitted(X), np.sin(X), rtol=1e-6)
    assert jx.make_jaxpr(sin)(X).eqns


def test_tracebacks_show_only_the_users_frames():
    def f(x):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError) as caught:
        jx.jit(f)(X)
    files = [entry.path.name for entry in caught.traceback]
    assert set(map(str, files)) == {"test_jit.py"}


@pytest.mark.filterwarnings("ignore:jit.device=")
def test_a_place_that_is_no_device_is_named_at_the_call():
    f = jx.jit(lambda x: x, device=3)
    with pytest.raises(TypeError, match="jit got device=3 of type int: it is a device, such as"):
        f(1.0)


def test_a_function_and_its_program_die_together():
    def make():
        def f(x):
            return sin(x)

        jx.jit(f)(X), jx.grad(jx.jit(lambda x: reduce_sum(f(x), (0,))))(X)
        return weakref.ref(f)

    reference = make()
    gc.collect()
    assert reference() is None


def test_caches_can_be_cleared():
    counter, f = counted(sin)
    f(X)
    f.clear_cache()
    f(X)
    assert counter.count == 2
    jx.clear_caches()
    f(X)
    assert counter.count == 3


def test_disable_jit_runs_python():
    values = []
    f = jx.jit(lambda x: (values.append(float(x)), x)[1])
    with config.disable_jit():
        f(2.5)
    assert values == [2.5]


def test_settings_are_part_of_the_key():
    f = jx.jit(lambda x: mul(x, 2))
    assert f(1).dtype == np.int32
    with config.enable_x64(True):
        assert f(1).dtype == np.int64
    assert f(1).dtype == np.int32


def test_threads_may_trace_at_once():
    failures = []

    def work(scale):
        for _ in range(10):
            got = jx.jit(lambda x: mul(x, scale))(X)
            if not np.allclose(got, X * scale):
                failures.append(scale)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_recursion_through_a_jitted_function_works():
    @jx.jit
    def f(x, depth):
        return x

    def recursive(x, depth):
        return x if depth == 0 else add(jitted(x, depth - 1), 1.0)

    jitted = jx.jit(recursive, static_argnums=1)
    assert jitted(0.0, 5) == 5
    assert f(1.0, 2) == 1


def test_jit_as_a_decorator_with_options_keeps_name_and_doc():
    @jx.jit(static_argnums=1)
    def scaled(x, n):
        """Scale x."""
        return mul(x, float(n))

    assert scaled.__name__ == "scaled"
    assert scaled.__doc__ == "Scale x."
    assert scaled(2.0, 3) == 6


def test_dispatch_is_asynchronous_and_block_until_ready_waits():
    y = jx.jit(sin)(X)
    assert y.block_until_ready() is y
    assert y.is_ready()
    assert jx.block_until_ready({"y": y})["y"] is y


class Held:
    """What a closure holds."""


def _holding(held):
    return lambda x: (held, x * 2)[1]


def _with_rule(held):
    function = jx.custom_jvp(_holding(held))
    function.defjvp(lambda primals, tangents: (function(*primals), 2 * tangents[0]))
    return function


def test_a_function_that_is_gone_is_freed_without_a_collection():
    held = Held()
    alive = weakref.ref(held)
    gc.disable()
    try:
        f = jx.jit(_holding(held))
        f(1.0), jx.grad(f)(1.0), f.clear_cache
        del f, held
        assert alive() is None
    finally:
        gc.enable()


def test_arrays_that_a_function_closes_over_are_freed_with_it():
    array = jx.device_put(X)
    alive = weakref.ref(array)
    gc.disable()
    try:
        f = jx.jit(partial(lambda held, x: mul(x, held), array))
        f(1.0), f(2.0)
        del f, array
        assert alive() is None
    finally:
        gc.enable()


def test_the_cache_of_a_function_that_is_gone_can_still_be_cleared():
    clear = jx.jit(_holding(None)).clear_cache
    clear()


@pytest.mark.parametrize("make", [_holding, _with_rule])
def test_what_was_traced_does_not_keep_its_function(make):
    held = Held()
    alive = weakref.ref(held)
    f = make(held)
    jx.jit(f)(1.0), jx.jit(jx.grad(f))(1.0)
    del f, held
    gc.collect()
    assert alive() is None


def test_clear_caches_forgets_eager_primitives_too():
    sin(X)
    jx.clear_caches()
    compiled = []
    with events.listen(compiled.append, (events.Compiled,)):
        sin(X), sin(X)
    assert len(compiled) == 1


@pytest.mark.parametrize("donated", [{"donate_argnums": 1}, {"donate_argnames": "y"}])
def test_an_argument_is_not_static_and_donated(donated):
    with pytest.raises(ValueError, match="has y both static and donated"):
        jx.jit(lambda x, y: x, static_argnums=1, **donated)
