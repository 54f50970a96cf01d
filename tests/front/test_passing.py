"""What a kernel shows for a while is not in the file that is saved."""

from collections.abc import Callable

import nbformat

from tests.front.jupyter import Notebook, Server

SHOWS = """%load_ext jxkernel
from IPython.display import display
from jxkernel.jupyter.views.passing import PassingOutput
print('before')
one, two = PassingOutput(), PassingOutput()
one.show('first'); two.show('second')
kept = display('kept', display_id=True)
one.clear(); two.clear()
print('after')"""


def test_outputs_that_have_passed_are_not_saved_and_others_are_updated(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    path = lab.write("passing.ipynb", SHOWS, "kept.update('changed')")
    notebook = opened(lab, "passing.ipynb")
    notebook.run(0)
    notebook.save()
    notebook.run(1)
    notebook.cell(0).get_by_text("'changed'").wait_for()
    shown = notebook.cell(0).locator(".jp-OutputArea-output").all_inner_texts()
    assert [text.strip() for text in shown] == ["before", "'changed'", "after"]
    notebook.save()
    outputs = nbformat.read(path, as_version=4).cells[0].outputs
    assert [one.get("text") or one.data["text/plain"] for one in outputs] == [
        "before\n",
        "'changed'",
        "after\n",
    ]
    assert notebook.errors == []
