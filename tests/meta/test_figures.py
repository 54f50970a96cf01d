"""Figures of pages: a command writes what was measured, and what is set is as the page says."""

import importlib
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import figures, tiers
from tools.checkout import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {
    os.path.relpath(path.with_suffix(""), ROOT / "docs"): path.read_text(encoding="utf-8")
    for path in PAGES
}
"""Page, as docs/ links to it -> its text."""
WHOLE = re.compile(
    r"(written|generated)\s+by (the command|`(make|python))|recorded in .* by `make", re.I
)
"""What a page says that a command writes as a whole; the README says so of other pages."""

WORDS = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|a hundred)"
UNITS = r"(?:ms|µs|ns|s|seconds?|minutes?|hours?|[KMG]i?B|[KMG]flop/s|%)"
FIGURE = re.compile(rf"(?<![\w.])(?:\d[\d,.]* ?|{WORDS}\s){UNITS}(?!\w)")

SETTINGS = {
    ("cells", "After two seconds"): {"jxkernel.jupyter.session.interrupts._SILENT_SECONDS": 2},
    ("clusters", "16 layouts or 20 s at most"): {
        "jxkernel.cluster.layouts._MOST_TRIED": 16,
        "jxkernel.jupyter.cluster.comm._TRY_SECONDS": 20,
    },
    ("clusters", "the first 10,000 calls"): {"jxkernel.cluster.guard._MOST_CALLS": 10_000},
    ("clusters", "still in C++ after 1.2 s"): {
        "jxkernel.jupyter.cluster.watch.Limits.interrupt": 1.2
    },
    ("clusters", "seven unless said"): {"jxkernel.jupyter.cluster.watch.Limits.silence": 7},
    ("clusters", "after seven seconds"): {"jxkernel.jupyter.cluster.watch.Limits.silence": 7},
    ("clusters", "longer than three seconds"): {
        "jxkernel.jupyter.cluster.progress._SILENT_SECONDS": 3
    },
    ("jupyterlab", "keeps 400 equations"): {"jxkernel.observe.programs.EQUATIONS": 400},
    ("jupyterlab", "the latest 300 builds"): {"jxkernel.jupyter.ledger.view.ROWS": 300},
    ("looking-inside", "fewer than 16 elements"): {"jxkernel.jupyter.values.view._SMALL": 16},
    ("looking-inside", "Above 16 million elements"): {"jxkernel.observe.values._WHOLE": 1 << 24},
    ("looking-inside", "The largest 40 are searched"): {"jxkernel.observe.memory._SEARCHED": 40},
    ("places", "under 2 GiB"): {"tests.binder.test_binder.MEMORY": 2 << 30},
    ("workshop", "2 GB for each learner"): {"tests.binder.test_binder.MEMORY": 2 << 30},
    ("workshop", "for two hours"): {},
    ("workshop", "five minutes of talking"): {},
    ("workshop", "ten minutes of reading"): {},
    ("seeing-programs", "the first 400 equations"): {"jxkernel.observe.programs.EQUATIONS": 400},
}
"""Page and words -> what they say of a constant; of none where they are a plan."""


def prose(page: str) -> str:
    """A page's text without what commands write, programs, and words that stand for code."""
    text = figures.PART.sub("", TEXTS[page])
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def value(name: str) -> object:
    """The value of a dotted name, of a module or of an attribute of its class."""
    module, _, attribute = name.rpartition(".")
    path, _, owner = module.rpartition(".")
    within = getattr(importlib.import_module(path), owner) if owner[0].isupper() else None
    return getattr(within or importlib.import_module(module), attribute)


def written_as_a_whole(page: str) -> bool:
    """Whether a command writes the page; one that writes parts of it says nothing of the rest."""
    return page != "../README" and bool(WHOLE.search(figures.PART.sub("", TEXTS[page])))


@pytest.mark.parametrize("page", [page for page in TEXTS if not written_as_a_whole(page)])
def test_measured_figures_of_a_page_are_written_by_a_command(page: str) -> None:
    text = prose(page)
    for of, words in SETTINGS:
        text = text.replace(words, "") if of == page else text
    assert FIGURE.findall(text) == []


@pytest.mark.parametrize(("page", "words"), SETTINGS)
def test_what_a_page_says_is_set_is_set_so(page: str, words: str) -> None:
    assert words in TEXTS[page]
    for name, expected in SETTINGS[page, words].items():
        assert value(name) == expected, name


@pytest.mark.parametrize("page", TEXTS)
def test_parts_of_a_page_are_filled_and_name_a_command_that_is_there(page: str) -> None:
    for part in figures.PART.finditer(TEXTS[page]):
        assert find_spec(part[2]), part[2]
        assert part[0].count("\n") > 3, "nothing was written"


TEXT = """A page.

<!-- written by `python -m tools.a` -->

old

<!-- end -->

<!-- written by `python -m tools.b --more` -->
<!-- end -->
"""


def test_the_parts_of_one_command_are_written_and_others_stay() -> None:
    written = figures.rewritten(TEXT, "tools.b", ["new\nlines"])
    assert written == TEXT.replace("more` -->\n", "more` -->\n\nnew\nlines\n\n")
    assert figures.rewritten(written, "tools.b", ["new\nlines"]) == written
    with pytest.raises(ValueError, match=r"has 1 parts of tools\.a, and 2 come"):
        figures.rewritten(TEXT, "tools.a", ["one", "two"])


def test_closing_lines_of_pytest_are_counted() -> None:
    closing = "....\n12 passed, 1 skipped in 3.10s\nok\n1 failed, 30 passed in 61.02s (0:01:01)\n"
    assert tiers.passed(closing) == 42


def test_a_limit_is_written_as_either_kind_of_control_group_wants_it(tmp_path: Path) -> None:
    quotas = importlib.import_module("benchmarks.quotas")
    for unified in (False, True):
        (tmp_path / "cgroup.controllers").touch() if unified else (tmp_path / "cpu").mkdir()
        with quotas.group(0.5, tmp_path) as processes:
            told = {file.name: file.read_text() for file in processes.parent.iterdir()}
            for file in processes.parent.iterdir():
                file.unlink()
        assert told == (
            {"cpu.max": "50000 100000", "cpu.weight": "10000"}
            if unified
            else {
                "cpu.shares": "262144",
                "cpu.cfs_period_us": "100000",
                "cpu.cfs_quota_us": "50000",
            }
        )
