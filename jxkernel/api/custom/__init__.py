"""Functions whose rules the user gives: derivatives, batching, transposes, solutions.

A rule becomes a function of flat values here, which a primitive of ``higher_order`` applies.  Which
transform applies it, the primitive alone knows.
"""
