"""Jaxprs as text, in the field's usual form.

``{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }``: constants before the semicolon,
arguments after it, one equation per line, results last.  Variables are named in order of
appearance: a ... z, aa ...
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from string import ascii_lowercase
from typing import Any, cast

from jxkernel import source
from jxkernel.core.avals import ShapedArray
from jxkernel.core.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var

__all__ = [
    "Names",
    "atom_text",
    "equation_text",
    "jaxpr_text",
    "letters",
    "parameter_text",
    "parameters_text",
    "pretty_print",
]

_WIDTH = 80
_STEP = "  "


class Names:
    """Names for variables, given out in order of first use."""

    def __init__(self) -> None:
        self._names: dict[Var, str] = {}
        self._letters = letters()

    def __call__(self, var: Var) -> str:
        """Return the variable's name, given now if it has none."""
        name = self._names.get(var)
        if name is None:
            name = self._names[var] = next(self._letters)
        return name


def letters() -> Iterator[str]:
    """Yield names for variables without end: a ... z, aa ..."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(ascii_lowercase, repeat=length))


def _typed(var: Var, names: Names) -> str:
    return f"{names(var)}:{var.aval.short()}"


def atom_text(atom: Atom, names: Callable[[Var], str]) -> str:
    """Return a variable's name, or a literal with its type."""
    if type(atom) is Literal:
        return f"{_number(atom.val)}:{atom.aval.short()}"
    return names(atom)


def _number(value: Any) -> str:
    """The shortest text that names a number of its own dtype: 1.01, not what it is in float64."""
    return str(value)


def parameter_text(value: Any) -> str:
    """Return a parameter's value as equations print it."""
    if isinstance(value, ShapedArray):
        return value.short()
    if hasattr(value, "itemsize") and hasattr(value, "name"):
        return value.name
    if isinstance(value, tuple):
        items = [parameter_text(item) for item in cast("tuple[Any, ...]", value)]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


def parameters_text(eqn: Eqn, indent: str = "") -> str:
    """Return ``[name=value ...]`` in order of names; programs go on lines of their own.

    What the user called it comes first.
    """
    shown = [
        (name, value)
        for name, value in sorted(eqn.params.items(), key=_name_first)
        if value not in ((), None) and not (name == "keep_unused" and value is False)
    ]
    if not shown:
        return ""
    if not any(_is_program(value) for _, value in shown):
        return f"[{' '.join(f'{name}={parameter_text(value)}' for name, value in shown)}]"
    deeper = indent + _STEP
    lines = [f"{deeper}{name}={_program_text(value, deeper)}" for name, value in shown]
    return "[\n" + "\n".join(lines) + f"\n{indent}]"


def _name_first(item: tuple[str, Any]) -> tuple[bool, str]:
    return item[0] != "name", item[0]


def _is_program(value: Any) -> bool:
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return any(isinstance(item, (ClosedJaxpr, Jaxpr)) for item in items)
    return isinstance(value, (ClosedJaxpr, Jaxpr))


def _program_text(value: Any, indent: str) -> str:
    if isinstance(value, ClosedJaxpr):
        return jaxpr_text(value.jaxpr, indent=indent)
    if isinstance(value, Jaxpr):
        return jaxpr_text(value, indent=indent)
    if _is_program(value):
        deeper = indent + _STEP
        inner = "".join(f"\n{deeper}{_program_text(item, deeper)}" for item in value)
        return f"({inner}\n{indent})"
    return parameter_text(value)


def equation_text(
    eqn: Eqn, names: Names | None = None, indent: str = "", *, show_source: bool = False
) -> str:
    """Return one equation as text, such as ``b:f32[3] = sin a``."""
    names = names or Names()
    arguments = " ".join(atom_text(atom, names) for atom in eqn.invars)
    params = parameters_text(eqn, indent)
    results = " ".join(_typed(var, names) for var in eqn.outvars) or "_"
    text = f"{results} = {eqn.primitive.name}{params}{' ' if arguments else ''}{arguments}"
    frame = source.user_frame(eqn.source) if show_source else None
    return f"{text} # {frame}" if frame else text


def jaxpr_text(
    jaxpr: Jaxpr,
    *,
    indent: str = "",
    show_source: bool = False,
    on_equation: Callable[[Eqn, str], str] | None = None,
) -> str:
    """Return a program as text.

    Args:
      jaxpr: the program.
      indent: what every line but the first begins with.
      show_source: whether each equation ends with the user's line that made it.
      on_equation: rewrites each equation's text, to annotate it.
    """
    names = Names()
    constants = " ".join(_typed(var, names) for var in jaxpr.constvars)
    arguments = " ".join(_typed(var, names) for var in jaxpr.invars)
    head = f"{constants};{' ' if arguments else ''}{arguments}"
    inner = indent + _STEP * 2
    lines: list[str] = []
    for eqn in jaxpr.eqns:
        text = equation_text(eqn, names, inner, show_source=show_source)
        lines.append(on_equation(eqn, text) if on_equation else text)
    results = ", ".join(atom_text(atom, names) for atom in jaxpr.outvars)
    results = f"({results},)" if len(jaxpr.outvars) == 1 else f"({results})"
    flat = f"{{ lambda {head}. let {'; '.join(lines)} in {results} }}"
    if not lines:
        return f"{{ lambda {head}. let  in {results} }}"
    if len(lines) == 1 and "\n" not in flat and len(indent) + len(flat) <= _WIDTH:
        return flat
    body = "".join(f"\n{inner}{line}" for line in lines)
    return f"{{ lambda {head}. let{body}\n{indent}{_STEP}in {results} }}"


def pretty_print(
    program: Jaxpr | ClosedJaxpr,
    *,
    source_info: bool = False,
    name_stack: bool = False,
    use_color: bool = False,
) -> str:
    """Return a program as text: the method of programs.

    Args:
      program: the program.
      source_info: whether each equation ends with the user's line that made it.
      name_stack: whether it ends with the names of the scopes that it is in.
      use_color: taken and not used: the text has no colors.
    """
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    named = _with_scopes if name_stack else None
    return jaxpr_text(jaxpr, show_source=source_info, on_equation=named)


def _with_scopes(eqn: Eqn, text: str) -> str:
    return f"{text} # [{eqn.source_info.name_stack}]"
