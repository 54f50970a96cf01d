"""The timeline of a profile: real ones, and the arithmetic on made-up ones."""

from __future__ import annotations

import gc
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.compile import disk_cache_summary
from jxkernel.config import config
from jxkernel.errors import JaxRuntimeError
from jxkernel.events import CellFinished, Executed, span
from jxkernel.observe import Profile, Timeline, memory_profile
from jxkernel.observe.recorder import Record
from jxkernel.observe.timeline import timeline_of


@jx.jit
def step(x: jx.Array) -> jx.Array:
    h = jnp.tanh(x @ x)
    return jnp.sort(h, axis=0).sum()


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Timeline, Path]:
    """A profile over two cells, the results of the first one thrown away."""
    folder = tmp_path_factory.mktemp("profile")
    x = jnp.ones((200, 200))
    with Profile(folder) as profile:
        with span(CellFinished, cell="In[1]"):
            step(x)
            step(x)
        with span(CellFinished, cell="In[2]"), jx.profiler.TraceAnnotation("waiting"):
            (x + 1.0).block_until_ready()
    assert profile.timeline is not None
    return profile.timeline, folder


def test_operations_are_linked_to_their_lines(profiled: tuple[Timeline, Path]) -> None:
    timeline, _ = profiled
    lines = {one.name: one for one in timeline.by_line()}
    first = step.__wrapped__.__code__.co_firstlineno
    assert f"{__file__}:{first + 2}" in lines
    assert sum(one.share for one in lines.values()) == pytest.approx(1.0)
    (product,) = [one for one in timeline.by_operation() if "dot_general" in one.origin]
    assert (product.program, product.count) == ("jit_step", 2)
    assert product.spots == (f"{__file__}:{first + 2}",)


def test_lines_of_what_is_loaded_from_disk_are_all_told(tmp_path: Path) -> None:
    """What is run of an entry lacks the bodies of its loops; the whole of it is asked."""
    x = jnp.ones((200, 200))

    def told() -> dict[str, tuple[str, ...]]:
        @jx.jit
        def layers(x: jx.Array) -> jx.Array:
            for _ in range(3):
                y = jnp.tanh(x @ x)
                y = y * jnp.cos(x)
                x = y / (1 + jnp.sum(y * y, axis=0)) + x
            return x

        with Profile() as profile:
            layers(x).block_until_ready()
        assert profile.timeline is not None
        found = profile.timeline.by_operation()
        return {one.name: one.spots for one in found if one.program == "jit_layers"}

    with config.compilation_cache_dir(str(tmp_path)):
        first = told()
        hits = disk_cache_summary().hits
        assert told() == first
    assert disk_cache_summary().hits > hits
    assert max(map(len, first.values())) > 1


def test_work_counts_for_the_cell_that_started_it(profiled: tuple[Timeline, Path]) -> None:
    timeline, _ = profiled
    first, second = timeline.by_cell()
    assert (first.name, second.name) == ("In[1]", "In[2]")
    in_second = timeline.by_window()[1][-1]
    assert {one.program for one in in_second.slices} == {"jit_add"}
    assert first.share + second.share == pytest.approx(1.0)


def test_stages_annotations_and_devices_are_lanes(profiled: tuple[Timeline, Path]) -> None:
    timeline, _ = profiled
    lanes = {lane.name: lane for lane in timeline.lanes}
    assert set(lanes) == {"jxkernel", "annotations", "cpu:0"}
    assert "compile step" in {one.name for one in lanes["jxkernel"].slices}
    assert [one.name for one in lanes["annotations"].slices] == ["waiting"]
    text = str(timeline)
    assert "by operation:" in text
    assert "In[1]" in text


def test_files_are_written_for_other_tools(profiled: tuple[Timeline, Path]) -> None:
    timeline, folder = profiled
    names = [Path(file).name for file in timeline.files]
    assert [name.partition(".")[2] for name in names[:2]] == ["trace.json.gz", "xplane.pb"]
    events = json.loads((folder / "timeline.json").read_text())["traceEvents"]
    threads = [one["args"]["name"] for one in events if one["ph"] == "M"]
    assert threads == ["cells", *(lane.name for lane in timeline.lanes)]
    (one,) = [one for one in events if one.get("args").get("origin") == "sort"][:1]
    assert one["args"]["source"].startswith(__file__)
    assert one["dur"] > 0


