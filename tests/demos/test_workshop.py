"""The workshop: as given its exercises fail in the grader's words; with the solutions all pass."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.conftest import SHARED_CACHE
from tests.jupyter.kernels import Kernel, Reply, running_kernel
from tools import walk, workshop

SOURCES = workshop.sources()
GRADE = "application/vnd.jxkernel.task+json"
FILES = list(workshop.notebooks())
ANSWER = re.compile(
    r"^## ([\d.]+) (right|wrong)(?:: ([^\n]+))?\n\n```python\n(.*?)\n```$", re.MULTILINE | re.DOTALL
)
"""An exercise, whether the answer is right, what the grader says is missing, and the answer."""

CLEAN = "%reset -f\nimport jxkernel; jxkernel.config.update('jax_num_cpu_devices', -1)"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all notebooks, which share what is compiled."""
    with running_kernel() as kernel:
        kernel.ok(f"%cd -q {tmp_path_factory.mktemp('workshop')}")
        kernel.ok(f"jx.config.update('jax_compilation_cache_dir', {SHARED_CACHE!r})")
        yield kernel


def exercises(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    return [cell for cell in cells if workshop.tagged(cell, "exercise")]


def run(kernel: Kernel, cells: list[nbformat.NotebookNode]) -> list[Reply]:
    """Run code cells from a clean start; give the replies of the exercises."""
    kernel.ok(CLEAN)
    graded = []
    for cell in cells:
        reply = kernel.ok(cell.source)
        if workshop.tagged(cell, "exercise"):
            graded.append(reply)
    return graded


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_exercises_fail_as_given_and_pass_with_the_solutions(kernel: Kernel, source) -> None:
    cells = workshop.cells_of(source)
    given = [
        cell for cell in cells if cell.cell_type == "code" and not workshop.tagged(cell, "solution")
    ]
    for reply in run(kernel, given):
        assert reply.result[GRADE]["passed"] is False
        assert all(one["missing"] for one in reply.result[GRADE]["findings"][-1:])
    for reply in run(kernel, workshop.solved(cells)):
        assert reply.result[GRADE]["passed"], reply.result["text/plain"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_right_and_wrong_answers_of_learners_are_graded_so(kernel: Kernel, source) -> None:
    text = (Path(__file__).parent / "answers" / f"{source.stem[:2]}.md").read_text("utf-8")
    answers = ANSWER.findall(text)
    assert len(answers) == text.count("\n```python\n")
    number, tried, misgraded = 0, 0, []
    kernel.ok(f"{CLEAN}\nfrom functools import partial\nfrom jxkernel import lax")
    for cell in workshop.cells_of(source):
        if cell.cell_type == "code":
            kernel.ok(cell.source)
        if workshop.tagged(cell, "exercise"):
            number += 1
            hand_in = cell.source.splitlines()[-1]
            for _, kind, missing, code in (one for one in answers if one[0].endswith(f".{number}")):
                grade = kernel.ok(f"{code}\n\n\n{hand_in}").result[GRADE]
                told = "; ".join(
                    f"{one['what']}: {one['missing']}"
                    for one in grade["findings"]
                    if one["missing"]
                )
                tried += 1
                if grade["passed"] != (kind == "right") or not re.search(missing, told):
                    misgraded.append(f"{code}\n{kind}, and the grader says: {told}")
    assert not misgraded, "\n\n".join(misgraded)
    assert tried == len(answers)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_each_exercise_has_a_task_and_a_solution(source) -> None:
    kinds = [
        tag
        for cell in workshop.cells_of(source)
        for tag in cell.metadata.get("tags", ())
        if tag in ("task", "exercise", "solution")
    ]
    assert 3 <= kinds.count("exercise") <= 6
    assert kinds == ["task", "exercise", "solution"] * kinds.count("exercise")


@pytest.mark.parametrize(
    ("file", "source", "language"), FILES, ids=lambda value: getattr(value, "stem", value)
)
def test_notebooks_are_what_their_sources_say(file, source, language) -> None:
    written = workshop.written(workshop.build(source, language))
    assert file.read_text(encoding="utf-8") == written, "run `make workshop`"


@pytest.mark.parametrize("language", ["zh", "ru"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_translation_has_the_headings_and_the_code_of_each_text(source, language) -> None:
    english = workshop.texts(workshop.cells_of(source))
    translated = workshop.texts(workshop.cells_of(workshop.SOURCES / language / source.name))
    for told, of in zip(translated, english, strict=True):
        for pattern in (r"^#+ (?:\d+ ·)?", r"`[^`]+`", r"\$\$", r"\w+\.ipynb"):
            found, expected = (
                sorted({" ".join(one.split()) for one in re.findall(pattern, text, re.MULTILINE)})
                for text in (told, of)
            )
            assert found == expected


def test_solutions_can_be_read_from_a_notebook() -> None:
    cells = workshop.cells_of(SOURCES[0])
    solutions = [cell.source for cell in cells if workshop.tagged(cell, "solution")]
    texts = [cell.source for cell in workshop.build(SOURCES[0]).cells]
    assert [code for text in texts if (code := workshop.solution_of(text))] == solutions


def test_a_walk_counts_what_is_read_and_times_what_is_run(tmp_path) -> None:
    source = tmp_path / "00_short.md"
    task = "def check(x): ...\n\ntask = print"
    cells = [
        "# 0 · Short\n\nTwo words.",
        f"```{{code-cell}} ipython3\n:tags: [task]\n\n{task}\n```",
        "```{code-cell} ipython3\n:tags: [exercise]\n\ntask(...)\n```",
        "```{code-cell} ipython3\n:tags: [solution]\n\nx = 1\n\ntask(x)\n```",
    ]
    head = "---\nkernelspec:\n  display_name: Python 3\n  language: python\n  name: python3\n---"
    source.write_text("\n\n".join([head, *cells]))
    told = walk.walk(source)
    assert (told.name, told.words, told.lines) == ("0 · Short", 6, 2)
    assert len(told.exercises) == 1
    assert 0 <= told.exercises[0] <= told.seconds
    assert told.reading == 6 / walk.WORDS_PER_MINUTE + 2 / walk.LINES_PER_MINUTE
