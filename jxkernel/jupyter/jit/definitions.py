"""Cells of definitions under ``%%jit``: each top-level function gets ``jit``.

A function that is defined again unchanged, with everything it refers to unchanged, keeps its
compiled form, so running the cell again traces nothing.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from IPython.core.error import UsageError

from jxkernel.api.derivatives.autodiff import grad
from jxkernel.api.jit import jit_on, jit_state
from jxkernel.api.vectorize import vmap
from jxkernel.jupyter.cells.cell import CellOptions, Version, restore
from jxkernel.jupyter.code.analysis import FUNCTIONS, names_bound_by
from jxkernel.jupyter.code.static_keys import freeze
from jxkernel.jupyter.jit.view import RunReport
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import assert_max_traces

__all__ = ["define"]


def define(session: Session, version: Version, options: CellOptions) -> RunReport:
    """Run a cell of definitions and compile its functions.

    Raises:
      UsageError: a flag names a parameter that no function of the cell has, or none of them can
        be traced.
    """
    if options.keep:
        raise UsageError("-o: a cell of definitions has no results to choose from")
    namespace = session.shell.user_ns
    source = version.source
    touched = set(source.names.assigned)
    before = {name: namespace[name] for name in touched if name in namespace}
    try:
        exec(session.shell.compile(source.tree, source.file, "exec"), namespace)
        found = {name: namespace[name] for name in _function_names(source.tree)}
        functions = {name: one for name, one in found.items() if _can_be_traced(one)}
        if not functions:
            raise UsageError(
                f"{', '.join(found)}: generators and asynchronous functions cannot be traced"
            )
        _check_flags(functions, options)
        compiled = {
            name: _compiled(version, name, function, options, namespace)
            for name, function in functions.items()
        }
        namespace.update(compiled)
    except BaseException:
        restore(namespace, touched, before)
        raise
    kept = [name for name in compiled if compiled[name] is before.get(name)]
    return RunReport(
        cell=session.running.label,
        function=version.cell.name,
        version=version.number,
        defined=tuple(compiled),
        kept=tuple(kept),
        left=tuple(name for name in found if name not in functions),
    )


def _function_names(tree: ast.Module) -> list[str]:
    names = []
    for statement in tree.body:
        is_lambda = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda)
        if isinstance(statement, FUNCTIONS) or is_lambda:
            names += names_bound_by(statement)
    return list(dict.fromkeys(names))


def _can_be_traced(function: Any) -> bool:
    """Whether a call gives a value: those of others give something to iterate or to await."""
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    return not any(is_kind(function) for is_kind in kinds)


def _compiled(
    version: Version, name: str, function: Any, options: CellOptions, namespace: dict[str, Any]
) -> Any:
    """The compiled form of a function: the earlier one if nothing has changed."""
    if jit_state(function) is not None:
        return function
    key = (name, options, freeze(function, namespace))
    known = version.cell.compiled
    if key not in known:
        known[key] = _jitted(function, options)
    return known[key]


def _jitted(function: Callable[..., Any], options: CellOptions) -> Any:
    parameters = _parameters(function)
    transformed = function
    wanted = [name for name in options.grad if name in parameters]
    if wanted:
        numbers = tuple(parameters.index(name) for name in wanted)
        transformed = grad(transformed, argnums=numbers[0] if len(numbers) == 1 else numbers)
    axes = dict(options.axes)
    if any(name in axes for name in parameters):
        in_axes = tuple(axes.get(name) for name in parameters)
        transformed = functools.wraps(function)(vmap(transformed, in_axes=in_axes))
    if options.max_traces is not None:
        transformed = assert_max_traces(options.max_traces)(transformed)
    return jit_on(
        options.device,
        transformed,
        static_argnames=tuple(name for name in options.static if name in parameters),
        donate_argnames=tuple(name for name in options.donate if name in parameters),
    )


def _check_flags(functions: dict[str, Any], options: CellOptions) -> None:
    """Check that each named parameter exists.

    Raises:
      UsageError: no function has it; the message names the flag.
    """
    flags: Sequence[tuple[str, Sequence[str]]] = (
        ("--static", options.static),
        ("--donate", options.donate),
        ("--grad", options.grad),
        ("--vmap", [name for name, _ in options.axes]),
    )
    for flag, names in flags:
        for name in names:
            if not any(name in _parameters(function) for function in functions.values()):
                listed = ", ".join(functions)
                raise UsageError(f"{flag}: none of {listed} has a parameter {name!r}")


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)
