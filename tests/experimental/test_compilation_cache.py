"""The disk cache under the names of programs written for JAX."""

import pytest

import jxkernel as jx
from jxkernel.compile import disk_cache_summary
from jxkernel.experimental.compilation_cache import compilation_cache


@pytest.fixture
def restored():
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jx.config, name) for name in names}
    yield
    for name, value in before.items():
        jx.config.update(name, value)


def test_programs_are_kept_in_the_folder_that_is_set(tmp_path, restored):
    compilation_cache.set_cache_dir(tmp_path)
    assert jx.config.jax_compilation_cache_dir == str(tmp_path)
    jx.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jx.jit(lambda x: x * 3.25 + 0.125)(2.0)
    assert any(tmp_path.rglob("*"))


def test_a_reset_forgets_counters(tmp_path, restored):
    compilation_cache.set_cache_dir(str(tmp_path))
    jx.jit(lambda x: x * 4.25 + 0.125)(2.0)
    assert disk_cache_summary().misses > 0
    compilation_cache.reset_cache()
    assert disk_cache_summary().misses == 0
