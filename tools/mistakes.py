"""The page of classic mistakes, ``docs/mistakes.md``, written from the table that the tests run.

Run as ``python -m tools.mistakes``; ``make surface`` does.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tests.jupyter.all_mistakes import ALL_MISTAKES
from tests.jupyter.mistakes import Mistake
from tools.mistakes_before import COMMIT, Said, recorded

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs/mistakes.md"

_LINE = 120

_HEAD = f"""\
# Classic mistakes, and what is said of them

The tests run each cell of the first column under `%%jit`. It fails with the error named in the
second, which underlines the expression that is underlined here and whose advice has the words
shown. They run the cell of the last column, too, with the flags that stand above it. The third
column is what the same cell showed at commit {COMMIT} of 2026-11-23, before rewrites were made from
the user's own line: the error with the first sentence of its message, and the first line of what to
write instead, where there was one. It ran there with the jaxlib of today
(`python -m tools.mistakes_before`). The notebook has

```text
x = jnp.arange(8.0); w = 2.0; k = 2; log = ['start']
params = {{'w': x, 'b': jnp.ones(5)}}
```

This page is written by `make surface`.

| cell | what is said | before | instead |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    before = recorded()
    rows = sorted(ALL_MISTAKES, key=_error)
    return _HEAD + "".join(_row(mistake, before[mistake.cell]) for mistake in rows)


def _error(mistake: Mistake) -> str:
    return mistake.error.__name__


def _row(mistake: Mistake, earlier: Said) -> str:
    before, found, after = mistake.cell.partition(mistake.underlined or mistake.cell)
    marked = f"{_text(before)}<u>{_text(found)}</u>{_text(after)}"
    said = f"`{_error(mistake)}`: {_text(' '.join(mistake.says.split()))}"
    flags = f"`%%jit {mistake.flags}`" if mistake.flags else ""
    instead = f"{flags}<pre>{_text(mistake.rewrite)}</pre>"
    return f"| <pre>{marked}</pre> | {said} | {_before(earlier)} | {instead} |\n"


def _before(earlier: Said) -> str:
    """What was said before: the error, its first sentence, and the first line of advice."""
    said, advice = _short(earlier["said"]), _short(earlier["advice"])
    if not earlier["error"]:
        return f"no error: {said}" if said else "no error, nothing said"
    return f"`{earlier['error']}`: {said}" + (f"<br>{advice}" if advice else "")


def _short(text: str) -> str:
    """The first sentence of a text, no longer than a line."""
    first = text.partition(". ")[0].rstrip(".")
    return _text(first if len(first) <= _LINE else first[:_LINE].rstrip() + " …")


def _text(text: str) -> str:
    """A text in a cell of a table: no line ends, no bars, no markup of its own."""
    marks = {"\n": "<br>", "|": "&#124;", "*": "&#42;", "_": "&#95;", "[": "&#91;", "`": "&#96;"}
    return "".join(marks.get(one, escape(one, quote=False)) for one in text)


if __name__ == "__main__":
    PAGE.write_text(page())
