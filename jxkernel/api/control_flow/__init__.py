"""Control flow: loops and branches of traced programs, and the carry that loops hand on.

Functions of the user's become programs here, which primitives of ``higher_order`` hold.  It must
not know of derivatives: those are rules of the primitives.
"""
