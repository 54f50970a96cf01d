"""Accelerator plugins: discovery by entry points, versions, options, and ones that are broken.

The plugins are real distributions on the path: a folder of metadata with an entry point, and a
package.  None of them has a library that works, save ``xla-cpu-pjrt`` where that is installed.
"""

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import _jaxlib, config, runtime
from jxkernel.runtime import accelerators, clients, plugins
from jxkernel.runtime.multiprocess import Group
from jxkernel.runtime.plugins import PluginError, find_plugin, installed_plugins

Install = Callable[..., None]

LOADER = "raise ImportError('entry points of plugins are not to be imported')"
LIBRARY = b"\x7fELF and GetPjrtApi, but nothing behind it"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder on the path, with nothing installed in it yet; clients are put back."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("_clients", "_asked", "_failed"):
        monkeypatch.setattr(clients, name, dict(getattr(clients, name)))
    installed_plugins.cache_clear()
    clients._found_platform.cache_clear()
    yield tmp_path
    installed_plugins.cache_clear()
    clients._found_platform.cache_clear()


@pytest.fixture
def install(site) -> Install:
    """Return a function that installs a distribution."""

    def distribution(
        name: str, version: str, entry: str = "", package: str = "", group: str = "jax_plugins"
    ) -> Path:
        folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        home = site / package.replace(".", "/") if package else site
        home.mkdir(parents=True, exist_ok=True)
        if entry:
            (folder / "entry_points.txt").write_text(f"[{group}]\n{entry} = {package}\n")
            (home / "__init__.py").write_text(LOADER)
        return home

    return distribution


def test_plugin_is_found_by_its_entry_point_without_importing_it(install):
    home = install("tin-pjrt", "1.2", "tin", "jax_plugins.tin")
    (home / "pjrt_tin.so").write_bytes(LIBRARY)
    (home / "helper.so").write_bytes(b"\x7fELF of another kind")
    plugin = find_plugin("tin")
    assert plugin is not None
    assert plugin.named() == "tin-pjrt 1.2"
    assert plugin.library() == str(home / "pjrt_tin.so")
    assert ("tin", "tin-pjrt 1.2", "not started") in runtime.plugin_states()
    assert "jax_plugins.tin" not in sys.modules


def test_plugins_of_either_group_are_found_and_gpu_is_either_kind(install):
    install("xla-brass", "1", "brass", "xla_plugins.brass", group="xla_plugins")
    install("jax-cuda12-pjrt", "0.1.0", "xla_cuda12", "jax_plugins.xla_cuda12")
    install("jax-cuda13-pjrt", "0.1.0", "xla_cuda13", "jax_plugins.xla_cuda13")
    assert {"brass", "cuda"} <= {plugin.platform for plugin in installed_plugins()}
    newest = find_plugin("gpu")
    assert newest is not None
    assert newest == find_plugin("cuda")
    assert newest.kernels == "jax_cuda13_plugin"
    assert find_plugin("rocm") is None


def test_broken_library_is_an_error_for_who_asks_and_nothing_to_the_cpu(install):
    home = install("tin-pjrt", "1.2", "tin", "jax_plugins.tin")
    (home / "pjrt_tin.so").write_bytes(LIBRARY)
    message = r"Backend 'tin': the plugin tin-pjrt 1\.2 \(.*pjrt_tin\.so\) did not start: "
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            jx.devices("tin")
    (state,) = [row[2] for row in runtime.plugin_states() if row[0] == "tin"]
    assert state.startswith("the plugin tin-pjrt 1.2")
    assert jx.devices()[0].platform == "cpu"
    assert jx.jit(lambda x: x + 1)(1) == 2


@pytest.mark.parametrize(
    ("files", "listed"),
    [({}, "none"), ({"a.so": LIBRARY, "b.so": LIBRARY}, "a.so, b.so"), ({"a.so": b""}, "none")],
)
def test_folder_without_one_library_is_refused_with_what_it_holds(install, files, listed):
    home = install("tin-pjrt", "1.2", "tin", "jax_plugins.tin")
    for name, content in files.items():
        (home / name).write_bytes(content)
    with pytest.raises(RuntimeError, match=f"tin-pjrt 1.2 is broken: .* holds {listed}"):
        jx.devices("tin")


def test_wheels_of_another_version_than_jaxlib_are_refused_with_the_command(install):
    install("jax-cuda12-pjrt", "0.1.0", "xla_cuda12", "jax_plugins.xla_cuda12")
    wanted = _jaxlib.version_text
    with pytest.raises(RuntimeError) as caught:
        jx.devices("gpu")
    for part in (
        "jax-cuda12-pjrt 0.1.0 does not go with jaxlib",
        f"pip install 'jax-cuda12-plugin=={wanted}' 'jax-cuda12-pjrt=={wanted}'",
    ):
        assert part in str(caught.value)


def test_kernels_that_are_missing_or_of_another_version_are_named(install):
    version = _jaxlib.version_text
    install("jax-cuda12-pjrt", version, "xla_cuda12", "jax_plugins.xla_cuda12")
    plugin = find_plugin("cuda")
    assert plugin is not None
    with pytest.raises(PluginError, match="without jax-cuda12-plugin, its kernels"):
        plugin.check_versions()
    install("jax-cuda12-plugin", "0.1.0")
    with pytest.raises(PluginError, match=r"jax-cuda12-plugin 0\.1\.0 does not go with jaxlib"):
        plugin.check_versions()


