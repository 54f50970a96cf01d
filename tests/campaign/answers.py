"""What programs give, as it passes between processes."""

import struct
from dataclasses import dataclass

SECONDS = 20.0
"""How long a program may take."""

LENGTH = struct.Struct("<Q")
"""How the size of an answer is written before it."""


@dataclass(frozen=True)
class Leaf:
    """A leaf of a result.

    Attributes:
      path: where it stands in the result.
      sort: ``array``, ``shape`` or the name of its Python class.
      dtype: the name of its dtype.
      weak: whether its type is weak.
      data: its elements as bytes, or None where it has none.
    """

    path: str
    sort: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    weak: bool = False
    data: bytes | None = None


@dataclass(frozen=True)
class Answer:
    """What a program gave: its leaves, or what it raised.

    Attributes:
      leaves: the leaves of its result.
      error: the names of the classes of what it raised, the most special first.
      message: what the error says.
      frames: frames that are not the program's between those that are, of the chain of errors.
    """

    leaves: tuple[Leaf, ...] = ()
    error: tuple[str, ...] = ()
    message: str = ""
    frames: tuple[str, ...] = ()
