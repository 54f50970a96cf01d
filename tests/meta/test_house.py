"""The page of the house names files and functions that are there."""

import ast
import re
from functools import cache
from xml.etree import ElementTree

import pytest

from tools.checkout import ROOT
from tools.house import floors, picture

PAGE = (ROOT / "docs/house.md").read_text()
PLACES = re.findall(r"\| `([\w/]+\.py)::(\w+)` \|$", PAGE, re.MULTILINE)


@cache
def names_in(path: str) -> set[str]:
    """The functions and classes of a module."""
    body = ast.parse((ROOT / path).read_text()).body
    return {one.name for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)}


def test_twenty_things_have_their_places() -> None:
    assert len(PLACES) == 20


@pytest.mark.parametrize(("path", "name"), PLACES, ids=[f"{path}::{name}" for path, name in PLACES])
def test_a_place_is_where_the_page_says(path: str, name: str) -> None:
    assert name in names_in(path)


def test_the_page_has_the_floors_of_the_contract_in_their_order() -> None:
    drawn = PAGE.split("```")[1].splitlines()
    lines = [line.split() for line in drawn if line.strip()]
    assert len(lines) == len(floors())
    for line, floor in zip(lines, floors(), strict=True):
        assert line[0] in floor, line


def test_the_picture_has_a_bar_for_each_floor_and_one_for_single_modules() -> None:
    sizes = {"numpy": (2, 400), "core": (1, 100), "(modules)": (3, 30), "all": (6, 530)}
    before = {"core": (1, 50), "(modules)": (3, 30), "all": (4, 80)}
    drawn = picture("old", before, "new", sizes)
    ElementTree.fromstring(drawn)
    assert re.findall(r'class="m">([^<]+)', drawn) == ["numpy", "core", "single modules"]
    widths = re.findall(r'width="(\d+)" height="16" class="(\w+)"', drawn)
    assert [width for width, kind in widths if kind == "now"] == ["235", "59", "18"]
    assert [width for width, kind in widths if kind == "was"] == ["0", "29", "18"]
