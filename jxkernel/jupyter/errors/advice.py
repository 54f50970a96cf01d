"""What to write instead, for errors that are not jxkernel's own: Python's, about traced values."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable

from jxkernel import numpy as jnp
from jxkernel.runtime import ArrayImpl

__all__ = [
    "advice",
    "at_update",
    "for_loops_first",
    "in_place_of",
    "plain_words",
    "with_argument_name",
    "with_static_name",
]

_TRACER = r"'?\w*Tracer'?"
_ROWS: tuple[tuple[type[Exception], str, str], ...] = (
    (
        TypeError,
        rf"unhashable type: {_TRACER}",
        "a traced value is no key: use a string or a static number, or look it up in an array: "
        "jnp.asarray(values)[i]",
    ),
    (
        TypeError,
        rf"unsupported operand type\(s\) for .*{_TRACER}",
        "compute with arrays and numbers only; make text after the cell has run",
    ),
    (TypeError, r"len\(\) of unsized object", "its number of elements: x.size, which is 1"),
    (
        TypeError,
        r"iteration over an array of rank 0",
        "loop over jnp.atleast_1d(x), or over a Python range",
    ),
    (
        TypeError,
        rf"unsupported format string passed to {_TRACER}",
        "to print while the compiled program runs: jx.debug.print('{:.3f}', x); "
        "or make the text after the cell has run",
    ),
    (
        TypeError,
        r"setting an array element|only .* arrays can be converted",
        "NumPy arrays hold no traced values; begin with one of jnp: b = jnp.zeros(n), then "
        "b = b.at[i].set(value)",
    ),
    (
        ValueError,
        r"setting an array element with a sequence",
        "NumPy arrays hold no traced values; begin with one of jnp: b = jnp.zeros(n), then "
        "b = b.at[i].set(value)",
    ),
    (
        TypeError,
        r"'IndexUpdater' object does not support item assignment",
        "x = x.at[i].set(value) gives a changed copy",
    ),
    (TypeError, rf"{_TRACER} object is not callable", "to index an array: x[i]"),
    (TypeError, r"an index is an integer", "for parts by name keep a dict of arrays: d['a']"),
    (TypeError, r"\.set\(\) missing 1 required", "x.at[i].set(value)"),
    (
        IndexError,
        r"the bounds of a slice",
        "make the bound static, if it takes few values: %%jit --static NAME",
    ),
    (TypeError, r"takes a key, made by random\.key", "key = jx.random.key(0), and pass key"),
    (ValueError, r"stack needs arrays of one shape", "to join arrays: jnp.concatenate([a, b])"),
    (ValueError, r"concatenate needs arrays", "jnp.concatenate([a, b], axis)"),
)
_ELSEWHERE = {
    "numpy": "np.asarray(x) after the cell has run",
    "backward": "a gradient: %%grad NAME, or jx.grad(f)",
    "detach": "lax.stop_gradient(x)",
    "append": "jnp.append(x, value), or jnp.concatenate([x, y])",
    "extend": "jnp.concatenate([x, y])",
    "block_until_ready": "a traced value has no result to wait for; wait after the cell",
    "device": "where it runs is chosen before: %%jit --device N",
    "devices": "where it runs is chosen before: %%jit --device N",
    "to": "x.astype(dtype); a device is chosen before: %%jit --device N",
    "cuda": "a device is chosen before: %%jit --backend gpu",
    "cpu": "a device is chosen before: %%jit --backend cpu",
    "unsqueeze": "jnp.expand_dims(x, axis), or x[:, None]",
    "permute": "x.transpose(axes)",
    "fill": "jnp.full_like(x, value)",
    "add_": "x = x + y",
}


_UPDATES: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
_COMPARING = {
    "min": "the smaller of two values: jnp.minimum(a, b); of an array: jnp.min(x)",
    "max": "the larger of two values: jnp.maximum(a, b); of an array: jnp.max(x)",
    "sorted": "jnp.sort(x)",
    "any": "jnp.any(x)",
    "all": "jnp.all(x)",
    "filter": "choose between values with jnp.where",
}


def at_update(code: str) -> str:
    """Return an assignment to a part of an array as the update to write; empty where it is none.

    Args:
      code: the statement: ``u[50] = 1.0``.
    """
    try:
        (statement,) = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return ""
    match statement:
        case ast.Assign(targets=[ast.Subscript() as part]):
            method = "set"
        case ast.AugAssign(target=ast.Subscript() as part) if type(statement.op) in _UPDATES:
            method = _UPDATES[type(statement.op)]
        case _:
            return ""
    array, index, value = map(ast.unparse, (part.value, part.slice, statement.value))
    if isinstance(part.slice, ast.Tuple):
        index = index.removeprefix("(").removesuffix(")")
    # What is no variable, nor a part of one, cannot be assigned to: the copy needs a name.
    named = isinstance(part.value, ast.Name | ast.Attribute | ast.Subscript)
    return f"{array if named else 'changed'} = {array}.at[{index}].{method}({value})"


def in_place_of(code: str) -> str:
    """Return what to write in place of a loop or call of Python's or NumPy's; else nothing.

    Args:
      code: what needed a traced value's data, a call or the head of a loop: ``min(x, 1.0)``,
        ``np.abs(x)``, ``grad(math.log)(x)``, ``while x > 0:``.
    """
    if code.startswith("while "):
        return "a loop with a traced condition is a lax.while_loop"
    named = re.search(r"\b(np|numpy|math)\.(\w+(?:\.\w+)*)", code)
    called = re.match(r"[\w.]+(?=\()", code)
    if named is None:
        return _COMPARING.get(called.group(), "") if called else ""
    module, name = named.groups()
    found: object = jnp
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        return ""
    call = "(...)" if called and called.group() == named.group() else ""
    return f"jnp.{name}{call} in place of {module}.{name}{call}"


def for_loops_first(instead: Iterable[str]) -> tuple[str, ...]:
    """Return advice on an integer that a loop needs, the loop's own first."""
    return tuple(sorted(instead, key=lambda line: not line.startswith("to loop")))


