"""Alias mode: what ``import jax`` gives, for how long, and beside the real package."""

import importlib
import importlib.metadata
import importlib.util
import inspect
import pickle
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import OrderedDict
from typing import NamedTuple, get_args

import numpy as np
import pytest

import jxkernel
import jxkernel.numpy as jnp

# An array that the `jax` package pickled: three float32 numbers, as it writes them.
FOREIGN = (
    b"\x80\x04\x8c\x0ejax._src.array\x8c\x12_reconstruct_array\x93"
    b"(\x8c\x16numpy._core.multiarray\x8c\x0c_reconstruct\x93"
    b"\x8c\x05numpy\x94\x8c\x07ndarray\x93K\x00\x85C\x01b\x87"
    b"(K\x01K\x03\x85h\x00\x8c\x05dtype\x93\x8c\x02f4\x89\x88\x87R"
    b"(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    b"\x89C\x0c\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@t}\x8c\tweak_type\x89stR."
)


def test_every_way_of_importing_gives_our_own(alias):
    import jax
    import jax.numpy
    import jax.numpy as renamed
    import jax.numpy.fft as fft
    from jax import grad, lax
    from jax.numpy import sin
    from jax.tree_util import tree_map

    assert jax.numpy is renamed is jnp
    assert grad is jxkernel.grad
    assert lax is jxkernel.lax
    assert sin is jnp.sin
    assert tree_map is jxkernel.tree.map
    assert fft is jxkernel.numpy.fft
    assert jax.jit is jxkernel.jit
    assert {"grad", "numpy", "__version__"} <= set(dir(jax))
    assert float(jax.grad(lambda x: x**2)(3.0)) == 6.0


def test_functions_of_the_standard_are_told_by_the_name_of_their_module():
    with jxkernel.alias("jax"):
        assert jnp.ones(2).__array_namespace__().__name__ == "jax.numpy"
        from jxkernel.numpy import linalg

        assert linalg is jnp.linalg
    assert jnp.__name__ == "jxkernel.numpy"


def test_settings_stay_settings_when_imported_as_a_module(alias):
    import jax
    import jax.config
    from jax.config import config

    assert jax.config is config is jxkernel.config


def test_versions_are_those_of_the_interface(alias):
    import jax
    import jax.version

    assert jax.__version_info__ >= (0, 9, 0)
    assert ".".join(map(str, jax.__version_info__)) == jax.__version__
    assert importlib.metadata.version("jax") == jax.__version__ == jax.version.__version__
    assert jax.__name__ == "jax"


def test_modules_can_be_reloaded(alias):
    import jax
    import jax.numpy

    jax.note = 1
    assert importlib.reload(jax) is jax
    assert jax.note == 1
    assert jax.grad is jxkernel.grad
    assert importlib.reload(jax.numpy) is jnp
    assert jnp.__spec__.name == "jxkernel.numpy"
    vars(jnp).pop("DeviceArray", None)
    with pytest.warns(DeprecationWarning, match="older name"):
        assert jnp.DeviceArray is jxkernel.Array


def test_pickles_refer_to_what_they_meant(alias):
    import jax

    for thing in (jax.nn.one_hot, jax.numpy.float32, jax.random.split):
        assert pickle.loads(pickle.dumps(thing)) == thing
    array = pickle.loads(pickle.dumps(jax.numpy.arange(3)))
    assert array.tolist() == [0, 1, 2]


def test_arrays_that_jax_pickled_are_read(alias):
    found = pickle.loads(FOREIGN)
    assert isinstance(found, jxkernel.Array)
    assert (found.dtype, found.tolist()) == (np.float32, [0.0, 1.0, 2.0])


def test_what_does_not_exist_is_an_ordinary_import_error(alias):
    import jax

    with pytest.raises(ModuleNotFoundError, match=r"no 'jax\.nowhere'\. It has the names of JAX"):
        importlib.import_module("jax.nowhere")
    with pytest.raises(
        ImportError, match=r"no 'jax\.nothing'\. .* written for a later or an earlier one"
    ):
        from jax import nothing  # noqa: F401
    with pytest.raises(AttributeError, match=r"'jax' \(an alias of jxkernel\) has no .* 'nothing'"):
        jax.nothing  # noqa: B018
    for absent in (
        "nowhere",
        "jax2tf_associative_scan_reductions",
        "experimental.jax2tf",
        "experimental.nowhere",
        "_src.nowhere",
    ):
        assert importlib.util.find_spec(f"jax.{absent}") is None


