"""Primitives whose parameters hold programs: ``jit`` here; control flow and custom rules beside it.

Their rules transform the programs they hold, with the same transforms that made the call.  They
must not know how users write arguments: that is ``api``'s.
"""
