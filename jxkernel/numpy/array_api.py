"""What the Python array API standard (2024.12) asks of a namespace and of its arrays.

``__array_namespace_info__`` tells what the namespace can do; ``array_namespace`` is the method
``__array_namespace__`` of arrays and tracers.
"""

import sys
from types import ModuleType
from typing import Any

from jxkernel import dtypes
from jxkernel.config import enable_x64
from jxkernel.runtime import devices

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_WIDE = ("int64", "uint64", "float64", "complex128")


class __array_namespace_info__:
    """What the namespace can do, as the array API standard asks: an object with five methods.

    >>> import jxkernel.numpy as jnp
    >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return what libraries may rely on in every program, a traced one included."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return the device of arrays that no argument places: None, it is a setting."""
        return None

    def devices(self) -> tuple[Any, ...]:
        """Return the devices that a function takes as ``device=``."""
        return (None, *devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes of arrays that are made without one.

        Args:
          device: a device; all have the same.
        """
        self._check_device(device)
        return {
            "real floating": dtypes.default_float_dtype(),
            "complex floating": dtypes.default_complex_dtype(),
            "integral": dtypes.default_int_dtype(),
            "indexing": dtypes.default_int_dtype(),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the standard's dtypes that arrays may have, by name.

        Args:
          device: a device; all have the same.
          kind: ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
            ``"real floating"``, ``"complex floating"``, ``"numeric"``, or a tuple of these; all
            where not given.

        Raises:
          ValueError: a kind is none of these, or the device is not there.
        """
        self._check_device(device)
        kinds = (
            ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        )
        unknown = [k for k in kinds if k not in _KINDS]
        if unknown:
            raise ValueError(f"dtypes got kind {unknown[0]!r}: kinds are {', '.join(_KINDS)}")
        names = dict.fromkeys(name for k in kinds for name in _KINDS[k])
        return {
            name: dtypes.as_dtype(name) for name in names if enable_x64.value or name not in _WIDE
        }

    def _check_device(self, device: Any) -> None:
        if device not in self.devices():
            raise ValueError(f"there is no device {device!r}: devices are {self.devices()}")


def array_namespace(self: Any, *, api_version: str | None = None) -> ModuleType:
    """Return the namespace of the array API standard, ``jxkernel.numpy``.

    Args:
      self: an array.
      api_version: the version of the standard that is wanted.

    Raises:
      ValueError: there is no such version here.
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(
            f"__array_namespace__ got api_version {api_version!r}: there are {', '.join(_VERSIONS)}"
        )
    return sys.modules["jxkernel.numpy"]
