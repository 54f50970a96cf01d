"""Expressions of the user's, evaluated in the notebook or traced on their arguments."""

from __future__ import annotations

import ast
import linecache
import zlib
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any

from IPython.core.error import UsageError

from jxkernel import tree
from jxkernel.api.jit import jit, jit_state
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.higher_order.references import Ref
from jxkernel.jupyter.code.static_keys import is_traceable
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import Outline, outline, transforms_of

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
        function=function or jitted,
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

    Of a call whose arguments are all traceable, the function itself; of anything else a function of
    the names that it reads and that hold arrays or numbers.

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
    if not words:
        raise UsageError(f"{magic}: give a call such as f(x), or an expression")
    try:
        parsed = ast.parse(words, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"{magic}: {error.msg}: {words}") from None
    if isinstance(parsed, ast.Name | ast.Attribute | ast.Lambda):
        value = evaluate(session, words)
        if callable(value) and not is_traceable(value):
            raise UsageError(f"{magic}: {words} is a function: give its arguments, {words}(x)")
    if isinstance(parsed, ast.Call):
        function = evaluate(session, ast.unparse(parsed.func))
        args, kwargs = _arguments(session, words, parsed)
        # A method's array is an input of the expression; its other arguments may be axes.
        of_array = is_traceable(getattr(function, "__self__", None))
        if callable(function) and not of_array and _is_traceable_call(function, args, kwargs):
            jitted: Any = function if jit_state(function) is not None else jit(function)
            return function, jitted, args, kwargs
    namespace = session.shell.user_ns
    names = {one.id for one in ast.walk(parsed) if isinstance(one, ast.Name)}
    inputs = {
        name: namespace[name]
        for name in sorted(names)
        if name in namespace and is_traceable(namespace[name])
    }
    code = _compiled(words)

    def expression(**values: Any) -> Any:
        return eval(code, {**namespace, **values})

    return None, jit(expression), [], inputs


def _is_traceable_call(
    function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether a call can be traced with its arguments as inputs."""
    if jit_state(function) is not None:
        return True
    return all(
        is_traceable(value)
        or all(isinstance(x, ShapeDtypeStruct | Ref) or is_traceable(x) for x in tree.leaves(value))
        for value in (*args, *kwargs.values())
    )


def _arguments(session: Session, words: str, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    def collect(*args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        return list(args), kwargs

    name = ast.copy_location(ast.Name("__arguments__", ast.Load()), call.func)
    collecting = ast.copy_location(ast.Call(name, call.args, call.keywords), call)
    return eval(_compiled(words, collecting), {**session.shell.user_ns, name.id: collect})
