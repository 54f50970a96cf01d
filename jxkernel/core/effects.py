"""Effects: what an equation does besides computing its results.

Effects are hashable markers collected on equations and jaxprs.  A program with an ordered effect
must run in program order; one with any effect must not be dropped by dead-code elimination.
"""

from jxkernel.records import record

__all__ = ["Effect"]


@record()
class Effect:
    """A kind of side effect, such as a callback to Python.

    Attributes:
      name: the word jaxprs print for it.
      ordered: whether two equations with it must keep their order.
    """

    name: str
    ordered: bool = False
