"""Loops that LLVM leaves as they are: in which programs, what decides it, and that results stay."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import config, lax
from jxkernel import numpy as jnp
from jxkernel._jaxlib import CompileOptions
from jxkernel.compile.effort import without_dividing, without_kernel_loops, without_unrolling
from jxkernel.core.primitive import Primitive
from jxkernel.lowering import lower_program, unrolling
from jxkernel.observe import explain, format_ledger, ledger
from jxkernel.observe.recorder import Recorder

WRITTEN = {
    "--xla_backend_extra_options=xla_cpu_disable_loop_unrolling": without_unrolling,
    "--xla_disable_hlo_passes=cpu-parallel-task-assigner": without_dividing,
    "--xla_disable_hlo_passes=small-while-loop-hoisting": without_kernel_loops,
}


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


SMALL = numbers(16, 32)


def is_unrolled(fun, *args, platform="cpu"):
    return lower_program(jx.make_jaxpr(fun)(*args), name="f", platform=platform).unrolled


def in_a_loop(fun):
    return lambda x: lax.fori_loop(0, 5, lambda _, y: fun(y), x)


def network(params, x):
    for weights in params:
        x = jx.nn.softmax(jx.nn.standardize(x @ weights))
    return jnp.mean(x**2)


def copies(x):
    return x.T + 1


def with_sums(fun):
    """Return the function, and beside it a sum that LLVM would write out."""
    return lambda x, *others: (jnp.sum(SMALL * x.ravel()[0], 1), fun(x, *others))


def pooled(*window):
    return lambda x: lax.reduce_window(x, -np.inf, lax.max, window, window, "VALID")


LEFT_AS_THEY_ARE = {
    "sums of rows": (lambda x: jnp.sum(x, axis=1), SMALL),
    "greatest of columns": (lambda x: jnp.max(x, axis=0), SMALL),
    "softmax": (jx.nn.softmax, SMALL),
    "gradient of a network": (jx.grad(network), [numbers(32, 32)] * 3, SMALL),
    "inside a jitted function": (jx.jit(lambda x: jnp.sum(x, axis=1)), SMALL),
    "a loop of sums of rows": (in_a_loop(lambda x: x - jnp.sum(x, 1, keepdims=True)), SMALL),
    "beside a large sum": (with_sums(jnp.sum), numbers(100, 100)),
    "beside a large product": (with_sums(lambda x: x.T @ x), numbers(200, 100)),
    "beside large elementwise work": (with_sums(lambda x: jnp.sin(x) + 1), numbers(300, 300)),
    "beside a small transposed copy": (with_sums(copies), numbers(50, 50)),
    "beside many sums of three, by the library": (with_sums(lambda x: x.sum(-1)), numbers(9000, 3)),
    "beside a factorization": (
        with_sums(lambda x: lax.linalg.cholesky(x, symmetrize_input=False)),
        numbers(100, 100),
    ),
    "short rows of a long function": (lambda x: jnp.log(x * x + 1), numbers(300, 16)),
    "many short rows of a long function": (lambda x: jx.nn.sigmoid(x) * x, numbers(9000, 16)),
    "few shorter rows of a long function": (lambda x: jnp.log(x * x + 1), numbers(300, 10)),
    "a loop of short rows": (in_a_loop(jnp.tanh), numbers(32, 16)),
    "pooling": (pooled(1, 2, 2, 1), numbers(8, 28, 28, 8)),
    "the gradient of pooling": (
        jx.grad(lambda x: jnp.sum(pooled(1, 3, 3, 1)(x))),
        numbers(8, 28, 28, 8),
    ),
    "a quantile": (lambda x: jnp.quantile(x, 0.3), numbers(5000)),
}

UNROLLED = {
    "elementwise": (lambda x: jnp.sin(x) * 2, SMALL),
    "large sums": (lambda x: jnp.sum(x, axis=1), numbers(300, 32)),
    "sums of three": (lambda x: jnp.sum(x, axis=1), numbers(16, 3)),
    "long rows of a long function": (jnp.tanh, numbers(300, 33)),
    "a vector of a long function": (jnp.tanh, numbers(16)),
    "beside many sums of three, not by the library": (
        with_sums(lambda x: x.astype(np.float16).sum(-1)),
        numbers(9000, 3),
    ),
    "beside many greatest of three": (with_sums(lambda x: x.max(-1)), numbers(9000, 3)),
    "beside the shortest rows of a long function": (with_sums(jnp.tanh), numbers(9000, 3)),
    "many rows of a long function that fill one vector and a part": (jnp.tanh, numbers(9000, 10)),
    "a loop of sums of three": (
        in_a_loop(lambda x: x - jnp.sum(x, 1, keepdims=True) + jnp.sum(SMALL)),
        numbers(64, 3),
    ),
    "a loop of sums of columns": (in_a_loop(lambda x: x - jnp.sum(x, 0)), SMALL),
    "a loop of odd rows": (in_a_loop(lambda x: x - jnp.sum(x, 1, keepdims=True)), numbers(9, 33)),
    "a loop of shifts": (in_a_loop(lambda x: jnp.roll(x, 3, 1) + jnp.sum(x)), SMALL),
    "beside tiny products": (with_sums(lambda x: x @ x), numbers(2000, 3, 3)),
    "beside a transposed copy": (with_sums(copies), numbers(128, 128)),
    "beside padding": (with_sums(lambda x: jnp.pad(x, 3)), numbers(20_000)),
    "beside integers": (with_sums(jnp.max), np.arange(20_000)),
    "beside cumulative sums": (with_sums(jnp.cumsum), numbers(20_000)),
    "beside sorting": (with_sums(jnp.sort), numbers(20_000)),
    "beside exponentials of many": (with_sums(jnp.exp), numbers(200_000)),
    "beside pooling along rows": (with_sums(pooled(1, 1, 2, 2)), numbers(8, 8, 28, 28)),
    "beside large windows": (with_sums(pooled(1, 5, 5, 1)), numbers(8, 28, 28, 8)),
}


@pytest.mark.parametrize("program", LEFT_AS_THEY_ARE.values(), ids=LEFT_AS_THEY_ARE)
def test_loops_are_left_where_short_rows_would_be_written_out(program):
    assert not is_unrolled(*program)


@pytest.mark.parametrize("program", UNROLLED.values(), ids=UNROLLED)
def test_loops_are_unrolled_where_nothing_is_gained_or_some_would_run_slower(program):
    assert is_unrolled(*program)


def test_other_platforms_are_left_alone():
    assert is_unrolled(jx.nn.softmax, SMALL, platform="cuda")


def test_a_program_over_a_mesh_is_unrolled():
    mesh = jx.make_mesh((1,), ("x",))
    placed = jx.device_put(SMALL, jx.NamedSharding(mesh, jx.P("x")))
    assert jx.jit(jx.nn.softmax).lower(placed)._programs["cpu"].unrolled


def test_the_setting_decides_for_all_programs():
    with config.loop_unrolling("on"):
        assert is_unrolled(*LEFT_AS_THEY_ARE["softmax"])
    with config.loop_unrolling("off"):
        assert not is_unrolled(*UNROLLED["beside sorting"])
        assert is_unrolled(*UNROLLED["beside sorting"], platform="cuda")


@pytest.mark.parametrize("wrong", ["never", None, True, "On"])
def test_a_wrong_name_is_refused(wrong):
    with pytest.raises(ValueError, match="jax_loop_unrolling takes one of 'auto', 'on', 'off'"):
        config.update("jax_loop_unrolling", wrong)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", LEFT_AS_THEY_ARE.values(), ids=LEFT_AS_THEY_ARE)
def test_results_are_the_same_to_rounding(program):
    fun, *args = program
    left = jx.jit(fun)(*args)
    with config.loop_unrolling("on"):
        unrolled = jx.jit(fun)(*args)
    for one, other in zip(jx.tree.leaves(left), jx.tree.leaves(unrolled), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_ledger_tells_that_loops_are_left():
    def shares(x):
        return jx.nn.softmax(x)

    with Recorder() as recorder:
        jx.jit(shares)(SMALL)
    [row] = ledger(recorder, fun="shares")
    assert not row.unrolled
    assert "note: LLVM leaves its loops as they are" in format_ledger([row])
    assert "jax_loop_unrolling='on'" in explain(shares, recorder)


def test_the_ledger_tells_nothing_of_options_that_the_user_gave(monkeypatch):
    def shares(x):
        return jx.nn.softmax(x)

    with Recorder() as recorder:
        jx.jit(shares, compiler_options={"xla_backend_optimization_level": 2})(SMALL)
        monkeypatch.setenv(
            "XLA_FLAGS", "--xla_backend_extra_options=xla_cpu_disable_slp_vectorizer"
        )
        jx.jit(lambda x: shares(x))(SMALL)
    assert all(row.unrolled for row in ledger(recorder))


def test_another_setting_compiles_anew_without_a_trace():
    traces = []

    @jx.jit
    def shares(x):
        traces.append(1)
        return jx.nn.softmax(x)

    shares(SMALL)
    with Recorder() as recorder:
        shares(SMALL)
        with config.loop_unrolling("on"):
            shares(SMALL)
        shares(SMALL)
    assert len(traces) == 1
    rows = [row for row in ledger(recorder, fun="shares") if row.compile_ns]
    assert [row.unrolled for row in rows] == [True]


@pytest.mark.parametrize("flag", WRITTEN)
def test_what_is_written_into_the_options_is_what_the_flag_says(flag):
    script = "from jaxlib import _jax; print(_jax.CompileOptions().SerializeAsString().hex())"
    said, plain = (
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "XLA_FLAGS": flags},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for flags in (flag, "")
    )
    plain_options = CompileOptions.ParseFromString(bytes.fromhex(plain))
    assert WRITTEN[flag](plain_options).SerializeAsString().hex() == said
    assert said != plain


def test_the_rule_names_primitives_that_exist() -> None:
    jx.checkpoint(lambda x: x)(1.0)
    names = unrolling._AS_FAST | unrolling._JUDGED | unrolling.HOLDERS
    assert not [name for name in names if name not in Primitive.registry]
