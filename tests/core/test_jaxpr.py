"""Jaxprs: how they print, and what the checker refuses."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.core.checking import check_jaxpr
from jxkernel.core.jaxpr import Literal, Var, jaxpr_as_fun, likeness
from jxkernel.core.printing import equation_text, jaxpr_text
from jxkernel.errors import JaxprTypeError
from jxkernel.lax import add, mul, sin
from jxkernel.primitives.shape.broadcast import reduce_sum

X = np.arange(3, dtype=np.float32)


def test_one_equation_prints_on_one_line():
    assert str(jx.make_jaxpr(sin)(X)) == "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"


def test_several_equations_print_one_per_line():
    text = str(jx.make_jaxpr(lambda x, y: (add(sin(x), y), y))(X, X))
    assert text == (
        "{ lambda ; a:f32[3] b:f32[3]. let\n"
        "    c:f32[3] = sin a\n"
        "    d:f32[3] = add c b\n"
        "  in (d, b) }"
    )


def test_literals_constants_and_parameters_print():
    text = str(jx.make_jaxpr(lambda x: mul(reduce_sum(add(x, X), (0,)), 2.0))(X))
    assert "lambda a:f32[3]; b:f32[3]. let" in text
    assert "reduce_sum[axes=(0,)]" in text
    assert "2.0:f32[]" in text


def test_a_nested_jit_prints_its_program():
    text = str(jx.make_jaxpr(jx.jit(sin))(X))
    assert "jit[" in text
    assert "name=sin" in text
    assert "jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }" in text


def test_many_variables_get_two_letter_names():
    def chain(x):
        for _ in range(30):
            x = sin(x)
        return x

    assert "aa:f32[3] = sin z" in str(jx.make_jaxpr(chain)(X))


def test_source_lines_print_on_request():
    closed = jx.make_jaxpr(lambda x: sin(x))(X)
    assert "test_jaxpr.py" in jaxpr_text(closed.jaxpr, show_source=True)


def test_checker_accepts_what_tracing_makes():
    check_jaxpr(jx.make_jaxpr(jx.grad(lambda x: reduce_sum(sin(x), (0,))))(X).jaxpr)


def test_checker_finds_an_unbound_variable():
    closed = jx.make_jaxpr(sin)(X)
    broken = closed.jaxpr.replace(outvars=[Var(closed.out_avals[0])])
    with pytest.raises(JaxprTypeError, match="used and never bound"):
        check_jaxpr(broken)


def test_checker_finds_a_variable_bound_twice():
    jaxpr = jx.make_jaxpr(sin)(X).jaxpr
    with pytest.raises(JaxprTypeError, match="bound twice"):
        check_jaxpr(jaxpr.replace(eqns=[*jaxpr.eqns, *jaxpr.eqns]))


def test_checker_finds_a_wrong_result_type():
    closed = jx.make_jaxpr(sin)(X)
    eqn = closed.eqns[0]
    wrong = eqn.replace(outvars=[Var(closed.in_avals[0].update(shape=(4,)))])
    with pytest.raises(JaxprTypeError, match=r"sin gives \['f32\[3\]'\].*f32\[4\]"):
        check_jaxpr(closed.jaxpr.replace(eqns=[wrong], outvars=wrong.outvars))


def test_a_weak_literal_abstracts_to_its_own_type_again():
    closed = jx.make_jaxpr(lambda x: mul(x, 2.0))(1.0)
    (literal,) = [atom for atom in closed.eqns[0].invars if isinstance(atom, Literal)]
    assert literal.val == 2.0
    assert type(literal.val) is float
    assert equation_text(closed.eqns[0]).endswith("2.0:f32[]")


def test_programs_print_with_places_and_names_on_request():
    closed = jx.make_jaxpr(jx.named_scope("layer")(lambda x: sin(x)))(X)
    assert closed.pretty_print() == closed.jaxpr.pretty_print(use_color=False) == str(closed)
    assert closed.pretty_print(name_stack=True).count("# [layer]") == 1
    assert "test_jaxpr.py" in closed.pretty_print(source_info=True)


def test_equations_tell_where_they_were_made():
    named = jx.named_scope("outer")(jx.named_scope("inner")(sin))
    info = jx.make_jaxpr(named)(X).eqns[0].source_info
    assert str(info.name_stack) == "outer/inner"
    assert info.traceback is not None
    assert not jx.make_jaxpr(sin)(X).eqns[0].source_info.name_stack


def test_a_closed_program_tells_its_variables_and_has_its_parts_replaced():
    closed = jx.make_jaxpr(lambda x: x + np.arange(3.0, dtype="f"))(jnp.ones(3))
    inner = closed.jaxpr
    found = (closed.constvars, closed.invars, closed.outvars)
    assert found == (inner.constvars, inner.invars, inner.outvars)
    other = closed.replace(consts=[np.zeros(3, "f")])
    assert jaxpr_as_fun(other)(jnp.ones(3))[0].tolist() == [1.0, 1.0, 1.0]
    assert closed.replace(jaxpr=inner.replace(eqns=inner.eqns)).consts == closed.consts


def test_equations_are_alike_that_do_the_same():
    def of(fun):
        eqn = jx.make_jaxpr(fun)(1.0).eqns[0]
        return likeness(eqn, eqn.invars[1:])

    assert of(lambda x: mul(x, 0.5)) == of(lambda x: mul(x, 0.5))
    assert of(lambda x: mul(x, 0.0)) != of(lambda x: mul(x, -0.0))
    assert of(lambda x: mul(x, np.nan)) == of(lambda x: mul(x, np.nan))
    assert of(lambda x: jx.debug.callback(print, x)) is None

    eqn = jx.make_jaxpr(lambda x: mul(x, 2.0))(1.0).eqns[0]
    zeros = [likeness(eqn.replace(params={"p": zero}), ()) for zero in (0.0, -0.0)]
    assert zeros[0] != zeros[1]
    assert likeness(eqn.replace(params={"p": []}), ()) is None
