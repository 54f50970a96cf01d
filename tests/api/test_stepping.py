"""The stepper: forward and back, into programs inside equations, with values and lines."""

import json

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.custom_derivatives import linear_call

step = jx.debug.step


@jx.jit
def inner(x):
    return jnp.sin(x) * 2.0


def program(x, n):
    y = inner(x)

    def body(c, r):
        c = c + r
        return c, c * 2.0

    c, ys = lax.scan(body, 0.0, x)
    z = lax.cond(c > 1, lambda a: a + 1.0, lambda a: a - 1.0, c)
    w = lax.while_loop(lambda s: s < 10.0, lambda s: s * n, z)
    return {"w": w, "y": y, "ys": ys}


X = np.arange(3, dtype=np.float32)


def _way(at):
    return [one.label for one in at.stack]


def test_the_result_is_that_of_the_function():
    at = step(program)(X, 2)
    with pytest.raises(ValueError, match=r"run .finish\(\) first"):
        _ = at.result
    found, expected = at.finish().result, program(X, 2)
    assert at.done
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


def test_it_steps_into_every_kind_of_program():
    at = step(program)(X, 2)
    ways = []
    while not at.done:
        if at.activation.depth:
            ways.append(_way(at)[1])
        at.step()
    expected = ["inner", "turn 0", "turn 1", "turn 2", "true branch", "condition"]
    assert list(dict.fromkeys(ways)) == expected


@jx.custom_batching.custom_vmap
def doubled(x):
    return jnp.sin(x) * 2.0


doubled.def_vmap(lambda size, batched, x: (jnp.sin(x) * 2.0, batched[0]))


def _halves(r, x):
    return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, r, x)


@jx.custom_vjp
def cubed(x):
    return x * x * x


cubed.defvjp(lambda x: (x * x * x, x), lambda x, ct: (3.0 * ct * x * x,), optimize_remat=True)


def _solved(b):
    return lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda matvec, b: jnp.sin(b) / 2.0)


CALLS = {
    "custom_vmap": (doubled, "sin", "doubled"),
    "linear_call": (lambda x: _halves(2.0, x), "div", "<lambda>"),
    "remat_opt": (jx.grad(lambda x: cubed(x).sum()), "mul", "cubed"),
    "composite": (lax.composite(jnp.sin, "my.sine"), "sin", "my.sine"),
    "linear_solve": (_solved, "sin", "solve"),
}


@pytest.mark.parametrize("case", CALLS)
def test_it_steps_into_calls_with_rules_of_their_own(case):
    fun, primitive, label = CALLS[case]
    at = step(fun)(X + 1)
    at.run_until(lambda at: at.equation is not None and at.equation.primitive.name == primitive)
    assert label in _way(at)
    np.testing.assert_allclose(at.finish().result, fun(X + 1), rtol=1e-6)


def test_values_are_those_of_the_turn():
    at = step(program)(X, 2).run_until(lambda at: _way(at)[1:] == ["turn 2"])
    assert at.activation.turn == 2
    assert [float(value) for value in at.inputs] == [1.0, 2.0]
    assert float(at.step().outputs[0]) == 3.0
    assert {name: float(v) for name, v in at.environment.items()} == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_over_runs_an_equation_whole_and_out_leaves_a_run():
    at = step(program)(X, 2)
    assert at.equation.primitive.name == "jit"
    at.over()
    assert (at.activation.depth, at.index) == (0, 1)
    at.run_to(equation="scan").step().step()
    assert _way(at) == ["program", "turn 0"]
    at.out()
    assert at.activation.depth == 0
    assert at.equation.primitive.name != "scan"
    assert at.out().done


def test_over_at_the_end_of_a_turn_goes_to_the_next():
    at = step(program)(X, 2).run_to(equation="scan").step()
    while at.equation is not None:
        at.over()
    assert _way(at.over()) == ["program", "turn 1"]


