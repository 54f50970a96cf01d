"""Ahead-of-time stages: each can be looked at, and the last one runs without tracing."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.ops.elementwise import add, mul, sin

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def stages():
    traced = jx.jit(lambda x, y: {"z": add(sin(x), y)}).trace(X, X)
    lowered = traced.lower()
    return traced, lowered, lowered.compile()


def test_traced_shows_the_jaxpr_and_the_result(stages):
    traced, _, _ = stages
    assert [eqn.primitive.name for eqn in traced.jaxpr.eqns] == ["sin", "add"]
    assert traced.out_info == {"z": jx.ShapeDtypeStruct((3,), np.float32)}


def test_lowered_prints_stablehlo_with_source_lines_and_hlo(stages):
    _, lowered, _ = stages
    assert "stablehlo.sine" in lowered.as_text()
    assert "test_stages.py" in lowered.as_text(debug_info=True)
    assert lowered.as_text("hlo").startswith("HloModule")
    with pytest.raises(ValueError, match="unknown dialect 'llvm'"):
        lowered.as_text("llvm")


def test_costs_are_analysed_before_and_after_optimization(stages):
    _, lowered, compiled = stages
    assert lowered.cost_analysis()["transcendentals"] == 3
    assert compiled.cost_analysis()["transcendentals"] == 3
    assert compiled.memory_analysis().argument_size_in_bytes == 24


def test_compiled_runs_and_prints_optimized_hlo(stages):
    *_, compiled = stages
    np.testing.assert_allclose(compiled(X, X)["z"], np.sin(X) + X, rtol=1e-6)
    assert "HloModule" in compiled.as_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((X,), "structure"),
        ((X, np.zeros(4, np.float32)), r"f32\[3\] as argument 1 and got f32\[4\]"),
        ((X, X.astype(np.int32)), r"f32\[3\] as argument 1 and got i32\[3\]"),
    ],
)
def test_compiled_refuses_other_arguments(stages, args, message):
    with pytest.raises(TypeError, match=message):
        stages[2](*args)


def test_lowering_needs_only_shapes_and_dtypes():
    struct = jx.ShapeDtypeStruct((4, 2), np.float32)
    assert "tensor<4x2xf32>" in jx.jit(sin).lower(struct).as_text()


def test_eval_shape_computes_nothing():
    struct = jx.ShapeDtypeStruct((1 << 40,), np.float32)
    assert jx.eval_shape(lambda x: (sin(x), 1.0), struct) == (
        struct,
        jx.ShapeDtypeStruct((), np.float32, weak_type=True),
    )


def test_make_jaxpr_can_return_shapes():
    jaxpr, shape = jx.make_jaxpr(lambda x: mul(x, 2.0), return_shape=True)(X)
    assert len(jaxpr.eqns) == 1
    assert shape == jx.ShapeDtypeStruct((3,), np.float32)


def test_compiler_options_reach_xla():
    lowered = jx.jit(sin).lower(X)
    assert lowered.compile({"xla_backend_optimization_level": 0})(X).shape == (3,)
    with pytest.raises(Exception, match="no_such_option"):
        lowered.compile({"no_such_option": 1})
