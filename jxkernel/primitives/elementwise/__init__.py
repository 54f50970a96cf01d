"""Primitives that work element by element: arithmetic, functions, comparisons, conversions.

Place: above ``shape``.  It must not know of reductions.
"""
