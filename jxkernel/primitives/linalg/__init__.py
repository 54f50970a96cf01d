"""Primitives of linear algebra, and the LAPACK calls that they lower to."""
