"""Pages that nbconvert makes of saved outputs: links in a view lead somewhere, by HTML alone."""

import re

import nbformat
from nbconvert import exporters
from nbformat import v4

from tests.jupyter.conftest import Notebook

CELLS = (
    "%%jit\ny = jnp.tanh(x) * 2\nz = (y + x).sum()\nz",
    "%%jit --show stages\nq = jnp.sin(x)",
    "%jaxpr jnp.sin(x) * 2",
    "%jx map",
    "%jx stages jnp.sin(x)",
)


def exported(notebook: Notebook) -> str:
    """The page of a notebook in which each of `CELLS` stands twice, as after a copy."""
    page = v4.new_notebook()
    for source in CELLS * 2:
        ran = notebook.run(source)
        shown = [v4.new_output("display_data", data=one) for one in ran.shown]
        if hasattr(ran.value, "_repr_mimebundle_"):
            shown.append(v4.new_output("display_data", data=ran.value._repr_mimebundle_()))
        page.cells.append(v4.new_code_cell(source, outputs=shown))
    nbformat.validate(page)
    body, _ = exporters.HTMLExporter().from_notebook_node(page)
    return body


def test_links_within_views_lead_to_one_place(notebook: Notebook) -> None:
    body = exported(notebook)
    links = re.findall(r'href="#(jxk\w+)"', body)
    places = re.findall(r'id="(jxk\w+)"', body)
    assert len(links) > 20
    assert set(links) <= set(places)
    assert len(places) == len(set(places))


def test_an_exported_page_shows_the_views_without_scripts(notebook: Notebook) -> None:
    body = exported(notebook)
    views = body.split('<div class="jxk"')[1:]
    assert len(views) == 2 * len(CELLS)
    for view in views:
        inside = view.partition("<!--")[0].partition('<div class="jp-Cell')[0]
        assert "<script" not in inside
        assert "<summary" in inside
