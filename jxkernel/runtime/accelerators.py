"""Starting an accelerator's plugin: options, the library, the kernels of GPUs, the client.

A plugin is loaded when its platform is asked for, or when it is the default one and the machine
shows a sign of it; never by ``import jxkernel``.  What goes wrong is kept as a sentence: the user
who asked gets it as an error, others keep the CPU and a warning.

Memory.  A GPU's client takes most of the memory at once (XLA's default: fast, and what a program
that has the machine to itself wants).  A notebook shares the machine with other notebooks, so there
it takes what it needs and grows, unless the user says otherwise.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any

from jxkernel import _jaxlib, config
from jxkernel._lazy import late_module
from jxkernel.runtime.multiprocess import Group, joined
from jxkernel.runtime.plugins import Plugin, PluginError, hinted_platforms

__all__ = ["client_options", "in_notebook", "start_plugin"]

_KERNELS = ("gpu_solver", "gpu_linalg", "gpu_sparse", "gpu_prng", "gpu_rnn", "gpu_triton")
_NO_GPU = (
    " This machine shows no GPU: there is no device file of one (/dev/nvidia0, /dev/kfd). In a "
    "container, pass the GPU through (docker run --gpus all); else install the driver."
)
_ALIASES = {"cuda": "CUDA", "rocm": "ROCM"}


def start_plugin(plugin: Plugin) -> Any:
    """Return a client of a plugin's platform.

    Raises:
      PluginError: versions do not agree, the library does not load, or there is no such device.
    """
    library = _library(plugin)
    try:
        interface = _load(plugin.platform, library)
        if plugin.kernels is not None:
            _register_kernels(plugin.platform, plugin.kernels, interface)
        group = joined()
        options = client_options(plugin.platform, os.environ, group)
        return _jaxlib.make_c_api_client(
            plugin.platform, options, group.client if group is not None else None
        )
    except PluginError:
        raise
    except Exception as error:  # whatever a foreign library says is for the user to read
        reason = str(error).strip().splitlines()
        unseen = plugin.kernels is not None and plugin.platform not in hinted_platforms()
        raise PluginError(
            f"the plugin {plugin.named()} ({library}) did not start: "
            f"{type(error).__name__}: {reason[0] if reason else 'no reason given'}"
            f"{_NO_GPU if unseen else ''}"
        ) from error


def _library(plugin: Plugin) -> str:
    """Return the path of a plugin's library, whose versions agree.

    Raises:
      PluginError: they do not, or there is none.
    """
    plugin.check_versions()
    library = plugin.library()
    if plugin.platform == "tpu":
        # Off a TPU libtpu asks a cloud's metadata server, for minutes, unless told not to.
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
        os.environ.setdefault("TPU_LIBRARY_PATH", library)
    return library


def load_interface(plugin: Plugin) -> None:
    """Load a plugin's library, for what it knows without a device.

    Raises:
      PluginError: versions do not agree, or there is no library.
    """
    _load(plugin.platform, _library(plugin))


def _load(platform: str, library: str) -> Any:
    """Load a plugin's library, once in a process, and return its interface."""
    interface = None
    if not _jaxlib.plugin_loaded(platform):
        interface = _interfaces[platform] = _jaxlib.load_plugin(platform, library)
    if not _jaxlib.plugin_initialized(platform):
        _jaxlib.initialize_plugin(platform)
    return interface or _interfaces.get(platform)


_interfaces: dict[str, Any] = {}
"""The interfaces of the libraries that are loaded: for good, as a library cannot be unloaded."""


def _register_kernels(platform: str, package: str, interface: Any) -> None:
    """Make the kernels of a GPU plugin known to XLA by name: solvers, random bits, host calls."""
    extension = late_module(f"{package}.{platform}_plugin_extension")
    name = _ALIASES[platform]
    _jaxlib.register_custom_call_handler(
        name, partial(extension.register_custom_call_target, interface)
    )
    _jaxlib.register_custom_type_handler(name, partial(extension.register_custom_type, interface))
    for kind, registration in extension.ffi_types().items():
        _jaxlib.register_custom_type(kind, registration, platform=name)
    for target, handler in extension.ffi_handlers().items():
        _jaxlib.register_custom_call_target(target, handler, platform=name, api_version=1)
    for module in _kernel_modules():
        for target, value, version in module.registrations().get(name, []):
            _jaxlib.register_custom_call_target(target, value, platform=name, api_version=version)


def _kernel_modules() -> list[ModuleType]:
    found: list[ModuleType] = []
    for name in _KERNELS:
        try:
            module = late_module(f"jaxlib.{name}")
        except ImportError:  # this jaxlib has none of that name
            continue
        if hasattr(module, "registrations"):
            found.append(module)
    return found


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    application = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    return application is not None and application.initialized()


def client_options(
    platform: str, environment: Mapping[str, str], group: Group | None
) -> dict[str, Any]:
    """Return what a plugin's client is to be made with.

    Args:
      platform: the platform; only GPUs take options about memory.
      environment: the process's variables: ``XLA_PYTHON_CLIENT_PREALLOCATE`` and the others of
        XLA's count where no setting of jxkernel says otherwise.
      group: the processes that run one program with this one, or None.
    """
    options: dict[str, Any] = {}
    if platform in _ALIASES:
        options.update(_jaxlib.gpu_plugin_options())
        options["platform_name"] = platform
        options.update(_memory_options(environment))
        if group is not None and group.visible is not None:
            options["visible_devices"] = list(group.visible)
    if group is not None:
        options.update(node_id=group.rank, num_nodes=group.size)
    return options


def _memory_options(environment: Mapping[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    said = config.accelerator_preallocate.value
    if said != "auto":
        options["preallocate"] = said == "on"
    elif "XLA_PYTHON_CLIENT_PREALLOCATE" not in environment and in_notebook():
        options["preallocate"] = False
    if config.accelerator_memory_fraction.value > 0:
        options["memory_fraction"] = float(config.accelerator_memory_fraction.value)
    if config.accelerator_allocator.value != "default":
        options["allocator"] = config.accelerator_allocator.value
    return options
