"""The recorded first hour: its cells still do what its page says."""

import re

from jxkernel.jupyter.views.view import View
from tests.front.journey import IMAGES, PAGE, STEPS
from tests.jupyter.conftest import Notebook


def test_the_cells_give_what_was_recorded(plain_notebook: Notebook) -> None:
    page = PAGE.read_text()
    for step in STEPS:
        ran = plain_notebook.attempt(step.cell)
        assert (ran.error is not None) == step.fails, ran.printed
        if step.fails:
            advice = ran.printed.partition("What to write instead:\n")[2].splitlines()[0]
            assert advice in page
        if isinstance(ran.value, View) and not step.picture:
            # What XLA's passes do differs between processors.
            text = ran.value.text
            assert (text.splitlines()[0] if "passes" in step.cell else text) in page


def test_the_page_has_all_steps_and_pictures() -> None:
    page = PAGE.read_text()
    assert all(f"```text\n{step.cell}\n```" in page for step in STEPS)
    assert all(step.before.split("\n")[0][:40] in page.replace("\n", " ") for step in STEPS)
    pictures = {f"journey-{step.picture}.png" for step in STEPS if step.picture}
    assert {path.name for path in IMAGES.glob("journey-*.png")} == pictures
    assert set(re.findall(r"\(images/(.*?)\)", page)) == pictures
