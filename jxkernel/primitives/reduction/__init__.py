"""Primitives that fold or order an axis: reductions, cumulative sums, sorts."""