def test_going_back_shows_what_was_and_runs_nothing():
    at = step(lambda x: jnp.sin(jnp.cos(x)))(1.0)
    texts = [at.text()]
    while not at.done:
        texts.append(at.step().text())
    for text in reversed(texts[:-1]):
        assert at.back().text() == text
    assert at.back().position == 0
    assert at.goto(2).text() == texts[2]


def test_back_over_skips_what_is_inside():
    at = step(program)(X, 2).over()
    assert at.back_over().position == 0
    assert at.finish().back_over().equation.primitive.name == "while"


def test_it_runs_to_a_line_or_an_equation():
    at = step(program)(X, 2)
    line = program.__code__.co_firstlineno + 8
    at.run_to(line, file="test_stepping.py")
    assert at.source.line == line
    assert at.equation.primitive.name == "gt"
    assert at.restart().run_to(equation="mul").activation.label == "inner"
    assert at.restart().run_to(equation=3).index == 3
    assert at.run_to(equation="jit", backward=True).position == 0
    assert at.run_to(line=1).done


def test_moments_have_numbers():
    at = step(jnp.sin)(1.0)
    with pytest.raises(ValueError, match="numbered from 0, got -1"):
        at.goto(-1)
    with pytest.raises(ValueError, match="moments, got 99"):
        at.goto(99)


def test_a_transformed_function_is_stepped_through_with_its_lines():
    at = step(jx.grad(lambda x: (inner(x) ** 2).sum()))(X)
    assert all(at.goto(i).source.file == __file__ for i in range(3))
    np.testing.assert_allclose(
        at.finish().result, jx.grad(lambda x: (inner(x) ** 2).sum())(X), rtol=1e-6
    )
    labels = {one["label"] for i in range(at.position) for one in at.goto(i).payload()["stack"]}
    assert any(label.startswith("transpose") for label in labels)


def test_the_payload_is_plain_data():
    at = step(program)(X, 2).run_until(lambda at: _way(at)[1:] == ["turn 1"])
    data = json.loads(json.dumps(at.payload()))
    assert data == at.payload()
    assert [one["label"] for one in data["stack"]] == ["program", "turn 1"]
    assert data["stack"][1] == {"label": "turn 1", "turn": 1, "index": 0, "count": 2}
    assert data["equations"][0]["text"] == "c:f32[] = add a b"
    assert data["inputs"] == [
        {"name": "a", "summary": "f32[] 0"},
        {"name": "b", "summary": "f32[] 1"},
    ]
    assert data["source"]["line"] == program.__code__.co_firstlineno + 4
    assert data["arguments"] == {"a": "x", "b": "n"}
    assert data["results"] is None
    assert at.finish().payload()["results"][0] == "f32[] 16"


def test_the_text_marks_what_comes_next():
    assert step(lambda x: jnp.sin(x) * x)(2.0).text().splitlines()[1:] == [
        "  → b:f32[] = sin a",
        "    c:f32[] = mul b a",
        "      a = f32[] 2",
    ]


def test_long_programs_show_a_window():
    def long(x):
        for _ in range(100):
            x = x + 1.0
        return x

    at = step(long)(0.0).goto(50)
    assert len(at.payload(window=5)["equations"]) == 11
    assert len(at.text().splitlines()) < 15


def test_an_interrupted_equation_begins_anew(monkeypatch):
    at = step(program)(X, 2).run_to(equation="scan")
    eqn, unfold = at.equation, at.equation.primitive.unfold

    def interrupted(*args, **params):
        calls = unfold(*args, **params)
        outs = yield next(calls)
        calls.send(outs)
        raise KeyboardInterrupt

    monkeypatch.setattr(eqn.primitive, "unfold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        at.over()
    monkeypatch.undo()
    np.testing.assert_allclose(at.finish().result["ys"], [0, 2, 6])


def test_what_cannot_be_stepped_through_is_refused():
    with pytest.raises(TypeError, match="step needs a callable, got 3"):
        step(3)
    with pytest.raises(RuntimeError, match="call it outside"):
        jx.jit(lambda x: step(jnp.sin)(x))(1.0)
