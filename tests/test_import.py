"""What ``import jxkernel`` does to its process, and what it leaves for the first use."""

import ast
import importlib
import inspect
import subprocess
import sys

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("before", ["gc.enable()", "gc.disable()", "gc.freeze()"])
def test_the_garbage_collector_is_as_it_was(before: str) -> None:
    state = "gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold()"
    program = f"import gc; {before}; old = {state}; import jxkernel; assert old == ({state})"
    run(program)


def test_garbage_from_before_the_import_is_collected_later() -> None:
    run(
        "import gc, weakref\n"
        "class Node: pass\n"
        "node = Node(); node.own = node; gone = weakref.ref(node); del node\n"
        "import jxkernel\n"
        "gc.collect()\n"
        "assert gone() is None"
    )


def test_the_collector_is_as_it_was_after_a_failed_import() -> None:
    run(
        "import gc, sys\n"
        "sys.modules['jxkernel.numpy'] = None\n"
        "try:\n    import jxkernel\n"
        "except ImportError:\n    assert gc.isenabled()\n"
        "else:\n    raise AssertionError"
    )


def test_parts_that_not_every_program_needs_wait_for_their_first_use() -> None:
    waiting = ("jxkernel.lax", "jxkernel.random", "jxkernel.nn", "jxkernel.numpy.polynomials")
    program = "import sys, jxkernel.numpy; print(*[n for n in {0} if n in sys.modules])"
    assert run(program.format(waiting)).split() == []
    used = "import jxkernel as jx; jx.lax.add; jx.random.key; jx.nn.relu; jx.numpy.polyval; "
    assert run(used + program.format(waiting)).split() == list(waiting)


def test_no_type_of_mlir_is_made_by_the_import() -> None:
    # The first one loads the generated classes of a dialect.
    program = "import sys, jxkernel.numpy; print('jaxlib.mlir.dialects' in sys.modules)"
    assert run(program).strip() == "False"


def test_what_errors_exports_windows_and_other_libraries_need_is_not_loaded() -> None:
    errors, others = ("_refusals", "core.holders"), ("runtime.dlpack", "dlpack")
    names = (*errors, *others, "lowering.symbolic", "primitives.conv")
    waiting = [f"jxkernel.{name}" for name in names]
    first = "import sys, jxkernel as jx, jxkernel.numpy as jnp; jx.jit(jnp.sin)(jnp.ones(3)); "
    assert run(f"{first}print(*[n for n in {waiting} if n in sys.modules])").split() == []


def test_what_a_first_gradient_does_without_is_not_loaded() -> None:
    names = "api.derivatives.pullback api.tracing api.transfer compile.keys compile.stages"
    ours = [f"jxkernel.{n}" for n in [*names.split(), "core.printing", "higher_order.tiling"]]
    waiting = [*ours, "dataclasses"]
    first = "import sys, jxkernel as jx, jxkernel.numpy as jnp; jx.grad(jx.jit(jnp.sin))(1.0); "
    assert run(f"{first}print(*[n for n in {waiting} if n in sys.modules])").split() == []


def test_a_sort_loads_no_loops() -> None:
    program = (
        "import sys, jxkernel.numpy as jnp; jnp.sort(jnp.ones(3)); "
        "print('jxkernel.api.control_flow.looping' in sys.modules)"
    )
    assert run(program).strip() == "False"


@pytest.mark.parametrize("family", jnp._LATE_NAMES)
def test_late_names_of_a_family_are_all_its_public_ones(family: str) -> None:
    module = importlib.import_module(f"jxkernel.numpy.{family}")
    assert jnp._LATE_NAMES[family].split() == sorted(module.__all__)


def test_type_checkers_are_told_of_every_late_family() -> None:
    body = ast.parse(inspect.getsource(jnp)).body
    [told] = [one for one in body if isinstance(one, ast.If)]
    assert ast.unparse(told.test) == "TYPE_CHECKING"
    modules = {one.module for one in told.body if isinstance(one, ast.ImportFrom)}
    assert modules == {"jxkernel.numpy", *[f"jxkernel.numpy.{name}" for name in jnp._LATE_NAMES]}


def test_late_names_are_listed_and_are_what_they_are_called() -> None:
    assert {"custom_jvp", "lax", "pmap"} <= set(dir(jx))
    assert {"fft", "median", "polyval"} <= set(dir(jnp))
    assert [n for n in ("custom_vjp", "hessian", "quiz") if getattr(jx, n).__name__ != n] == []
    with pytest.raises(AttributeError, match=r"module 'jxkernel.numpy' has no attribute 'medain'"):
        jnp.medain  # noqa: B018


def test_arrays_have_what_they_have_before_any_late_part_is_loaded() -> None:
    program = (
        "import importlib, pkgutil, jxkernel as jx\n"
        "kinds = [jx.Array, type(jx.numpy.ones(2)), type(jx.random.key(0)), jx.core.Tracer]\n"
        "before = [set(dir(kind)) for kind in kinds]\n"
        "for part in 'numpy lax nn random scipy sharding runtime api core'.split():\n"
        "    home = importlib.import_module(f'jxkernel.{part}')\n"
        "    for found in pkgutil.walk_packages(home.__path__, f'{home.__name__}.'):\n"
        "        importlib.import_module(found.name)\n"
        "print(*[set(dir(kind)) - old for kind, old in zip(kinds, before)])"
    )
    assert run(program).split() == ["set()"] * 4


def test_late_names_leave_the_keys_of_traces_as_they_are() -> None:
    """Else a function in which one is loaded would be traced again at its second call."""
    late = "for at in (jx, jx.lax, jx.numpy): [getattr(at, name) for name in dir(at)]"
    program = (
        "import pkgutil, importlib, jxkernel as jx\n"
        "from jxkernel._jaxlib import trace_context\n"
        f"before = trace_context()\n{late}\n"
        "for folder in (jx.api, jx.experimental, jx.extend):\n"
        "    for found in pkgutil.walk_packages(folder.__path__, folder.__name__ + '.'):\n"
        "        importlib.import_module(found.name)\n"
        "print(trace_context() == before)"
    )
    assert run(program).split() == ["True"]


def test_a_function_in_which_a_name_is_loaded_is_traced_once() -> None:
    program = (
        "import jxkernel as jx, jxkernel.numpy as jnp\n"
        "f = jx.jit(lambda x: jx.lax.cond(x > 1, jnp.sin, jnp.cos, x))\n"
        "f(1.0), f(2.0)\nprint(f._cache_size())"
    )
    assert run(program).split() == ["1"]
