"""Loops that XLA is not to make one kernel of: in which programs, and that results stay."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.core.primitive import Primitive
from jxkernel.lowering import kernel_loops, lower_program
from jxkernel.lowering.kernel_loops import has_kernel_loops
from jxkernel.observe import format_ledger, ledger
from jxkernel.observe.recorder import Recorder

LARGE = np.linspace(-2, 2, 1 << 20, dtype=np.float32)
SQUARE = LARGE.reshape(1024, 1024)


def kernels(fun, *args, cores=2):
    return has_kernel_loops(jx.make_jaxpr(fun)(*args).jaxpr, cores)


def heat(u):
    def step(_, u):
        return u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u)

    return lax.fori_loop(0, 100, step, u)


def waves(x):
    return lax.fori_loop(0, 20, lambda _, y: jnp.sin(y) + x, x)


def relaxed(x):
    return lax.fori_loop(0, 100, lambda _, y: 0.9 * y + 0.1 * x, x)


def until_small(x):
    return lax.while_loop(lambda c: c[0] > 1e-3, lambda c: (c[0] / 2, jnp.tanh(c[1])), (1.0, x))


def slopes(x):
    return jx.grad(lambda x: jnp.sum(waves(x)))(x)


def summed(xs):
    return lax.scan(lambda total, x: (total + jnp.exp(x), None), 0.0 * xs[0], xs)


def twice(x):
    return lax.fori_loop(0, 50, lambda _, y: lax.fori_loop(0, 9, lambda _, z: z * 0.5, y) + 1, x)


SHARED = {
    "the heat equation": (heat, SQUARE),
    "sines": (waves, LARGE),
    "a loop of unknown length": (until_small, LARGE),
    "slopes": (slopes, LARGE),
    "rows of a matrix": (summed, np.ones((20, 1 << 19), np.float32)),
    "loops in loops": (twice, LARGE),
    "in a jitted function": (jx.jit(waves), LARGE),
    "in a branch": (lambda x: lax.cond(x[0] > 0, waves, lambda x: x, x), LARGE),
}

KERNELS = {
    "no loop": (jnp.sin, LARGE),
    "few numbers": (waves, LARGE[:1000]),
    "many turns with few numbers": (
        lambda x: lax.scan(lambda c, y: (0.9 * c + y, c), 0.0, x),
        LARGE,
    ),
    "few turns with simple operations": (
        lambda x: lax.fori_loop(0, 5, lambda _, y: y * 0.5, x),
        LARGE[: 1 << 18],
    ),
    "what a library does": (
        lambda x: lax.fori_loop(0, 99, lambda _, y: jnp.tanh(jnp.sort(y)), x),
        LARGE,
    ),
    "large sums": (lambda x: lax.fori_loop(0, 99, lambda _, y: y / jnp.sum(y), x), LARGE),
    "one small loop of many turns beside a large one of few": (
        lambda x: (
            lax.fori_loop(0, 100_000, lambda i, c: c * 0.5 + i, 0.0),
            lax.fori_loop(0, 30, lambda _, y: y * 0.5, x),
        ),
        LARGE,
    ),
}


@pytest.mark.parametrize("program", SHARED.values(), ids=SHARED)
def test_loops_over_large_arrays_are_shared(program):
    assert not kernels(*program)


@pytest.mark.parametrize("program", KERNELS.values(), ids=KERNELS)
def test_others_are_as_xla_has_them(program):
    assert kernels(*program)


def test_one_core_shares_nothing():
    assert kernels(heat, SQUARE, cores=1)


@pytest.mark.usefixtures("two_cores")
def test_other_platforms_and_programs_that_are_not_divided_are_as_xla_has_them():
    closed = jx.make_jaxpr(waves)(LARGE)
    assert not lower_program(closed, name="f", platform="cpu").kernel_loops
    assert lower_program(closed, name="f", platform="cuda").kernel_loops
    assert not kernels(relaxed, LARGE[1:])
    odd = lower_program(jx.make_jaxpr(relaxed)(LARGE[1:]), name="f", platform="cpu")
    assert not odd.divided
    assert odd.kernel_loops


def test_a_length_that_is_a_symbol_is_not_judged():
    sizes: Any = jx.export.symbolic_shape("n")
    for fun in (waves, lambda x: lax.fori_loop(0, 9, lambda _, y: y / jnp.sum(y), x)):
        exported = jx.export.export(jx.jit(fun))(jx.ShapeDtypeStruct(sizes, np.float32))
        np.testing.assert_allclose(exported.call(LARGE[:5]), fun(LARGE[:5]), rtol=1e-5)


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("program", SHARED.values(), ids=SHARED)
def test_results_are_the_same_to_rounding(program):
    fun, *args = program
    shared = jx.jit(fun)(*args)
    other = jx.jit(fun, compiler_options={"xla_dump_max_hlo_modules": 1000})(*args)
    for one, two in zip(jx.tree.leaves(shared), jx.tree.leaves(other), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("two_cores")
def test_xla_is_told():
    text = jx.jit(waves).lower(LARGE).compile().as_text()
    assert "outer_dimension_partitions" in text
    assert "xla_cpu_small_call" not in text


@pytest.mark.usefixtures("two_cores")
def test_the_ledger_tells_that_the_cores_share_loops():
    with Recorder() as recorder:
        jx.jit(waves)(LARGE[2:])
        jx.jit(waves, compiler_options={"xla_backend_optimization_level": 2})(LARGE[2:])
    shared, given = ledger(recorder, fun="waves")
    assert not shared.kernel_loops
    assert given.kernel_loops
    assert "note: the cores share what a turn of its loops computes" in format_ledger([shared])
    assert "cores" not in format_ledger([given])


def test_the_rule_names_primitives_that_exist() -> None:
    names = kernel_loops._IN_LIBRARIES | kernel_loops._REDUCTIONS
    assert names <= Primitive.registry.keys() | {"pure_callback", "io_callback", "debug_callback"}
