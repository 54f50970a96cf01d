"""Primitives that fold or order an axis: reductions, cumulative sums, sorts.

Place: above ``indexing`` and ``elementwise``.  It must not know of products of matrices.
"""