def with_argument_name(instead: Iterable[str], name: str) -> tuple[str, ...]:
    """Return advice that names a function's argument to keep static."""
    return tuple(
        line.replace("static_argnames=...", f"static_argnames={name!r}") for line in instead
    )


def advice(error: Exception) -> tuple[str, ...]:
    """Return what to write instead, one suggestion per entry; none where nothing is known."""
    message = str(error)
    if isinstance(error, AttributeError):
        found = re.search(rf"{_TRACER} object has no attribute '(\w+)'", message)
        return tuple(_attribute(found.group(1))) if found else ()
    return tuple(
        text
        for kind, pattern, text in _ROWS
        if isinstance(error, kind) and re.search(pattern, message)
    )[:1]


def _attribute(name: str) -> Iterable[str]:
    if name in _ELSEWHERE:
        yield _ELSEWHERE[name]
    near = difflib.get_close_matches(name, [one for one in dir(ArrayImpl) if one[0] != "_"], 1)
    if near:
        yield f"x.{near[0]}"


def plain_words(message: str) -> str:
    """Return a message of Python's that calls a traced value what it is to the user."""
    message = re.sub(r"'\w*Tracer'|\b\w*Tracer(?:\.__format__)?\b", "a traced array", message)
    return re.sub(
        r"'(?:jaxlib\._jax\.)?ArrayImpl'|\bjaxlib\._jax\.ArrayImpl\b", "an array", message
    )


def with_static_name(instead: Iterable[str], name: str) -> tuple[str, ...]:
    """Return advice that names the input to keep static, as a cell's flag.

    Args:
      instead: the advice of an error.
      name: the traced input that the value depends on.
    """
    return tuple(
        line.replace("--static NAME", f"--static {name}")
        if "%%jit" in line or not line.endswith("static_argnames=...)")
        else f"{line} or %%jit --static {name}"
        for line in instead
    )
