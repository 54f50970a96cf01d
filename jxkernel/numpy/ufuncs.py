"""Constructors of elementwise functions: promotion in front of one operation.

``unary_function`` and ``binary_function`` make the regular ones from a name, an operation of
``jxkernel.ops`` and a sentence.  Where the operand's type needs nothing, an elementwise function
costs one attribute look-up more than the operation itself.
"""

from collections.abc import Callable
from typing import Any

from jxkernel import dtypes
from jxkernel.core.primitive import Primitive
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    inexact_dtype,
    promote_for_primitive,
    promote_operands,
    refuse_out,
    result_dtype,
    ruled_dtype,
)

__all__ = ["Example", "binary_function", "inexact", "named", "public", "unary_function"]

_ANY = dtypes.ALL
_OPTIONS = "\n  out: must be None: arrays cannot be written to.\n  where: must be None."

Example = tuple[str, str]
"""A call and what an interpreter shows of it."""


def named(
    body: Callable[..., Any], name: str, doc: str, module: str = "jxkernel.numpy"
) -> Callable[..., Any]:
    """Give a function that was made here the name, docstring and module users see."""
    body.__name__ = body.__qualname__ = name
    body.__doc__ = doc
    body.__module__ = module
    return body


def public(body: Callable[..., Any], name: str, doc: str, module: str = "jxkernel.numpy") -> Any:
    """Return a function made here as a fused one."""
    return fused(named(body, name, doc, module))


def _documented(doc: str, operands: str, example: Example | None) -> str:
    """Return a docstring with what its first paragraph leaves open: operands, and an example."""
    first, *rest = doc.split("\n\n")
    parts = [first, *rest] if "Args:" in doc else [first, f"Args:\n{operands}", *rest]
    return "\n\n".join([*parts, ">>> {}\n{}\n".format(*example)] if example else parts)


def _operand(ready: frozenset[Any], rule: Any) -> str:
    converts = rule is inexact_dtype and ready == dtypes.INEXACT
    return "an array or number" + ("; integers are taken as floats." if converts else ".")


def unary_function(
    name: str,
    operation: Callable[[Any], Any],
    doc: str,
    *,
    example: Example | None = None,
    ready: frozenset[Any] = _ANY,
    rule: Callable[[Any], Any] = inexact_dtype,
    beside: float | None = None,
    module: str = "jxkernel.numpy",
    by_name: bool = False,
) -> Any:
    """Return an elementwise function of one operand.

    Args:
      name: its name.
      operation: the operation, or a composition of operations.
      doc: its docstring, without operands.
      example: what its docstring ends with.
      ready: the dtypes that the operation takes as they are.
      rule: what becomes of the other dtypes.
      beside: a Python number that the others meet first, as an operand beside them would be.
      module: where users find it, for pickles.
      by_name: whether ``x`` may be given by name, and NumPy's ``out`` and ``where`` not at all.
    """

    def function(x: Any, /, *, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            refuse_options(name, out, where)
        try:
            if x.aval.dtype in ready:
                return operation(x)
        except AttributeError:
            pass
        return operation(_prepared(name, x, ready, rule, beside))

    operands = f"  x: {_operand(ready, rule)}"
    if by_name:
        return public(lambda x: function(x), name, _documented(doc, operands, example), module)
    return public(function, name, _documented(doc, operands + _OPTIONS, example), module)


def _prepared(
    name: str,
    x: Any,
    ready: frozenset[Any],
    rule: Callable[[Any], Any],
    beside: float | None,
) -> Any:
    aval = argument_aval(name, x)
    if aval.dtype in ready:
        return cast(x, aval.dtype, aval.weak_type)
    dtype, weak = result_dtype(name, (x,) if beside is None else (x, beside))
    return cast(x, ruled_dtype(name, rule, dtype), weak)


def binary_function(
    name: str,
    operation: Callable[[Any, Any], Any],
    doc: str,
    *,
    example: Example | None = None,
    ready: frozenset[Any] = _ANY,
    rule: Callable[[Any], Any] | None = None,
) -> Any:
    """Return an elementwise function of two operands, which are promoted and broadcast.

    Args:
      name: its name.
      operation: the operation, or a composition of operations.
      doc: its docstring, without operands.
      example: what its docstring ends with.
      ready: the dtypes that the operation takes as they are.
      rule: what becomes of the common dtype.
    """
    # A primitive repeats axes of size 1 itself; a composition may hold a selection, which does not.
    repeats = isinstance(getattr(operation, "__self__", None), Primitive)
    promote = promote_for_primitive if repeats else promote_operands

    def function(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            refuse_options(name, out, where)
        try:
            aval = x.aval
            if aval is y.aval and aval.dtype in ready:
                return operation(x, y)
        except AttributeError:
            pass
        return operation(*promote(name, x, y, rule=rule))

    operands = f"  x: {_operand(ready, rule)}\n  y: likewise; the two are promoted and broadcast."
    operands += _OPTIONS
    return public(function, name, _documented(doc, operands, example))


def refuse_options(name: str, out: Any, where: Any) -> None:
    """Refuse what NumPy's universal functions take: an array to write to, and where.

    Raises:
      NotImplementedError: either is given.
    """
    refuse_out(name, out)
    if where is not None:
        raise NotImplementedError(
            f"{name}(where=...): nothing is left as it was; write where(condition, {name}(...), x)"
        )


inexact: dict[str, Any] = {"ready": dtypes.INEXACT, "rule": inexact_dtype}
"""The keywords of functions whose operation takes floating and complex dtypes."""
