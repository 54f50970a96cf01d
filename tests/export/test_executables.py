"""Compiled functions as bytes: what they hold, who may load them, and what is refused."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import events
from jxkernel.experimental.serialize_executable import deserialize_and_load, serialize
from jxkernel.export.format import EXECUTABLE, packed, unpacked
from jxkernel.sharding import AxisType, PartitionSpec
from tests.many_devices import over

TABLE = np.arange(3.0, dtype=np.float32)


def looked_up(x, unread, *, y):
    return {"a": x + TABLE * y, "b": [jnp.array(7)]}


@pytest.fixture
def compiled():
    x = jnp.ones(3)
    return jx.jit(looked_up).lower(x, x[:2], y=2.0).compile()


def loaded(compiled):
    return deserialize_and_load(*serialize(compiled))


def test_loaded_functions_give_the_same_and_nothing_is_made(compiled):
    written, given = serialize(compiled), (jnp.arange(3.0), jnp.ones(2))
    made, kinds = [], (events.Traced, events.Lowered, events.Compiled)
    with events.listen(made.append, kinds):
        again = deserialize_and_load(*written)
        found = again(*given, y=3.0)
    assert not made
    np.testing.assert_array_equal(found["a"], [0.0, 4.0, 8.0])
    assert int(found["b"][0]) == 7
    assert again.in_tree == compiled.in_tree
    assert again.out_tree == compiled.out_tree
    assert again.in_avals == compiled.in_avals
    assert again.args_info == compiled.args_info
    assert again.out_info == compiled.out_info
    assert again.input_formats == compiled.input_formats
    assert again.output_formats == compiled.output_formats
    assert again.as_text().startswith("HloModule jit_looked_up")
    assert again.cost_analysis() == compiled.cost_analysis()
    assert repr(again) == repr(compiled)


SCRIPT = """
import pickle, sys
import numpy as np
from jxkernel.experimental.serialize_executable import deserialize_and_load
f = deserialize_and_load(*pickle.load(open(sys.argv[1], "rb")))
values, vectors = f(np.diag([3.0, 1.0]).astype("float32"))
print(values.tolist())
"""


def test_another_process_runs_them(tmp_path):
    compiled = jx.jit(lambda x: tuple(jnp.linalg.eigh(x))).lower(jnp.eye(2)).compile()
    file = tmp_path / "written"
    file.write_bytes(pickle.dumps(serialize(compiled)))
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)], capture_output=True, text=True, check=True
    )
    assert made.stdout == "[1.0, 3.0]\n"


@pytest.fixture
def own_cache(tmp_path):
    before = jx.config.jax_compilation_cache_dir
    jx.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield
    jx.config.update("jax_compilation_cache_dir", before)


def test_what_came_from_the_disk_cache_is_whole(own_cache):
    def late(x):
        return jnp.sin(x) * 3.125

    jx.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    x = jnp.arange(3.0)
    jx.jit(late).lower(x).compile({"xla_cpu_enable_fast_math": False})
    jx.clear_caches()
    second = jx.jit(late).lower(x).compile({"xla_cpu_enable_fast_math": False})
    assert second.from_disk
    np.testing.assert_array_equal(loaded(second)(x), late(x))


def test_donated_arguments_are_donated():
    compiled = jx.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(3)).compile()
    again, x = loaded(compiled), jnp.ones(3)
    assert again.donate_argnums == (0,)
    np.testing.assert_array_equal(again(x), 2.0)
    assert x.is_deleted()


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "complex64", "bool", "float8_e4m3fn"])
def test_constants_of_each_dtype_are_kept(dtype):
    const = jnp.array([[1, 0]]).astype(dtype)
    again = loaded(jx.jit(lambda x: jnp.concatenate([const, x])).lower(const).compile())
    np.testing.assert_array_equal(
        np.asarray(again(const)).astype(complex), np.array([[1, 0], [1, 0]])
    )


def test_zeros_of_float0_are_told():
    zeros = np.zeros(2, jx.float0)
    compiled = jx.jit(lambda x: (x, zeros)).lower(1.0).compile()
    assert loaded(compiled)(2.0)[1].dtype == jx.float0


def test_programs_over_meshes_lie_as_compiled(mesh):
    table = jx.device_put(np.arange(2.0, dtype=np.float32), over(mesh, "y"))
    x = jx.device_put(np.arange(16.0, dtype=np.float32).reshape(8, 2), over(mesh, "x", "y"))
    compiled = jx.jit(lambda x: x.sum(0) + table).lower(x).compile()
    again = loaded(compiled)
    assert again.input_shardings == compiled.input_shardings
    assert again.output_shardings == compiled.output_shardings
    for given in (x, np.asarray(x)):
        found = again(given)
        np.testing.assert_array_equal(found, [56.0, 65.0])
        assert found.sharding == compiled(x).sharding


def test_types_over_explicit_axes_are_kept(eight_devices):
    mesh = jx.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = jx.device_put(np.ones((8, 2), np.float32), jx.NamedSharding(mesh, PartitionSpec("x", "y")))
    again = loaded(jx.jit(jnp.transpose).lower(x).compile())
    assert jx.typeof(again(x)).sharding.spec == PartitionSpec("y", "x")


def test_what_makes_a_nan_is_said(compiled):
    again = loaded(jx.jit(jnp.log).lower(1.0).compile())
    with jx.debug_nans(True), pytest.raises(FloatingPointError, match="loaded"):
        again(-1.0)


def test_calls_are_checked(compiled):
    again, x = loaded(compiled), jnp.ones(3)
    with pytest.raises(TypeError, match=r"compiled for f32\[3\] as argument x and got f32\[4\]"):
        again(jnp.ones(4), x[:2], y=1.0)
    with pytest.raises(TypeError, match="compiled for arguments of another structure"):
        again(x, y=1.0)
    with pytest.raises(TypeError, match="cannot be transformed"):
        jx.grad(lambda x: again(x, x[:2], y=1.0)["a"].sum())(x)


def refused_programs():
    x, key = jnp.ones(2), jx.random.key(0)
    counter = jx.new_ref(0.0)

    def count(x):
        counter[...] += x
        return x

    return {
        "callback": (lambda x: jx.pure_callback(np.sin, x, x), x, "calls back into this Python"),
        "print": (lambda x: jx.debug.print("{}", x), 1.0, "calls back into this Python"),
        "key": (jx.random.uniform, key, "random keys: let the function take random.key_data"),
        "made key": (jx.random.key, 0, "random keys"),
        "reference": (count, 1.0, "closes over some"),
    }


@pytest.mark.parametrize("which", ["callback", "print", "key", "made key", "reference"])
def test_what_needs_its_process_is_refused(which):
    function, argument, said = refused_programs()[which]
    with pytest.raises(ValueError, match=f"cannot be serialized: .*{said}"):
        serialize(jx.jit(function).lower(argument).compile())


def test_what_was_not_compiled_is_refused(compiled):
    with pytest.raises(TypeError, match="serialize takes a compiled function"):
        serialize(jx.jit(jnp.sin))
    with pytest.raises(ValueError, match="itself loaded from bytes"):
        serialize(loaded(compiled))


def test_shardings_that_cannot_be_written_are_refused(mesh):
    x = jx.device_put(np.ones(8, np.float32), over(mesh, "x").with_memory_kind("pinned_host"))
    with pytest.raises(ValueError, match="names a kind of memory"):
        serialize(jx.jit(lambda x: x).lower(x).compile())


def changed(written, **parts):
    blob, *trees = written
    header, sections = unpacked(blob, EXECUTABLE)
    return bytes(packed({**header, **parts}, sections, EXECUTABLE)), *trees


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda w: (w[0][:-7], *w[1:]), "executable is damaged"),
        (lambda w: (b"abc", *w[1:]), "not an executable of jxkernel"),
        (lambda w: (w[0], w[2], w[2]), "in_tree has 2 leaves, and looked_up was compiled with 3"),
        (lambda w: changed(w, devices=[99]), r"devices \[99\], and there are none of the numbers"),
        (lambda w: changed(w, platform="tpu", devices=[0]), "tpu"),
        (lambda w: changed(w, platform_version="v"), "compiled for the platform's version 'v'"),
        (lambda w: changed(w, instructions="00"), "compiled for a processor with the features"),
    ],
)
def test_bytes_that_do_not_fit_are_refused(compiled, change, said):
    with pytest.raises((ValueError, RuntimeError), match=said):
        deserialize_and_load(*change(serialize(compiled)))


def test_bytes_of_another_jaxlib_are_refused(compiled, monkeypatch):
    written = serialize(compiled)
    monkeypatch.setattr("jxkernel.export.executables.version_text", "9.9")
    with pytest.raises(ValueError, match=r"compiled for jaxlib '0.*', and here is '9.9'"):
        deserialize_and_load(*written)


def test_devices_are_those_of_the_compilation(compiled, eight_devices):
    written = serialize(compiled)
    first = deserialize_and_load(*written, backend="cpu", execution_devices=eight_devices[:1])
    assert first(jnp.ones(3), jnp.ones(2), y=1.0)["a"].devices() == {eight_devices[0]}
    by_client = deserialize_and_load(*written, backend=eight_devices[0].client)
    assert by_client.input_shardings == first.input_shardings
    with pytest.raises(ValueError, match=r"devices \[0\] and runs on no others; .* has \[3\]"):
        deserialize_and_load(*written, execution_devices=eight_devices[3:4])
