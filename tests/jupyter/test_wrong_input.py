"""Wrong words after magics: what is wrong, where, and what to write instead."""

from pathlib import Path

import pytest
from IPython.core.error import UsageError

from jxkernel.jupyter import unload_ipython_extension
from tests.jupyter.conftest import SETUP, Notebook

FUNCTIONS = """
@jx.jit
def double(a, *, times=2):
    return a * times
def plain(a, b, *, c):
    return a
"""


@pytest.fixture
def notebook(lasting_notebook: Notebook) -> Notebook:
    lasting_notebook.run(f"{SETUP}\n%xmode Context{FUNCTIONS}double(x);")
    return lasting_notebook


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%jx NAN", "%jx: there is no subcommand 'NAN'; did you mean nan?"),
        ("%jx ², x", "%jx: there is no subcommand '²,'; there are hlo, stages,"),
        ("%jx hlo double", "double is a function: give its arguments, double(a)"),
        ("%jx cost plain", "plain is a function: give its arguments, plain(a, b, c=c)"),
        ("%jx passes two double(x)", "invalid syntax: two double(x); give a call such as f(x)"),
        ("%jaxpr y = 3", "%jaxpr: invalid syntax: y = 3; give a call such as f(x)"),
        ("%jx comm --lnk nvlink-4 f(x)", "%jx comm: there is no option --lnk; give a call"),
        ("%jx events 0", "%jx events: '0' is not a count: give a whole number from 1 on"),
        ("%jx events ²", "%jx events: '²' is not a count: give a whole number from 1 on"),
        ("%jx virtual ²", "%jx virtual: give a number of CPU devices from 1 to"),
        ("%%jit --max-traces ²\ny = x", "'²' is not a count"),
        ("%%jit --statc k\ny = x", "unknown argument '--statc'; did you mean --static?"),
        ("%%grad --foo x\nx.sum()", "unknown argument '--foo'; there are --static, --donate"),
        ("%jx trace stop", "no profile is running; %jx trace start begins one"),
        ("%jx report /proc/no/x.html", "'/proc/no/x.html' cannot be written: No such file"),
        ("%jx trace memory /proc/no/x", "'/proc/no/x' cannot be written: No such file"),
    ],
)
def test_wrong_words_are_told_with_the_right_ones(notebook: Notebook, line: str, told: str) -> None:
    assert told in notebook.fails(line, UsageError).printed


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("%jx value plan", "plain"),
        ("%jaxpr doubel(x)", "double"),
        ("%jx map größe", "run the cell that assigns größe first"),
        ("%%jit\ny = x + größe", "run the cell that assigns größe first"),
        ("%%jit\ny = doubel(x, times=3)", "double(x, times=3)"),
        ("doubel(x, times=3)", "double(x, times=3)"),
    ],
)
def test_a_name_that_nothing_is_bound_to_is_told_with_one_like_it(
    notebook: Notebook, line: str, instead: str
) -> None:
    printed = notebook.fails(line, NameError).printed
    assert printed.endswith(f"What to write instead:\n    {instead}\n"), printed


def test_a_plain_cell_with_an_unknown_name_is_told_as_ever(notebook: Notebook) -> None:
    assert "What to write instead" not in notebook.fails("nothing_like_it", NameError).printed


@pytest.mark.parametrize("words", ["why tims", "explain doubel", "ledger doubel"])
def test_names_that_were_not_seen_are_told_with_those_that_were(
    notebook: Notebook, words: str
) -> None:
    text = notebook.run(f"%jx {words}").value.text
    meant = {"tims": "times", "doubel": "double"}[words.split()[1]]
    assert text.endswith(f"; did you mean {meant}?")
    text = notebook.run(f"%jx {words.split()[0]} zzz").value.text
    assert "; there are " in text
    assert {"tims": "a", "doubel": "double"}[words.split()[1]] in text.partition("there are")[2]


def test_a_profile_is_not_begun_where_it_could_not_be_written(
    plain_notebook: Notebook, tmp_path: Path
) -> None:
    plain_notebook.run("%load_ext jxkernel")
    file = tmp_path / "file"
    file.touch()
    printed = plain_notebook.fails(f"%jx trace start {file}", UsageError).printed
    assert f"%jx trace start: {str(file)!r} cannot be written: " in printed
    assert "No profile is running" in plain_notebook.run("%jx trace").value.text
    unload_ipython_extension(plain_notebook.shell)
