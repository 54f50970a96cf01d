"""Functions beside devices."""

from typing import Any, NoReturn

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is for devices that another process holds: here Python runs beside the devices, "
        "and jxkernel.pure_callback calls it from a program"
    )


def colocated_cpu_devices(devices_or_mesh: Any) -> NoReturn:
    """Refuse: each device of this process is beside it."""
    _refuse("colocated_cpu_devices")


def colocated_python(fun: Any) -> NoReturn:
    """Refuse: a function runs beside this process's devices as it is."""
    _refuse("colocated_python")


def colocated_python_class(cls: type) -> NoReturn:
    """Refuse: an object lives beside this process's devices as it is."""
    _refuse("colocated_python_class")
