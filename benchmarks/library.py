"""The library under measurement: the same public names, from jxkernel or from real jax.

NumPy and PyTorch, which run operations at once, are libraries of an array module alone.
"""

from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

__all__ = ["HOSTS", "Library", "load"]

HOSTS = ("numpy", "torch")
"""Libraries that run operations at once."""


@dataclass(frozen=True)
class Library:
    """The public modules that metrics use.

    Attributes:
      name: ``jxkernel`` or ``jax``, ``numpy`` or ``torch``.
      api: the top-level module: ``jit``, ``grad``, ``vmap`` ...
    """

    name: str
    api: Any

    @property
    def lax(self) -> Any:
        """The lower-level operations."""
        return import_module(f"{self.name}.lax")

    @property
    def numpy(self) -> Any:
        """The NumPy API."""
        if self.name in HOSTS:
            return import_module(self.name)
        return import_module(f"{self.name}.numpy")

    @property
    def sharding(self) -> Any:
        """Meshes and shardings."""
        return import_module(f"{self.name}.sharding")

    @property
    def random(self) -> Any:
        """Random numbers."""
        return import_module(f"{self.name}.random")

    @property
    def nn(self) -> Any:
        """The neural-network functions."""
        return import_module(f"{self.name}.nn")

    def array(self, value: Any) -> Any:
        """Return an array on the default device."""
        return self.api.device_put(value)


def load(name: str) -> Library:
    """Import a library by name; only one of jxkernel and jax can live in a process."""
    if name in HOSTS:
        return Library(name, SimpleNamespace(block_until_ready=lambda x: x))
    return Library(name, import_module(name))
