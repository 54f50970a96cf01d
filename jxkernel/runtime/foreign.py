"""Foreign functions: compiled code of other languages, made known to XLA by name.

XLA calls them through its foreign function interface (FFI), whose headers jaxlib ships.
"""

from __future__ import annotations

import ctypes
from typing import Any

from jxkernel._jaxlib import (
    include_dir,
    register_batch_partitionable,
    register_custom_call_target,
    register_custom_type,
)

__all__ = [
    "ffi_include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]


def ffi_include_dir() -> str:
    """Return the folder to give a C++ compiler with ``-I``: it has ``xla/ffi/api/ffi.h``."""
    return include_dir


def pycapsule(funcptr: Any) -> Any:
    """Return a function of a shared library as a capsule, to be registered.

    Args:
      funcptr: the function as ``ctypes`` loads it, ``ctypes.cdll.LoadLibrary(path).name``.

    Raises:
      TypeError: it is no foreign function.

    >>> import ctypes
    >>> type(pycapsule(ctypes.pythonapi.Py_GetVersion)).__name__
    'PyCapsule'
    """
    address = ctypes.cast(funcptr, ctypes.c_void_p)
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, destructor)
    return new(address, None, destructor(0))


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a foreign function callable by name from compiled programs.

    Args:
      name: what ``ffi_call`` calls it.
      fn: a capsule of its handler (see ``pycapsule``), or a dictionary of capsules by stage
        (``instantiate``, ``prepare``, ``initialize``, ``execute``).
      platform: ``cpu``, or the platform it runs on, such as ``CUDA``.
      api_version: 1 for XLA's FFI, 0 for its older interface.
      **kwargs: what else jaxlib's registration takes.
    """
    register_custom_call_target(name, fn, platform=platform, api_version=api_version, **kwargs)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that a function treats leading axes one by one, so that programs may be cut along them.

    Args:
      name: the name it was registered by.
    """
    register_batch_partitionable(name)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Make a type of state known, which a handler keeps between calls.

    Args:
      name: the type's name.
      type_registration: a dictionary of capsules: ``type_id`` and ``type_info``.
      platform: the platform it is for.
    """
    register_custom_type(name, type_registration, platform=platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Refuse the older form of ``register_ffi_type``: no jaxlib that this runs on takes it.

    Args:
      name: the type's name.
      obj: a capsule of the type's id.
      platform: the platform it is for.

    Raises:
      ValueError: always.
    """
    raise ValueError(
        f"register_ffi_type_id({name!r}) is of older jaxlibs: write register_ffi_type(name, "
        f"{{'type_id': capsule, 'type_info': capsule}}, platform={platform!r})"
    )
