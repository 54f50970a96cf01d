"""Calls and expressions that views trace: arrays are inputs, what shapes the program is not."""

import pytest

from jxkernel.jupyter.session.expressions import call_of
from tests.jupyter.conftest import Notebook

VIEWS = ("cost", "stages", "hlo", "memory", "passes", "comm", "nan", "residuals")

SETUP = """
a, n, k, rate, places, none = jnp.ones((2, 3)), 0, 3, 0.5, [0, 1], None
def double(value): return value * 2
def table(rows, columns): return jnp.ones((rows, columns))
def scaled(value, factor, *, times=1): return value * (factor if factor > 0 else 1) * times
"""

SHAPING = {
    "a.sum(0)": "(3,)",
    "a.sum(-1)": "(2,)",
    "a.sum(n)": "(3,)",
    "a.sum(axis=(0, 1))": "()",
    "a.reshape(3, 2)": "(3, 2)",
    "a.reshape((3, -1))": "(3, 2)",
    "a.reshape([3, 2])": "(3, 2)",
    "a.T.sum(0).reshape(1, 2)": "(1, 2)",
    "a.at[0].set(2)": "(2, 3)",
    "a.astype('int32')": "(2, 3)",
    "(a + 1).sum(0)": "(3,)",
    "a[:n + 1] * k": "(1, 3)",
    "jnp.sum(a, 1)": "(2,)",
    "jnp.sum(a, axis=n)": "(3,)",
    "jnp.sum(a, axis=places[0]) + 1": "(3,)",
    "jnp.sum(a, None, keepdims=True)": "(1, 1)",
    "jnp.flip(a, [0, 1])": "(2, 3)",
    "jnp.concatenate([a, a], axis=-1)": "(2, 6)",
    "jnp.full((2, k), rate)": "(2, 3)",
    "jx.random.normal(jx.random.key(0), (k,))": "(3,)",
    "scaled(a, -1, times=2)": "(2, 3)",
    "jx.grad(lambda v, power: (v**power).sum())(a, 2)": "(2, 3)",
}
"""What traces where no number of Python is an input, and the shape of its result."""

ALONE = {
    "double(3)": ("()", 1),
    "k * 2": ("()", 1),
    "jnp.arange(5)": ("(5,)", 0),
    "jnp.zeros((2, k))": ("(2, 3)", 0),
    "table(2, columns=k)": ("(2, 3)", 0),
    "jnp.zeros(k) + 1": ("(3,)", 0),
}
"""Calls of numbers alone: they are inputs if the function can be traced so."""


@pytest.fixture
def filled(notebook: Notebook) -> Notebook:
    notebook.run(SETUP)
    return notebook


def traced(notebook: Notebook, words: str) -> tuple[str, int]:
    """Return the shape of a call's result, and how many inputs its program has."""
    function, args, kwargs = call_of(notebook.session, words, "%jaxpr")
    closed = function.trace(*args, **kwargs).jaxpr
    assert closed.consts == []
    [shape] = {str(aval.shape) for aval in closed.out_avals}
    return shape, len(closed.jaxpr.invars)


@pytest.mark.parametrize(("words", "shape"), SHAPING.items())
def test_numbers_of_a_call_shape_the_program(filled: Notebook, words: str, shape: str) -> None:
    assert traced(filled, words) == (shape, 2 if "[a, a]" in words else 1)


@pytest.mark.parametrize(("words", "told"), ALONE.items())
def test_numbers_alone_are_traced_where_they_can_be(
    filled: Notebook, words: str, told: tuple[str, int]
) -> None:
    assert traced(filled, words) == told


def test_an_input_has_the_name_of_its_parameter(filled: Notebook) -> None:
    assert "lambda ; fill_value:f32[]" in filled.run("%jaxpr jnp.full((2, k), rate)").value.text
    assert "lambda ; value:f32[2,3]" in filled.run("%jaxpr scaled(factor=2, value=a)").value.text
    assert "lambda ; a:f32[2,3]" in filled.run("%jaxpr a.sum(0)").value.text


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("words", ["a.sum(0)", "jnp.sum(a, axis=1)", "scaled(a, 2)"])
def test_every_view_of_a_call_takes_it(filled: Notebook, name: str, words: str) -> None:
    assert words.partition("(")[0] in filled.run(f"%jx {name} {words}").value.text


def test_two_calls_that_differ_in_a_number_are_compared(filled: Notebook) -> None:
    assert "1 changed" in filled.run("%jx diff a.sum(0), a.sum(1)").value.text


def test_a_function_that_is_jitted_says_itself_what_is_static(filled: Notebook) -> None:
    filled.run("fixed = jx.jit(scaled, static_argnames='factor')\nloose = jx.jit(scaled)")
    assert traced(filled, "fixed(a, 2, times=3)") == ("(2, 3)", 2)
    assert "TracerBoolConversionError" in filled.attempt("%jaxpr loose(a, 2)").printed


def test_views_of_other_expressions_are_no_function_built_again(filled: Notebook) -> None:
    for width in range(6):
        filled.run(f"%jx cost a.sum(0) + {width}")
    told = filled.run("%jx ledger").printed
    assert "built again" not in told
    assert "expressions.py" not in told
    assert "first call of a.sum(0) + 5" in told


@pytest.mark.parametrize("magic", ["%jaxpr", "%jx stages", "%jx cost"])
def test_an_error_of_a_call_is_shown_in_the_magic_as_it_was_typed(
    notebook: Notebook, magic: str
) -> None:
    notebook.run("a, b = jnp.ones((3, 4)), jnp.ones((5, 6))")
    typed = f"{magic} jnp.concatenate([a, b])"
    printed = notebook.attempt(typed).printed
    assert f"    {typed}\n    {'^' * len(typed)}\n" in printed


def test_an_einsum_that_does_not_fit_names_its_operands(notebook: Notebook) -> None:
    notebook.run("a, b = jnp.ones((3, 4)), jnp.ones((5, 6))")
    printed = notebook.attempt("jnp.einsum('ij,jk', a, b)").printed
    assert "in operands of shapes (3, 4) and (5, 6)" in printed
    assert "In it a is f32[3,4] and b is f32[5,6]." in printed


def test_an_einsum_of_another_rank_names_its_operands(notebook: Notebook) -> None:
    notebook.run("a, b = jnp.ones((3, 4)), jnp.ones(4)")
    printed = notebook.attempt("jnp.einsum('ij,jk', a, b)").printed
    assert "In it a is f32[3,4] and b is f32[4]." in printed
    assert "one letter for each of its axes" in printed
