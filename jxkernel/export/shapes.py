"""Writing symbolic shapes: from text such as ``"b, 2*c + 1"`` to dimensions.

This module must not know of programs or their export.
"""

import ast
from collections.abc import Callable, Sequence
from math import isinf
from typing import Any, TypeGuard

from jxkernel.compile import ShapeDtypeStruct
from jxkernel.core.avals import abstractify
from jxkernel.core.dimensions import Dimension, SymbolicScope, bounds, greater, lesser
from jxkernel.core.dimensions import DimensionSize as DimSize
from jxkernel.tree import physical

__all__ = [
    "SymbolicScope",
    "is_symbolic_dim",
    "read_constraints",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]

_RELATIONS: dict[type[ast.cmpop], tuple[str, int]] = {
    ast.GtE: (">=", 0),
    ast.Gt: (">=", 1),
    ast.LtE: ("<=", 0),
    ast.Lt: ("<=", -1),
    ast.Eq: ("==", 0),
}
"""How each comparison is promised, and what is added to its right side."""

_SUM: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Pow: lambda left, right: left**right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
}


def is_symbolic_dim(p: DimSize) -> TypeGuard[Dimension]:
    """Whether a size is symbolic.

    >>> from jxkernel import export
    >>> [export.is_symbolic_dim(size) for size in export.symbolic_shape("b, 4")]
    [True, False]
    """
    return isinstance(p, Dimension)


def symbolic_dim_bounds(dimension: DimSize) -> tuple[float, float]:
    """Return the least and the greatest value that a size may have: integers, or infinity.

    Sizes are 32-bit numbers in modules, so a symbol alone lies between 1 and 2**31 - 1.

    >>> from jxkernel import export
    >>> (b,) = export.symbolic_shape("b", constraints=["b <= 64"])
    >>> export.symbolic_dim_bounds(2 * b + 1)
    (3, 129)
    """
    low, high = (end if isinf(end) else int(end) for end in bounds(dimension))
    return low, high


def read_constraints(scope: SymbolicScope) -> None:
    """Read the promises of a scope, once.

    Raises:
      ValueError: one cannot be read or never holds.
    """
    if scope.is_read:
        return
    scope.is_read = True
    for text in scope.constraints:
        node = _parsed(text, f"constraint {text!r}")
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            raise ValueError(f"the constraint {text!r} is no comparison such as 'b >= 8'")
        relation, more = _RELATIONS.get(type(node.ops[0]), ("", 0))
        if not relation:
            raise ValueError(f"the constraint {text!r} is none of >=, >, <=, <, ==")
        left = _size(node.left, text, scope)
        scope.promise(left, relation, _size(node.comparators[0], text, scope) + more)


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[DimSize, ...]:
    """Return a shape from text.

    Args:
      shape_spec: sizes separated by commas: integers, names, and sums, products, ``floordiv(a,
        2)``, ``mod(a, 2)``, ``max(a, b)`` and ``min(a, b)`` of them.  ``_`` takes the size from
        ``like``, and ``...`` at the end all that follow.  None stands for ``...``.
      constraints: promises about the names, such as ``"b >= 8"``; not with ``scope``.
      scope: where the names belong, to use the same ones in several shapes.
      like: a shape to take sizes from.

    Raises:
      ValueError: the text cannot be read, ``like`` does not fit, or both ``scope`` and
        ``constraints`` are given.

    >>> from jxkernel import export
    >>> export.symbolic_shape("b, 2*b + 1, _", like=(None, None, 3))
    (b, 2*b + 1, 3)
    """
    if scope is not None and constraints:
        raise ValueError("symbolic_shape takes constraints with a new scope: give one of the two")
    scope = SymbolicScope(constraints) if scope is None else scope
    read_constraints(scope)
    text = "..." if shape_spec is None else shape_spec.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    text = text.strip().rstrip(",")
    nodes = _parsed(f"({text},)" if text else "()", f"shape {shape_spec!r}")
    assert isinstance(nodes, ast.Tuple)
    entries = nodes.elts
    ends_open = bool(entries) and _is_ellipsis(entries[-1])
    entries = entries[: len(entries) - ends_open]
    if like is not None and (
        len(entries) > len(like) or (not ends_open and len(entries) < len(like))
    ):
        raise ValueError(f"the shape {shape_spec!r} does not fit {tuple(like)}, which it is like")
    if ends_open and like is None:
        raise ValueError(f"the shape {shape_spec!r} ends in '...': give the shape it is like")
    sizes: list[DimSize] = []
    for position, node in enumerate(entries):
        if isinstance(node, ast.Name) and node.id == "_":
            sizes.append(_taken(like, position, shape_spec))
        else:
            sizes.append(_size(node, str(shape_spec), scope))
    for position in range(len(entries), len(like or ()) if ends_open else len(entries)):
        sizes.append(_taken(like, position, shape_spec))
    return tuple(sizes)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _taken(like: Sequence[int | None] | None, position: int, spec: str | None) -> int:
    size = None if like is None else like[position]
    if size is None:
        raise ValueError(f"the shape {spec!r} leaves axis {position} open, and `like` has no size")
    return size


def _parsed(text: str, what: str) -> ast.expr:
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"syntax error in symbolic {what}: {error.msg}") from None


def _size(node: ast.expr, text: str, scope: SymbolicScope) -> Any:
    """Return the size that an expression stands for.

    Raises:
      ValueError: it is none.
    """
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return Dimension.of(name, scope)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_size(operand, text, scope)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SUM:
            return _SUM[type(op)](_size(left, text, scope), _size(right, text, scope))
        case ast.Call(func=ast.Name(id=name), args=[first, second], keywords=[]):
            return _operation(name, _size(first, text, scope), _size(second, text, scope), text)
        case _:
            raise ValueError(
                f"syntax error in symbolic shape {text!r}: {ast.unparse(node)!r} is no size"
            )


def _operation(name: str, first: DimSize, second: DimSize, text: str) -> DimSize:
    if name == "floordiv":
        return first // second
    if name == "mod":
        return first % second
    if name not in ("max", "min"):
        raise ValueError(
            f"symbolic shape {text!r} names {name!r}: there are floordiv, mod, max and min"
        )
    return greater(first, second) if name == "max" else lesser(first, second)


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Return the tree of arguments with a ``ShapeDtypeStruct`` of symbolic shape for each array.

    Args:
      args: a tree of arrays, or of anything with a shape and dtype.
      shapes_specs: a prefix of that tree with a text for ``symbolic_shape`` at each leaf; a text
        or None for all.
      constraints: promises about the names; not with ``scope``.
      scope: where the names belong.

    Raises:
      ValueError: the trees do not fit, or a text does not.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import export
    >>> export.symbolic_args_specs((jnp.ones((3, 4)), jnp.ones(4)), ("b, _", None))
    (ShapeDtypeStruct(shape=(b, 4), dtype=float32), ShapeDtypeStruct(shape=(4,), dtype=float32))
    """
    if scope is not None and constraints:
        raise ValueError("give symbolic_args_specs constraints or a scope, not both")
    scope = SymbolicScope(constraints) if scope is None else scope
    leaves, structure = physical.flatten(args)
    specs = physical.broadcast_prefix(shapes_specs, args, is_leaf=lambda spec: spec is None)
    found: list[ShapeDtypeStruct] = []
    for leaf, spec in zip(leaves, specs, strict=True):
        aval = abstractify(leaf)
        shape: Any = symbolic_shape(spec, scope=scope, like=aval.shape)
        found.append(ShapeDtypeStruct(shape, aval.dtype))
    return structure.unflatten(found)
