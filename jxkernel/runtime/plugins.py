"""Which accelerator plugins are installed: PJRT plugin wheels, found without running their code.

The wheels' own entry points import ``jax``, so they are read, never loaded: an entry point of the
group ``jax_plugins`` or ``xla_plugins`` names a platform and a package, and in the package's
folder lies one shared library that exports ``GetPjrtApi``.  ``libtpu`` has no entry point and is
known by name.  A CUDA or ROCm plugin comes in two wheels of one version, which is jaxlib's: the
library (``jax-cuda12-pjrt``) and the kernels for it (``jax-cuda12-plugin``).

Nothing is started here (see ``accelerators``), and nothing is looked at before a platform other
than the CPU is asked for, or the machine shows a sign of one.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from jxkernel import _jaxlib
from jxkernel._lazy import late_module
from jxkernel.records import record

__all__ = [
    "Plugin",
    "PluginError",
    "find_plugin",
    "hinted_platforms",
    "how_to_install",
    "installed_plugins",
]

_GROUPS = ("jax_plugins", "xla_plugins")
_GPU = r"(?:xla_)?(cuda|rocm)(\d*)"
_SYMBOL = b"GetPjrtApi"
_GOOGLE = "0x1ae0"


class PluginError(RuntimeError):
    """A plugin is installed and cannot be used; the message says why and what to do."""


@record()
class Plugin:
    """An installed PJRT plugin.

    Attributes:
      platform: what it is asked for by: ``cuda``, ``rocm``, ``tpu``, or its entry point's name.
      distribution: the wheel that brings the library, with its version: ``("libtpu", "0.0.20")``.
      folder: the folder in which the library lies.
      kernels: the package with the kernels that go with it (``jax_cuda12_plugin``), or None.
    """

    platform: str
    distribution: tuple[str, str]
    folder: str
    kernels: str | None = None

    def library(self) -> str:
        """Return the path of the shared library.

        Raises:
          PluginError: there is none in the folder, or several.
        """
        found = sorted(path for path in Path(self.folder).glob("*.so*") if _exports_api(path))
        if len(found) == 1:
            return str(found[0])
        listed = ", ".join(path.name for path in found) or "none"
        raise PluginError(
            f"{self.named()} is broken: {self.folder} should hold one library that exports "
            f"GetPjrtApi, and holds {listed}: install the wheel again"
        )

    def named(self) -> str:
        """Return the wheel's name and version."""
        return " ".join(self.distribution)

    def check_versions(self) -> None:
        """Check that the wheels of a CUDA plugin are of jaxlib's version, as its kernels need.

        Raises:
          PluginError: one is not, or is not installed.
        """
        if self.kernels is None:
            return
        name = self.kernels.replace("_", "-")
        kernels = list(_versions(name))
        wanted = _numbers(_jaxlib.version_text)
        install = f"pip install '{name}=={wanted}' '{self.distribution[0]}=={wanted}'"
        for wheel, version in (self.distribution, *kernels):
            if self.platform == "cuda" and _numbers(version) != wanted:
                raise PluginError(
                    f"{wheel} {version} does not go with jaxlib {_jaxlib.version_text}: they must "
                    f"be of one version. Run: {install}"
                )
        if not kernels:
            raise PluginError(
                f"{self.named()} is installed without {name}, its kernels. Run: {install}"
            )


def _numbers(version: str) -> str:
    """Return the numbers that a version begins with: ``0.12.0`` of ``0.12.0.dev20260101``."""
    found = re.match(r"\d+(\.\d+)*", version)
    return found[0] if found else version


def _metadata() -> Any:
    """Return ``importlib.metadata``, loaded at its first use: most processes never need it."""
    return late_module("importlib.metadata")


def _versions(name: str) -> Iterator[tuple[str, str]]:
    metadata = _metadata()
    try:
        yield name, metadata.version(name)
    except metadata.PackageNotFoundError:
        return


def _exports_api(path: Path) -> bool:
    mmap = late_module("mmap")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.find(_SYMBOL) >= 0
    except (OSError, ValueError):  # not readable, or empty
        return False


@cache
def installed_plugins() -> tuple[Plugin, ...]:
    """Return the plugins that are installed, in the order of their platforms' names.

    Of two wheels of one platform (CUDA 12 and 13) the newest comes first.
    """
    found = [*_by_entry_point(), *_tpu()]
    newest = sorted(found, key=lambda plugin: plugin.kernels or "", reverse=True)
    return tuple(sorted(newest, key=lambda plugin: plugin.platform))


def _by_entry_point() -> Iterator[Plugin]:
    for group in _GROUPS:
        for entry in _metadata().entry_points(group=group):
            if entry.dist is None:
                continue
            folder = entry.dist.locate_file(entry.module.replace(".", "/"))
            distribution = (entry.dist.metadata["Name"], entry.dist.version)
            gpu = re.fullmatch(_GPU, entry.name)
            platform = gpu[1] if gpu else entry.name
            kernels = f"jax_{gpu[1]}{gpu[2]}_plugin" if gpu else None
            yield Plugin(platform, distribution, str(folder), kernels)


def _tpu() -> Iterator[Plugin]:
    spec = PathFinder.find_spec("libtpu")
    if spec is None or not spec.submodule_search_locations:
        return
    folder = next(iter(spec.submodule_search_locations))
    for name in ("libtpu", "libtpu-nightly"):
        for distribution in _versions(name):
            yield Plugin("tpu", distribution, folder)
            return
    yield Plugin("tpu", ("libtpu", ""), folder)


def find_plugin(platform: str) -> Plugin | None:
    """Return the plugin of a platform; ``gpu`` is either kind of GPU."""
    wanted = ("cuda", "rocm") if platform == "gpu" else (platform,)
    return next((plugin for plugin in installed_plugins() if plugin.platform in wanted), None)


def hinted_platforms() -> tuple[str, ...]:
    """Return the platforms of which the machine shows signs, such as an NVIDIA device file.

    A few looks at the file system; no driver is asked, so that a machine without accelerators
    pays nothing.
    """
    hints: list[str] = []
    if glob.glob("/dev/nvidia[0-9c]*") or os.path.exists("/dev/dxg"):
        hints.append("cuda")
    if os.path.exists("/dev/kfd"):
        hints.append("rocm")
    if PathFinder.find_spec("libtpu") is not None and _has_tpu():
        hints.append("tpu")
    return tuple(hints)


def _has_tpu() -> bool:
    for name in glob.glob("/sys/bus/pci/devices/*/vendor"):
        try:
            if Path(name).read_text(encoding="ascii").strip() == _GOOGLE:
                return True
        except OSError:
            continue
    return False


def how_to_install(platform: str) -> str:
    """Return what to do for a platform of which no plugin is installed; empty if not known."""
    version = _numbers(_jaxlib.version_text)
    wheels = {
        "cuda": f"'jax-cuda12-plugin[with-cuda]=={version}' 'jax-cuda12-pjrt=={version}'",
        "rocm": f"'jax-rocm7-plugin=={version}' 'jax-rocm7-pjrt=={version}'",
        "tpu": "libtpu",
    }
    wanted = wheels.get("cuda" if platform == "gpu" else platform)
    return f"pip install {wanted}" if wanted else ""
