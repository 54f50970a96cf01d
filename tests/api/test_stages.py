"""Ahead-of-time stages: each can be looked at, and the last one runs without tracing."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import events, tree
from jxkernel._jaxlib import CompileOptions
from jxkernel.compile.effort import apply_options
from jxkernel.config import loop_unrolling
from jxkernel.lax import add, mul, sin

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
        ((X, np.zeros(4, np.float32)), r"f32\[3\] as argument y and got f32\[4\]"),
        ((X, X.astype(np.int32)), r"f32\[3\] as argument y and got i32\[3\]"),
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


def test_levels_of_effort_are_build_options_and_checked():
    options = CompileOptions()
    given = [("optimization_level", "O1"), ("memory_fitting_level", 29), ("xla_flag", True)]
    apply_options(options, [("optimization_level", "O3"), *given])
    build = options.executable_build_options
    assert (build.optimization_level, build.memory_fitting_level) == (19, 29)
    assert options.env_option_overrides == [("xla_flag", True)]
    levels = {"optimization_level": "O0", "memory_fitting_level": jx.CompilerEffortLevel.O2}
    assert jx.jit(lambda x: x + 1, compiler_options=levels)(1) == 2
    for wrong in ("O7", 1, True):
        with pytest.raises(ValueError, match=r"optimization_level is one of .*'O1' \(19\)"):
            jx.jit(lambda x: x + 1, compiler_options={"optimization_level": wrong})(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"xla_flag": [1]}, r"'xla_flag' is \[1\]"),
        ({"optimization_level": None}, r"'optimization_level' is None"),
        ({3: True}, r"3 is True"),
        ([("xla_flag", 1)], r"a dictionary of XLA's options by name, got list"),
    ],
    ids=["list", "none", "number", "pairs"],
)
def test_options_that_xla_cannot_have_are_refused_by_name(options, message):
    with pytest.raises(TypeError, match=message):
        jx.jit(lambda x: x + 1, compiler_options=options)
    with pytest.raises(TypeError, match=message):
        jx.jit(lambda x: x + 1).lower(1).compile(options)


def test_what_was_compiled_by_stages_answers_calls_and_the_other_way_round():
    compiled = []
    f, g = jx.jit(lambda x: mul(sin(x), 3.0)), jx.jit(lambda x: mul(sin(x), 5.0), donate_argnums=0)
    with events.listen(compiled.append, (events.Compiled,)):
        f.lower(X).compile()
        f(X)
        f.lower(X).compile()
        assert len(compiled) == 1
        g(mul(X, 1.0))
        count = len(compiled)
        g.lower(X).compile()
        assert len(compiled) == count
        f.lower(X).compile({"xla_backend_optimization_level": 0})
        with loop_unrolling("off"):
            f.lower(X).compile()
        assert len(compiled) == count + 2


def test_stages_tell_of_arguments_and_results_as_trees():
    f = jx.jit(lambda x, y, n: {"z": mul(add(x, y), float(n))}, static_argnums=2, donate_argnums=0)
    traced = f.trace(X, X, 2)
    lowered = traced.lower()
    compiled = lowered.compile()
    f32 = jx.ShapeDtypeStruct((3,), np.float32)
    for stage in (traced, lowered, compiled):
        assert stage.out_info == {"z": f32}
        assert stage.donate_argnums == (0,)
        assert stage.in_tree == tree.structure(((X, X), {}))
        assert stage.out_tree == tree.structure({"z": 0})
        (x, y), _ = stage.args_info
        assert (x.donated, y.donated) == (True, False)
        assert (x.shape, x.dtype) == ((3,), np.float32)
        assert [aval.short() for aval in stage.in_avals[0]] == ["f32[3]", "f32[3]"]
    assert traced.out_avals["z"].short() == "f32[3]"
    assert not traced.effects
    assert "mul" in traced.as_text()
    assert "test_stages.py" in traced.as_text(debug_info=True)
    assert isinstance(compiled.input_shardings[0][1], type(jx.device_put(X).sharding))
    assert compiled.output_shardings["z"] == jx.device_put(X).sharding


def test_what_jit_returns_is_the_protocol_of_stages():
    assert isinstance(jx.jit(sin), jx.stages.Wrapped)
    assert not isinstance(sin, jx.stages.Wrapped)


def test_lowering_for_another_platform_needs_no_device_of_it():
    traced = jx.jit(sin).trace(X)
    lowered = traced.lower(lowering_platforms=("tpu",))
    assert "stablehlo.sine" in lowered.as_text()
    with pytest.raises(ValueError, match="lowered for tpu and cannot be compiled for cpu"):
        lowered.compile()
    both = traced.lower(lowering_platforms=("tpu", "cpu"))
    np.testing.assert_allclose(both.compile()(X), np.sin(X), rtol=1e-6)
    for wrong in ((), ("abacus",)):
        with pytest.raises(ValueError, match="name one or more of cpu, cuda, rocm, tpu"):
            traced.lower(lowering_platforms=wrong)


def test_platforms_that_lower_differently_have_a_module_each():
    traced = jx.jit(jx.lax.cumsum).trace(np.ones(100, np.float32))
    texts = {
        platform: traced.lower(lowering_platforms=(platform,)).as_text()
        for platform in ("cpu", "tpu")
    }
    assert texts["cpu"] != texts["tpu"]
    assert traced.lower(lowering_platforms=("cpu", "tpu")).as_text() == "\n".join(texts.values())


def test_the_compiler_ir_is_a_module_or_a_computation(stages):
    _, lowered, _ = stages
    assert str(lowered.compiler_ir()) == lowered.as_text()
    assert lowered.compiler_ir("hlo").as_hlo_text() == lowered.as_text("hlo")
    with pytest.raises(ValueError, match="unknown dialect 'mhlo'"):
        lowered.compiler_ir("mhlo")


def test_a_compiled_call_is_answered_in_cpp(stages):
    compiled = stages[2]
    compiled(X, X)
    compiled(X, X)
    assert compiled._callable._cache_size() == 1


def test_a_compiled_function_cannot_be_transformed(stages):
    compiled = stages[2]
    for call in (
        lambda: jx.jit(compiled)(X, X),
        lambda: jx.vmap(compiled)(X, X),
        lambda: jx.jvp(compiled, (X, X), (X, X)),
    ):
        with pytest.raises(TypeError, match=r"is compiled and cannot be transformed: argument x"):
            call()


def test_a_wrong_structure_names_the_place():
    compiled = jx.jit(lambda p, *, scale: mul(p["w"], scale)).lower({"w": X}, scale=2.0).compile()
    with pytest.raises(TypeError, match=r"args\[0\]: compiled for .*Missing: \['w'\]"):
        compiled({"v": X}, scale=2.0)
    with pytest.raises(TypeError, match=r"kwargs: compiled for .*unexpected: \['other'\]"):
        compiled({"w": X}, other=2.0)
    with pytest.raises(TypeError, match=r"f32\[3\] as argument p\['w'\] and got f32\[4\]"):
        compiled({"w": np.zeros(4, np.float32)}, scale=2.0)
    with pytest.raises(TypeError, match=r"given 'x' of type str as p\['w'\]"):
        compiled({"w": "x"}, scale=2.0)


def test_a_compiled_function_runs_on_the_device_asked_for():
    (device,) = jx.devices()[:1]
    compiled = jx.jit(sin).lower(X).compile(device_assignment=(device,))
    assert compiled(X).devices() == {device}
    with pytest.raises(ValueError, match="names 0 devices"):
        jx.jit(sin).lower(X).compile(device_assignment=())


def test_stages_are_events_that_name_their_function():
    def named(x):
        return sin(x)

    f = jx.jit(named)
    seen: list[Any] = []
    kinds = (events.Traced, events.Lowered, events.Compiled)
    with events.listen(seen.append, kinds):
        f.lower(X).compile()
        f(X)
    assert [type(event).__name__ for event in seen] == ["Traced", "Lowered", "Compiled"]
    assert len({event.function_id for event in seen}) == 1
    assert seen[0].function_id


def test_shape_dtype_structs_compare_and_change():
    struct = jx.ShapeDtypeStruct((3, 2), np.float32)
    assert struct.update(shape=(4,)) == jx.ShapeDtypeStruct((4,), np.float32)
    assert (len(struct), struct.ndim, struct.size) == (3, 2, 6)
    with pytest.raises(ValueError, match="needs a dtype"):
        jx.ShapeDtypeStruct((3,), None)
    with pytest.raises(TypeError, match="no attribute 'size'"):
        struct.update(size=3)
    with pytest.raises(TypeError, match="no len"):
        len(jx.ShapeDtypeStruct((), np.float32))


def test_a_shape_dtype_struct_is_made_like_a_value():
    like = jx.ShapeDtypeStruct.like
    assert like(np.ones((3, 2), np.int32)) == jx.ShapeDtypeStruct((3, 2), np.int32)
    assert like(2.0) == like(jnp.asarray(2.0)) == like(like(2.0))
    assert like(2.0).weak_type
    (device,) = jx.devices()[:1]
    assert like(jx.device_put(jnp.ones(2), device)).sharding.device_set == {device}
    assert like(jnp.ones(2)).sharding is None
    assert like(jx.random.key(0)).dtype == jx.random.key(0).dtype
    seen = []
    jx.make_jaxpr(lambda x: seen.append(like(x)))(np.float32(1))
    assert seen == [jx.ShapeDtypeStruct((), np.float32)]
