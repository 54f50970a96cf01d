"""Small HTML: escaped, self-contained, readable in light and dark, without scripts.

Every text goes through ``escape``; only ``Html`` is put in as it stands. Colours are mixed with the
text's own colour, so a view fits a light and a dark page without knowing which it is on. Nothing
is loaded, and nothing runs: folding is ``<details>``, and linked lines light up by CSS.
"""

from __future__ import annotations

import html
import itertools
import secrets
import zlib
from collections.abc import Callable, Iterable, Sequence

from jxkernel.jupyter.views.view import capped

__all__ = [
    "Html",
    "anchor",
    "details",
    "element",
    "escape",
    "heading",
    "join",
    "line_class",
    "linking_style",
    "page",
    "pre",
    "row",
    "table",
]

_STYLE = """
.jxk{font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);max-width:100%;overflow-x:auto}
.jxk code,.jxk pre,.jxk .m{font:12px/1.5 var(--jp-code-font-family,ui-monospace,monospace)}
.jxk pre{margin:.2em 0;white-space:pre;overflow:auto;max-height:32em;background:none;color:inherit;
word-break:normal!important;overflow-wrap:anywhere}
.jxk details{margin:.15em 0}.jxk summary{cursor:pointer}
.jxk summary:focus-visible,.jxk a:focus-visible{outline:2px solid #2a78d6;outline-offset:1px}
.jxk table{border-collapse:collapse;font-size:12px;margin:.3em 0;color:inherit}
.jxk th,.jxk td{text-align:left!important;padding:.1em .7em .1em 0;border:0;vertical-align:top;
border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);background:none}
.jxk .n{text-align:right!important;font-variant-numeric:tabular-nums;white-space:nowrap}
.jxk td[role=columnheader],.jxk td.at{white-space:nowrap}
.jxk .why,.jxk td.code{min-width:11em}
.jxk .dim{opacity:.68}.jxk .warn{border-left:3px solid #c98500;padding-left:.5em}
.jxk .in{padding-left:1.1em;border-left:1px solid color-mix(in srgb,currentColor 18%,transparent)}
.jxk pre.row{margin:0;padding:0;border:0;overflow:visible;max-height:none;background:none}
.jxk summary .row{display:inline}
.jxk summary:has(.row){white-space:nowrap}
.jxk .k{border-radius:3px;padding:0 .15em}
.jxk .k b{font:700 8.5px/1 system-ui,sans-serif;vertical-align:-.25em;margin-left:1px}
.jxk .T{background:color-mix(in srgb,#2a78d6 24%,transparent);border-bottom:2px solid #2a78d6}
.jxk .S{background:color-mix(in srgb,#7d7d86 18%,transparent);border-bottom:2px dotted #7d7d86}
.jxk .C{background:color-mix(in srgb,#c98500 24%,transparent);border-bottom:2px dashed #c98500}
.jxk .X{background:color-mix(in srgb,#d03b3b 24%,transparent);border-bottom:2px double #d03b3b}
.jxk .bar{display:inline-block;height:.75em;border-radius:2px;background:#2a78d6}
.jxk .hot,.jxk .row:target{background:color-mix(in srgb,#eda100 30%,transparent)}
.jxk a{color:inherit;text-decoration:underline;text-underline-offset:2px;
text-decoration-color:color-mix(in srgb,currentColor 45%,transparent)}
.jxk .copy{user-select:all}
.jxk .cols{display:flex;flex-wrap:wrap;gap:.6em 1.2em}
.jxk .cols>*{flex:1 1 24em;min-width:0}
.jxk .cols>*>div{overflow:auto;max-height:34em}
.jxk .cols .row{width:max-content;min-width:100%}
.jxk .gone{background:color-mix(in srgb,#d03b3b 18%,transparent)}
.jxk .new{background:color-mix(in srgb,#2a78d6 20%,transparent)}
.jxk .side{display:flex;flex-wrap:wrap;gap:0 2em;align-items:flex-start}
.jxk .side>*{min-width:0;max-width:100%;overflow-x:auto}
.jxk .chip{border:1px solid color-mix(in srgb,currentColor 45%,transparent);border-radius:1em;
padding:0 .6em;white-space:nowrap}
.jxk svg{display:block;overflow:visible;max-width:none}
.jxk svg text{fill:currentColor;font:11px/1 var(--jp-code-font-family,ui-monospace,monospace)}
.jxk svg .s{font-size:9.5px;opacity:.72}
.jxk svg .w{fill:none;stroke:currentColor;opacity:.42}
.jxk svg .p{fill:currentColor;opacity:.55}
.jxk svg .box{fill:color-mix(in srgb,currentColor 6%,transparent);stroke:currentColor}
.jxk svg .end{fill:color-mix(in srgb,#2a78d6 20%,transparent);stroke:#2a78d6}
.jxk svg.value{margin:.4em 0}.jxk .seen pre{max-height:26em}
.jxk svg.hist{margin-top:.4em;fill:#2a78d6}
.jxk svg rect.bt{fill:color-mix(in srgb,#2a78d6 12%,transparent);stroke:#2a78d6}
.jxk svg rect.bl{fill:#c98500}.jxk svg rect.bc{fill:#2a78d6}.jxk svg text.bc{fill:#fff;opacity:1}
""".strip()

