"""``check_p``: a condition that must hold, with what to say where it does not.

It has no results.  A program that contains one cannot be compiled: ``checkify`` first turns the
checks of a program into values.  Evaluated, it raises at once.

Operands are the condition, of any shape, then values for the message, each with the condition's
shape in front of its own: ``vmap`` adds an axis to all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.effects import Effect
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.errors import CheckError
from jxkernel.primitives.shape.broadcast import batch_to_front
from jxkernel.records import record

__all__ = ["Message", "Text", "check_effect", "check_p", "failures"]

check_p = Primitive("check", multiple_results=True).define(sharding=AS_TYPED)

check_effect = Effect("check")

_PLACE = re.compile(r'"([^"]+)":(\d+):')


class Message(Protocol):
    """What a failed check says; hashable."""

    def text(self, values: Sequence[Any]) -> str:
        """Return the message with the values of one failure."""
        ...


@record()
class Text:
    """A message that the user wrote.

    Attributes:
      format: as of ``str.format``.
      structure: the tree of (positional, keyword) values.
      suffix: what ends the message.
    """

    format: str
    structure: Any
    suffix: str = " (`check` failed)"

    def text(self, values: Sequence[Any]) -> str:
        """Return the message with the values of one failure."""
        args, kwargs = self.structure.unflatten([_plain(value) for value in values])
        return self.format.format(*args, **kwargs) + self.suffix


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    return array[()] if array.ndim else array.item()


def failures(pred: Any, values: Sequence[Any], message: Message) -> list[str]:
    """Return the message of each failure: of one condition, or of those of many examples.

    Args:
      pred: the condition, an array of any shape.
      values: the values of the message, with the condition's shape in front.
      message: the message.
    """
    holds = np.asarray(pred)
    found = []
    for place in np.argwhere(~holds):
        own = [np.asarray(value)[tuple(place)] for value in values]
        where = f", at mapped index {', '.join(map(str, place))}" if holds.ndim else ""
        found.append(f"{message.text(own)}{where}")
    return found


@check_p.def_abstract_eval
def _check_abstract_eval(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    return []


def _check_effects(*avals: ShapedArray, **params: Any) -> frozenset[Any]:
    return frozenset([check_effect])


def _check_evaluate(pred: Any, *values: Any, message: Message, debug: bool) -> list[Any]:
    found = [] if debug else failures(pred, values, message)
    if found:
        raise CheckError("\n".join(found))
    return []


@check_p.def_lower
def _check_lower(context: Any, *values: Any, message: Message, debug: bool) -> list[Any]:
    if debug:
        return []
    place = _PLACE.search(str(context.loc))
    where = f" ({place[1]}:{place[2]})" if place else ""
    raise ValueError(
        f"a check is compiled that nothing looks at{where}: a compiled "
        "program cannot raise. Turn its checks into values first, error, result = "
        "jit(checkify.checkify(f))(x), then error.throw(); or use checkify.debug_check, which is "
        "left out where nothing looks at it"
    )


@check_p.def_jvp
def _check_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    check_p.bind(*primals, **params)
    return [], []


@check_p.def_batch
def _check_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    full = [batch_to_front(arg, dim, axis.size) for arg, dim in zip(args, dims, strict=True)]
    check_p.bind(*full, **params)
    return [], []


check_p.define(
    effects=_check_effects,
    evaluate=_check_evaluate,
    transpose=Undefined("it has no result to differentiate"),
)
