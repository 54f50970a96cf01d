"""Primitives by mathematical family, each with all its rules beside it.

An operation takes arrays of one dtype and does no promotion; NumPy's manners live in
``jxkernel.numpy``.  Every primitive that is one StableHLO operation names it.  This layer must
not know of any transform: rules call operations, and operations bind primitives.
"""
