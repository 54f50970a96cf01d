"""Every benchmark runs under jxkernel and gives what it says it computes; no time is asserted."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from benchmarks import compiling, devices, growth, imports, metric, startup, tracing, watching
from benchmarks.library import Library, load
from benchmarks.metric import Metric, Timer, Work, count_calls, seconds_per_run
from benchmarks.processes import Peer
from benchmarks.worker import FAMILIES

METRICS = [one for metrics in FAMILIES.values() for one in metrics]

FIRST_OF_FAMILIES = [metrics[0] for metrics in FAMILIES.values()]
"""What a short run measures; the others are its likes."""


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, marks=[] if one in FIRST_OF_FAMILIES else [pytest.mark.slow])
        for one in METRICS
        if one not in devices.METRICS
    ],
    ids=lambda one: one.name,
)
def test_metric_runs_under_jxkernel(one: Metric) -> None:
    work = one.setup(load("jxkernel"))
    result = work.run(*([work.prepare()] if work.prepare else []))
    leaves = jx.tree_util.tree_leaves(result)
    assert all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves)
    assert bool(leaves) == (one.operations == 1 and "lower" not in one.name)


@pytest.mark.parametrize("one", devices.METRICS, ids=lambda one: one.name)
def test_metric_of_many_devices_uses_all_of_them(eight_devices: list[Any], one: Metric) -> None:
    work = one.setup(load("jxkernel"))
    prepared = [work.prepare()] if work.prepare else []
    result = work.run(*prepared)
    (first, *_) = jx.tree_util.tree_leaves(prepared or result)
    assert first.devices() == set(eight_devices)
    assert np.all(np.isfinite(np.asarray(result)))


def test_first_results_are_of_functions_that_were_never_called() -> None:
    (program,) = (one for one in compiling.FIRST.values() if one.name == "Hessian of 64 variables")
    library, made = load("jxkernel"), []

    def make(library: Library) -> Any:
        function, arguments = program.make(library)
        made.append(function)
        return function, arguments

    one = replace(program, make=make)
    assert all(compiling.first_result(library, one) > 0 for _ in range(2))
    assert made[0] is not made[1]


def test_half_of_the_corpus_was_kept_apart() -> None:
    kept = [program for program in compiling.FIRST.values() if not program.tuned]
    assert 2 * len(kept) == len(compiling.FIRST) >= 20


def test_the_power_of_compile_times_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compiling.LENGTHS, "jxkernel", (2, 4))
    monkeypatch.setattr(compiling, "first_result", lambda library, program: 3.0)
    assert compiling.exponent(load("jxkernel")) == pytest.approx(0, abs=1e-9)


def test_metric_names_are_distinct() -> None:
    names = [one.name for one in METRICS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("transform", [tracing.plain, tracing.in_jvp, tracing.in_vmap])
def test_chain_has_as_many_operations_as_it_says(transform: tracing.Transform) -> None:
    library = load("jxkernel")
    chain = tracing.chain(tracing.lax_steps(library), 40)
    traced = library.api.make_jaxpr(transform(library, chain))(np.ones((2, 8), np.float32))
    assert len(traced.eqns) >= 40
    assert (transform is tracing.in_jvp) == (len(traced.eqns) > 40)


def test_growth_measures_longer_and_longer_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(growth.LENGTHS) == sorted(growth.LENGTHS)
    assert all(length % 4 == 0 for length in growth.LENGTHS)
    monkeypatch.setattr(metric, "TOTAL_SECONDS", 0.0)
    curve = growth.Curve("nothing", lambda length: lambda library: Work(lambda: None))
    assert isinstance(growth.exponent(load("jxkernel"), curve), float)


def test_imports_measure_what_a_library_asks_the_alias_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(imports, "_LIBRARIES", Peer("jxkernel", sys.executable))
    monkeypatch.setattr(imports, "_PROCESSES", 1)
    share, whole = imports.measure("jax.scipy.stats.norm")
    assert 0 < share < whole


def test_every_pair_of_watching_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROUNDS", "FIRST_CALLS"):
        monkeypatch.setattr(watching, name, 1)
    for name, small in (("CELLS", 2), ("EQUATIONS", 50), ("BATCH_SECONDS", 1e-4)):
        monkeypatch.setattr(watching, name, small)
    figures = watching.figures()
    assert list(figures) == [pair.name for pair in watching.PAIRS]
    assert all(one["without"] > 0 for one in figures.values())


def test_calls_are_counted_exactly() -> None:
    def leaf() -> None:
        pass

    def run() -> None:
        leaf()
        leaf()

    assert count_calls(load("jxkernel"), Work(run), repeats=5) == 3


def test_prepared_work_gets_a_fresh_input_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric, "TOTAL_SECONDS", 0.0)
    made: list[object] = []
    seen: list[object] = []

    def prepare() -> object:
        made.append(object())
        return made[-1]

    seconds_per_run(load("jxkernel"), Work(seen.append, prepare))
    assert seen == made
    assert len(set(map(id, seen))) == len(seen) > 3


@pytest.mark.parametrize("disturbed", [1, 2, 3])
def test_batch_is_as_long_as_undisturbed_runs_ask(
    monkeypatch: pytest.MonkeyPatch, disturbed: int
) -> None:
    now, runs = 0.0, 0
    monkeypatch.setattr(metric, "perf_counter", lambda: now)

    def run() -> None:
        nonlocal now, runs
        runs += 1
        now += 1e-5 if runs > disturbed else 1.0

    timer = Timer(load("jxkernel"), Work(run))
    before = runs
    assert timer.seconds() == pytest.approx(1e-5)
    assert (runs - before) * 1e-5 >= metric.BATCH_SECONDS


@pytest.mark.parametrize("script", startup.SCRIPTS, ids=lambda script: script.name)
def test_startup_scripts_are_programs_of_either_library(script: startup.Script) -> None:
    for library in ("jxkernel", "jax"):
        compile(script.source.format(library=library), "script", "exec")
    try:
        exec(script.source.format(library="jxkernel"), {})
    finally:
        jx.alias("jax").undo()
