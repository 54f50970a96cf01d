"""What tests on many devices share; their fixtures are in the top ``conftest``."""

from typing import Any

from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec

__all__ = ["over"]


def over(mesh: Mesh, *entries: Any) -> NamedSharding:
    """Return a sharding over a mesh."""
    return NamedSharding(mesh, PartitionSpec(*entries))
