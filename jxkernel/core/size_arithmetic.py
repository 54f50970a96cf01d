"""``Arithmetic``: how the value of a symbolic size is computed, for integers.

This module must not know of dimensions.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Arithmetic"]


class Arithmetic:
    """Computing with sizes: integers here; ``lowering`` computes with values of a module."""

    def constant(self, value: int) -> Any:
        """Return an integer."""
        return value

    def add(self, left: Any, right: Any) -> Any:
        """Return a sum."""
        return left + right

    def multiply(self, left: Any, right: Any) -> Any:
        """Return a product."""
        return left * right

    def floordiv(self, left: Any, right: Any) -> Any:
        """Return a quotient, rounded down."""
        return left // right

    def mod(self, left: Any, right: Any) -> Any:
        """Return a remainder of the divisor's sign."""
        return left % right

    def max(self, left: Any, right: Any) -> Any:
        """Return the greater."""
        return max(left, right)

    def min(self, left: Any, right: Any) -> Any:
        """Return the lesser."""
        return min(left, right)