# Saved outputs of several kernels may stand in one notebook: each process has names of its own.
_process = secrets.token_hex(3)
_numbers = itertools.count(1)
_OWN = "\0"
"""Stands for the view's own id until ``page`` writes it; the user's text never holds it."""

_LINKED_LINES = 80
_KINDS: dict[object, str] = {"Line": "at", "Source": "code"}
"""What the columns of a table are, by their names."""


class Html(str):
    """Text that is HTML already; plain strings are escaped wherever they are put in."""

    __slots__ = ()


def escape(text: object, limit: int = 20_000) -> Html:
    """Return a text as HTML: special characters escaped, control characters removed, capped."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(capped(str(text), limit), quote=True))


def join(parts: Iterable[object], between: str = "") -> Html:
    """Return parts one after the other, each escaped unless it is HTML."""
    written = [part if isinstance(part, Html) else escape(part) for part in parts]
    return Html(escape(between).join(written) if between else "".join(written))


def element(tag: str, *content: object, **attributes: str) -> Html:
    """Return an element; ``class_`` and ``for_`` lose their underscore, content is escaped."""
    written = [
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
        if value
    ]
    return Html(f"<{tag}{''.join(written)}>{join(content)}</{tag}>")


def anchor(name: str) -> Html:
    """Return the id of a place within the view, or after a ``#`` the link to it.

    Args:
      name: letters and digits.
    """
    assert name.isalnum()
    return Html(f"{_OWN}{name}")


def line_class(file: str, line: int) -> str:
    """Return the class of everything that belongs to a line of source."""
    return f"l{line}x{zlib.crc32(file.encode('utf-8', 'surrogatepass')):x}"


def linking_style(classes: Iterable[str]) -> str:
    """CSS by which pointing at a line, or focusing a link in it, lights up what belongs to it."""
    mark = "{background:color-mix(in srgb,#eda100 30%,transparent);stroke-width:3}"
    return "".join(
        f"%s:has(.{one}:hover,.{one} :focus) .{one}{mark}"
        for one in sorted(set(classes))[:_LINKED_LINES]
    )


def pre(text: object, *, limit: int = 60_000) -> Html:
    """Return preformatted text, which one click selects whole; long ones are cut."""
    return element("pre", escape(text, limit), class_="copy")


def details(title: object, *content: object, is_open: bool = False) -> Html:
    """Return content folded under a title."""
    summary = element("summary", title)
    inner = element("div", *content, class_="in")
    return Html(f"<details{' open' if is_open else ''}>{summary}{inner}</details>")


def table(
    head: Sequence[object], rows: Iterable[Sequence[object]], numeric: Iterable[int] = ()
) -> Html:
    """Return a table; ``numeric`` columns are set to the right, and places stay on one line.

    Lines of code have room for some words: where the page is narrower than that, the view scrolls.
    """
    right = frozenset(numeric)
    kinds = ["n" if at in right else _KINDS.get(name, "") for at, name in enumerate(head)]

    def cells(cell_of: Callable[..., Html], row: Sequence[object]) -> Html:
        return element("tr", *map(cell_of, row, kinds))

    body = [cells(lambda cell, kind: element("td", cell, class_=kind), row) for row in rows]
    return element("table", cells(heading, head), *body)


def heading(text: object, kind: str = "") -> Html:
    """Return the heading of a table's column: one that sanitisers of saved notebooks leave there.

    A column without a name has none: an empty one would be read out.
    """
    if text == "":
        return element("td", class_=kind)
    return element("td", element("b", text), class_=kind, role="columnheader")


def row(*content: object, class_: str = "", id: str = "") -> Html:
    """Return a line of code: a line of its own, with its columns, wherever styles are left out."""
    return element("pre", *content, class_=f"row m {class_}".rstrip(), id=id)


def page(*content: object, style: str = "") -> str:
    """Return a whole view: its content in a box of its own, with the style it needs.

    Args:
      *content: the parts.
      style: further rules; ``%s`` in it stands for the box's own id.
    """
    identity = f"jxk{_process}n{next(_numbers)}"
    rules = _STYLE + (style.replace("%s", f"#{identity}") if style else "")
    # Only constants of this package get here: a ``<`` would end the element.
    assert "<" not in rules
    assert "-->" not in rules
    body = join(content).replace(_OWN, identity)
    # Sanitisers that write an element they refuse as text leave out what is a comment to them.
    return f'<div class="jxk" id="{identity}"><style><!--{rules}--></style>{body}</div>'
