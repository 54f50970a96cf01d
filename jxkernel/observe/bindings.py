"""Which assignment of the user's made which equation, read off the source.

An equation knows the span of the user's expression that made it. Where that is the whole right
side of an assignment, the last equation of that span is what the name was bound to. A derivative
visits a span again backwards, and rules add equations of their own to it: a name is given only
where a span was visited once, or where its first visit made a single equation. What was traced
*from* a span, such as the body of a library's loop, is not its value.

How often a span is visited only the whole program tells, so a program is looked through once, when
it is first asked for; after that its equations are named as they come.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from jxkernel import source
from jxkernel.core.jaxpr import Eqn, Jaxpr
from jxkernel.transforms.stage import trace_flat

__all__ = ["Bindings"]

_Span = tuple[int, int, int, int]
_LINES = 5_000


class Bindings:
    """The assignments of the files that equations came from; each file is parsed once."""

    def __init__(self) -> None:
        self._files: dict[str, dict[_Span, tuple[str, ...]]] = {}
        self._visits: WeakKeyDictionary[Jaxpr, Counter[source.Frame]] = WeakKeyDictionary()
        self._frames: WeakKeyDictionary[Jaxpr, list[source.Frame | None]] = WeakKeyDictionary()

    def candidates(self, jaxpr: Jaxpr) -> set[str]:
        """Return the names of all assignments that a program visits."""
        return {name for frame in self._visits_of(jaxpr) for name in self._names(frame)}

    def runs(
        self, jaxpr: Jaxpr
    ) -> Iterator[tuple[source.Frame | None, Sequence[Eqn], tuple[str, ...]]]:
        """Yield a program's equations, place by place, with names for the last one's results."""
        visits = self._visits_of(jaxpr)
        seen: set[source.Frame] = set()
        rest = iter(jaxpr.eqns)
        for frame, count in _places(self.frames(jaxpr)):
            run = list(itertools.islice(rest, count))
            names = self._names(frame) if frame is not None else ()
            if frame is None or not names:
                yield frame, run, ()
                continue
            known = len(seen)
            seen.add(frame)
            fits = len(names) == len(run[-1].outvars)
            once = (len(run) == 1 and len(seen) > known) or visits[frame] == 1
            yield frame, run, names if fits and once and _is_of_place(run[-1]) else ()

    def frames(self, jaxpr: Jaxpr) -> Sequence[source.Frame | None]:
        """Return the user's frame of each equation; they are looked up once."""
        if jaxpr not in self._frames:
            self._frames[jaxpr] = [source.user_frame(eqn.source) for eqn in jaxpr.eqns]
        return self._frames[jaxpr]

    def _visits_of(self, jaxpr: Jaxpr) -> Counter[source.Frame]:
        """How often a program visits each right side of an assignment."""
        if jaxpr not in self._visits:
            frames = (frame for frame, _ in _places(self.frames(jaxpr)) if frame)
            self._visits[jaxpr] = Counter(frame for frame in frames if self._names(frame))
        return self._visits[jaxpr]

    def _names(self, frame: source.Frame) -> tuple[str, ...]:
        if frame.file not in self._files:
            self._files[frame.file] = _assignments(frame.file)
        span = (frame.line, frame.column, frame.end_line, frame.end_column)
        return self._files[frame.file].get(span, ())


def _places(
    frames: Sequence[source.Frame | None],
) -> Iterator[tuple[source.Frame | None, int]]:
    """Each frame with how often it follows itself: a place in the code has one frame."""
    for _, group in itertools.groupby(frames, id):
        same = list(group)
        yield same[0], len(same)


def _is_of_place(eqn: Eqn) -> bool:
    """Whether the user's expression itself made the equation, not a trace that it began."""
    for code in eqn.source.raw_frames()[0]:
        if source.is_user_code(code):
            return True
        if code is trace_flat.__code__:
            return False
    return False


def _assignments(file: str) -> dict[_Span, tuple[str, ...]]:
    """The names bound by each assignment, by the span of its right side."""
    try:
        lines = linecache.getlines(file)
        if not 0 < len(lines) <= _LINES:
            return {}
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {
        span: names
        for node in ast.walk(tree)
        for span, names in _bound(node)
        if names and all(names)
    }


def _bound(node: ast.AST) -> Iterator[tuple[_Span, tuple[str, ...]]]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=parts) | ast.List(elts=parts), *_],
            value=ast.Tuple(elts=values) | ast.List(elts=values),
        ) if len(parts) == len(values):
            yield from (
                (_span(one), _targets(part)) for part, one in zip(parts, values, strict=True)
            )
        case ast.Assign(targets=[target, *_], value=value):
            yield _span(value), _targets(target)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield _span(value), _targets(target)
        case ast.AugAssign(target=target):
            yield _span(node), _targets(target)
        case ast.NamedExpr(target=target, value=value):
            yield _span(value), _targets(target)
        case _:
            return


def _targets(target: ast.expr) -> tuple[str, ...]:
    """The names of a target; one that is no name, such as ``self.x``, is told by its text."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return tuple(one.id if isinstance(one, ast.Name) else "" for one in parts)


def _span(node: Any) -> _Span:
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
