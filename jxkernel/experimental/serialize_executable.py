"""Compiled functions as bytes, for processes that run them without compiling.

A façade: it re-exports.
"""

from jxkernel.export.executables import deserialize_and_load, serialize

__all__ = ["deserialize_and_load", "serialize"]
