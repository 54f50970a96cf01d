"""Programs over several devices, by the field's older name: a name that packages import.

What they look for in it is under public names today: ``jxkernel.sharding`` and ``jxkernel.stages``.
"""

from jxkernel._lazy import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(
    __name__, older={"jxkernel._older": "ShardedDeviceArray thread_resources"}
)
