"""What is read from source text alone: places of names, side effects, loops."""

from __future__ import annotations

import datetime
import linecache
import random
import time
from collections.abc import Callable, Iterator
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jxkernel.observe.syntax import FunctionSyntax, SourceFiles, Span

NAMESPACE: dict[str, Any] = {
    "np": np,
    "random": random,
    "time": time,
    "datetime": datetime.datetime,
    "log": [],
    "model": SimpleNamespace(items=set(), update=dict),
    "x": {},
}


@pytest.fixture
def function_of() -> Iterator[Callable[..., FunctionSyntax]]:
    """Makes a file of a source text and gives the syntax of the named function in it."""
    files: list[str] = []

    def make(source: str, name: str = "f") -> FunctionSyntax:
        file = f"<test {len(files)}>"
        files.append(file)
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        module = compile(source, file, "exec")
        found = SourceFiles().function(module if name == "<module>" else _code_named(module, name))
        assert found is not None
        return found

    yield make
    for file in files:
        linecache.cache.pop(file)


def _code_named(code: CodeType, name: str) -> CodeType:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    for one in inner:
        if one.co_name == name:
            return one
    return _code_named(inner[0], name)


@pytest.mark.parametrize(
    ("body", "effects"),
    [
        ("print(x)", ["print(x)"]),
        ("y = input()", ["input()"]),
        ("open('a').read()", ["open('a')"]),
        ("log.append(x)", ["log.append(x)"]),
        ("log[0] = x", ["log[0]"]),
        ("log[0].a.b += x", ["log[0].a.b"]),
        ("log[x].append(x)", ["log[x].append(x)"]),
        ("del log[0]", ["log[0]"]),
        ("model.state = x", ["model.state"]),
        ("model.items.add(x)", ["model.items.add(x)"]),
        ("global total\n    total = x", ["total"]),
        ("global total\n    total += x", ["total"]),
        ("y = random.random()", ["random.random()"]),
        ("y = np.random.normal(size=3)", ["np.random.normal(size=3)"]),
        ("y = time.perf_counter()", ["time.perf_counter()"]),
        ("y = datetime.now()", ["datetime.now()"]),
        ("x['a'] = 1", ["x['a']"]),
        ("x.update(a=1)", ["x.update(a=1)"]),
        ("for i in x:\n        print(i)", ["print(i)"]),
        ("if x:\n        log.append(\n            x\n        )", ["log.append(x)"]),
        ("return [print(i) for i in x]", ["print(i)"]),
        # None of these reaches beyond the function, or is a loss.
        ("y = model.update(x)", []),
        ("if x not in log:\n        log[x] = 1", []),
        ("x['a'] = 1\n    return x", []),
        ("for i in range(3):\n        y = x['a']\n        x['a'] = y", []),
        ("outs = []\n    outs.append(x)", []),
        ("outs = {}\n    outs['a'] = x", []),
        ("x = dict(x)\n    x['a'] = 1", []),
        ("y = np.sin(x)", []),
        ("y = x.at[0].set(1)", []),
        ("y = time", []),
        ("print = str\n    print(x)", []),
        ("def g():\n        print(x)\n    return g", []),
        ("y = sorted(x)", []),
        ("y = np.append(x, 1)", []),
    ],
)
def test_side_effects_are_found_and_local_changes_are_not(
    function_of: Callable[..., FunctionSyntax], body: str, effects: list[str]
) -> None:
    syntax = function_of(f"def f(x):\n    {body}\n")
    assert [effect.code for effect in syntax.effects(NAMESPACE)] == effects


def test_effect_says_what_happens_and_what_to_write(
    function_of: Callable[..., FunctionSyntax],
) -> None:
    syntax = function_of("def f(x):\n    print(x)\n    x['a'] = 1\n")
    first, second = syntax.effects({"x": {}})
    assert first.problem == "print runs once, while tracing, and not in compiled calls"
    assert "jx.debug.print('{}', x)" in first.instead
    assert first.span == Span(2, 4, 2, 12)
    assert "traced copy of the argument x" in second.problem


def test_nonlocal_names_and_shadowed_builtins(function_of: Callable[..., FunctionSyntax]) -> None:
    source = (
        "def outer():\n"
        "    count = 0\n"
        "    def f(x):\n"
        "        nonlocal count\n"
        "        count = count + 1\n"
        "        print(x)\n"
        "    return f\n"
    )
    syntax = function_of(source)
    effects = list(syntax.effects({"print": str}))
    assert [effect.code for effect in effects] == ["count"]
    assert "nonlocal name count" in effects[0].problem
    assert list(syntax.effects({"print": str}, kept=["count"])) == []


