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
        inside = (
            view.partition("</style>")[2].partition("<!--")[0].partition('<div class="jp-Cell')[0]
        )
        assert "<script" not in inside
        assert "<summary" in inside


def test_a_sanitised_page_keeps_lines_and_columns(notebook: Notebook) -> None:
    """As JupyterLab exports a notebook on request, and as hosts show one that is not trusted."""
    for source in (*CELLS, "%jx ledger", "%jx live", "%jx nan jnp.log(x - 1.0)"):
        ran = notebook.run(source)
        shown = ran.shown[0] if ran.shown else ran.value._repr_mimebundle_()
        page = v4.new_notebook()
        output = v4.new_output("display_data", data=shown)
        page.cells.append(v4.new_code_cell(source, outputs=[output]))
        body, _ = exporters.HTMLExporter(sanitize_html=True).from_notebook_node(page)
        view = body[body.index('<div class="jxk"') :]
        assert "{font:" not in view
        assert "&lt;th" not in view
        assert "&lt;sub" not in view
        for row in re.findall(r'<(\w+)[^>]*class="row\b', shown["text/html"]):
            assert row == "pre"
        assert view.count("<tr>") == view.count("</tr>") >= shown["text/html"].count("<tr>")
        assert view.count("<pre") >= shown["text/html"].count("<pre")


def test_every_line_of_code_stands_in_an_element_that_keeps_it(notebook: Notebook) -> None:
    for source in CELLS:
        ran = notebook.run(source)
        shown = (ran.shown[0] if ran.shown else ran.value._repr_mimebundle_())["text/html"]
        assert set(re.findall(r'<(\w+)[^>]*class="row\b', shown)) == {"pre"}
