"""``shard_map`` at the place where it stood in earlier years, with the arguments it had there."""

from jxkernel._lazy import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, older={"jxkernel._older": "shard_map"})
