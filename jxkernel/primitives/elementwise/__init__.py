"""Primitives that work element by element: arithmetic, functions, comparisons, conversions."""
