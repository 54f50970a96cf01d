"""What may stand in a view: a reader of bundles that fails on anything that could act or grow."""

import html.parser
import json
import re
import unicodedata
from typing import Any

TAGS = {
    *("div", "span", "style", "details", "summary", "table", "tr", "th", "td"),
    *("pre", "code", "b", "u", "sub", "a"),
    *("svg", "g", "path", "rect", "line", "text", "title"),
}
ATTRIBUTES = {
    *("class", "id", "title", "open", "style", "role", "aria-label", "href", "tabindex"),
    *("d", "x", "y", "width", "height", "rx", "viewbox", "text-anchor"),
    *("x1", "x2", "y1", "y2"),
    *("name", "data-quiz", "data-right"),
}
TEXT_LIMIT = 101_000
HTML_LIMIT = DATA_LIMIT = 300_000
_STYLE = re.compile(r"width:[\d.]+(em|px)|fill:hsl\(\d+ 70% 50%\)")
_CONTROLS = {"Cc", "Cs", "Cf"}


class Inspector(html.parser.HTMLParser):
    """Fails on any element or attribute that could do something, or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        # JupyterLab fails on a link inside a drawing.
        assert tag != "a" or "svg" not in self.open
        assert len(dict(attrs)) == len(attrs), attrs
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            value = value or ""
            assert is_clean(value)
            assert name != "style" or _STYLE.fullmatch(value), value
            assert name != "href" or re.fullmatch(r"#[a-z0-9]+", value, re.I), value
            assert name != "class" or re.fullmatch(r"[\w -]*", value), value
            # Of those with one name the page opens one at a time.
            assert name != "name" or (tag == "details" and value.isalnum()), value
            if name == "id":
                assert re.fullmatch(r"[a-z0-9]+", value, re.I), value
                self.ids.append(value)
            if name == "href":
                self.links.append(value[1:])
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            assert not re.search(r"url|@|expression|\\|javascript", data, re.I), data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    unknown_decl = handle_decl


def is_clean(text: str) -> bool:
    """Whether a text holds no control characters but line ends and tabs."""
    return not any(unicodedata.category(one) in _CONTROLS for one in set(text) - {"\n", "\t"})


def inspect_html(markup: str) -> str:
    """Checks HTML and returns its text."""
    inspector = Inspector()
    inspector.feed(markup)
    inspector.close()
    assert inspector.open == []
    assert len(set(inspector.ids)) == len(inspector.ids)
    assert set(inspector.links) <= set(inspector.ids)
    assert is_clean(inspector.text)
    return inspector.text


def inspect_bundle(bundle: dict[str, Any]) -> str:
    """Checks a mimebundle and returns the text of its HTML."""
    assert json.loads(json.dumps(bundle)) == bundle
    assert len(bundle["text/plain"]) <= TEXT_LIMIT
    assert is_clean(bundle["text/plain"])
    assert len(bundle.get("text/html", "")) <= HTML_LIMIT
    for kind, data in bundle.items():
        if kind.endswith("+json"):
            assert len(json.dumps(data)) <= DATA_LIMIT
            assert all(map(is_clean, _strings(data)))
    return inspect_html(bundle.get("text/html", ""))


def inspect(view: Any) -> str:
    """Checks a view and returns the text of its HTML."""
    return inspect_bundle(view._repr_mimebundle_())


def _strings(data: Any) -> list[str]:
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return [*data, *(text for value in data.values() for text in _strings(value))]
    if isinstance(data, list):
        return [text for value in data for text in _strings(value)]
    return []
