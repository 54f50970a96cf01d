"""Products that sum over axes: ``dot_general`` and its ragged kin.

Place: above ``reduction``.  It must not know of convolutions or factorizations, which stand on it.
"""
