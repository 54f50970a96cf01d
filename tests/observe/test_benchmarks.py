"""`jx.benchmark`: what it counts, what it leaves alone, and how it reads. No time is asserted."""

import json
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.errors import DeletedArrayError, JaxRuntimeError
from jxkernel.observe import (
    Benchmark,
    Recorder,
    Roofline,
    Times,
    benchmark,
    calls,
    ledger,
)
from jxkernel.observe.rooflines import forget_rooflines, roofline

N = 64


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_SECONDS", 0.01)
    monkeypatch.setattr(calls, "_BATCHES", 2)


@pytest.fixture
def x() -> Any:
    return jnp.ones((N, N))


def test_a_jitted_function_is_built_anew_and_counted(x: Any) -> None:
    traced = []

    @jx.jit
    def product(a: Any) -> Any:
        traced.append(None)
        return {"of": a @ a, "and": [None, 3]}

    product(x)
    result = jx.benchmark(product, x)
    assert (result.name, result.device, result.programs) == ("product", "cpu:0", 1)
    assert len(traced) == 2
    assert result.compiled
    assert result.counted_by == "XLA"
    assert result.flops == 2 * N**3
    assert result.bytes is not None
    # The matrices and the number 3.
    assert 2 * 4 * N**2 <= result.bytes <= 2 * 4 * N**2 + 100
    assert min(result.trace_time, result.lower_time, result.compile_time) > 0
    assert result.memory is not None
    assert result.memory["arguments"] == 4 * N**2
    # What the user's own function remembers is as it was.
    product(x)
    assert len(traced) == 2


def test_times_are_in_order(x: Any) -> None:
    result = jx.benchmark(jx.jit(lambda a: a + 1), x)
    assert len(result.latency.seconds) == len(result.dispatch.seconds) >= 3
    assert result.dispatch.median <= result.latency.median
    assert result.latency.best <= result.latency.percentile(5) <= result.latency.worst
    assert result.build_time == result.trace_time + result.lower_time + result.compile_time


def test_percentiles_and_spread_are_those_of_the_sample() -> None:
    times = Times(tuple(float(one) for one in range(101)))
    assert (times.median, times.mean, times.best, times.worst) == (50.0, 50.0, 0.0, 100.0)
    assert (times.percentile(5), times.percentile(95), times.spread) == (5.0, 95.0, 50.0)


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda a: lax.scan(lambda c, _: (c @ a, None), a, None, length=10)[0], 10 * 2 * N**3),
        (lambda a: lax.fori_loop(0, 7, lambda _, c: c @ a, a), 7 * 2 * N**3),
        (lambda a: jnp.linalg.cholesky(a + N * jnp.eye(N)), None),
        (lambda a: lax.while_loop(lambda c: c[0, 0] < 4, lambda c: c + a, a), None),
    ],
)
def test_what_xla_cannot_count_is_counted_by_equations_or_not_at_all(
    x: Any, function: Any, flops: int | None
) -> None:
    result = jx.benchmark(jx.jit(function), x)
    assert result.bytes is None
    assert result.counted_by in ("equations", "")
    if flops is not None:
        # The loop's counter is counted too.
        assert result.flops == pytest.approx(flops, rel=0.01)


def test_a_plain_function_runs_as_it_is(x: Any) -> None:
    result = jx.benchmark(lambda a, *, b: [jnp.tanh(a) @ b, "text"], x, b=x)
    assert not result.compiled
    assert result.programs == 2
    assert result.flops is result.efficiency is result.roofline is None
    assert "executables" in result.table()
    assert jx.benchmark(sum, [1, 2, 3]).programs == 0


def test_a_compiled_function_is_called_as_it_is(x: Any) -> None:
    result = jx.benchmark(jx.jit(lambda a: a @ a).lower(x).compile(), x)
    assert result.compiled
    assert result.build_time == 0
    assert result.flops == 2 * N**3
    assert "compile" not in result.summary()


@pytest.mark.parametrize("jitted", [True, False])
def test_donated_arguments_stay_alive(x: Any, jitted: bool) -> None:
    inside = jx.jit(lambda a, p: ({"w": a + p["w"]}, a.sum()), donate_argnums=(1,))
    function = inside if jitted else lambda a, p: inside(a, p)
    result = benchmark(function, x, {"w": x + 1})
    params = {"w": x + 2}
    result = jx.benchmark(function, x, params)
    assert params["w"].tolist() == (x + 2).tolist()
    assert result.programs == 1


def test_side_effects_happen_and_results_may_be_anything() -> None:
    log: list[int] = []
    result = jx.benchmark(log.append, 3)
    assert len(log) >= 2 + len(result.latency.seconds)


def test_static_arguments_keys_and_numpy_arguments(x: Any) -> None:
    assert jx.benchmark(jx.jit(lambda a, n: a * n, static_argnums=1), np.ones(3), 2).flops == 3
    drawn = jx.jit(lambda key: jx.random.normal(key, (10,)))
    assert jx.benchmark(drawn, jx.random.key(0)).compiled