@pytest.mark.parametrize(
    ("platform", "message"),
    [
        ("gpu", r"can use cpu.*pip install 'jax-cuda12-plugin\[with-cuda\]=="),
        ("tpu", "pip install libtpu"),
        ("abacus", r"Unknown backend 'abacus': this process can use cpu[^:]*\.$"),
    ],
)
def test_platform_without_a_plugin_says_what_to_install(site, monkeypatch, platform, message):
    monkeypatch.setattr(clients, "find_plugin", lambda name: None)
    monkeypatch.setattr(clients, "installed_plugins", tuple)
    with pytest.raises(RuntimeError, match=message):
        jx.devices(platform)


def test_default_is_the_cpu_with_a_warning_where_an_accelerator_does_not_start(
    install, monkeypatch
):
    install("jax-cuda12-pjrt", "0.1.0", "xla_cuda12", "jax_plugins.xla_cuda12")
    monkeypatch.setattr(clients, "hinted_platforms", lambda: ("rocm", "cuda"))
    with pytest.warns(RuntimeWarning, match=r"Working on the CPU\. .*jax-cuda12-pjrt 0\.1\.0"):
        assert jx.default_backend() == "cpu"
    assert jx.default_backend() == "cpu"


def test_default_is_an_accelerator_of_which_there_is_a_sign_and_that_starts(install, monkeypatch):
    install("tin-pjrt", "1.2", "tin", "jax_plugins.tin")
    monkeypatch.setattr(clients, "hinted_platforms", lambda: ("tin",))
    monkeypatch.setattr(clients, "start_plugin", lambda plugin: SimpleNamespace(platform="tin"))
    assert jx.default_backend() == "tin"
    with config.platforms("cpu"):
        assert jx.default_backend() == "cpu"


def test_machine_without_device_files_gives_no_hint(monkeypatch):
    monkeypatch.setattr(plugins.glob, "glob", lambda pattern: [])
    monkeypatch.setattr(plugins.os.path, "exists", lambda path: False)
    assert plugins.hinted_platforms() == ()
    monkeypatch.setattr(plugins.glob, "glob", lambda pattern: ["/dev/nvidia0"])
    assert plugins.hinted_platforms()[0] == "cuda"
    monkeypatch.setattr(plugins.os.path, "exists", lambda path: path == "/dev/kfd")
    assert "rocm" in plugins.hinted_platforms()


OPTIONS = {
    "script": ({}, {}, False, None),
    "notebook": ({}, {}, True, False),
    "notebook-environment": ({}, {"XLA_PYTHON_CLIENT_PREALLOCATE": "true"}, True, None),
    "notebook-setting": ({"accelerator_preallocate": "on"}, {}, True, True),
    "script-setting": ({"accelerator_preallocate": "off"}, {}, False, False),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_memory_is_taken_at_once_save_in_a_notebook_or_where_told(monkeypatch, name):
    settings, environment, notebook, expected = OPTIONS[name]
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    monkeypatch.setattr(accelerators, "in_notebook", lambda: notebook)
    with ExitStack() as stack:
        for setting, value in settings.items():
            stack.enter_context(getattr(config, setting)(value))
        options = accelerators.client_options("cuda", environment, None)
    assert options.get("preallocate") is expected
    assert options["platform_name"] == "cuda"


def test_share_and_allocator_and_group_reach_the_client():
    group = Group("localhost:1", 1, 3, None)
    with config.accelerator_memory_fraction(0.5), config.accelerator_allocator("cuda_async"):
        options = accelerators.client_options("cuda", {}, group)
    wanted = {"memory_fraction": 0.5, "allocator": "cuda_async", "node_id": 1, "num_nodes": 3}
    assert options.items() >= wanted.items()
    assert accelerators.client_options("tpu", {}, None) == {}


def test_this_process_is_no_notebook():
    assert not accelerators.in_notebook()


def test_import_and_first_use_of_the_cpu_look_for_no_plugin(site, install):
    install("tin-pjrt", "1.2", "tin", "jax_plugins.tin")
    code = (
        "import jxkernel as jx; jx.numpy.ones(2) + 1; "
        "from jxkernel.runtime.plugins import installed_plugins as p, hinted_platforms; "
        "assert hinted_platforms() or not p.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def _has_distribution(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(
    not _has_distribution("xla-cpu-pjrt"),
    reason="needs a plugin that works on any machine: pip install xla-cpu-pjrt",
)
def test_plugin_that_works_runs_programs_beside_the_cpu():
    (device, *_) = jx.devices("xla_cpu_pjrt")
    assert device.client is not jx.devices("cpu")[0].client
    x = jx.device_put(np.arange(4.0, dtype=np.float32), device)
    y = jx.jit(jx.grad(lambda v: (v**2).sum()))(x)
    assert y.devices() == {device}
    np.testing.assert_array_equal(y, 2 * np.arange(4))
    with jx.default_device("xla_cpu_pjrt"):
        assert jx.numpy.ones(3).devices() == {device}
    with pytest.raises(ValueError, match="incompatible devices"):
        x + jx.device_put(np.ones(4, np.float32), jx.devices("cpu")[0])


def _gpus() -> list[Any]:
    try:
        return jx.devices("gpu")
    except RuntimeError:
        return []


@pytest.mark.skipif(
    not plugins.hinted_platforms(), reason="needs an accelerator: no device file shows one"
)
def test_gpu_computes_solves_and_reports_its_memory():
    gpus = _gpus()
    if not gpus:
        pytest.skip(f"no GPU started: {runtime.plugin_states()}")
    x = jx.device_put(np.eye(4, dtype=np.float32) * 4, gpus[0])
    assert jx.jit(lambda v: v @ v)(x).devices() == {gpus[0]}
    np.testing.assert_allclose(jx.numpy.linalg.cholesky(x), 2 * np.eye(4), rtol=1e-6)
    assert jx.random.normal(jx.random.key(0), (8,)).shape == (8,)
    assert gpus[0].memory_stats()["bytes_in_use"] > 0