def test_undoing_takes_the_name_away_and_leaves_what_was_imported():
    with jxkernel.alias("jax") as made:
        import jax.numpy

        front, inside = sys.modules["jax"], jax.numpy
        assert repr(made) == "<jax is jxkernel>"
    assert [name for name in sys.modules if name.partition(".")[0] == "jax"] == []
    assert float(inside.sin(0.0)) == 0.0
    assert front.grad is jxkernel.grad
    assert repr(made) == "<jax is jxkernel, undone>"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("jax")
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("jax")
    made.undo()


def test_other_names_can_be_aliases():
    with jxkernel.alias("array_programs"):
        import array_programs.numpy as other

        assert other is jnp


@pytest.mark.parametrize("name", ["jxkernel", "a b", ""])
def test_names_that_cannot_be_imported_are_refused(name):
    with pytest.raises(ValueError, match="takes a name such as 'jax'"):
        jxkernel.alias(name)


def test_a_loaded_package_is_not_replaced():
    with pytest.raises(ImportError, match=r"'json' is loaded already, from .*json"):
        jxkernel.alias("json")


def run(folder, code):
    """Run code where a package ``jax`` can be found, as if it were installed."""
    (folder / "jax").mkdir()
    (folder / "jax/__init__.py").write_text("real = True\n")
    path = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    command = [sys.executable, "-c", path + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_real_package_cannot_be_imported_after_jxkernel(tmp_path):
    done = run(
        tmp_path,
        "import importlib.util, jxkernel\n"
        "assert importlib.util.find_spec('jax')\n"
        "try: import jax\n"
        "except ImportError as error: print(error)\n"
        "jxkernel.alias('jax')\n"
        "import jax\n"
        "assert jax.grad is jxkernel.grad\n",
    )
    assert done.returncode == 0, done.stderr
    assert "cannot share a process" in done.stdout
    assert "jxkernel.alias('jax')" in done.stdout


def test_jxkernel_cannot_be_imported_after_the_real_package(tmp_path):
    done = run(
        tmp_path,
        "import jax\n"
        "try: import jxkernel\n"
        "except ImportError as error: print(error)\n"
        "assert jax.real\n",
    )
    assert done.returncode == 0, done.stderr
    assert "jax is loaded: restart" in done.stdout


_EXTENSION = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "linked", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_linked(void) {
  PyObject *found = PyImport_ImportModule(IMPORTED);
  if (found == NULL) return NULL;
  PyObject *made = PyModule_Create(&module);
  PyModule_AddObject(made, "found", found);
  return made;
}
"""


def compiled(folder, imported):
    """Return a compiled extension module that imports another, as its shared library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler: apt-get install gcc")
    source, library = folder / "linked.c", folder / f"linked.{imported}.so"
    source.write_text(_EXTENSION)
    flags = ["-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", f'-DIMPORTED="{imported}"']
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
    return library


def loaded(library):
    spec = importlib.util.spec_from_file_location("linked", library)
    return importlib.util.module_from_spec(spec)


def test_a_compiled_extension_gets_our_own_or_says_why_not(alias, tmp_path):
    assert loaded(compiled(tmp_path, "jax.numpy")).found is jnp
    with pytest.raises(ModuleNotFoundError, match=r"jax\._src\.pallas' is internal to the ref"):
        loaded(compiled(tmp_path, "jax._src.pallas"))


def test_a_compiled_extension_cannot_bring_the_real_package_in(tmp_path):
    library = str(compiled(tmp_path, "jax"))
    done = run(
        tmp_path,
        "import importlib.util, jxkernel\n"
        f"spec = importlib.util.spec_from_file_location('linked', {library!r})\n"
        "try: importlib.util.module_from_spec(spec)\n"
        "except ImportError as error: print(error)\n",
    )
    assert done.returncode == 0, done.stderr
    assert "cannot share a process" in done.stdout
    assert "jxkernel.alias('jax')" in done.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "from jax import jax2tf_associative_scan_reductions",
            "no 'jax.jax2tf_associative_scan_reductions'. An option of `jax2tf`",
        ),
        ("import jax.experimental.nothing_such", "are array_serialization, buffer_callback, "),
        (
            "import jax.experimental.jax2tf",
            "no 'jax.experimental.jax2tf'. Writes programs for Tensor",
        ),
        (
            "from jax.experimental import thunky",
            "no 'jax.experimental.thunky'. Records the commands",
        ),
        ("from jax.experimental import nothing_such", "cannot import name 'nothing_such'"),
        ("from jax import nothing_such", "no 'jax.nothing_such'. It has the names of JAX 0.12.0: "),
        ("from jax.numpy import nothing_such", "cannot import name 'nothing_such'"),
        ("from jax._src.tree_util import nothing_such", "is internal to the reference"),
        ("from jax._src import nothing_such", "is internal to the reference"),
    ],
)
def test_imports_that_are_refused_say_why(alias, line, said):
    with pytest.raises(ImportError, match=re.escape(said)):
        exec(line, {})


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        (
            "jax",
            "jax2tf_associative_scan_reductions",
            "alias of jxkernel) has no attribute 'jax2tf_associative_scan_reductions'. An option",
        ),
        ("jax", "nothing_such", "no attribute 'nothing_such'. It has the names of JAX 0.12.0: "),
        ("jax.numpy", "int1", "has no attribute 'int1'. XLA compiles no operation"),
        ("jax.numpy", "ascontiguousarray", "'ascontiguousarray'. Arrays share no memory"),
        ("jax.numpy", "nothing_such", "no attribute 'nothing_such'. It has the names of JAX 0.12"),
    ],
)
def test_names_that_are_refused_say_why(alias, module, name, said):
    with pytest.raises(AttributeError, match=re.escape(said)):
        getattr(importlib.import_module(module), name)
    assert not hasattr(importlib.import_module(module), name)


