"""The result page says the median ratio, its spread, and whether the goal is reached."""

from typing import Any

import pytest

from benchmarks import runner
from benchmarks.processes import Peer
from benchmarks.report import megabytes, page, seconds_text, table
from benchmarks.results import Row, Section


def row(goal: float | None = 0.5, **parts: Any) -> Row:
    made = Row("x + y", goal, seconds_text, **parts)
    made.ours += [1e-6, 3e-6, 2e-6]
    made.theirs += [4e-6, 4e-6, 4e-6]
    return made


def cells(made: Row) -> list[str]:
    return [cell.strip() for cell in table([made]).splitlines()[2].strip("|").split("|")]


def test_ratio_is_the_median_of_the_rounds() -> None:
    assert row().ratios == [0.25, 0.5, 0.75]
    assert row().ratio == 0.5


@pytest.mark.parametrize(
    ("goal", "met"), [(0.5, "yes"), (0.49, "no"), (None, "")], ids=["met", "missed", "none"]
)
def test_row_says_whether_the_goal_is_reached(goal: float | None, met: str) -> None:
    shown = f"{goal:.2f}" if goal else "–"
    assert cells(row(goal)) == ["x + y", shown, "**0.50**", "0.25 to 0.75", met, "1 µs", "4 µs"]


def test_absolute_goal_is_for_our_own_figure() -> None:
    assert row(1.5e-6, absolute=True).met is False
    assert row(2e-6, absolute=True).met is True


def test_absolute_goal_is_written_with_its_unit() -> None:
    assert cells(row(1.5e-3, absolute=True))[1] == "1.5 ms itself"


def test_section_names_its_two_figures() -> None:
    lines = page([Section("watching", "note", [row()], ("watched", "not watched"))], "here")
    assert "| met | watched | not watched |" in lines


def test_row_without_figures_shows_the_error() -> None:
    failed = Row("x + y", 0.5, seconds_text, error="jax: no module")
    assert cells(failed)[2] == "jax: no module"
    assert failed.met is None


def test_exact_counts_add_columns_only_where_there_are_some() -> None:
    counted = row()
    counted.counts["calls"] = (1.0, 16.0)
    lines = table([counted, row()]).splitlines()
    assert lines[0].count("calls") == 2
    assert "instructions" not in lines[0]
    assert [line.count("|") for line in lines] == [lines[0].count("|")] * 4


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0125, "12.5 ms"), (4.2e-6, "4.2 µs"), (0, "0 µs")]
)
def test_times_have_a_fitting_unit(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_page_holds_every_section() -> None:
    text = page([Section("Start-up", "Whole processes.", [row()])], "Measured here.")
    assert text.startswith("# Benchmarks\n")
    assert "## Start-up\n\nWhole processes.\n\n| metric" in text
    assert megabytes(137_000_000) == "137 MB"


def test_libraries_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[tuple[str, tuple[str, ...]]] = []

    def measure(peer: Peer, family: str, kinds: list[str]) -> dict[str, Any]:
        turns.append((peer.library, tuple(kinds)))
        ours = peer.library == "jxkernel"
        broken = {"error": "Traceback\nValueError: no"}
        return {
            metric.name: dict.fromkeys(kinds, 1.0 if ours else 2.0) if index or ours else broken
            for index, metric in enumerate(runner.FAMILIES[family])
        }

    monkeypatch.setattr(runner, "measure_family", measure)
    plan = runner.Plan(Peer("jxkernel", "a"), Peer("jax", "b"), ["dispatch"], 2, False)
    (section,) = runner.run(plan)
    assert [library for library, _ in turns] == ["jxkernel", "jax"] * 2
    assert turns[0][1] == ("seconds", "calls")
    assert turns[2][1] == ("seconds",)
    first, second, *_ = section.rows
    assert first.error == "jax: ValueError: no"
    assert second.ratios == [0.5, 0.5]
    assert second.counts["calls"] == (1.0, 2.0)
