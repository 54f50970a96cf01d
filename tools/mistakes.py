"""The page of classic mistakes, ``docs/mistakes.md``, written from the table that the tests run.

Run as ``python -m tools.mistakes``; ``make surface`` does.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tests.jupyter.mistaken_calls import MISTAKEN_CALLS
from tests.jupyter.mistakes import MISTAKES, Mistake
from tests.jupyter.mistakes_of_data import MISTAKES_OF_DATA
from tests.jupyter.mistakes_of_others import MISTAKES_OF_OTHERS

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs/mistakes.md"

_HEAD = """\
# Classic mistakes, and what is said of them

The tests run each cell of the first column under `%%jit`. It fails with the error named in the
second, which underlines the expression that is underlined here and whose advice has the words
shown. They run the cell of the last column, too, with the flags that stand above it. The notebook
has

```text
x = jnp.arange(8.0); w = 2.0; k = 2; log = ['start']
params = {'w': x, 'b': jnp.ones(5)}
```

This page is written by `make surface`.

| cell | what is said | instead |
|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = [*MISTAKES, *MISTAKEN_CALLS, *MISTAKES_OF_OTHERS, *MISTAKES_OF_DATA]
    return _HEAD + "".join(map(_row, sorted(rows, key=_error)))


def _error(mistake: Mistake) -> str:
    kinds = mistake.error if isinstance(mistake.error, tuple) else (mistake.error,)
    return kinds[0].__name__


def _row(mistake: Mistake) -> str:
    before, found, after = mistake.cell.partition(mistake.underlined or mistake.cell)
    marked = f"{_text(before)}<u>{_text(found)}</u>{_text(after)}"
    said = f"`{_error(mistake)}`: {_text(' '.join(mistake.says.split()))}"
    flags = f"`%%jit {mistake.flags}`" if mistake.flags else ""
    return f"| <pre>{marked}</pre> | {said} | {flags}<pre>{_text(mistake.rewrite)}</pre> |\n"


def _text(text: str) -> str:
    """A text in a cell of a table: no line ends, no bars, no markup of its own."""
    marks = {"\n": "<br>", "|": "&#124;", "*": "&#42;", "_": "&#95;", "[": "&#91;", "`": "&#96;"}
    return "".join(marks.get(one, escape(one, quote=False)) for one in text)


if __name__ == "__main__":
    PAGE.write_text(page())
