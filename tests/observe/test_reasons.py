"""Every reason to trace or compile again, made by real calls, and the fix that the ledger gives."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.events import CellFinished, span
from jxkernel.events.vocabulary import ReasonKind
from jxkernel.observe import Recorder, explain, format_ledger, format_totals, ledger, ledger_totals
from jxkernel.sharding import AxisType

EIGHT = np.ones(8, np.float32)
pytestmark = pytest.mark.usefixtures("eight_devices", "no_earlier_calls")


def double(x: Any) -> Any:
    return x + x


def power(x: Any, n: Any) -> Any:
    return x * (n if isinstance(n, int) else 1)


def total(p: Any) -> Any:
    return sum(jx.tree.leaves(p))


def first_call() -> None:
    jx.jit(double)(EIGHT)


def shape() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(EIGHT[:3])


def dtype() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(EIGHT.astype("int32"))


def weak_type() -> None:
    f = jx.jit(double)
    f(jnp.float32(1))
    f(1.0)


def tree_structure() -> None:
    f = jx.jit(total)
    f({"layers": [{"w": EIGHT}]})
    f({"layers": [{"w": EIGHT, "b": EIGHT}]})


def container() -> None:
    f = jx.jit(total)
    f({"layers": [EIGHT, EIGHT]})
    f({"layers": (EIGHT, EIGHT)})


def static_number() -> None:
    f = jx.jit(power, static_argnames="n")
    f(EIGHT, 2)
    f(EIGHT, 3)


def static_text() -> None:
    f = jx.jit(power, static_argnames="n")
    f(EIGHT, "a")
    f(EIGHT, "b")


def static_function() -> None:
    f = jx.jit(power, static_argnames="n")
    for _ in range(2):
        f(EIGHT, lambda: 1)


def static_object() -> None:
    class Model:
        pass

    f = jx.jit(power, static_argnames="n")
    f(EIGHT, Model())
    f(EIGHT, Model())


def keyword() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(x=EIGHT)


def static_keyword() -> None:
    f = jx.jit(power, static_argnames="n")
    f(EIGHT, 2)
    f(EIGHT, n=2)


def rows_of(kind: AxisType) -> Any:
    mesh = jx.make_mesh((2,), ("i",), (kind,), devices=jx.devices()[:2])
    return jx.device_put(EIGHT, jx.NamedSharding(mesh, jx.P("i")))


def sharding() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(rows_of(AxisType.Auto))


def explicit_sharding() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(rows_of(AxisType.Explicit))


def device() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(jx.device_put(EIGHT, jx.devices()[1]))


def donated() -> None:
    jx.jit(double)(EIGHT)
    jx.jit(double, donate_argnums=0)(jnp.asarray(EIGHT.copy()))


def context() -> None:
    f = jx.jit(double)
    f(EIGHT)
    with jx.default_matmul_precision("highest"):
        f(EIGHT)


def options() -> None:
    jx.jit(double)(EIGHT)
    jx.jit(double, keep_unused=True)(EIGHT)


def closure() -> None:
    def scaled(k: Any) -> Callable[[Any], Any]:
        def double(x: Any) -> Any:
            return x * k

        return jx.jit(double)

    scaled(EIGHT)(EIGHT)
    scaled(2 * EIGHT)(EIGHT)


def partial() -> None:
    for n in (2, 3):
        jx.jit(functools.partial(power, n=n))(EIGHT)


def new_function() -> None:
    for _ in range(2):
        jx.jit(lambda x: x + 1)(EIGHT)


def evicted() -> None:
    f = jx.jit(double)
    f(EIGHT)
    f.clear_cache()
    f(EIGHT)


def evicted_with_all() -> None:
    f = jx.jit(double)
    f(EIGHT)
    jx.clear_caches()
    f(EIGHT)


# (calls, kind of the last row's first reason, words of its sentence, words of the fix)
REASONS: list[tuple[Callable[[], None], str, str, str]] = [
    (first_call, "first_call", "first call of double", ""),
    (shape, "shape", "x: f32[8] → f32[3]", "pad x along axis 0 to a few fixed sizes"),
    (dtype, "dtype", "x: f32[8] → i32[8]", "before the call: x.astype('float32')"),
    (weak_type, "weak_type", "x: f32[] → f32*[]", "jnp.asarray(x, 'float32')"),
    (
        tree_structure,
        "tree_structure",
        "without p['layers'][0]['b'] → with p['layers'][0]['b']",
        "the same containers and keys",
    ),
    (container, "tree_structure", "p['layers']: list → tuple", "pass p['layers'] as one kind"),
    (static_number, "static_value", "n: 2 → 3", "make n a traced argument"),
    (static_text, "static_value", "n: 'a' → 'b'", "each value of n has a program of its own"),
    (static_function, "static_value", "n: <function", "define it once, outside the loop"),
    (static_object, "static_value", "n: <", "pass the same object for n, or give its class __eq__"),
    (keyword, "kwargs_form", "by keyword: none → x", "pass x the same way"),
    (static_keyword, "kwargs_form", "by keyword: none → n", "pass n the same way"),
    (sharding, "sharding", "over {'i': 2} (committed)", "jax.device_put"),
    (explicit_sharding, "sharding", "over {'i': 2} (committed)", "jax.device_put"),
    (device, "sharding", "→ cpu:1 (committed)", "place x the same way"),
    (donated, "donated", "donated arguments: none → x", "with one donate_argnums"),
    (context, "context", "precision: None → highest", "set jax_default_matmul_precision once"),
    (options, "context", "keep_unused: nothing → True", "with one keep_unused"),
    (closure, "constant_changed", "k: f32[8] #", "pass k as an argument instead of closing"),
    (partial, "constant_changed", "n: 2 → 3", "pass n as an argument"),
    (new_function, "new_function_object", "made again at", "outside the loop"),
    (evicted, "evicted", "its entry was evicted since", "between experiments only"),
    (evicted_with_all, "evicted", "its entry was evicted since", "clear caches"),
]


def test_every_kind_of_reason_has_a_row() -> None:
    assert {kind for _, kind, _, _ in REASONS} == set(get_args(ReasonKind))


@pytest.mark.parametrize(
    ("calls", "kind", "sentence", "fix"), REASONS, ids=[calls.__name__ for calls, *_ in REASONS]
)
def test_reason_of_real_calls(
    recorder: Recorder, calls: Callable[[], None], kind: str, sentence: str, fix: str
) -> None:
    calls()
    rows = [row for row in ledger(recorder) if row.cache is not None]
    assert len(rows) == (1 if kind == "first_call" else 2)
    row = rows[-1]
    assert row.reasons[0].kind == kind
    assert sentence in row.sentence()
    assert fix in row.fix
    assert bool(row.fix) == bool(fix)
    executables_alone = calls in (sharding, device, donated, options)
    assert row.cache == ("memory" if executables_alone else "trace")
    assert (row.eqns is None) == executables_alone
    assert row.cost_ns > 0
    file, line = row.site.rsplit(":", 1)
    first = calls.__code__.co_firstlineno
    assert (file, first <= int(line) <= first + 15) == (__file__, True)


def test_call_that_only_moves_to_where_it_was_is_no_miss(recorder: Recorder) -> None:
    f = jx.jit(double)
    f(EIGHT)
    f(jx.device_put(EIGHT, jx.devices()[0]))
    assert len([row for row in ledger(recorder) if row.cache is not None]) == 1


def test_disk_cache_is_told_per_row(recorder: Recorder, tmp_path: Path) -> None:
    def shifted(x: Any) -> Any:
        return jnp.cos(x) * 31.25

    before = jx.config.jax_compilation_cache_dir
    jx.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        jx.jit(shifted)(EIGHT)
        jx.clear_caches()
        jx.jit(shifted)(EIGHT)
    finally:
        jx.config.update("jax_compilation_cache_dir", before)
    first, second = ledger(recorder, fun="shifted")
    assert (first.disk, first.from_disk) == ("miss", False)
    assert (second.disk, second.from_disk) == ("hit", True)
    assert [line.split()[-5:][0] for line in format_ledger([first]).splitlines()[1:2]] == ["miss"]
    assert "from disk" in explain("shifted", recorder)


def test_program_with_callbacks_is_told_to_have_no_fast_path(recorder: Recorder) -> None:
    def watched(x: Any) -> Any:
        jx.debug.callback(lambda value: None, x)
        return x

    jx.jit(watched)(EIGHT)
    jx.jit(lambda x: jx.pure_callback(np.sin, x, x))(EIGHT)
    assert "Debug" in ledger(recorder, fun="watched")[0].slow
    assert ledger(recorder, fun="<lambda>")[0].slow == "callbacks"
    assert "warning: every call goes through Python" in explain("watched", recorder)
    assert "warning: every call goes through Python" in format_ledger(ledger(recorder))
    assert ledger(recorder, fun="watched")[0].disk == ""


def test_totals_are_by_cell_by_line_and_by_function(recorder: Recorder) -> None:
    f = jx.jit(double)
    for size in (1, 2, 3):
        with span(CellFinished, cell=f"In[{1 + size // 3}]"):
            f(EIGHT[:size])
    f(EIGHT[:4])
    rows = [row for row in ledger(recorder) if row.cache is not None]
    cells = {one.label: one for one in ledger_totals(rows)}
    assert {label: (one.builds, one.avoidable) for label, one in cells.items()} == {
        "In[1]": (2, 1),
        "In[2]": (1, 1),
        "outside cells": (1, 1),
    }
    lines = ledger_totals(rows, by="site")
    assert sorted(one.traces for one in lines) == [1, 3]
    [whole] = ledger_totals(rows, by="function")
    assert (whole.label, whole.compiles) == ("double", 4)
    assert whole.cost_ns == sum(one.cost_ns for one in lines) == rows[-1].total_ns
    text = format_totals(ledger_totals(rows)).splitlines()
    assert text[0].split() == [
        "cell",
        "builds",
        "again",
        "traces",
        "compiles",
        *text[0].split()[5:],
    ]
    assert len(text) == 4
    with pytest.raises(ValueError, match="none of cell, site, function"):
        ledger_totals(rows, by="file")  # type: ignore[arg-type]  # what is tested


def test_misses_are_logged_when_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    f = jx.jit(double)
    with caplog.at_level(logging.WARNING, "jxkernel"), jx.explain_cache_misses(True):
        f(EIGHT)
        f(EIGHT[:3])
        f(EIGHT)
    first, second = [record.getMessage() for record in caplog.records]
    assert "first call: first call of double" in first
    assert "shape: x: f32[8] → f32[3]" in second
    assert "test_reasons.py:" in second


def test_traces_and_compilations_are_logged_when_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    f = jx.jit(double)
    f(EIGHT)
    with caplog.at_level(logging.WARNING, "jxkernel"), jx.log_compiles(True):
        f(EIGHT)
        f(EIGHT[:5])
    traced, compiled = [record.getMessage() for record in caplog.records]
    assert traced.startswith("traced double for ['f32[5]'] in 0.")
    assert compiled.startswith("compiled double in ")


@pytest.mark.parametrize("transform", [jx.vmap, jx.grad, lambda f: jx.vmap(jx.grad(f))])
def test_a_transformed_function_made_again_is_told_by_the_users_line(
    recorder: Recorder, transform: Callable[..., Any]
) -> None:
    inner = jnp.sin if transform is jx.grad else double
    for _ in range(2):
        jx.jit(transform(lambda x: inner(x).sum()))(EIGHT if transform is not jx.grad else 1.0)
    _, again = ledger(recorder, fun="<lambda>")
    assert again.sentence().startswith("<lambda> is a new function object, made again at ")
    assert __file__ in again.sentence()


def test_transforms_of_one_function_are_not_taken_for_each_other(recorder: Recorder) -> None:
    jx.jit(jx.grad(square))(1.0)
    jx.jit(jx.vmap(square))(EIGHT)
    assert [row.sentence() for row in ledger(recorder, fun="square")] == [
        "first call of square",
        "first call of square",
    ]


def square(x: Any) -> Any:
    return x * x


def test_a_value_that_a_transformed_function_closes_over_is_told(recorder: Recorder) -> None:
    def scaled(k: float) -> Callable[[Any], Any]:
        def apply(x: Any) -> Any:
            return x * k

        return jx.jit(jx.vmap(apply))

    scaled(2.0)(EIGHT)
    scaled(3.0)(EIGHT)
    _, again = ledger(recorder, fun="apply")
    assert again.sentence().startswith("k: 2.0 → 3.0")
