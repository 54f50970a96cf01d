"""The page of the field's names is true: nothing lost or gained unsaid, each gap explained."""

import json
from pathlib import Path

import pytest

from tools import api_coverage


def test_every_name_is_there_or_has_a_reason() -> None:
    assert api_coverage.without_reason() == [], "state why in jxkernel/refusals.json"


def test_no_reason_is_given_for_what_exists_or_never_was() -> None:
    assert api_coverage.outdated() == [], "`make surface` drops reasons that no longer hold"


def test_the_page_is_what_the_package_has() -> None:
    assert api_coverage.PAGE.read_text() == api_coverage.page(), "intended? `make surface`"


def test_reasons_are_sentences() -> None:
    said = [reason for groups in api_coverage.refusals().values() for reason in groups]
    assert [reason for reason in said if len(reason) < 20 or not reason.endswith(".")] == []


@pytest.fixture
def other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names, refusals = tmp_path / "names.json", tmp_path / "refusals.json"
    modules = {
        "": ["jit"],
        "numpy": ["sin", "nowhere"],
        "experimental.pallas.triton": ["load"],
        "gone.module": ["a", "b"],
    }
    names.write_text(json.dumps({"version": "1", "modules": modules}))
    refusals.write_text("{}")
    monkeypatch.setattr(api_coverage, "NAMES", names)
    monkeypatch.setattr(api_coverage, "REFUSALS", refusals)
    monkeypatch.setattr(api_coverage, "PAGE", tmp_path / "page.md")
    return refusals


def test_a_lost_name_and_one_that_came_are_noticed(other_names: Path) -> None:
    assert api_coverage.without_reason() == ["numpy.nowhere", "gone.module.a", "gone.module.b"]
    with pytest.raises(SystemExit, match=r"numpy\.nowhere"):
        api_coverage.write()
    groups = {"numpy": {"A reason.": ["nowhere", "sin"]}, "gone.module": {"Another.": ["*"]}}
    other_names.write_text(json.dumps(groups))
    assert api_coverage.without_reason() == []
    assert api_coverage.outdated() == ["numpy.sin"]
    api_coverage.write()
    assert api_coverage.outdated() == []
    page = api_coverage.PAGE.read_text()
    assert "**Refused**: `nowhere`: A reason." in page
    assert "**Refused**: `a`, `b`: Another." in page
    assert "`jit`" in page
    # What only raises counts as refused, for the reason that it gives itself.
    assert "**Refused**: `load`: " in page
