"""Timelines: work in its order, idle time taken out, few lanes."""

from itertools import pairwise

from jxkernel.observe import LedgerRow
from jxkernel.observe.builds import OTHERS, build_timeline

MS = 1_000_000


def row(number: int, when: float, fun: str = "f", **times: int) -> LedgerRow:
    return LedgerRow(number, when, f"In[{number}]", fun, 1, **(times or {"trace_ns": MS}))


def test_stages_follow_one_another() -> None:
    found = build_timeline([row(1, 5.0, trace_ns=2 * MS, lower_ns=MS, compile_ns=4 * MS)])
    assert [(bar.stage, round(bar.start, 4), bar.seconds) for bar in found.bars] == [
        ("trace", 0.0, 0.002),
        ("lower", 0.002, 0.001),
        ("compile", 0.003, 0.004),
    ]
    assert round(found.seconds, 6) == 0.007
    assert found.breaks == ()


def test_idle_time_is_taken_out_and_told() -> None:
    found = build_timeline([row(1, 100.0), row(2, 700.0), row(3, 700.001)])
    (pause,) = found.breaks
    assert round(pause.seconds) == 600
    assert pause.when == 700.0
    assert found.seconds < 0.005
    assert all(a.start < b.start for a, b in pairwise(found.bars))


def test_rows_without_work_and_in_any_order() -> None:
    assert build_timeline([]).bars == ()
    assert build_timeline([row(1, 1.0, trace_ns=0)]).bars == ()
    assert [bar.row for bar in build_timeline([row(2, 9.0), row(1, 3.0)]).bars] == [1, 2]


def test_work_inside_work_keeps_its_place() -> None:
    found = build_timeline([row(1, 1.0, trace_ns=10 * MS), row(2, 1.004, "g", compile_ns=2 * MS)])
    assert [round(bar.start, 4) for bar in found.bars] == [0.0, 0.004]
    assert found.seconds == 0.01


def test_functions_beyond_a_dozen_share_a_lane() -> None:
    rows = [row(n, float(n), f"f{n}", trace_ns=n * MS) for n in range(1, 31)]
    found = build_timeline(rows)
    assert len(found.lanes) == 12
    assert found.lanes[-1] == OTHERS
    assert found.lanes[0] == "f20"
    assert {bar.lane for bar in found.bars} == set(found.lanes)
