"""Parts of pages that a command writes: figures that were measured, and outputs.

A part stands between two comments, of which the first names the command. A test lets no other text
of a page hold a measured figure.
"""

import re
from collections.abc import Iterable

from tools.checkout import ROOT

__all__ = ["PART", "table", "write"]

PART = re.compile(r"(<!-- written by `python -m ([\w.]+)[^`]*` -->\n).*?(<!-- end -->)", re.DOTALL)


def write(page: str, module: str, *texts: str) -> None:
    """Write the parts of a page that a command has there.

    Args:
      page: the page's path in the checkout.
      module: the module that the command runs.
      *texts: a text for each part, in order.

    Raises:
      ValueError: the page has more or fewer parts of the command.
    """
    file = ROOT / page
    file.write_text(rewritten(file.read_text(encoding="utf-8"), module, texts), encoding="utf-8")


def rewritten(text: str, module: str, texts: Iterable[str]) -> str:
    """Return a page's text with the parts of a command written anew; raise as ``write`` does."""
    remaining = list(texts)
    found = [part for part in PART.finditer(text) if part[2] == module]
    if len(found) != len(remaining):
        raise ValueError(f"the page has {len(found)} parts of {module}, and {len(remaining)} come")

    def replace(part: re.Match[str]) -> str:
        return part[0] if part[2] != module else f"{part[1]}\n{remaining.pop(0)}\n\n{part[3]}"

    return PART.sub(replace, text)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown; whole numbers have their thousands apart."""
    texts = [[f"{one:,}" if isinstance(one, int) else str(one) for one in row] for row in rows]
    heads = list(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *texts])
