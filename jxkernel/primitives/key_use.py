"""``key_use_p``: the mark that a random key is consumed; bound only under ``debug_key_reuse``.

It gives the key data unchanged.  The checker of key reuse reads the marks of a program, and
remembers those that are evaluated; without the option there are none.
"""

from collections.abc import Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import zero_jvp
from jxkernel.primitives.sharding import rules

__all__ = ["key_use_p"]

key_use_p = Primitive("key_use").define(sharding=rules.same)


@key_use_p.def_abstract_eval
def _key_use_abstract_eval(key_data: ShapedArray, *, by: str) -> ShapedArray:
    return key_data


@key_use_p.def_lower
def _key_use_lower(context: Any, key_data: Any, *, by: str) -> Any:
    return key_data


key_use_p.define(jvp=zero_jvp(key_use_p))


@key_use_p.def_batch
def _key_use_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, by: str
) -> tuple[Any, int | None]:
    return key_use_p.bind(*args, by=by), dims[0]


key_use_p.define(transpose=Undefined("keys have no derivative"))
