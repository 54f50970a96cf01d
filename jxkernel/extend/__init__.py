"""What packages that extend the system import.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.extend import core, linear_util, source_info_util

__all__ = ["core", "linear_util", "source_info_util"]
