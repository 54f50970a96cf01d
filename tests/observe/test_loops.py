"""An unrolled loop is written with `lax`; what is written gives the same values."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax, tree
from jxkernel import numpy as jnp
from jxkernel.observe import provenance

X = np.linspace(0.1, 0.8, 4, dtype=np.float32)
XS = np.arange(12, dtype=np.float32).reshape(3, 4) / 10

# (statements with a loop in them, arguments, what is called, equations of the loop at most)
LOOPS = [
    ("for _ in range(5):\n    x = jnp.sin(x)", {"x": X}, "lax.fori_loop(0, 5, body, x)"),
    ("h = x\nfor i in range(2, 6):\n    h = h * i + x", {"x": X}, "lax.fori_loop(2, 6, body, h)"),
    (
        "a = x\nb = 2 * x\nfor i in range(4):\n    t = a + b\n    a, b = b, t\nx = a",
        {"x": X},
        "a, b = lax.fori_loop(0, 4, body, (a, b))",
    ),
    ("h = x\nfor row in xs:\n    h = h + row", {"x": X, "xs": XS}, "h, _ = lax.scan(body, h, xs)"),
    (
        "h = x\nfor w in ws:\n    h = jnp.tanh(w * h)",
        {"x": X, "ws": list(XS)},
        "lax.scan(body, h, jnp.stack(ws))",
    ),
    (
        "h = x\nfor p in ps:\n    h = h * p['w'] + p['b']",
        {"x": X, "ps": [{"w": row, "b": row} for row in XS]},
        "tree.map(lambda *leaves: jnp.stack(leaves), *ps)",
    ),
    (
        "h = x\nfor i, row in enumerate(xs):\n    h = h + i * row",
        {"x": X, "xs": XS},
        "lax.scan(body, h, (jnp.arange(len(xs)), xs))",
    ),
    (
        "h = x\nfor a, b in zip(xs, xs):\n    h = h + a * b",
        {"x": X, "xs": XS},
        "h, _ = lax.scan(body, h, (xs, xs))",
    ),
    (
        "h = x\nys = []\nfor row in xs:\n    h = h + row\n    ys.append(2 * h)\n"
        "x = jnp.stack(list(ys))",
        {"x": X, "xs": XS},
        "h, ys = lax.scan(body, h, xs)",
    ),
    (
        "ys = []\nfor i in range(0, 6, 2):\n    ys.append(i * x)\nx = jnp.stack(list(ys))",
        {"x": X},
        "_, ys = lax.scan(body, None, jnp.arange(0, 6, 2))",
    ),
    (
        "n = 0\nwhile n < 4:\n    x = jnp.cos(x)\n    n += 1",
        {"x": X},
        "x, n = lax.while_loop(condition, body, (x, n))",
    ),
]


def defined(body: str, arguments: dict[str, Any], file: str) -> Any:
    """A function of a text that its provenance can find."""
    lines = [
        f"def f({', '.join(arguments)}):",
        *body.splitlines(),
        "return x if 'h' not in locals()",
    ]
    lines[-1] += " else h + 0 * x"
    text = "\n".join([lines[0], *(f"    {line}" for line in lines[1:])])
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"jnp": jnp, "lax": lax, "tree": tree}
    exec(compile(text, file, "exec"), namespace)
    return namespace["f"]


@pytest.mark.parametrize(("body", "arguments", "call"), LOOPS)
def test_rewritten_loop_gives_the_same_values(
    body: str, arguments: dict[str, Any], call: str
) -> None:
    function = defined(body, arguments, "<loop as written>")
    [loop] = provenance(function)(**arguments).functions[0].loops
    assert call in loop.rewrite
    lines = body.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(("for", "while")))
    end = next(
        (n for n in range(start + 1, len(lines)) if not lines[n].startswith(" ")), len(lines)
    )
    changed = "\n".join([*lines[:start], *loop.rewrite.splitlines(), *lines[end:]])
    again = defined(changed, arguments, "<loop rewritten>")
    expected = jx.jit(function)(**arguments)
    np.testing.assert_allclose(jx.jit(again)(**arguments), expected, rtol=1e-5)
    assert provenance(again)(**arguments).functions[0].loops == ()


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(3):\n    if i == 2:\n        break\n    x = x + 1",
        "for i in range(3):\n    x = x + 1\nelse:\n    x = x - 1",
        "for i in range(3):\n    y = x + i\nx = y",
        "for i in range(3):\n    x = x + 1\nx = x * i",
    ],
)
def test_loop_without_a_plain_form_has_no_rewrite(body: str) -> None:
    [loop] = provenance(defined(body, {"x": X}, "<odd loop>"))(X).functions[0].loops
    assert loop.rewrite == ""
    assert "lax.fori_loop" in loop.instead


def test_map_shows_the_loop_to_write() -> None:
    function = defined("for _ in range(3):\n    x = jnp.sin(x)", {"x": X}, "<shown loop>")
    text = str(provenance(function)(X))
    assert "was unrolled 3 times into 3 equations" in text
    assert "      def body(_, x):\n          x = jnp.sin(x)\n          return x\n" in text
    assert "      x = lax.fori_loop(0, 3, body, x)" in text
