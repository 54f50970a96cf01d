"""Expressions of the user's, evaluated in the notebook or traced on their arguments."""

from __future__ import annotations

import ast
import inspect
import linecache
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from types import CodeType
from typing import Any

import numpy as np
from IPython.core.error import UsageError

from jxkernel.api.jit import jit, jit_state
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.events import private
from jxkernel.higher_order.references import Ref
from jxkernel.jupyter.code.static_keys import is_traceable
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import Outline, outline, transforms_of
from jxkernel.tree import physical

__all__ = ["call_of", "evaluate", "outlined", "pair_of", "traced"]


def evaluate(session: Session, text: str) -> Any:
    """Return the value of an expression in the notebook.

    Raises:
      UsageError: it is no expression.
    """
    try:
        code = _compiled(text)
    except SyntaxError as error:
        raise UsageError(f"%jx: {error.msg}: {text}") from None
    return eval(code, session.shell.user_ns)


def _compiled(text: str, tree: ast.expr | None = None) -> CodeType:
    """An expression, or what was made of it, as code whose text messages can show."""
    file = f"<expression {zlib.crc32(text.encode()):x}>"
    linecache.cache[file] = (len(text), None, [f"{text}\n"], file)
    return compile(text if tree is None else ast.Expression(tree), file, "eval")


def traced(session: Session, words: str, magic: str) -> Any:
    """Trace an expression of the user's and return the stage.

    Raises:
      UsageError: there is no expression.
    """
    function, args, kwargs = call_of(session, words, magic)
    return function.trace(*args, **kwargs)


def outlined(session: Session, words: str, magic: str) -> Outline:
    """Trace an expression of the user's and return its program as plain data.

    Raises:
      UsageError: there is no expression.
    """
    function, jitted, args, kwargs = _call_of(session, words, magic)
    stack = (words,) if function is None else transforms_of(function)
    stage = jitted.trace(*args, **kwargs)
    return outline(
        stage,
        title=words,
        function=jitted,
        stack=stack,
        reserved=session.shell.user_ns,
    )


def pair_of(words: str, magic: str) -> tuple[str, str]:
    """Split ``f(x), f(y)`` into its two expressions.

    Raises:
      UsageError: there are not two.
    """
    try:
        parsed = ast.parse(words, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"{magic}: {words!r} is not Python: {error.msg}") from None
    if not isinstance(parsed, ast.Tuple) or len(parsed.elts) != 2:
        raise UsageError(f"{magic}: give two calls or expressions, such as f(x), f(y)")
    before, after = map(ast.unparse, parsed.elts)
    return before, after


