"""Callbacks: equations that call Python functions of the host.

* ``pure_callback_p`` computes: it may be called never, once or often, and is dropped where its
  results are not used.
* ``io_callback_p`` acts: it is called exactly as often as the program says.
* ``debug_callback_p`` looks: it has no results, follows values through every transform, and may
  be called again where a value is computed again.

The function is a parameter, so a program keeps it alive and nothing else does.  The compiled
program holds it too, where the collector does not look: a callback that closes over the jitted
function that calls it lives until ``clear_caches()``.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.effects import DEBUG, IO, ORDERED_DEBUG, ORDERED_IO, TOKEN
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.primitives.shape.broadcast import batch_to_front
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import as_device_array, wait_for_order
from jxkernel.runtime.failures import CallbackError
from jxkernel.runtime.host_calls import HostCall, HostFunction, call_on_host

__all__ = [
    "VMAP_METHODS",
    "debug_callback_p",
    "io_callback_p",
    "pure_callback_p",
]

Avals = tuple[ShapedArray, ...]
Dims = Sequence[int | None]

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)
"""How a ``pure_callback`` may be given many examples."""

_TARGETS = {
    "cpu": "xla_ffi_python_cpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}

pure_callback_p = Primitive("pure_callback", multiple_results=True).define(sharding=rules.gathered)
io_callback_p = Primitive("io_callback", multiple_results=True).define(sharding=rules.gathered)
debug_callback_p = Primitive("debug_callback", multiple_results=True).define(
    sharding=rules.gathered
)

_DEBUG = (frozenset({DEBUG}), frozenset({ORDERED_DEBUG}))
_IO = (frozenset({IO}), frozenset({ORDERED_IO}))

# ---------------------------------------------------------------- lowering and evaluation


def _lower_call(
    context: Any,
    values: Sequence[Any],
    callback: HostFunction,
    *,
    ordered: bool = False,
    acts: bool = True,
) -> list[Any]:
    """Append the call of a host function; an ordered one takes and gives the token, last.

    Raises:
      NotImplementedError: the platform cannot call back.
    """
    target = _TARGETS.get(context.module.platform)
    if target is None:
        raise NotImplementedError(
            f"{context.primitive_name}: programs for platform {context.module.platform!r} cannot "
            "call Python functions of the host: run it on the CPU"
        )
    types = context.out_types
    call = HostCall(callback, context.avals_in, context.avals_out, ordered=ordered)
    if ordered:
        values = [*values, context.take_token()]
        types = [*types, hlo.tensor_type(TOKEN.shape, TOKEN.dtype)]
    index = len(context.module.callbacks)
    context.module.callbacks.append(call)
    results = context.op(
        "stablehlo.custom_call",
        types,
        values,
        {
            "call_target_name": hlo.string_attr(target),
            "has_side_effect": hlo.bool_attr(acts),
            "api_version": hlo.i32_attr(4),
            "backend_config": hlo.parse_attribute(f"{{index = {index} : ui64}}"),
            **context.one_device_attributes(len(types)),
        },
    ).results
    outs = list(results)
    if ordered:
        context.token = outs.pop()
    return outs


def _call_now(
    args: Sequence[Any], callback: HostFunction, avals: Sequence[ShapedArray], ordered: bool
) -> list[Any]:
    """Call a host function at once, after the ordered effects of programs under way."""
    if ordered:
        wait_for_order()
    return call_on_host(callback, [as_device_array(arg) for arg in args], avals)


def _over_examples(
    axis: Axis, args: Sequence[Any], dims: Dims, callback: HostFunction, avals: Avals
) -> tuple[list[Any], HostFunction]:
    """Return arguments with the axis in front, and the function that goes through examples."""
    has = [dim is not None for dim in dims]
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    return moved, callback.over_examples(has, axis.size, avals)


def _batched(avals: Avals, size: int) -> Avals:
    return tuple([aval.update(shape=(size, *aval.shape)) for aval in avals])


# ---------------------------------------------------------------- pure_callback


@pure_callback_p.def_abstract_eval
def _pure_abstract_eval(*avals: ShapedArray, result_avals: Avals, **params: Any) -> Avals:
    return result_avals


@pure_callback_p.def_lower
def _pure_lower(
    context: Any, *values: Any, callback: HostFunction, result_avals: Avals, vmap_method: str | None
) -> list[Any]:
    return _lower_call(context, values, callback, acts=False)


def _pure_evaluate(
    *args: Any, callback: HostFunction, result_avals: Avals, vmap_method: str | None
) -> list[Any]:
    return _call_now(args, callback, result_avals, ordered=False)


def _no_derivative(kind: str) -> Any:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
        """Raise: nobody knows the derivative of a Python function."""
        raise ValueError(
            f"{kind} has no derivative: what {params['callback']} computes is not seen. Give the "
            "function around it a rule with custom_jvp or custom_vjp, or pass it values whose "
            "derivative is not wanted through lax.stop_gradient"
        )

    return jvp


@pure_callback_p.def_batch
def _pure_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Dims,
    *,
    callback: HostFunction,
    result_avals: Avals,
    vmap_method: str | None,
) -> tuple[list[Any], list[int]]:
    if vmap_method is None:
        raise NotImplementedError(
            "vmap of a pure_callback must know how to call it for many examples: give "
            "pure_callback(..., vmap_method=m) with m one of "
            f"{', '.join(map(repr, VMAP_METHODS))}"
        )
    function = callback
    if vmap_method.startswith("sequential"):
        operands, function = _over_examples(axis, args, dims, callback, result_avals)
    elif vmap_method == "broadcast_all":
        operands = [
            batch_to_front(arg, dim, axis.size) for arg, dim in zip(args, dims, strict=True)
        ]
    else:
        lone = vmap_method == "expand_dims"
        operands = [_in_front(arg, dim, lone) for arg, dim in zip(args, dims, strict=True)]
    outs = pure_callback_p.bind(
        *operands,
        callback=function,
        result_avals=_batched(result_avals, axis.size),
        vmap_method=vmap_method,
    )
    return outs, [0] * len(outs)


def _in_front(arg: Any, dim: int | None, lone: bool) -> Any:
    """Return an argument with the axis in front; one without it gets one of size 1, or none."""
    if dim is not None:
        return move_axis(arg, dim, 0)
    return reshape(arg, (1, *shape_of(arg))) if lone else arg


_NOT_LINEAR = Undefined("what a Python function computes is not known to be linear")

pure_callback_p.define(
    jvp=_no_derivative("pure_callback"), transpose=_NOT_LINEAR, evaluate=_pure_evaluate
)

# ---------------------------------------------------------------- io_callback


@io_callback_p.def_abstract_eval
def _io_abstract_eval(*avals: ShapedArray, result_avals: Avals, **params: Any) -> Avals:
    return result_avals


def _io_effects(*avals: ShapedArray, ordered: bool, **params: Any) -> frozenset[Any]:
    return _IO[ordered]


@io_callback_p.def_lower
def _io_lower(
    context: Any, *values: Any, callback: HostFunction, result_avals: Avals, ordered: bool
) -> list[Any]:
    return _lower_call(context, values, callback, ordered=ordered)


def _io_evaluate(
    *args: Any, callback: HostFunction, result_avals: Avals, ordered: bool
) -> list[Any]:
    return _call_now(args, callback, result_avals, ordered)


@io_callback_p.def_batch
def _io_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Dims,
    *,
    callback: HostFunction,
    result_avals: Avals,
    ordered: bool,
) -> tuple[list[Any], list[int]]:
    if ordered:
        raise ValueError(
            f"vmap of an ordered io_callback ({callback}): examples have no order. Use "
            "ordered=False, or loop over the examples with lax.map"
        )
    operands, function = _over_examples(axis, args, dims, callback, result_avals)
    outs = io_callback_p.bind(
        *operands,
        callback=function,
        result_avals=_batched(result_avals, axis.size),
        ordered=ordered,
    )
    return outs, [0] * len(outs)


io_callback_p.define(
    effects=_io_effects,
    jvp=_no_derivative("io_callback"),
    transpose=_NOT_LINEAR,
    evaluate=_io_evaluate,
)

# ---------------------------------------------------------------- debug_callback


@debug_callback_p.def_abstract_eval
def _debug_abstract_eval(*avals: ShapedArray, **params: Any) -> Avals:
    return ()


def _debug_effects(*avals: ShapedArray, ordered: bool, **params: Any) -> frozenset[Any]:
    return _DEBUG[ordered]


@debug_callback_p.def_lower
def _debug_lower(context: Any, *values: Any, callback: HostFunction, ordered: bool) -> list[Any]:
    return _lower_call(context, values, callback, ordered=ordered)


def _debug_evaluate(*args: Any, callback: HostFunction, ordered: bool) -> list[Any]:
    """Call the function, whose exception is raised as it is: no program stands between."""
    if ordered:
        wait_for_order()
    try:
        return _call_now(args, callback, (), ordered=False)
    except CallbackError as error:
        raised = error.__cause__ or error
    # Outside of the block, so that the exception's own context stays what the callback made it.
    raise raised


@debug_callback_p.def_jvp
def _debug_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    return debug_callback_p.bind(*primals, **params), []


@debug_callback_p.def_transpose
def _debug_transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[None]:
    """Show nothing: a tangent does not exist on the way back."""
    return [None] * len(args)


@debug_callback_p.def_batch
def _debug_batch(
    axis: Axis, args: Sequence[Any], dims: Dims, *, callback: HostFunction, ordered: bool
) -> tuple[list[Any], list[int]]:
    operands, function = _over_examples(axis, args, dims, callback, ())
    debug_callback_p.bind(*operands, callback=function, ordered=ordered)
    return [], []


debug_callback_p.define(effects=_debug_effects, evaluate=_debug_evaluate)
