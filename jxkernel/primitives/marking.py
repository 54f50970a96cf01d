"""Marking: what the compiler is told of a value, beside how it is computed.

``marked`` is the identity; it puts frontend attributes on the operation that gives its operand.
"""

from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.primitive import Primitive
from jxkernel.primitives.elementwise.families import ANY, transpose_of_terms, unary

__all__ = ["marked_p"]


Attributes = tuple[tuple[str, str], ...]


def _marked_lower(context: Any, x: Any, *, attributes: Attributes) -> Any:
    hlo.mark_value(x, dict(attributes))
    return x


def _marked_reference(x: Any, *, attributes: Attributes) -> Any:
    return np.array(x)


def _marked_term(ct: Any, x: Any, *, attributes: Attributes) -> Any:
    return ct


marked_p: Primitive = unary(
    "xla_metadata_value",
    ANY,
    lower=_marked_lower,
    reference=_marked_reference,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(_marked_term),
)
"""The identity, whose operand's operation gets frontend attributes: (key, value) pairs."""
