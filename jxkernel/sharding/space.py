"""``Space``: where in the memories of a machine an array is kept."""

from enum import Enum

__all__ = ["Space"]


class Space(Enum):
    """A kind of memory, whatever a platform calls it.

    ``device_put(x, Space.Host)`` keeps an array in the host's pinned memory, divided as it is;
    ``Space.Device`` brings it back to its devices' own.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> kept = jx.device_put(jnp.arange(3.0), jx.memory.Space.Host)
    >>> kept.sharding.memory_kind, (kept + 1).tolist()
    ('pinned_host', [1.0, 2.0, 3.0])
    """

    Device = "device"
    Host = "pinned_host"
    Any = "any"
