"""How random programs are written: values, the function that is being written, and programs.

Draws come from an object like ``random.Random``: a seeded one, or one that hypothesis records and
shrinks.  What is written is source text for either library, so a failing case is read, run and
shrunk as the ten lines it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any, TypeVar

Shape = tuple[int, ...]
T = TypeVar("T")

LARGEST_BOUND = 20.0
LARGEST_SIZE = 24
DEEPEST = 3


@dataclass(frozen=True)
class Value:
    """A variable or expression of a program.

    Attributes:
      text: how it is written.
      shape: the shape of its arrays.
      bound: a bound on its magnitude.
      kind: the kind of its dtype: ``b``, ``i``, ``u``, ``f`` or ``c``.
    """

    text: str
    shape: Shape
    bound: float
    kind: str = "f"

    def row(self, axis: int = 0) -> "Value":
        """Return what a slice across an axis is."""
        return replace(self, shape=(*self.shape[:axis], *self.shape[axis + 1 :]))

    def called(self, text: str, **changes: Any) -> "Value":
        """Return a value like this one, written otherwise."""
        return replace(self, text=text, **changes)


def moderate(value: Value) -> bool:
    """Say whether a value may be doubled."""
    return value.bound <= LARGEST_BOUND / 2


Kind = Callable[["Writer"], Value | None]
"""A kind of statement: it writes an expression, or finds nothing that fits."""


@dataclass(frozen=True)
class Program:
    """A function ``f`` of float arrays as source text."""

    source: str
    shapes: tuple[Shape, ...]

    def __repr__(self) -> str:
        return f"\n# arguments of shape {', '.join(map(str, self.shapes))}\n{self.source}\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print as the program where hypothesis shows a failing case."""
        printer.text(repr(self))

    def function(self, names: dict[str, Any]) -> Callable[..., Any]:
        """Return the function that the text defines, with what it may call."""
        scope = dict(names)
        exec(compile(self.source, "<program>", "exec"), scope)
        return scope["f"]


@dataclass
class Writer:
    """The function being written: its lines and the variables that may be used.

    Attributes:
      random: where draws come from.
      plain: the kinds of statements that stand for themselves.
      nested: those that hold functions.
      nesting: how often a statement is a nested one.
    """

    random: Random
    plain: tuple[Kind, ...]
    nested: tuple[Kind, ...]
    scope: list[Value] = field(default_factory=list)
    nesting: float = 0.5
    lines: list[str] = field(default_factory=list)
    depth: int = 0
    names: list[int] = field(default_factory=lambda: [0])

    def coin(self) -> bool:
        """Say yes or no."""
        return self.random.choice((False, True))

    def fresh(self, prefix: str) -> str:
        """Return a name that no other variable has."""
        self.names[0] += 1
        return f"{prefix}{self.names[0]}"

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """Choose a variable that fits, most often the newest: little is computed in vain."""
        values = [value for value in reversed(self.scope) if fits(value)]
        if not values or self.random.randint(0, 3):
            return values[0] if values else None
        return self.random.choice(values)

    def assign(self, value: Value) -> None:
        """Write a line that names an expression."""
        name = self.fresh("v")
        self.lines.append(f"{'    ' * (self.depth + 1)}{name} = {value.text}")
        self.scope.append(value.called(name))

    def function(
        self,
        params: Sequence[Value],
        *,
        scalar: bool = False,
        smooth: bool = False,
        closed: bool = False,
    ) -> Value:
        """Write a nested function; return its name with what its result is like.

        Args:
          params: what its arguments are like.
          scalar: whether its result is a floating scalar.
          smooth: whether its result is floating.
          closed: whether it may not use the variables around it.
        """
        name = self.fresh("g")
        arguments = [param.called(self.fresh("u")) for param in params]
        inner = replace(
            self,
            scope=[*([] if closed else self.scope), *arguments],
            lines=[],
            depth=self.depth + 1,
        )
        for _ in range(self.random.randint(1, 2)):
            inner.statement()
        result = inner.scope[-1]
        if (scalar or smooth) and result.kind != "f":
            floating = f"jnp.cos({result.text})"
            result = result.called(
                f"jnp.real({floating})" if result.kind == "c" else floating, kind="f"
            )
        if scalar:
            bound = result.bound * max(1, prod(result.shape))
            result = Value(f"total({result.text})", (), bound)
        indent = "    " * (self.depth + 1)
        names = ", ".join(argument.text for argument in arguments)
        self.lines.append(f"{indent}def {name}({names}):")
        self.lines += [*inner.lines, f"{indent}    return {result.text}"]
        return result.called(name)

    def statement(self) -> None:
        """Write one statement of a kind that fits what there is."""
        nested = self.depth < DEEPEST and self.random.random() < self.nesting
        value = self.random.choice(self.nested if nested else self.plain)(self)
        if value is None:
            last = self.scope[-1]
            value = last.called(
                f"jnp.sin({last.text})", bound=1.0, kind=last.kind.replace("i", "f")
            )
        self.assign(value)

    def finish(self, *, whole: bool = False) -> str:
        """Return the text of the body.

        Args:
          whole: whether it returns all that was computed, not the last value alone.
        """
        made = [value.text for value in self.scope if value.text.startswith("v")]
        returned = f"({', '.join(made)},)" if whole else self.scope[-1].text
        return "\n".join([*self.lines, f"    return {returned}"])
