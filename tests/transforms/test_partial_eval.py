"""Partial evaluation, transposition and pruning of whole programs."""

import numpy as np

import jxkernel as jx
from jxkernel.core.checking import check_jaxpr
from jxkernel.core.jaxpr import eval_jaxpr
from jxkernel.lax import add, mul, sin
from jxkernel.primitives.shape.broadcast import reduce_sum
from jxkernel.transforms.dce import dce_jaxpr
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import partial_eval_program
from jxkernel.transforms.transpose import transpose_program

X = np.arange(3, dtype=np.float32)


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def test_known_work_is_split_from_unknown_work():
    closed = jx.make_jaxpr(lambda x, y: (sin(x), mul(sin(x), y)))(X, X)
    known, rest, unknown_out, residuals = partial_eval_program(closed, (False, True))
    check_jaxpr(known.jaxpr)
    check_jaxpr(rest.jaxpr)
    assert unknown_out == (False, True)
    assert residuals == 1
    assert "sin" in names(known)
    assert names(rest) == ["mul"]
    shown, residual = eval_jaxpr(known.jaxpr, known.consts, X)
    (product,) = eval_jaxpr(rest.jaxpr, rest.consts, residual, X)
    np.testing.assert_allclose(shown, np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(product, np.sin(X) * X, rtol=1e-6)


def test_residuals_that_no_result_needs_are_dropped():
    def f(x, y):
        mul(sin(x), y)
        return add(y, y)

    known, rest, _, residuals = partial_eval_program(jx.make_jaxpr(f)(X, X), (False, True))
    assert residuals == 0
    assert names(rest) == ["add"]
    assert not known.out_avals


def test_derivative_programs_are_made_once():
    closed = jx.make_jaxpr(sin)(X)
    assert jvp_program(closed, (True,)) is jvp_program(closed, (True,))
    program, nonzero = jvp_program(closed, (False,))
    assert nonzero == (False,)
    assert names(program) == ["sin"]


def test_transposing_a_linear_program():
    closed = jx.make_jaxpr(lambda x, y: (reduce_sum(mul(x, y), (0,)), add(y, y)))(X, X)
    program, produced = transpose_program(closed, (False, True), (True, True))
    check_jaxpr(program.jaxpr)
    assert produced == (True,)
    (ct,) = eval_jaxpr(program.jaxpr, program.consts, X, np.float32(2), X)
    np.testing.assert_allclose(ct, 2 * X + 2 * X)


def test_dead_code_goes_and_says_which_arguments_are_read():
    def f(x, y):
        sin(y)
        return sin(x), mul(x, y)

    jaxpr, used = dce_jaxpr(jx.make_jaxpr(f)(X, X).jaxpr, [True, False])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin"]
    assert used == [True, False]
    assert len(jaxpr.invars) == 1


def test_dead_results_of_a_nested_program_are_pruned_inside_it():
    inner = jx.jit(lambda x, y: (sin(x), mul(x, y)))

    def f(x, y):
        return inner(x, y)[0]

    closed = jx.make_jaxpr(f)(X, X)
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True])
    (eqn,) = jaxpr.eqns
    assert names(eqn.params["jaxpr"]) == ["sin"]
    assert used == [True, False]
    check_jaxpr(jaxpr)


def test_ten_thousand_equations_meet_no_recursion_limit():
    def f(x):
        for _ in range(10_000):
            x = mul(x, 1.0)
        return x

    closed = jx.make_jaxpr(f)(1.0)
    assert len(closed.eqns) == 10_000
    program, _ = jvp_program(closed, (True,))
    known, rest, _, _ = partial_eval_program(program, (False, True))
    assert len(known.eqns) == 10_000
    assert len(rest.eqns) == 10_000
    transposed, _ = transpose_program(rest, (True,), (True,))
    assert len(transposed.eqns) == 10_000


def test_nesting_jits_deeply():
    def nest(depth):
        return jx.jit(lambda x: sin(x) if depth == 0 else nest(depth - 1)(x))

    np.testing.assert_allclose(nest(80)(0.5), np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(jx.grad(nest(40))(0.5), np.cos(0.5), rtol=1e-6)