def test_internal_names_that_libraries_need_are_there_and_others_say_why_not(alias):
    import jax
    from jax._src import traceback_util
    from jax._src.flatten_util import ravel_pytree

    assert ravel_pytree is jxkernel.flatten_util.ravel_pytree
    assert traceback_util.api_boundary(len) is len
    assert jax._src.pjit.jit_p is jxkernel.extend.core.primitives.jit_p
    assert "jit_p" in dir(jax._src.pjit)
    with pytest.raises(ModuleNotFoundError, match=r"'jax._src.nowhere' is internal .*alias of jxk"):
        importlib.import_module("jax._src.nowhere")
    with pytest.raises(AttributeError, match=r"'jax._src.pjit.nothing' is internal to"):
        jax._src.pjit.nothing  # noqa: B018
    with pytest.raises(ImportError):
        from jax._src.pjit import nothing  # noqa: F401


def internal_names():
    rows = importlib.import_module("jxkernel._alias_internals").ROWS
    return [(module, name) for module, names in rows.items() for name in names]


@pytest.mark.parametrize(("module", "name"), internal_names())
def test_internal_names_mean_something_of_ours(alias, module, name):
    assert getattr(importlib.import_module(f"jax.{module}"), name) is not None


def test_trees_are_compared_to_a_tolerance_of_their_dtypes(alias):
    from jax._src.public_test_util import check_close

    x = jnp.ones(3)
    check_close({"a": x, "b": x.astype("bfloat16")}, {"a": np.ones(3), "b": x * 1.005})
    check_close(x, x * 1.0001, rtol={"float32": 1e-3}, atol={np.float32: 0})
    for other, tolerances in ((x * 1.01, {}), (x * 1.01, {"atol": 1e-3}), (x[:2], {})):
        with pytest.raises(AssertionError, match="the message"):
            check_close(x, other, err_msg="the message", **tolerances)
    with pytest.raises(AssertionError):
        check_close(jnp.arange(3), np.arange(1, 4))


def test_node_types_tell_how_they_are_taken_apart(alias):
    from jax._src.tree_util import _registry

    class Point(NamedTuple):
        x: int
        y: int

    for node in ({"b": 1, "a": [1, 2]}, (1, [2]), [], None, OrderedDict(z=1, a=2), Point(1, 2)):
        entry = _registry[type(node)]
        children, metadata = entry.to_iter(node)
        assert entry.from_iter(metadata, children) == node
    assert dict in _registry
    assert int not in _registry
    assert _registry.get(int) is None
    with pytest.raises(KeyError):
        _registry[int]


def positional(a, b, *, c=1):
    """Take two arguments by position."""


@pytest.mark.parametrize(
    ("numbers", "names", "both"),
    [
        (None, None, ((), ())),
        ((0,), None, ((0,), ("a",))),
        (None, ("b",), ((1,), ("b",))),
        (None, "c", ((), ("c",))),
        (0, None, ((0,), ("a",))),
        ((5,), None, ((5,), ())),
        ((1,), ("c",), ((1,), ("c",))),
    ],
)
def test_positions_and_names_of_arguments_are_told_from_each_other(alias, numbers, names, both):
    from jax._src.api_util import infer_argnums_and_argnames

    assert infer_argnums_and_argnames(inspect.signature(positional), numbers, names) == both


