"""The transforms as users call them: pytrees in, pytrees out, errors on the user's line.

This layer handles arguments, structures and messages; the mathematics is in ``transforms``.
"""
