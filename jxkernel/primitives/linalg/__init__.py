"""Primitives of linear algebra, and the LAPACK calls that they lower to.

Place: above ``contraction``, beside ``conv``.  It must not know NumPy's or SciPy's names
for what is made of factorizations.
"""
