"""Iterative solvers of linear systems: conjugate gradients, BiCGSTAB and GMRES."""

from jxkernel.scipy.sparse.linalg.iterations import bicgstab, cg, gmres

__all__ = ["bicgstab", "cg", "gmres"]
