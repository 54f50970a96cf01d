"""What every test runs under: each jaxpr checked, folders of its own, options left as found.

Environment variables are set at import, before any test module imports jxkernel, and are
inherited by the kernels and other processes that tests start.
"""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

# `check_jaxpr` runs on every trace of every test.
os.environ["JXKERNEL_ENABLE_CHECKS"] = "1"

# What kernels and other processes of tests compile must not depend on what lies on disk.
os.environ["JXKERNEL_COMPILATION_CACHE_DIR"] = ""

_TESTS = Path(__file__).parent

SHARED_CACHE = os.environ.get("JXKERNEL_TEST_CACHE", str(_TESTS.parent / "build" / "test-cache"))
"""Executables that runs and workers share, for most of a run is compiling small programs; empty
for a cold run (``make test-all``)."""

WATCH_COMPILING = {
    *("benchmarks", "binder", "compile", "demos", "front", "jupyter", "observe"),
    "api/test_interrupted.py",
}
"""Folders and files of tests that assert when something is compiled, or interrupt it."""

# Kernels must read no start-up file or setting of whoever runs the tests, and leave none behind.
_home = tempfile.TemporaryDirectory(prefix="jxkernel-tests-")
for _variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
    os.environ[_variable] = os.path.join(_home.name, _variable.lower())
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"

# Compiled sources are kept, whatever the shell says: there are hundreds of processes to start, and
# each takes twice as long where it compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that starts the suite in the background has it ignore interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A first example compiles, so time per example says nothing; the same examples in every run.
hypothesis.settings.register_profile("jxkernel", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("jxkernel")

from jxkernel.config import config  # noqa: E402
from jxkernel.runtime import devices  # noqa: E402
from jxkernel.sharding import Mesh  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what a short run leaves out of sampled tables, and refuse names that are addresses.

    Workers must agree on what there is, so no name may differ from process to process.
    """
    for item in items:
        sampled = item.get_closest_marker("sampled")
        # The sum of the places in all tables of a test: crossed tables keep the rows of either.
        if sampled and sum(item.callspec.indices.values()) % sampled.args[0]:
            item.add_marker(pytest.mark.slow)
    named = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if named:
        raise pytest.UsageError(f"give these parameters ids: an address is no name: {named}")


def pytest_collection_finish() -> None:
    """Take what pytest keeps of 20,000 tests out of the sight of the garbage collector.

    Each collection, and each search for what holds an array, would walk through it.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _executables_from_disk(request: pytest.FixtureRequest) -> Iterator[None]:
    file = request.path.relative_to(_TESTS)
    before = config.values["jax_compilation_cache_dir"]
    if WATCH_COMPILING.isdisjoint((file.parts[0], file.as_posix())):
        config.update("jax_compilation_cache_dir", SHARED_CACHE)
    yield
    config.update("jax_compilation_cache_dir", before)


@pytest.fixture(scope="module")
def all_objects_in_sight() -> Iterator[None]:
    """Let the garbage collector see what modules of tests held before the first test ran."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _options_left_as_found() -> Iterator[None]:
    before = config.values
    yield
    after = config.values
    for option, value in before.items():
        config.update(option, value)
    assert after == before, "the test left an option changed"


@pytest.fixture(autouse=True, scope="module")
def _generators(request: pytest.FixtureRequest) -> list[tuple[np.random.Generator, Any]]:
    made = [x for x in vars(request.module).values() if isinstance(x, np.random.Generator)]
    return [(generator, generator.bit_generator.state) for generator in made]


@pytest.fixture(autouse=True)
def _numbers_of_any_order(_generators: list[tuple[np.random.Generator, Any]]) -> None:
    """Let a module's generators draw the same numbers for a test, whatever ran before it."""
    for generator, state in _generators:
        generator.bit_generator.state = state


@pytest.fixture(scope="module")
def eight_devices() -> Iterator[list[Any]]:
    """Give the process eight CPU devices while a module's tests run."""
    before = config.values["jax_num_cpu_devices"]
    config.update("jax_num_cpu_devices", 8)
    yield devices()
    config.update("jax_num_cpu_devices", before)


@pytest.fixture(scope="module")
def mesh(eight_devices: list[Any]) -> Mesh:
    """Return a mesh of four by two CPU devices, x and y."""
    return Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y"))
