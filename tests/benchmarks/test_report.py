"""The result page says the median ratio, its spread, and whether the goal is reached."""

import sys
from typing import Any, ClassVar, Self

import pytest

from benchmarks import compiling, metric, runner
from benchmarks.processes import Peer, Worker
from benchmarks.report import megabytes, page, seconds_text, table, updated
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


def test_absolute_goal_is_written_with_its_unit_and_the_figure_that_it_is_for_is_bold() -> None:
    written = ["x + y", "at most 1.5 ms", "0.50", "0.25 to 0.75", "yes", "**1 µs**", "4 µs"]
    assert cells(row(1.5e-3, absolute=True)) == written


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


def test_updated_page_keeps_other_sections_in_order() -> None:
    order = ["One", "Two", "Three"]
    old = page([Section(title, f"{title} is old.", [row()]) for title in order[::2]], "Here.")
    new = [Section(title, f"{title} is new.", [row(0.1)]) for title in order[1:]]
    text = updated(old, new, "Here.", order)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## One",
        "## Two",
        "## Three",
    ]
    assert "One is old." in text
    assert "Three is new.\n\n| metric" in text
    assert "Three is old" not in text
    assert updated(text, [], "Here.", order) == text
    assert "Two is newer. There.\n" in updated(
        text, [Section("Two", "Two is newer.", [row()])], "There.", order
    )


class FakeWorker:
    """A worker whose figures are known: 1 for jxkernel, 2 for jax, whose first metric fails."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, peer: Peer, family: str, *, counting: bool = False) -> None:
        self.peer, self.counting = peer, counting
        self.failing = runner.FAMILIES[family][0].name if peer.library == "jax" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, kind: str, name: str) -> float:
        assert self.counting == (kind == "instructions")
        self.asked.append((self.peer.library, kind))
        if name == self.failing:
            raise RuntimeError("Traceback\nValueError: no")
        return 1.0 if self.peer.library == "jxkernel" else 2.0


def test_first_results_have_rows_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def run_module(peer: Peer, module: str, *arguments: str, variables: dict[str, str]) -> str:
        asked.append((peer.library, bool(variables)))
        return "3.0\n" if variables else "6.0\n"

    monkeypatch.setattr(runner, "Worker", FakeWorker)
    monkeypatch.setattr(runner, "run_module", run_module)
    monkeypatch.setattr(metric, "TOTAL_SECONDS", 0.0)
    plan = runner.Plan(Peer("jxkernel", "a"), Peer("jax", "b"), ["compiling"], 1, False)
    (section,) = runner.run(plan)
    by_name = {row.name: row for row in section.rows}
    assert by_name["first result, 64 bodies"].ratios == [0.5]
    assert by_name["later run, 64 bodies"].ratios == [0.5]
    assert by_name["exponent of compiling unrolled layers"].ours == [1.0]
    assert by_name["first results of a session, no disk cache"].ratios == [1.0]
    assert by_name["a session restarted, against the one before"].ratios == [0.5]
    assert asked == [(who, disk) for disk in (False, True, True) for who in ("jxkernel", "jax")]
    assert f"median of the {len(compiling.FIRST)} ratios is 0.50" in section.note


def test_libraries_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "Worker", FakeWorker)
    monkeypatch.setattr(metric, "TOTAL_SECONDS", 0.0)
    plan = runner.Plan(Peer("jxkernel", "a"), Peer("jax", "b"), ["dispatch"], 2, True)
    (section,) = runner.run(plan)
    assert [who for who, _ in FakeWorker.asked] == ["jxkernel", "jax"] * (
        len(FakeWorker.asked) // 2
    )
    kinds = [kind for _, kind in FakeWorker.asked]
    assert kinds.count("seconds") > 10 * kinds.count("calls") == 10 * kinds.count("instructions")
    first, second, *_ = section.rows
    assert first.error == "jax: ValueError: no"
    assert first.ratio is None
    assert second.ratios == [0.5, 0.5]
    assert second.counts == {"calls": (1.0, 2.0), "instructions": (1.0, 2.0)}


def test_worker_answers_and_survives_a_metric_that_fails() -> None:
    with Worker(Peer("jxkernel", sys.executable), "eager") as worker:
        with pytest.raises(RuntimeError, match="KeyError: 'no such metric'"):
            worker.ask("seconds", "no such metric")
        assert worker.ask("calls", "`x + y`") == 1
        assert 0 < worker.ask("seconds", "`x + y`") < 1


def test_worker_that_cannot_start_says_why() -> None:
    with (
        Worker(Peer("no_such_library", sys.executable), "eager") as worker,
        pytest.raises(RuntimeError, match="No module named 'no_such_library'"),
    ):
        worker.ask("seconds", "`x + y`")