@pytest.mark.parametrize(
    ("args", "complexes", "inexact"),
    [
        ((1,), [("complex64", True)], [("float32", True)]),
        ((1, 2.0), [("complex64", True)] * 2, [("float32", True)] * 2),
        ((np.arange(2),), [("complex64", False)], [("float32", False)]),
        ((np.float16(1), np.int32(2)), [("complex64", False)] * 2, [("float16", False)] * 2),
        ((True,), [("complex64", False)], [("float32", False)]),
        ((1j, np.int32(2)), [("complex64", True)] * 2, [("complex64", True)] * 2),
    ],
)
def test_arrays_are_promoted_to_complex_and_inexact(alias, args, complexes, inexact):
    from jax._src.numpy.util import promote_dtypes_complex, promote_dtypes_inexact

    assert [(x.dtype.name, x.weak_type) for x in promote_dtypes_complex(*args)] == complexes
    assert [(x.dtype.name, x.weak_type) for x in promote_dtypes_inexact(*args)] == inexact


def test_kinds_that_are_mapped_otherwise_are_known(alias):
    from jax._src.interpreters.batching import is_vmappable
    from jax.interpreters import batching

    class Rows(list):
        pass

    assert not is_vmappable(Rows())
    batching.register_vmappable(Rows, int, int, None, None, None)
    assert is_vmappable(Rows())
    batching.unregister_vmappable(Rows)
    assert not is_vmappable(Rows())


def test_internal_objects_of_one_process(alias):
    from jax._src import dtypes
    from jax._src.core import full_lower
    from jax._src.distributed import global_state

    state = (global_state.client, global_state.process_id, global_state.num_processes)
    assert state == (None, 0, 1)
    assert [dtypes.supports_inf(d) for d in ("float32", "float8_e4m3fn")] == [True, False]
    assert full_lower(3) == 3


def test_modules_that_libraries_look_for_are_listed_before_they_are_loaded():
    code = (
        "import sys, jxkernel; jxkernel.alias('jax'); import jax\n"
        "assert {'jax.core', 'jax.lax', 'jax.nn', 'jax.tree_util'} <= set(sys.modules)\n"
        "assert 'jxkernel.primitives.linalg.lu' not in sys.modules\n"
        "import importlib, jax.lax as first; from jax import lax\n"
        "from jax.lax import cond; import jax.lax.linalg, jxkernel.lax\n"
        "assert first is lax is jxkernel.lax is sys.modules['jax.lax']\n"
        "assert importlib.import_module('jax.lax') is lax and cond is lax.cond\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_arrays_have_the_class_and_the_types_that_libraries_read(alias):
    import jax

    x = jax.numpy.arange(3.0)
    assert float(jax.Array.sum(x)) == float(jax.jit(jax.Array.sum)(x)) == 3.0
    assert jax.Array.astype(x, "int32").dtype == "int32"
    assert jax.Array.block_until_ready(x) is x
    assert all(hasattr(jax.Array, name) for name in dir(x) if name[0] != "_")
    assert jax.Array.shape.fget(x) == (3,)
    assert jax.Array.__add__(x, 1).tolist() == [1, 2, 3]
    assert "sum" in dir(jax.Array)
    assert not hasattr(jax.Array, "nothing")
    assert not hasattr(jax.Array, "_nothing")
    kinds = get_args(jax.typing.ArrayLike)
    assert [isinstance(one, kinds) for one in (x, 3, np.ones(2), "text")] == [True] * 3 + [False]


def test_settings_tell_their_values(alias):
    import jax

    assert jax.config.x64_enabled is jax.config.values["jax_enable_x64"] is False
    with jax.enable_x64(True):
        assert jax.config.x64_enabled is True


def test_kernels_for_accelerators_are_refused_where_they_are_made(alias):
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask

    with pytest.raises(
        NotImplementedError, match="a kernel for TPUs, whose compiler nothing here has"
    ):
        splash_attention_mask.CausalMask((2, 2))


def test_references_are_there(alias):
    import jax
    from jax._src.state.types import AbstractRef

    ref = jax.new_ref(jax.numpy.ones(2))
    jax.ref.set(ref, 0, 5.0)
    assert isinstance(ref, jax.Ref)
    assert isinstance(ref.aval, AbstractRef)
    assert jax.freeze(ref).tolist() == [5.0, 1.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from jax.api import grad as found", "jax.api.grad is an older name: write jax.grad."),
        ("import jax; found = jax.api.grad", "write jax.grad."),
        ("import jax.api; found = jax.api.grad", "write jax.grad."),
        ("import jax; found = jax.xla.apply_primitive", "write jax.interpreters.xla.apply"),
    ],
)
def test_modules_of_earlier_years_say_where_their_names_are(alias, line, said):
    scope = {}
    with pytest.warns(DeprecationWarning, match=re.escape(said)):
        exec(line, scope)
    assert scope["found"] in (jxkernel.grad, jxkernel.interpreters.xla.apply_primitive)
    assert importlib.import_module("jxkernel.api").__name__ == "jxkernel.api"
