"""Marks of what a pullback does with each gradient: see ``VJP.with_refs``.

A façade: it re-exports.
"""

from jxkernel.api.derivatives.pullback import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
