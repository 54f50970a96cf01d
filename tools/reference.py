"""The book's reference: one page for each public module, of what its docstrings say.

The docstrings are Google style with doubled backticks. They are written out as Markdown: sections
as lists, examples as code, all else as text.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

__all__ = ["page", "rendered"]

_SECTIONS = re.compile(r"(Args|Attributes|Note|Raises|References|Returns|Source|Yields):\s*(.*)")
_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
_SPECIAL = re.compile(r"([\\*_<>$\[\]{}|#])")
_ITEM = re.compile(r"(\*{0,2}[\w.`, *]+?)(?: \([^)]*\))?:\s+(.*)", re.DOTALL)


def page(name: str) -> str:
    """Return the page of a module."""
    module = importlib.import_module(name)
    parts = [f"# {name}", rendered(inspect.getdoc(module) or "")]
    for public in public_names(module):
        parts.extend(_entry(public, getattr(module, public)))
    return "\n\n".join(part for part in parts if part) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """Return what a module offers that has a docstring of this package, in order."""
    return [
        name
        for name in sorted(getattr(module, "__all__", ()), key=str.lower)
        if _is_ours(getattr(module, name))
    ]


def _is_ours(value: Any) -> bool:
    of = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    described = callable(value) and bool(inspect.getdoc(value))
    return str(of).partition(".")[0] == "jxkernel" and described


def _entry(name: str, value: Any) -> Iterator[str]:
    yield "## " + name.replace("__", r"\_\_")
    yield f"```python\n{name}{_signature(value)}\n```"
    yield rendered(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        for member, told in _members(value):
            yield f"`{member}`: {rendered(told)}"


def _signature(value: Any) -> str:
    try:
        written = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    named = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", written.replace("collections.abc.", ""))
    return re.sub(r"<[^<>]*>", "...", re.sub(r"'([^']*)'", _unquoted, named))


def _unquoted(found: re.Match[str]) -> str:
    """Return an annotation without its quotes, and a text of one word with them."""
    before = found.string[: found.start()]
    return found[1] if before.endswith((": ", "-> ")) else found[0]


def _members(value: type) -> Iterator[tuple[str, str]]:
    """Give the first paragraphs of public methods and properties that a class describes."""
    for name, member in sorted(vars(value).items()):
        told = inspect.getdoc(member) if callable(member) or isinstance(member, property) else None
        if told and not name.startswith("_"):
            yield name, told.partition("\n\n")[0]


def rendered(docstring: str) -> str:
    """Return a docstring as Markdown."""
    return "\n\n".join(_blocks(inspect.cleandoc(docstring)))


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text):
        head, _, rest = block.partition("\n")
        section = _SECTIONS.fullmatch(head.strip()) if not head.startswith(" ") else None
        if section:
            yield f"**{section[1]}**" + (f": {_prose(section[2])}" if section[2] else "")
            block = rest
        if block.strip():
            yield from _block(textwrap.dedent(block), bool(section))


def _block(text: str, in_section: bool) -> Iterator[str]:
    example = text.find(">>> ")
    if example >= 0:
        if text[:example].strip():
            yield _prose(text[:example].strip())
        yield f"```python\n{textwrap.dedent(text[example:].rstrip())}\n```"
    elif in_section and re.match(r"\S", text):
        yield "\n".join(f"- {_item(one)}" for one in re.split(r"\n(?=\S)", text.strip()))
    else:
        yield _prose(text)


def _item(text: str) -> str:
    found = _ITEM.fullmatch(text)
    return f"`{found[1].strip('`')}`: {_prose(found[2])}" if found else _prose(text)


def _prose(text: str) -> str:
    """Return text in which only code is marked up."""
    flat = " ".join(text.split())
    parts = _CODE.split(flat)
    return "".join(
        part.replace("``", "`") if index % 2 else _SPECIAL.sub(r"\\\1", part)
        for index, part in enumerate(parts)
    )
