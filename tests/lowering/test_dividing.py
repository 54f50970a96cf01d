"""Loops that XLA is not to divide between cores: in which programs, and that results stay."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.core.primitive import Primitive
from jxkernel.lowering import dividing, lower_program
from jxkernel.lowering.dividing import is_divided
from jxkernel.observe import format_ledger, ledger
from jxkernel.observe.recorder import Recorder

ODD = np.linspace(-2, 2, 200_001, dtype=np.float32)
EVEN = ODD[:-1]
KEY = np.array([0, 1], np.uint32)


def divided(fun, *args, cores=2):
    return is_divided(jx.make_jaxpr(fun)(*args).jaxpr, cores)


def line(x):
    return x * 2 + 1


def curve(x):
    return x + jnp.tanh(x) * 2


def gelu_slopes(x):
    return jx.grad(lambda x: jx.nn.gelu(x).sum())(x)


def differences(x):
    return x[1:] - x[:-1]


def relaxed(x):
    return lax.fori_loop(0, 20, lambda _, y: 0.9 * y + 0.1 * x, x)


def noise(key, x):
    return jx.random.normal(jx.random.wrap_key_data(key), x.shape)


def points(fun):
    return lambda x: fun(x.reshape(-1, 3))


WHOLE = {
    "a line": (line, ODD),
    "a curve": (curve, ODD),
    "slopes of gelu": (gelu_slopes, ODD),
    "differences of an even number": (differences, EVEN),
    "a rolled vector": (lambda x: jnp.roll(x, 1), ODD),
    "in a jitted function": (jx.jit(line), ODD),
    "in a loop": (relaxed, ODD),
    "random numbers": (noise, KEY, ODD),
    "a column": (line, ODD[:, None]),
    "a row": (line, ODD[None]),
    "three columns": (points(line), ODD),
    "lengths of points": (points(lambda p: jnp.sqrt(jnp.sum(p * p, 1))), ODD),
    "beside fewer sines": (lambda x, y: (line(x), jnp.sin(y)), ODD, EVEN[:10_000]),
    "rows of ten, with a long formula": (lambda x: curve(x.reshape(-1, 10)), ODD[:180_010]),
    "remainders": (lambda x: x % 0.7, ODD),
    "integers": (lambda x: x // 3, ODD.astype(np.int32)),
    "few, of which much is computed": (gelu_slopes, ODD[:10_001]),
}

DIVIDED = {
    "an even number": (line, EVEN),
    "differences of an odd number": (differences, ODD),
    "few": (line, ODD[:1001]),
    "rows of ten": (lambda x: line(x.reshape(-1, 10)), ODD[:180_010]),
    "rows of many columns": (lambda x: curve(x.reshape(-1, 163)), ODD),
    "one operation by tiles": (jnp.tanh, ODD),
    "a sum": (jnp.sum, ODD),
    "cumulative sums": (jnp.cumsum, ODD),
    "what is looked up": (lambda x: x[jnp.argsort(x)] * 2, ODD),
    "beside more sines": (lambda x, y: (line(x), jnp.sin(jnp.tile(y, 10))), ODD, EVEN),
    "no number": (lambda x: jx.debug.print("{}", x), 1.0),
}


@pytest.mark.parametrize("program", WHOLE.values(), ids=WHOLE)
def test_programs_of_odd_lengths_are_left_whole(program):
    assert not divided(*program)


@pytest.mark.parametrize("program", DIVIDED.values(), ids=DIVIDED)
def test_programs_that_lose_by_it_are_divided(program):
    assert divided(*program)


def test_rows_of_ten_are_divided_where_llvm_leaves_them_as_they_are():
    fun, x = WHOLE["rows of ten, with a long formula"]
    assert is_divided(jx.make_jaxpr(fun)(x).jaxpr, 2, unrolled=False)


def test_one_core_divides_nothing_and_many_divide_evenly_enough():
    assert divided(line, ODD, cores=1)
    assert not divided(line, ODD, cores=4)
    assert divided(line, ODD, cores=8)


def test_from_three_cores_on_what_takes_long_to_compute_has_a_piece_for_each():
    for fun in (jnp.sin, gelu_slopes):
        assert not divided(fun, ODD)
        assert divided(fun, ODD, cores=4)


def test_other_platforms_and_programs_over_meshes_are_divided():
    closed = jx.make_jaxpr(line)(ODD)
    assert lower_program(closed, name="f", platform="cuda").divided
    mesh = jx.make_mesh((1,), ("i",))
    placed = jx.device_put(ODD, jx.NamedSharding(mesh, jx.P("i")))
    assert jx.jit(line).lower(placed)._programs["cpu"].divided


def test_a_length_that_is_a_symbol_is_not_judged():
    sizes: Any = jx.export.symbolic_shape("n")

    def summed(xs):
        return lax.scan(lambda total, x: (total + x * 2, x), ODD, xs)[0]

    for fun in (line, summed):
        exported = jx.export.export(jx.jit(fun))(jx.ShapeDtypeStruct(sizes, np.float32))
        assert exported.call(ODD[:5]).shape == fun(ODD[:5]).shape


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("program", WHOLE.values(), ids=WHOLE)
def test_results_are_the_same_to_rounding(program):
    fun, *args = program
    whole = jx.jit(fun)(*args)
    other = jx.jit(fun, compiler_options={"xla_dump_max_hlo_modules": 1000})(*args)
    for one, two in zip(jx.tree.leaves(whole), jx.tree.leaves(other), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("two_cores")
def test_xla_is_told():
    lowered = jx.jit(line).lower(ODD)
    assert not lowered._programs["cpu"].divided
    assert "outer_dimension_partitions" not in lowered.compile().as_text()


@pytest.mark.usefixtures("two_cores")
def test_the_ledger_tells_that_loops_run_on_one_core():
    with Recorder() as recorder:
        jx.jit(line)(ODD[2:])
        jx.jit(line, compiler_options={"xla_backend_optimization_level": 2})(ODD[2:])
    whole, given = ledger(recorder, fun="line")
    assert not whole.divided
    assert given.divided
    assert "note: each of its loops runs on one core" in format_ledger([whole])
    assert "one core" not in format_ledger([given])


def test_the_rule_names_primitives_that_exist() -> None:
    named = (dividing.ALONE, dividing._NO_VECTORS, dividing._BY_TILES, dividing._LOOPS_TOO)
    names = frozenset().union(*named)
    assert not [name for name in names if name not in Primitive.registry]
