"""Foreign functions: C++ compiled against the headers that jaxlib ships, called from programs."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import ffi
from jxkernel.core import Primitive, ShapedArray

F32 = np.float32
SOURCE = Path(__file__).with_name("scaled_sum.cc")


@pytest.fixture(scope="module", autouse=True)
def _library(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs a C++ compiler: apt-get install g++")
    path = tmp_path_factory.mktemp("foreign") / "scaled_sum.so"
    flags = ["-std=c++17", "-O0", "-w", "-shared", "-fPIC", f"-I{ffi.include_dir()}"]
    subprocess.run([compiler, *flags, "-o", str(path), str(SOURCE)], check=True)
    library = ctypes.cdll.LoadLibrary(str(path))
    for name in ("scaled_sum", "first_in_memory"):
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(library, name)), platform="cpu")
    return library


def _scaled(x, scale=2.0, **options):
    call = ffi.ffi_call("scaled_sum", jx.ShapeDtypeStruct(x.shape, x.dtype), **options)
    return call(x, scale=F32(scale), shift=3, extra=np.array([1, -2], np.int32))


def test_a_foreign_function_runs_eagerly_and_jitted():
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(_scaled(x), [2, 4, 6])
    np.testing.assert_array_equal(jx.jit(_scaled)(x), [2, 4, 6])


METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


@pytest.mark.parametrize("method", METHODS)
def test_vmap_methods_agree_with_a_loop(method):
    x = jnp.arange(6.0).reshape(2, 3)
    mapped = jx.vmap(lambda row: _scaled(row, vmap_method=method), in_axes=1, out_axes=1)
    np.testing.assert_array_equal(jx.jit(mapped)(x), 2 * x + 2)


def test_vmap_without_a_method_says_what_to_give():
    with pytest.raises(NotImplementedError, match="give ffi_call a vmap_method, one of sequential"):
        jx.vmap(_scaled)(jnp.ones((2, 3)))


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="got 'at_once'"):
        _scaled(jnp.ones(2), vmap_method="at_once")


def test_a_derivative_is_the_user_s_to_give():
    with pytest.raises(NotImplementedError, match="with custom_jvp or custom_vjp"):
        jx.grad(lambda x: _scaled(x).sum())(jnp.ones(2))
    with_rule = jx.custom_vjp(lambda x: _scaled(x))
    with_rule.defvjp(lambda x: (_scaled(x), None), lambda _, ct: (2.0 * ct,))
    np.testing.assert_array_equal(jx.grad(lambda x: with_rule(x).sum())(jnp.ones(2)), [2, 2])


def test_an_error_of_the_function_is_raised():
    with pytest.raises(jx.errors.JaxRuntimeError, match="scale is zero"):
        _scaled(jnp.ones(2), scale=0.0).block_until_ready()


def test_layouts_say_how_memory_lies():
    x = jnp.arange(6.0).reshape(2, 3)
    result = jx.ShapeDtypeStruct((2,), F32)
    np.testing.assert_array_equal(ffi.ffi_call("first_in_memory", result)(x), [0, 1])
    by_columns = ffi.ffi_call("first_in_memory", result, input_layouts=[(1, 0)])
    np.testing.assert_array_equal(by_columns(x), [0, 3])
    mapped = ffi.ffi_call(
        "first_in_memory", result, input_layouts=[(1, 0)], vmap_method="sequential"
    )
    np.testing.assert_array_equal(jx.vmap(mapped)(jnp.stack([x, x + 10])), [[0, 3], [10, 13]])
    with pytest.raises(ValueError, match="a layout names each axis once"):
        ffi.ffi_call("first_in_memory", result, input_layouts=[(1, 1)])(x)


def test_results_may_take_over_operands():
    call = ffi.ffi_call(
        "first_in_memory", [jx.ShapeDtypeStruct((2,), F32)], input_output_aliases={0: 0}
    )
    (out,) = jx.jit(call)(jnp.ones(2))
    np.testing.assert_array_equal(out, [1, 1])
    with pytest.raises(ValueError, match=r"f32\[3\] .* they must be of one type"):
        call(jnp.ones(3))


def test_a_side_effect_keeps_a_call_that_nobody_reads():
    def f(x, keep):
        _scaled(x, has_side_effect=keep)
        return x

    lowered = [jx.jit(lambda x, k=keep: f(x, k)).lower(jnp.ones(2)) for keep in (True, False)]
    texts = [one.compile().as_text() for one in lowered]
    assert ["scaled_sum" in text for text in texts] == [True, False]


def test_a_foreign_function_may_be_the_lowering_of_a_primitive():
    p = Primitive("test_foreign")
    p.define(abstract_eval=lambda x, **params: ShapedArray(x.shape, x.dtype))
    p.def_lower(ffi.ffi_lowering("scaled_sum", backend_config={"extra": np.zeros(0, np.int32)}))
    np.testing.assert_array_equal(p.bind(jnp.arange(2.0), scale=F32(3), shift=1), [1, 4])
    del Primitive.registry["test_foreign"]


def test_attributes_that_no_handler_reads_are_refused():
    with pytest.raises(TypeError, match="an attribute of a foreign function is a number"):
        ffi.ffi_call("scaled_sum", jx.ShapeDtypeStruct((2,), F32))(jnp.ones(2), scale=object())


def test_older_interfaces_take_no_attributes():
    call = ffi.ffi_call("x", jx.ShapeDtypeStruct((2,), F32), custom_call_api_version=2)
    with pytest.raises(ValueError, match="interface version 2 takes no attributes, got scale"):
        call(jnp.ones(2), scale=1)
