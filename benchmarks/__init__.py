"""Measurements of jxkernel side by side with real jax: ``make bench``.

``runner`` has worker processes of both libraries measure in turn (A B A B) and ``report`` writes
``docs/benchmarks.md``.  Each other module is one family of metrics; its source runs unchanged
under both libraries, whose public names are the same.  Nothing here is a test: no time is ever
asserted.
"""