def test_callbacks_and_errors_come_through(x: Any) -> None:
    def fails(a: Any) -> Any:
        raise ValueError("on the host")

    function = jx.jit(lambda a: jx.pure_callback(fails, jx.ShapeDtypeStruct((), a.dtype), a))
    with pytest.raises(JaxRuntimeError, match="ValueError: on the host"):
        jx.benchmark(function, x)


def test_wrong_uses_say_what_to_write(x: Any) -> None:
    async def later() -> None: ...

    gone = x + 1
    gone.delete()
    with pytest.raises(TypeError, match=r"write benchmark\(f, x\) instead of benchmark\(f\(x\)\)"):
        jx.benchmark(x.sum())
    with pytest.raises(TypeError, match="later is a coroutine function"):
        jx.benchmark(later)
    with pytest.raises(DeletedArrayError):
        jx.benchmark(jnp.sin, gone)
    with pytest.raises(TypeError, match="sin was given a traced value: call benchmark outside"):
        jx.jit(lambda a: jx.benchmark(jnp.sin, a).latency.median)(x)


def test_what_is_built_to_be_measured_is_no_history_of_the_function(x: Any) -> None:
    @jx.jit
    def named(a: Any) -> Any:
        return a + 1

    forget_rooflines()
    with Recorder() as recorder:
        for _ in range(2):
            assert jx.benchmark(named, x).compile_time > 0
        assert not ledger(recorder)
        named(x)
        named(x[:3])
        # A plain function builds what is the user's own.
        jx.benchmark(lambda a: named(a), x[:5])
    first, second, third = ledger(recorder, fun="named")
    assert first.reasons[0].kind == "first_call"
    assert second.reasons[0].kind == third.reasons[0].kind == "shape"


def made(**given: Any) -> Benchmark:
    times = Times((1e-3, 2e-3, 3e-3))
    parts: dict[str, Any] = {
        "name": "f",
        "device": "cpu:0",
        "compiled": True,
        "programs": 1,
        "latency": times,
        "dispatch": Times((5e-6,)),
        "pipelined": Times((1.6e-3,)),
        "trace_time": 1e-3,
        "lower_time": 2e-3,
        "compile_time": 30e-3,
        "flops": 8e6,
        "bytes": 1e6,
        "counted_by": "XLA",
        "roofline": Roofline("cpu:0", "float32", 1e9, 1e10),
    }
    return Benchmark(**{**parts, **given})


@pytest.mark.parametrize(
    ("given", "summary"),
    [
        (
            {},
            "f on cpu:0: 2 ms per call · dispatch 5 µs · pipelined 1.6 ms · compile 33 ms, once"
            " · 62% of the memory bandwidth",
        ),
        (
            {"flops": 12e6},
            "f on cpu:0: 2 ms per call · dispatch 5 µs · pipelined 1.6 ms · compile 33 ms, once"
            " · 75% of the matrix-product peak",
        ),
        (
            {"bytes": 3.2e6, "from_disk": True},
            "f on cpu:0: 2 ms per call · dispatch 5 µs · pipelined 1.6 ms · load 33 ms, once"
            " · 200% of the memory bandwidth (its data stays in a cache)",
        ),
        (
            {"roofline": None, "trace_time": 0.0, "lower_time": 0.0, "compile_time": 0.0},
            "f on cpu:0: 2 ms per call · dispatch 5 µs · pipelined 1.6 ms",
        ),
    ],
)
def test_the_first_line_says_most(given: dict[str, Any], summary: str) -> None:
    assert made(**given).summary() == summary


def test_the_table_says_what_each_figure_is() -> None:
    assert repr(made()).splitlines()[1:] == [
        "latency                 2 ms  until the result exists; median of 3 runs, "
        "their middle half within 50%",
        "dispatch                5 µs  until the call returns",
        "pipelined             1.6 ms  one of many in a row; the last is waited for",
        "percentiles  1.1 ms … 2.9 ms  5 to 95 percent of the runs",
        "first call             33 ms  trace 1 ms, lower 2 ms, compile 30 ms",
        "operations         5 Gflop/s  8 Mflop a call; 50% of 10 Gflop/s measured here",
        "memory              625 MB/s  1 MB a call; 62% of 1 GB/s measured here",
        "at best                 1 ms  a call's work, limited by memory",
    ]


def test_figures_are_plain_data(x: Any) -> None:
    data = json.loads(json.dumps(made().to_dict()))
    assert data["latency"]["percentiles"]["50"] == data["latency"]["median"] == 2e-3
    assert data["efficiency"] == pytest.approx(0.625)
    assert data["roofline"] == {"bandwidth": 1e9, "flops": 1e10}


def test_the_roofline_is_measured_once_for_a_type_and_a_device() -> None:
    best = roofline(np.float32)
    assert roofline() is best
    assert best.least_seconds(best.flops, 0) == best.least_seconds(0, best.bandwidth) == 1.0
    assert best.limit(best.flops, 0) == "operations"
    assert best.limit(0, 1) == "memory"
    again = roofline(again=True)
    assert roofline() is again
    assert again.flops >= best.flops
    assert again.bandwidth >= best.bandwidth
    forget_rooflines()
    assert roofline() is not again
