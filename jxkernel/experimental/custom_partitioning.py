"""Functions whose division over devices the user decides, and the rules for it.

A façade: it re-exports.
"""

from jxkernel.api.custom.partitioning import custom_partitioning
from jxkernel.higher_order.custom_partitioning import custom_partitioning_p
from jxkernel.sharding.rules import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule

__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]
