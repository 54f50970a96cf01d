"""The folders of the lab extension against the features of the notebook half: the same names."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from jxkernel.jupyter import features
from jxkernel.jupyter.feature import Feature
from tools.labextension_stamp import FRONT

SOURCES = FRONT / "src"
FOLDERS = {path.name for path in SOURCES.iterdir() if path.is_dir()}
FILES = sorted(path for path in SOURCES.rglob("*.ts*") if path.parent != SOURCES)
SHARED = "shared"

BY_NAME: dict[str, Feature] = {
    name: one.FEATURE
    for name, one in vars(features).items()
    if isinstance(one, ModuleType) and hasattr(one, "FEATURE")
}
IN_FRONT = {name for name, one in BY_NAME.items() if one.requests or one.payloads}
"""The features that a front end asks or draws something of."""


def listed(name: str) -> set[str]:
    """The folders that a list of ``index.ts`` names."""
    found = re.search(rf"const {name} = \[(.*?)\]", (SOURCES / "index.ts").read_text(), re.DOTALL)
    assert found
    return set(re.findall(r"\w+", found[1]))


def folder(path: Path) -> str:
    return path.relative_to(SOURCES).parts[0]


def called(pattern: str) -> set[tuple[str, str]]:
    """What all files name in calls, with the folder."""
    return {(folder(path), one) for path in FILES for one in re.findall(pattern, path.read_text())}


def test_a_feature_has_a_folder_where_a_front_end_asks_or_draws_something_of_it() -> None:
    assert listed("features") == IN_FRONT
    assert IN_FRONT | listed("base") | {SHARED} == FOLDERS
    assert not listed("base") & BY_NAME.keys()


def test_each_request_is_asked_in_the_folder_of_its_feature() -> None:
    asked = called(r"\b_?(?:ask|feedOf)\((?:[\w.]+, )?'(\w+)'")
    assert asked == {(name, one) for name, its in BY_NAME.items() for one in its.requests}


def test_each_kind_of_view_is_drawn_in_the_folder_of_its_feature() -> None:
    drawn = called(r"\bviews\.add\('(\w+)'")
    owned = {(name, kind) for name, its in BY_NAME.items() for kind in its.payloads}
    assert drawn == owned | {("views", "table")}


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_folder_imports_no_other_but_what_is_shared(name: str) -> None:
    files = [path for path in FILES if folder(path) == name]
    imported = {
        (path.parent / one).resolve().relative_to(SOURCES.resolve())
        for path in files
        for one in re.findall(r"(?:from |import\()'(\.[^']*)'", path.read_text())
    }
    assert {one.parts[0] for one in imported if (SOURCES / one.parts[0]).is_dir()} <= {name, SHARED}
