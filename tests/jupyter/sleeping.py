"""Device work of a known length: a primitive whose executable sleeps in a host callback.

How long each one really took, by the clock that the timing magics read, is kept in `FINISHED` as
the time of its end: on a busy machine it sleeps for longer than it asked for.
"""

import time
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.primitive import Primitive, Undefined

FINISHED: list[float] = []
"""When each piece of work ended, as `time.perf_counter` has it."""

sleep_p = Primitive("test_sleep")
sleep_p.define(
    jvp=Undefined("a test does not differentiate it"),
    transpose=Undefined("a test does not transpose it"),
    batch=Undefined("a test does not batch it"),
)


@sleep_p.def_abstract_eval
def _sleep_abstract_eval(x: ShapedArray, *, seconds: float) -> ShapedArray:
    return x


@sleep_p.def_lower
def _sleep_lower(context: Any, x: Any, *, seconds: float) -> Any:
    def callback(value: Any) -> tuple[Any]:
        time.sleep(seconds)
        result = np.array(value)
        FINISHED.append(time.perf_counter())
        return (result,)

    context.module.callbacks.append(callback)
    index = len(context.module.callbacks) - 1
    attributes = {
        "call_target_name": hlo.string_attr("xla_ffi_python_cpu_callback"),
        "has_side_effect": hlo.bool_attr(False),
        "api_version": hlo.i32_attr(4),
        "backend_config": hlo.parse_attribute(f"{{index = {index} : ui64}}"),
    }
    return context.value("stablehlo.custom_call", context.out_type, [x], attributes)


def sleep(x: Any, seconds: float) -> Any:
    """Returns `x` after its executable has slept."""
    return sleep_p.bind(x, seconds=seconds)
