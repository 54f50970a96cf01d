"""Objects whose own methods fail, or are slow: to watch a program never breaks or changes it."""

from collections.abc import Callable
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import events
from tests.jupyter.conftest import Notebook

CLASSES = """
asked = []
class Failing(type):
    def __repr__(cls):
        raise RuntimeError("no repr")
class Silent:
    def __repr__(self):
        asked.append(self)
        raise RuntimeError("no repr")
    __str__ = __repr__
    def __call__(self, x):
        return x * 2
class Unequal(Silent):
    def __hash__(self):
        if hostile:
            raise RuntimeError("no hash")
        return 3
    def __eq__(self, other):
        raise RuntimeError("no comparison")
class Kind(metaclass=Failing):
    pass
class Node:
    def __init__(self, leaf, data):
        self.leaf, self.data = leaf, data
jx.tree_util.register_pytree_node(
    Node, lambda node: ((node.leaf,), node.data), lambda data, leaves: Node(*leaves, data)
)
o, e, k, held = Silent(), Unequal(), Kind(), {"a": [Silent(), Unequal()]}
hostile = True
"""

CELLS = {
    "static": "y = jx.jit(lambda x, o: x * 2, static_argnums=1)(x, o)",
    "static class": "y = jx.jit(lambda x, o: x * 2, static_argnums=1)(x, Kind)",
    "explained": "with jx.explain_cache_misses(True):\n"
    "    y = jx.jit(lambda x, o: x * 2, static_argnums=1)(x, o)",
    "closure": "y = jx.jit(lambda x: x * 2 if o and k and e is not None else x)(x)",
    "default": "@jx.jit\ndef f(x, p=0):\n    k = held\n    return x * 2\ny = f(x)",
    "callable": "y = jx.jit(Silent())(x)",
    "partial": "import functools\ny = jx.jit(functools.partial(lambda o, x: x * 2, o))(x)",
    "key of a dict": "y = jx.jit(lambda d: x * 2)({o: x})",
    "data of a node": "y = jx.jit(lambda p: p.leaf * 2)(Node(x, o))",
    "%%jit": "%%jit\ny = x * 2 if o else x",
    "%%jit, class": "%%jit\ny = x * 2 if k and Kind else x",
    "%%jit, unequal": "%%jit\ny = x * 2 if e is not None else x",
    "%%jit, container": "%%jit\ny = x * 2 if held else x",
    "%%jit, function": "def h(x):\n    return x * 2 if held['a'] else x",
    "%%jit, function called": "%%jit\ny = h(x)",
    "ledger": "%jx ledger",
    "live": "%jx live",
    "cache": "%jx cache",
}


def test_objects_whose_methods_fail_break_no_cell(notebook: Notebook) -> None:
    notebook.run(CLASSES)
    for _ in range(2):
        for source in CELLS.values():
            notebook.names.pop("y", None)
            notebook.run(source)
            if "y" in notebook.names:
                assert notebook.names["y"].tolist() == [2.0 * one for one in range(8)]


@pytest.mark.parametrize("name", ["static", "closure", "default", "callable", "partial", "%%jit"])
def test_an_object_is_asked_at_most_once_in_a_run(notebook: Notebook, name: str) -> None:
    notebook.run(CLASSES)
    notebook.run(CELLS[name])
    asked = notebook.names["asked"]
    assert len(asked) == len(set(map(id, asked)))
    asked.clear()
    notebook.run("1")
    assert asked == []


def test_an_object_that_changes_is_asked_again(notebook: Notebook) -> None:
    notebook.run(
        "class Rate:\n"
        "    def __init__(self, of): self.of = of\n"
        "    def __repr__(self): return f'Rate({self.of})'\n"
        "rate = Rate(1)"
    )
    for number in (1, 2):
        notebook.run(f"rate.of = {number}")
        data = notebook.run("%%jit\ny = x * rate.of").shown[0]["application/vnd.jxkernel.jit+json"]
        assert data["static"] == {"rate": f"Rate({number})"}


def silent() -> Any:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        def __call__(self, event: Any) -> None:
            raise ValueError("dropped")

    return Silent()


def test_a_listener_without_a_repr_is_dropped_in_words() -> None:
    handle = events.listen(silent())
    with pytest.warns(RuntimeWarning, match=r"dropped: <.*Silent object at 0x"):
        jx.jit(lambda x: x + 1)(1.0)
    handle.close()


REFUSALS: list[Callable[[Any], Any]] = [
    lambda value: jx.jit(lambda x: x)(value),
    lambda value: jx.jit(lambda x: value)(1.0),
    lambda value: jx.numpy.sin(value),
]


@pytest.mark.parametrize("refused", REFUSALS)
def test_what_is_refused_needs_no_repr(refused: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="Silent"):
        refused(silent())
