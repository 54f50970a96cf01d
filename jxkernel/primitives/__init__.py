"""Primitives by mathematical family, each with all its rules beside it.

Purpose: what programs are made of.  An operation takes arrays of one dtype and does no promotion;
NumPy's manners live in ``jxkernel.numpy``.  Every primitive that is one StableHLO operation names
it.

Place in the pipeline: above ``core``, ``hlo`` and ``runtime``; the wings stand on each other in the
order that the layers contract gives.

Must not know: any transform.  Rules call operations, and operations bind primitives.
"""
