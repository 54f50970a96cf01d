"""Outlines of programs: nested, in the user's names, with source lines and costs, never long."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.experimental import pallas
from jxkernel.observe import outline, transforms_of
from jxkernel.observe.costs import Cost, format_flops, program_cost


def layer(x: Any, w: Any) -> Any:
    h = jnp.tanh(x @ w)
    total, parts = lax.scan(lambda c, a: (c + a.sum(), c), 0.0, h)
    total += 1.0
    return total, (y := parts * 2.0), y.sum()


def traced_layer() -> Any:
    return jx.jit(layer).trace(jnp.ones((4, 3)), jnp.ones((3, 5)))


def test_results_bear_the_names_of_the_assignments() -> None:
    shown = outline(traced_layer(), function=layer)
    named = {
        one.primitive: [v.name for v in one.results] for _, one in shown.walk() if one.is_named
    }
    assert named == {
        "tanh": ["h"],
        "scan": ["total", "parts"],
        "add": ["total·2"],
        "mul": ["y"],
    }
    assert [str(one) for one in shown.program.inputs] == ["x:f32[4,3]", "w:f32[3,5]"]


def test_letters_never_mean_a_name_of_the_user() -> None:
    def function(b: Any) -> Any:
        return jnp.sin(jnp.cos(b))

    (a, c) = outline(jx.jit(function).trace(1.0), function=function).program.equations
    assert [a.text, c.text] == ["a:f32[] = cos b", "c:f32[] = sin a"]


def test_a_derivative_names_only_what_is_beyond_doubt() -> None:
    def function(x: Any) -> Any:
        h = jnp.exp(x)
        n = jnp.tanh(h)
        return n * 2.0

    shown = outline(jx.make_jaxpr(jx.grad(function))(1.0))
    texts = [one.text for _, one in shown.walk()]
    assert "h:f32[] = exp a" in texts
    assert not any(text.startswith("n:") for text in texts)  # tanh and its derivative share a place


def test_what_a_library_traces_does_not_bear_the_name_of_its_call() -> None:
    program = jx.make_jaxpr(jnp.sin)(1.0)
    assert str(outline(program)) == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"


def test_the_source_lines_count_their_equations() -> None:
    shown = outline(traced_layer())
    first = layer.__code__.co_firstlineno
    counts = {one.line - first: one.equations for one in shown.source}
    assert counts[1] == 2
    assert shown.count == sum(counts.values())
    assert "h = jnp.tanh(x @ w)" in shown.source[0].text
    assert shown.cost.flops == sum(one.cost.flops for one in shown.source)


def test_a_long_program_is_cut_and_counted() -> None:
    def function(x: Any) -> Any:
        for _ in range(50):
            x = x * 2.0
        return x

    shown = outline(jx.make_jaxpr(function)(1.0), limit=10)
    assert shown.program.left_out == 40
    assert shown.count == 50
    assert "… 40 more equations" in str(shown)


def test_the_text_nests_programs() -> None:
    shown = str(outline(traced_layer(), stack=("layer", "grad", "jit"), arguments=("x", "w")))
    assert shown.startswith("layer → grad → jit\n{ lambda ; x:f32[4,3] w:f32[3,5]. let\n")
    assert "jaxpr={ lambda ; " in shown


@pytest.mark.parametrize(
    ("function", "stack"),
    [
        (layer, ("layer",)),
        (jx.grad(layer), ("layer", "grad")),
        (jx.jit(jx.vmap(jx.grad(layer))), ("layer", "grad", "vmap", "jit")),
        (jx.vmap(jx.jit(layer)), ("layer", "jit", "vmap")),
        (jx.jacfwd(layer), ("layer", "jacfwd")),
        (jx.checkpoint(layer), ("layer", "checkpoint")),
        (len, ("len",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_transforms_of_a_function_are_told(function: Any, stack: tuple[str, ...]) -> None:
    assert transforms_of(function) == stack


X = jnp.ones((4, 8))


def _sines(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = jnp.sin(x_ref[...])


@pytest.mark.parametrize(
    ("function", "flops", "bytes_"),
    [
        (lambda: X @ X.T, 2 * 4 * 4 * 8, (32 + 32 + 32 + 32 + 16) * 4),
        (lambda: jnp.sin(X), 32, 256),
        (lambda: X.sum(), 32, 132),
        (lambda: X.reshape(32), 0, 256),
        (lambda: lax.fori_loop(0, 5, lambda _, x: lax.sin(x), X), 5 * (32 + 1), None),
        (lambda: lax.cond(X[0, 0] > 0, lax.sin, lambda x: lax.sin(lax.cos(x)), X), 64 + 1, None),
        (lambda: jx.jit(jnp.cos)(X), 32, 256),
        (lambda: pallas.pallas_call(_sines, X, grid=3)(X), 3 * 32, None),
        (lambda: lax.conv(jnp.ones((1, 2, 6)), jnp.ones((3, 2, 3)), (1,), "VALID"), 144, None),
        (lambda: jnp.linalg.cholesky(jnp.eye(4)[None] + 1), None, None),
    ],
)
def test_costs_follow_from_types(function: Any, flops: int | None, bytes_: int | None) -> None:
    cost = program_cost(jx.make_jaxpr(function)().jaxpr)
    assert flops is None or cost.flops == flops
    assert bytes_ is None or cost.bytes == bytes_
    assert cost.bytes > 0


def test_costs_add_up_and_read_well() -> None:
    assert Cost(1, 2) + Cost(3, 4) == Cost(4, 6)
    assert [format_flops(count) for count in (0, 999, 1_200, 3_456_000, 10**10, 2 * 10**12)] == [
        "0 flop",
        "999 flop",
        "1.2 kflop",
        "3.46 Mflop",
        "10 Gflop",
        "2 Tflop",
    ]


def test_the_page_on_seeing_programs_runs_as_it_stands() -> None:
    page = (Path(__file__).parents[2] / "docs/seeing-programs.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    with redirect_stdout(StringIO()) as printed:
        exec(compile(code, "seeing-programs.md", "exec"), {})
    assert "- e:f32[4,5] = square d" in printed.getvalue()


def test_the_names_of_the_beginning_are_those_of_the_whole() -> None:
    def centred(x: jx.Array) -> jx.Array:
        for _ in range(3):
            middle = x.mean()
            x = x - middle
        return x

    closed = jx.make_jaxpr(centred)(jnp.ones(3))
    whole = [one.text for _, one in outline(closed).walk()]
    for limit in range(1, len(whole)):
        beginning = [one.text for _, one in outline(closed, limit=limit).walk()]
        assert beginning == whole[:limit]