def test_one_profile_at_a_time_and_an_error_ends_it() -> None:
    with Profile(), pytest.raises(RuntimeError, match="a profile is running already"):
        Profile().start()
    with pytest.raises(ZeroDivisionError), Profile() as profile:
        1 / 0  # noqa: B018
    assert not profile.is_running
    with pytest.raises(RuntimeError, match="no profile is running"):
        profile.stop()


@pytest.mark.parametrize(
    ("error", "met_as"), [(LookupError, JaxRuntimeError), (KeyboardInterrupt, KeyboardInterrupt)]
)
def test_a_result_that_failed_before_does_not_end_a_profile(
    tmp_path: Path, error: type[BaseException], met_as: type[BaseException]
) -> None:
    def fails(x: Any) -> Any:
        raise error("before")

    work = jx.jit(lambda a: jx.lax.fori_loop(0, 20, lambda _, b: (b @ a) * 1e-3, a)[0, 0])
    call = jx.jit(lambda x: jx.pure_callback(fails, jx.ShapeDtypeStruct((), "float32"), x))
    failed = None
    for _ in range(50):
        try:
            failed = call(work(jnp.ones((500, 500))))
            break
        except met_as:  # the work had ended already, so the call itself failed
            continue
    assert failed is not None
    with Profile(tmp_path) as profile:
        pass
    assert profile.timeline is not None
    with pytest.raises(met_as, match="before"):
        failed.block_until_ready()


def test_warnings_as_errors_do_not_end_the_process() -> None:
    for _ in range(2):  # jaxlib's classes would be made anew after a collection
        with warnings.catch_warnings(), Profile() as profile:
            warnings.simplefilter("error")
            step(jnp.ones((3, 3)))
        del profile
        gc.collect()


def event(name: str, start: float, duration: float, **stats: Any) -> SimpleNamespace:
    about = {"hlo_op": name, "hlo_module": "jit_f", "run_id": 1, **stats}
    return SimpleNamespace(
        name=name, start_ns=start, duration_ns=duration, stats=tuple(about.items())
    )


def made_up(*events: SimpleNamespace, plane: str = "/host:CPU") -> SimpleNamespace:
    line = SimpleNamespace(name="tf_XLA", events=events)
    clock = SimpleNamespace(
        name="Task Environment",
        stats=(("profile_start_time", 10**9), ("profile_stop_time", 10**9 + 1_000)),
        lines=(),
    )
    return SimpleNamespace(planes=(SimpleNamespace(name=plane, stats=(), lines=(line,)), clock))


def executed(cell: str, number: int) -> Record:
    event = Executed(span=number, parent=None, start_ns=0, duration_ns=0, fun="f")
    return Record(event, cell, 0, 0)


def test_what_runs_inside_a_loop_is_taken_off_it() -> None:
    data = made_up(event("while", 0, 100), event("a", 10, 20), event("a", 40, 50))
    totals = {one.name: one for one in timeline_of(data).by_operation()}
    assert (totals["while"].total_ns, totals["a"].total_ns, totals["a"].count) == (30, 70, 2)
    assert totals["a"].share == pytest.approx(0.7)


def test_runs_are_paired_with_the_latest_calls() -> None:
    data = made_up(event("a", 0, 5, run_id=7), event("a", 10, 5, run_id=-8))
    calls = [executed("In[1]", 1), executed("In[2]", 2), executed("In[3]", 3)]
    (lane,) = timeline_of(data, executions=calls).lanes
    assert [one.cell for one in lane.slices] == ["In[2]", "In[3]"]
    (lane,) = timeline_of(data, executions=calls[:1]).lanes
    assert [one.cell for one in lane.slices] == ["", "In[1]"]


def test_an_accelerator_has_a_lane_for_each_stream() -> None:
    (lane,) = timeline_of(made_up(event("a", 0, 5), plane="/device:GPU:0")).lanes
    assert lane.name == "gpu:0 tf_XLA"


def test_a_profile_of_nothing() -> None:
    timeline = timeline_of(made_up())
    assert (timeline.lanes, timeline.duration_ns, timeline.by_cell()[0].count) == ((), 1_000, 0)
    assert "0 ns of operations" in str(timeline)


def test_memory_by_the_line_that_made_it(tmp_path: Path) -> None:
    file = tmp_path / "memory.prof"
    held = jnp.zeros((123, 456))
    profile = memory_profile(file)
    mine = [row for row in profile.rows if row.place.startswith(__file__) and row.bytes]
    assert sum(row.bytes for row in mine) >= held.nbytes
    assert {"buffer"} <= {row.kind for row in mine}
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert str(file) in str(profile)
