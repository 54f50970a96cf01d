"""What packages that extend the system import.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.extend import core

__all__ = ["core"]
