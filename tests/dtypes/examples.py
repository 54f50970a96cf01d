"""Facts about dtypes, and stand-ins for what later layers bring: arrays and key dtypes."""

import enum
import json
import pathlib
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import ExtendedDType

FACTS = json.loads(pathlib.Path(__file__).with_name("promotion.json").read_text())
NODES: list[str] = FACTS["nodes"].split()
SCALARS: dict[str, Any] = {"int*": 0, "float*": 0.0, "complex*": 0j}
NAMES = [name for name in NODES if name not in SCALARS]


class KeyDType(ExtendedDType):
    """A dtype of random keys, as a later layer defines it."""

    type = dtypes.prng_key
    name = "key<test>"
    itemsize = 8


class Array:
    """What promotion needs of an array."""

    def __init__(self, dtype: Any, weak_type: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type


class Choice(enum.IntEnum):
    """A subclass of int."""

    ONE = 1
