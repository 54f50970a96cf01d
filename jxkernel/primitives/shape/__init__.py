"""Primitives that change a shape and no value: broadcasts, reshapes, transposes.

Place: above ``sharding``; every wing that broadcasts stands on it.  It must not know of arithmetic.
"""
