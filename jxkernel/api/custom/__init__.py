"""Functions whose rules the user gives: derivatives, batching, transposes, solutions.

A rule becomes a function of flat values here, which a primitive of ``higher_order`` applies.  It
must not know which transform does so.
"""
