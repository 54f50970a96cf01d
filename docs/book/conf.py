"""The settings of the book; ``tools/book.py`` puts its pages together and runs Sphinx over them."""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from jxkernel.version import __version__

project = "jxkernel"
author = "The jxkernel authors"
release = __version__
language = "en"

extensions = ["myst_nb"]
exclude_patterns = ["changelog.d/*.*.md"]

# Notebooks come with their outputs: `tools/book.py` has run them.
nb_execution_mode = "off"
# The one kind of cell whose source is folded.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"jxkernel {release}"
html_static_path = ["_static"]
html_css_files = ["book.css", "charts.css"]
html_js_files = ["book.js"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False


def _write_formula(translator: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers draw and read aloud without a script."""
    block = node.tagname == "math_block"
    text = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="formula">{text}</div>' if block else text)
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Have formulas written without a network."""
    renderers = (_write_formula, None)
    app.add_html_math_renderer("mathml", inline_renderers=renderers, block_renderers=renderers)
