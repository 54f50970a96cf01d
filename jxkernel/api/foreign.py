"""``ffi_call``: foreign functions as functions of arrays, and as lowering rules of primitives."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.higher_order.foreign import (
    VMAP_METHODS,
    CallOptions,
    append_custom_call,
    attribute_text,
    ffi_call_p,
)

__all__ = ["build_ffi_lowering_function", "ffi_call", "ffi_lowering"]

_FFI = 4


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Sequence[int] | None] | None = None,
    output_layouts: Sequence[Any] | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = _FFI,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls a foreign function.

    Args:
      target_name: the name it was registered by, with ``register_ffi_target``.
      result_shape_dtypes: ``ShapeDtypeStruct`` of the result, or a sequence of them.
      has_side_effect: whether the call must be made though nobody reads its results.
      vmap_method: how ``vmap`` treats it: ``sequential`` (one call per example), or one call with
        a leading axis more, of size one where an argument is not mapped (``expand_dims``),
        repeated (``broadcast_all``) or absent (``legacy_vectorized``).
      input_layouts: for each operand its axes from the slowest to the fastest; None where that is
        their order, as NumPy's arrays have it.
      output_layouts: the same for the results.
      input_output_aliases: from operands to the results that take over their buffers.
      custom_call_api_version: 4 for XLA's FFI, less for its older interfaces.
      legacy_backend_config: the string that the older interfaces are given.

    Returns:
      a function of arrays; its keywords are attributes of the call: numbers (Python's are 64 bits
      wide), strings, sequences of numbers, dictionaries.

    Raises:
      ValueError: the ``vmap_method`` is none, or attributes are given to an older interface.

    It has no derivative: call it from a function that has one, by ``custom_vjp``.
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method is one of {', '.join(VMAP_METHODS)} or None, got {vmap_method!r}"
        )
    several = isinstance(result_shape_dtypes, (tuple, list))
    results = result_shape_dtypes if several else [result_shape_dtypes]
    out_avals = tuple([_result_aval(result) for result in results])
    if not several and output_layouts is not None:
        output_layouts = [output_layouts]

    def call(*args: Any, **kwargs: Any) -> Any:
        """Call the foreign function on arrays; keywords are its attributes."""
        options = CallOptions(
            target_name,
            _config_text(kwargs, custom_call_api_version, legacy_backend_config),
            custom_call_api_version,
            has_side_effect,
            tuple(sorted((input_output_aliases or {}).items())),
            _layouts("input_layouts", input_layouts, [abstractify(arg) for arg in args]),
            _layouts("output_layouts", output_layouts, out_avals),
        )
        _check_aliases(options, args, out_avals)
        outs = ffi_call_p.bind(*args, out_avals=out_avals, options=options, vmap_method=vmap_method)
        return tuple(outs) if several else outs[0]

    return call


def _result_aval(result: Any) -> ShapedArray:
    dtype = dtypes.check_and_canonicalize_user_dtype(result.dtype, "ffi_call")
    return ShapedArray(tuple(result.shape), dtype)


def _config_text(attributes: Mapping[str, Any], version: int, legacy: str | None) -> str:
    if version == _FFI:
        if legacy is not None:
            raise ValueError("legacy_backend_config is for interfaces older than version 4")
        return attribute_text(attributes)
    if attributes:
        raise ValueError(
            f"interface version {version} takes no attributes, got {', '.join(attributes)}: pass "
            "legacy_backend_config, or use version 4"
        )
    return attribute_text(legacy or "")


def _layouts(
    parameter: str, layouts: Sequence[Any] | None, avals: Sequence[ShapedArray]
) -> tuple[tuple[int, ...] | None, ...]:
    if layouts is None:
        return (None,) * len(avals)
    if len(layouts) != len(avals):
        raise ValueError(f"{parameter} has {len(layouts)} entries for {len(avals)} arrays")
    found = tuple([None if layout is None else tuple(layout) for layout in layouts])
    for layout, aval in zip(found, avals, strict=True):
        if layout is not None and sorted(layout) != list(range(aval.ndim)):
            raise ValueError(
                f"{parameter} has {layout} for an array of {aval.ndim} axes: a layout names each "
                "axis once"
            )
    return found


def _check_aliases(options: CallOptions, args: Sequence[Any], outs: Sequence[ShapedArray]) -> None:
    for operand, result in options.aliases:
        if not 0 <= operand < len(args) or not 0 <= result < len(outs):
            raise ValueError(
                f"input_output_aliases joins operand {operand} and result {result}; there are "
                f"{len(args)} operands and {len(outs)} results"
            )
        aval = abstractify(args[operand])
        if (aval.shape, aval.dtype) != (outs[result].shape, outs[result].dtype):
            raise ValueError(
                f"input_output_aliases joins operand {operand} of type {aval.short()} and result "
                f"{result} of type {outs[result].short()}: they must be of one type"
            )


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Sequence[int] | None] | None = None,
    result_layouts: Sequence[Sequence[int] | None] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    api_version: int = _FFI,
) -> Callable[..., Any]:
    """Return the lowering rule of a primitive that is a foreign function.

    Args:
      call_target_name: the name it was registered by.
      operand_layouts: see ``ffi_call``.
      result_layouts: the same for results.
      backend_config: attributes besides the primitive's parameters, which are attributes too; a
        string for the older interfaces.
      has_side_effect: whether the call must not be dropped.
      operand_output_aliases: see ``ffi_call``.
      api_version: 4 for XLA's FFI.

    Returns:
      a rule for ``def_lower`` and ``mlir.register_lowering``.
    """
    append = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        has_side_effect=has_side_effect,
        operand_output_aliases=operand_output_aliases,
        api_version=api_version,
    )

    def rule(context: Any, *values: Any, **params: Any) -> Any:
        outs = list(append(context, *values, **params).results)
        return outs[0] if len(outs) == 1 else outs

    return rule


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Sequence[int] | None] | None = None,
    result_layouts: Sequence[Sequence[int] | None] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    api_version: int = _FFI,
) -> Callable[..., Any]:
    """Return a function that appends the call of a foreign function: a part of a lowering rule.

    Args:
      call_target_name: the name it was registered by.
      operand_layouts: see ``ffi_lowering``, and so the others.
      result_layouts: the same for results.
      backend_config: attributes.
      has_side_effect: whether the call must not be dropped.
      operand_output_aliases: operands whose buffers results take over.
      api_version: 4 for XLA's FFI.

    Returns:
      a function of a lowering context, values and attributes that returns the operation, whose
      ``results`` are those of the call.
    """

    def append(context: Any, *values: Any, **params: Any) -> Any:
        if isinstance(backend_config, str):
            text = attribute_text(backend_config)
        else:
            text = attribute_text({**params, **(backend_config or {})})
        options = CallOptions(
            call_target_name,
            text,
            api_version,
            has_side_effect,
            tuple(sorted((operand_output_aliases or {}).items())),
            _layouts("operand_layouts", operand_layouts, context.avals_in),
            _layouts("result_layouts", result_layouts, context.avals_out),
        )
        return append_custom_call(context, values, options)

    return append
