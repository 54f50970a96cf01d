"""Hostile names, sources and payloads: they are text, everywhere."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export
from jxkernel.compile import disk_cache
from jxkernel.config import config
from jxkernel.jupyter.features import REQUESTS
from jxkernel.jupyter.front.protocol import VERSION, Request
from tests.jupyter.kernels import running_kernel
from tests.jupyter.test_channel import Front

pytestmark = pytest.mark.slow

X = np.arange(3, dtype=np.float32)
PARTS = (
    *("../", "/etc/passwd", "\0", "\n", "\r\n", '"', "'", "\\", "<script>alert(1)</script>"),
    *("${x}", "%s%n", "{0}", "\u202e", "\ud800", "é" * 9, "a" * 300, "-->", "]]>", "#loc1 = "),
    *("\x1b[31m", "; rm -rf", "`", "$(id)", "..", " ", "𝔘", "\ufeff", "module {", "func.func @"),
)
SENT = tuple(part for part in PARTS if part != "\ud800")
"""What a message can hold: a lone surrogate cannot be sent."""
NAMES = 200
MESSAGES = 3000
BATCH = 60


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = config.values["jax_compilation_cache_dir"]
    config.update("jax_compilation_cache_dir", str(tmp_path / "kept"))
    disk_cache._use.clear()
    yield tmp_path
    disk_cache._use.clear()
    config.update("jax_compilation_cache_dir", before)


def test_functions_of_hostile_names_run_and_are_stored_by_their_content(folder: Path) -> None:
    random = Random(3)
    for n in range(NAMES):
        name = "".join(random.choice(PARTS) for _ in range(random.randint(1, 3)))

        def f(x: Any, n: int = n % 7, name: str = name) -> Any:
            with jx.named_scope(name):
                return jnp.sin(x) * n

        f.__name__ = f.__qualname__ = name
        found = jx.jit(f)(X)
        np.testing.assert_allclose(found, np.sin(X) * (n % 7), rtol=1e-6, atol=1e-6)
        assert jx.jit(f).lower(X).as_text().count("module @") == 1
        assert len(str(jx.make_jaxpr(jx.jit(f))(X))) > 0
        if n % 10 == 0:
            again = export.deserialize(export.export(jx.jit(f))(X).serialize())
            np.testing.assert_allclose(again.call(X), found, rtol=1e-6)
    assert {path.name for path in folder.iterdir()} == {"kept"}
    stored = [path.name for path in (folder / "kept").iterdir()]
    assert stored
    assert all(name.isascii() and set(name) <= _SAFE for name in stored), stored


_SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def _value(random: Random, depth: int = 0) -> Any:
    """Return a value of JSON by chance."""
    kind = random.randrange(9 if depth < 3 else 7)
    if kind == 7:
        return [_value(random, depth + 1) for _ in range(random.randrange(3))]
    if kind == 8:
        return {random.choice(SENT): _value(random, depth + 1) for _ in range(random.randrange(3))}
    return (None, True, -1, 2**70, 1e308, random.choice(SENT), random.choice(SENT) * 9)[kind]


def _message(random: Random, names: list[str], n: int) -> dict[str, Any]:
    keys = ("source", "id", "name", "change", "disk", "of", "count", "cell", "program", "\0")
    arguments = {random.choice(keys): _value(random) for _ in range(random.randrange(3))}
    return {
        "type": random.choice(("request", "request", "request", "sync", "x", 3, None)),
        "version": random.choice((VERSION, VERSION, VERSION, 0, "1", None)),
        "id": random.choice((str(n), str(n), n, None, {"a": 1})),
        "name": random.choice((*names, *names, "x", None, [1])),
        "arguments": random.choice((arguments, arguments, arguments, [], None, "x")),
    }


RAW = ("AttributeError", "KeyError", "IndexError", "UnboundLocalError", "AssertionError")


def test_hostile_messages_are_answered_in_words_or_left_alone() -> None:
    random = Random(4)
    answers = 0
    with running_kernel() as kernel:
        kernel.ok("f = jx.jit(lambda x: x * 2)\nf(x)")
        front = Front(kernel)
        for batch in range(MESSAGES // BATCH):
            for n in range(BATCH):
                front.say(_message(random, [*REQUESTS], n))
            front.say(Request(id=f"end {batch}", name="nothing"))
            while (reply := front.hear("reply"))["id"] != f"end {batch}":
                answers += 1
                assert not str(reply["error"] or "").startswith(RAW), reply
        kernel.ok("assert f(x).tolist() == (x * 2).tolist()")
    assert answers > MESSAGES / 5