def test_self_may_be_changed_by_its_own_methods(
    function_of: Callable[..., FunctionSyntax],
) -> None:
    syntax = function_of("class A:\n    def f(self, x):\n        self.x = x\n")
    assert list(syntax.effects({})) == []
    assert [one.code for one in syntax.effects({"self": object()})] == ["self.x"]


def test_a_change_of_what_a_caller_in_the_trace_gave_is_none(
    function_of: Callable[..., FunctionSyntax],
) -> None:
    syntax = function_of("def f(x):\n    x['a'] = 1\n")
    assert list(syntax.effects({"x": {}}, is_entry=False)) == []


def test_occurrences_tell_reading_from_binding_and_skip_inner_functions(
    function_of: Callable[..., FunctionSyntax],
) -> None:
    source = (
        "@decorate\n"
        "def f(x, *rest, n=default, **more):\n"
        "    y = x + n\n"
        "    def g(z):\n"
        "        return z\n"
        "    for i in range(n):\n"
        "        y += i\n"
        "    return y\n"
    )
    found = [(one.name, one.span.line, one.binds) for one in function_of(source).occurrences()]
    assert found == [
        ("x", 2, True),
        ("rest", 2, True),
        ("n", 2, True),
        ("more", 2, True),
        ("y", 3, True),
        ("x", 3, False),
        ("n", 3, False),
        ("i", 6, True),
        ("range", 6, False),
        ("n", 6, False),
        ("y", 7, True),
        ("i", 7, False),
        ("y", 8, False),
    ]


def test_columns_count_characters_not_bytes(function_of: Callable[..., FunctionSyntax]) -> None:
    syntax = function_of("def f(x):\n    größe = x; y = größe + x\n")
    spans = {(one.name, one.span.column, one.span.end_column) for one in syntax.occurrences()}
    assert {("größe", 4, 9), ("y", 15, 16), ("größe", 19, 24), ("x", 27, 28)} <= spans
    assert list(syntax.expressions({Span(2, 19, 2, 28)})) == [(Span(2, 19, 2, 28), "größe + x")]


def test_argument_span_leaves_its_annotation_out(
    function_of: Callable[..., FunctionSyntax],
) -> None:
    (argument,) = function_of("def f(x: 'Array'):\n    pass\n").occurrences()
    assert argument.span == Span(1, 6, 1, 7)
    assert argument.is_argument


def test_loops_tell_their_header_and_body(function_of: Callable[..., FunctionSyntax]) -> None:
    source = (
        "def f(x):\n"
        "    for i in (\n"
        "        1, 2\n"
        "    ):\n"
        "        x = x\n"
        "        while x:\n"
        "            x = 0\n"
        "    return x\n"
    )
    loops = [
        (loop.line, loop.first_body_line, loop.end_line, loop.is_while)
        for loop in function_of(source).loops()
    ]
    assert loops == [(2, 5, 7, False), (6, 7, 7, True)]


def test_lambda_and_module_are_functions_too(function_of: Callable[..., FunctionSyntax]) -> None:
    syntax = function_of("f = lambda a: a\ng = lambda x, y: x + y\n", "<module>")
    assert [one.name for one in syntax.occurrences()] == ["f", "g"]
    source = "h = [lambda a: a, lambda x: x]\n"
    assert [one.name for one in function_of(source, "<lambda>").occurrences()] == ["a", "a"]


def test_source_that_is_gone_or_was_edited_gives_nothing() -> None:
    code = compile("def f(x):\n    return x\n", "<nowhere>", "exec")
    assert SourceFiles().function(code) is None
    assert SourceFiles().function(_code_named(code, "f")) is None


@pytest.mark.parametrize("text", ["def f(:\n", "def g(x):\n    return x\n", "\0"])
def test_source_that_no_longer_fits_gives_nothing(text: str) -> None:
    code = _code_named(compile("def f(x):\n    return x\n", "<edited>", "exec"), "f")
    linecache.cache["<edited>"] = (len(text), None, text.splitlines(keepends=True), "<edited>")
    try:
        assert SourceFiles().function(code) is None
    finally:
        linecache.cache.pop("<edited>")


def test_line_text_is_bounded_by_the_file(function_of: Callable[..., FunctionSyntax]) -> None:
    syntax = function_of("def f(x):\n    return x\n")
    assert [syntax.line_text(line) for line in (0, 2, 9)] == ["", "return x", ""]
