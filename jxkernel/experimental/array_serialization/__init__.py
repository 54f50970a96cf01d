"""Arrays in files that many processes write: importable, and refused where used."""

from jxkernel.experimental.array_serialization import serialization

__all__ = ["serialization"]
