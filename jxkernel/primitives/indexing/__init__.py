"""Primitives that take, write or join parts of arrays: slices, gathers, scatters.

Place: above ``elementwise``.  It must not know what NumPy's indices mean: ``numpy`` parses those.
"""
