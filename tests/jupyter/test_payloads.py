"""The data of real views has the fields that the lab extension is told of."""

import dataclasses
import json
import types
import typing
from typing import Any, Literal, Union

import pytest

from jxkernel.jupyter.features import EXTENDED, PAYLOADS
from jxkernel.jupyter.jit.payload import SectionPayload
from jxkernel.jupyter.views.view import MIME, VERSION, View
from tests.jupyter.conftest import Notebook

CELL = "def scaled(a):\n    return a * w\ny = lax.cond(x.sum() > 1, scaled, jnp.sin, x)\nx + y"


def faults(data: Any, kind: Any, where: str) -> list[str]:
    """What does not fit a type, as far as JSON shows it."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return []
    if origin is Literal:
        return [] if data in arguments else [f"{where}: {data!r}"]
    if origin in (Union, types.UnionType):
        found = [faults(data, one, where) for one in arguments]
        return [] if [] in found else min(found, key=len)
    if origin in (list, tuple):
        if not isinstance(data, list):
            return [f"{where}: {data!r:.60} is no list"]
        return [one for item in data for one in faults(item, arguments[0], f"{where}[]")]
    if origin is dict:
        return [] if isinstance(data, dict) else [f"{where}: {data!r:.60} is no mapping"]
    if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
        return record_faults(data, kind, where)
    numbers = {float: (int, float)}
    return [] if isinstance(data, numbers.get(kind, kind)) else [f"{where}: {data!r:.60}"]


def record_faults(data: Any, kind: Any, where: str) -> list[str]:
    if not isinstance(data, dict):
        return [f"{where}: {data!r:.60} is no record"]
    hints = typing.get_type_hints(kind)
    if kind in EXTENDED:
        hints |= typing.get_type_hints(EXTENDED[kind])
    missing = [f"{where}: no {name}" for name in hints.keys() - data.keys()]
    more = set() if kind is SectionPayload else data.keys() - hints.keys() - {"format"}
    unknown = [f"{where}: {name} is not told of" for name in more]
    inside = [
        one
        for name in hints.keys() & data.keys()
        for one in faults(data[name], hints[name], f"{where}.{name}")
    ]
    return [*missing, *unknown, *inside]


@pytest.fixture
def used(notebook: Notebook) -> Notebook:
    notebook.run(f"%%jit\n{CELL}")
    notebook.run("f = jx.jit(lambda a: jnp.sin(a) * 2)\nf(x); f(x[:4])")
    return notebook


SHOWING = {
    "jit": f"%%jit --show stages\n{CELL}",
    "jaxpr": "jx.make_jaxpr(jnp.sin)(x)",
    "stages": "%jx stages f(x)",
    "diff": "%jx diff f(x), f(x[:4])",
    "ledger": "%jx ledger",
    "memory": "%jx live",
    "table": "%jx devices",
}


@pytest.mark.parametrize("kind", SHOWING)
def test_a_view_sends_what_is_told_of(used: Notebook, kind: str) -> None:
    ran = used.run(SHOWING[kind])
    bundles = [*ran.shown]
    if ran.value is not None:
        data, _ = used.shell.display_formatter.format(ran.value)
        bundles.append(data)
    [data] = [one[MIME.format(kind)] for one in bundles if MIME.format(kind) in one][:1]
    data = json.loads(json.dumps(data))
    assert data["format"] == VERSION
    assert faults(data, PAYLOADS[kind], kind) == []


def test_a_view_says_its_format_whatever_its_data_holds() -> None:
    bundle = View("jit", "text", data={"version": 7})._repr_mimebundle_()
    assert bundle[MIME.format("jit")] == {"format": VERSION, "version": 7}
