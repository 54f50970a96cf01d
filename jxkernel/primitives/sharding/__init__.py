"""How results are sharded: a rule for each primitive, and the constraints that users give.

Place: the lowest wing, beside ``primitives.arguments``.  It must not know of other wings:
their primitives choose among its rules.
"""