def call_of(session: Session, words: str, magic: str) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return an expression as a call of a jitted function, with its arguments.

    Of a call whose arguments are all traceable, the function itself; of anything else, and of a
    method of an array, a function of the names that it reads and that hold arrays or numbers.
    Python's integers and truth values are what they are, as in the call without ``jit``: an axis,
    a shape.  Where nothing else is given they are traced if the function can be.

    Raises:
      UsageError: there is no expression.
    """
    return _call_of(session, words, magic)[1:]


def _call_of(
    session: Session, words: str, magic: str
) -> tuple[Any, Any, list[Any], dict[str, Any]]:
    """The call, preceded by the function as the user wrote it; None for an expression.

    Raises:
      UsageError: there is no expression.
    """
    parsed = _parsed(session, words, magic)
    namespace = session.shell.user_ns
    if isinstance(parsed, ast.Call):
        function = evaluate(session, ast.unparse(parsed.func))
        args, kwargs = _arguments(session, words, parsed)
        if jit_state(function) is not None:
            return function, function, args, kwargs
        if (
            callable(function)
            and all(map(_is_traceable_argument, (*args, *kwargs.values())))
            and not _is_method_of_array(parsed.func, function, namespace)
        ):
            jitted = _jitted(function, args, kwargs)
            if jitted is not None:
                return function, jitted, args, kwargs
    names = {one.id for one in ast.walk(parsed) if isinstance(one, ast.Name)}
    inputs = {
        name: namespace[name]
        for name in sorted(names)
        if name in namespace and is_traceable(namespace[name])
    }
    code = _compiled(words)

    def expression(**values: Any) -> Any:
        return eval(code, {**namespace, **values})

    # A ledger tells expressions apart by their names, as it does functions.
    expression.__name__ = words
    expression.__code__ = expression.__code__.replace(co_qualname=words)
    fixed = [name for name, value in inputs.items() if _is_plain(value)]
    jitted = jit(expression)
    if len(fixed) < len(inputs) or (fixed and not _can_be_traced(jitted, (), inputs)):
        inputs = {name: value for name, value in inputs.items() if name not in fixed}
    return None, jitted, [], inputs


def _parsed(session: Session, words: str, magic: str) -> ast.expr:
    """The expression's tree.

    Raises:
      UsageError: there is none, or it is the name of a function.
    """
    if not words:
        raise UsageError(f"{magic}: give a call such as f(x), or an expression")
    try:
        parsed = ast.parse(words, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"{magic}: {_no_expression(words, error)}") from None
    if isinstance(parsed, ast.Name | ast.Attribute | ast.Lambda):
        value = evaluate(session, words)
        if callable(value) and not is_traceable(value):
            called = f"({words})" if isinstance(parsed, ast.Lambda) else words
            call = f"{called}({_parameters(value)})"
            raise UsageError(f"{magic}: {words} is a function: give its arguments, {call}")
    return parsed


def _no_expression(words: str, error: SyntaxError) -> str:
    """What is wrong with words that are no expression, and what to write."""
    first, _, rest = words.partition(" ")
    if first.startswith("--") and rest:
        return f"there is no option {first}; give a call such as f(x)"
    return f"{error.msg}: {words}; give a call such as f(x), or an expression"


def _parameters(function: Callable[..., Any]) -> str:
    """The parameters that a call of a function must give; ``x`` where they are not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "x"
    needed = [
        one.name if one.kind is not one.KEYWORD_ONLY else f"{one.name}={one.name}"
        for one in parameters
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    return ", ".join(needed) or "x" * bool(parameters)


def _jitted(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of the user's, jitted for a call; None if its fixed arguments are no keys."""
    fixed = [place for place, value in enumerate(args) if _is_plain(value)]
    named = [name for name, value in kwargs.items() if _is_plain(value)]
    count = len(fixed) + len(named)
    jitted = jit(function)
    if not count or (count == len(args) + len(kwargs) and _can_be_traced(jitted, args, kwargs)):
        return jitted
    try:
        hash((*(args[place] for place in fixed), *(kwargs[name] for name in named)))
    except TypeError:  # a list of axes
        return None
    return jit(function, static_argnums=fixed, static_argnames=named)


def _is_plain(value: Any) -> bool:
    """Whether a value is made of Python's integers and truth values alone."""
    leaves = physical.leaves(value)
    return bool(leaves) and all(isinstance(x, int | np.integer | np.bool_) for x in leaves)


def _can_be_traced(jitted: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call of numbers alone can be traced with them as inputs."""
    try:
        # Not the user's own work: neither told in a ledger nor printed.
        with private(), redirect_stdout(StringIO()):
            jitted.trace(*args, **kwargs)
    except Exception:  # the function may refuse it, as it likes
        return False
    return True


def _is_traceable_argument(value: Any) -> bool:
    """Whether a call can be traced with a value as an input."""
    return is_traceable(value) or all(
        isinstance(x, ShapeDtypeStruct | Ref) or is_traceable(x) for x in physical.leaves(value)
    )


def _is_method_of_array(
    written: ast.expr, function: Callable[..., Any], namespace: Mapping[str, Any]
) -> bool:
    """Whether a function, such as ``x.at[0].set``, holds an array that the expression names."""
    if not isinstance(written, ast.Attribute):
        return False
    names = {one.id for one in ast.walk(written) if isinstance(one, ast.Name)}
    return is_traceable(getattr(function, "__self__", None)) or any(
        name in namespace and is_traceable(namespace[name]) for name in names
    )


def _arguments(session: Session, words: str, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    def collect(*args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        return list(args), kwargs

    name = ast.copy_location(ast.Name("__arguments__", ast.Load()), call.func)
    collecting = ast.copy_location(ast.Call(name, call.args, call.keywords), call)
    return eval(_compiled(words, collecting), {**session.shell.user_ns, name.id: collect})
