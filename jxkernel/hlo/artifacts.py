"""Modules as bytes that other processes and other versions read, and modules inside modules.

A portable artifact is StableHLO in the encoding that its project promises to read for years:
VHLO bytecode of a stated version (https://openxla.org/stablehlo/compatibility).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]  # the wheel has no stubs
from jaxlib.mlir._mlir_libs import _stablehlo

from jxkernel.hlo.attributes import string_attr
from jxkernel.hlo.builder import ModuleBuilder
from jxkernel.hlo.context import context, ir, unknown_location
from jxkernel.hlo.shardings import know_shardings

__all__ = ["absorb", "deserialize", "refined", "serialize"]

_OLDEST_READER = "1.17.0"
"""The StableHLO version of the oldest jaxlib that is supported, 0.10.2."""


def serialize(module: Any) -> bytes:
    """Return a module as a portable artifact that the oldest supported jaxlib reads too.

    Operations that are younger than that make it one of the present version.  Meshes and shardings
    stay operations and attributes of the ``sdy`` dialect.  The module stays as it is.

    Raises:
      ValueError: the module holds what StableHLO has no encoding for.
    """
    try:
        return _serialized(module, _OLDEST_READER)
    except ValueError:
        return _serialized(module, _stablehlo.get_current_version())


def _serialized(module: Any, version: str) -> bytes:
    # Serializing rewrites the module it is given.
    own = ir.Module.parse(module.operation.get_asm(binary=True), context)
    try:
        # Mixed: else shardings become texts in StableHLO, with which nothing can be joined.
        return _jax.mlir.serialize_portable_artifact(own, version, bool(_meshes(own)))
    except Exception as error:  # jaxlib's class for it differs between versions
        raise ValueError(f"the module cannot be made portable: {error}") from None


def deserialize(artifact: bytes) -> Any:
    """Return the module of a portable artifact.

    Raises:
      ValueError: it is damaged, or of a version that this jaxlib does not read.
    """
    if b"sdy" in artifact:
        know_shardings()
    try:
        found = _stablehlo.deserialize_portable_artifact(context, artifact)
    except Exception as error:  # jaxlib's class for it differs between versions
        raise ValueError(f"not a portable artifact that this jaxlib reads: {error}") from None
    if found is None:
        raise ValueError("not a portable artifact that this jaxlib reads")
    return found


def refined(module: Any, in_types: Sequence[Any], out_types: Sequence[Any]) -> Any:
    """Return a module of unknown sizes with those sizes known.

    A new ``main`` of static types calls the old one; XLA's shape refinement carries the sizes
    through it.

    Args:
      module: a module whose ``main`` takes types with ``?``; it is changed.
      in_types: static types for its arguments.
      out_types: the types of its results.

    Raises:
      ValueError: the sizes do not determine all others.
    """
    main = _functions(module)["main"]
    table = ir.SymbolTable(module.operation)
    _rename(table, module, main, "_symbolic_main")
    main.attributes["sym_visibility"] = string_attr("private")
    kind = main.attributes["function_type"].value
    builder = ModuleBuilder.around(module, taken=_functions(module))
    outer = builder.function("main", in_types, out_types, public=True)
    build = outer.builder
    given = [
        build.value("stablehlo.convert", inner, (value,))
        for inner, value in zip(kind.inputs, outer.arguments, strict=True)
    ]
    results = build.call("_symbolic_main", kind.results, given)
    outer.returns(
        [
            build.value("stablehlo.convert", wanted, (value,))
            for wanted, value in zip(out_types, results, strict=True)
        ]
    )
    try:
        found = _jax.mlir.refine_polymorphic_shapes(
            module.operation.get_asm(binary=True), enable_shardy=bool(_meshes(module))
        )
    except Exception as error:  # jaxlib's class for it differs between versions
        raise ValueError(f"symbolic sizes cannot be made known: {error}") from None
    return ir.Module.parse(found, context)


def absorb(builder: ModuleBuilder, module: Any, name: str) -> str:
    """Copy functions and meshes of a module into one being built; return the name of its ``main``.

    A mesh that the module being built has already is not copied.

    Args:
      builder: the module being built.
      module: the module to copy; its functions and meshes are renamed.
      name: what ``main`` is to be called, if it is free.
    """
    table = ir.SymbolTable(module.operation)
    functions, meshes = _functions(module), _meshes(module)
    names = {old: builder.reserve(name if old == "main" else old) for old in functions}
    for old, mesh in meshes.items():
        names[old] = builder.declare_mesh(old, mesh.attributes["mesh"])
    # Two steps, or a new name could be the old one of a symbol still to be renamed.
    for step in ("_being_copied_{}", "{}"):
        for old, operation in (functions | meshes).items():
            _rename(table, module, operation, step.format(names[old]))
    for function in functions.values():
        function.attributes["sym_visibility"] = string_attr("private")
        builder.insert(function)
    return names["main"]


def _functions(module: Any) -> dict[str, Any]:
    """Return the functions of a module by name."""
    return _named(module, "func.func")


def _meshes(module: Any) -> dict[str, Any]:
    """Return the declarations of meshes of a module by name."""
    return _named(module, "sdy.mesh")


def _named(module: Any, kind: str) -> dict[str, Any]:
    return {
        operation.attributes["sym_name"].value: operation
        for operation in (one.operation for one in module.body.operations)
        if operation.name == kind
    }


def _rename(table: Any, module: Any, operation: Any, name: str) -> None:
    old = operation.attributes["sym_name"].value
    if old != name:
        with unknown_location:
            table.replace_all_symbol_uses(old, name, module.operation)
        operation.attributes["sym_name"] = string_attr(name)
