"""Expressions of the user's: evaluated in the notebook, or traced with their arguments as inputs.

Purpose: one way from the words of a magic to a value or a traced program.

Place in the pipeline: below the other answers of `%jx`.

Must not know: what is asked of the program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from IPython.core.error import UsageError

from jxkernel.api.jit import jit, jit_state
from jxkernel.jupyter.session import Session
from jxkernel.jupyter.statics import is_traceable

__all__ = ["call_of", "evaluate", "traced"]


def evaluate(session: Session, text: str) -> Any:
    """Returns the value of an expression in the notebook."""
    return eval(text, session.shell.user_ns)


def traced(session: Session, words: str, magic: str) -> Any:
    """Traces an expression of the user's and returns the stage.

    Raises:
      UsageError: there is no expression.
    """
    function, args, kwargs = call_of(session, words, magic)
    return function.trace(*args, **kwargs)


def call_of(session: Session, words: str, magic: str) -> tuple[Any, list[Any], dict[str, Any]]:
    """Returns an expression as a call of a jitted function, with its arguments.

    Of a call whose arguments are all traceable, the function itself; of anything else a function of
    the names that it reads and that hold arrays or numbers.

    Raises:
      UsageError: there is no expression.
    """
    if not words:
        raise UsageError(f"{magic}: give a call such as f(x), or an expression")
    parsed = ast.parse(words, mode="eval").body
    if isinstance(parsed, ast.Call):
        function = evaluate(session, ast.unparse(parsed.func))
        args, kwargs = _arguments(session, parsed)
        if callable(function) and _is_traceable_call(function, args, kwargs):
            jitted: Any = function if jit_state(function) is not None else jit(function)
            return jitted, args, kwargs
    namespace = session.shell.user_ns
    names = {one.id for one in ast.walk(parsed) if isinstance(one, ast.Name)}
    inputs = {
        name: namespace[name]
        for name in sorted(names)
        if name in namespace and is_traceable(namespace[name])
    }
    code = compile(words, "<%jaxpr>", "eval")

    def expression(**values: Any) -> Any:
        return eval(code, {**namespace, **values})

    return jit(expression), [], inputs


def _is_traceable_call(
    function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether a call can be traced with its arguments as inputs."""
    if jit_state(function) is not None:
        return True
    return all(is_traceable(value) for value in (*args, *kwargs.values()))


def _arguments(session: Session, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    text = ast.unparse(ast.Call(ast.Name("__arguments__", ast.Load()), call.args, call.keywords))

    def collect(*args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        return list(args), kwargs

    return eval(text, {**session.shell.user_ns, "__arguments__": collect})
