"""The settings of the book; ``tools/book.py`` puts its pages together and runs Sphinx over them."""

from __future__ import annotations

from jxkernel.version import __version__

project = "jxkernel"
author = "The jxkernel authors"
release = __version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.mathjax"]
exclude_patterns = ["changelog.d/*.*.md"]

# Notebooks come with their outputs: `tools/book.py` has run them.
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"jxkernel {release}"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_copy_source = False
html_show_sourcelink = False
