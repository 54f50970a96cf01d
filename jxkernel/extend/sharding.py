"""Shardings as XLA writes them, for packages that read modules."""

from typing import Any

from jxkernel._jaxlib import HloSharding, OpSharding

__all__ = [
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Return the ``OpSharding`` of its bytes.

    Args:
      sharding: a serialized ``OpSharding``, the protocol buffer of XLA.

    >>> from jxkernel.extend import sharding
    >>> sharding.get_op_sharding_from_serialized_proto(b"").type.name
    'REPLICATED'
    """
    found = OpSharding()
    found.ParseFromString(sharding)
    return found


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Return the ``HloSharding`` of the bytes of an ``OpSharding``.

    Args:
      sharding: a serialized ``OpSharding``.

    >>> from jxkernel.extend import sharding
    >>> sharding.get_hlo_sharding_from_serialized_proto(b"").is_replicated()
    True
    """
    return HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """Return the bytes of the ``OpSharding`` of an ``HloSharding``.

    Args:
      sharding: an ``HloSharding``.

    >>> from jxkernel.extend import sharding
    >>> whole = sharding.get_hlo_sharding_from_serialized_proto(b"")
    >>> sharding.get_serialized_proto_from_hlo_sharding(whole)
    b''
    """
    return sharding.to_proto().SerializeToString()
