"""References that a function with a derivative of its own uses.

A rule may run in another trace than the function, later, and more than once.  So the values of
references are arguments of the function and of its rule, and what they hold afterwards is a
result.  References among the arguments have derivatives by the rule; of others that the function
closes over there is none, as of all that it closes over.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jxkernel import tree
from jxkernel.core.avals import abstractify
from jxkernel.core.trace import place_in_source
from jxkernel.core.zeros import Zero
from jxkernel.errors import ClosedOverTracerError
from jxkernel.higher_order.custom_jvp import JvpRule, bind_custom_jvp
from jxkernel.higher_order.references import Lent, Ref
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.shape.broadcast import instantiate

__all__ = ["ReferencesOfCall", "is_of_references"]


def is_of_references(kind: str, arg: Any) -> bool:
    """Whether an argument is a reference, or a tree of them.

    Raises:
      TypeError: it is a tree of references and other things.
    """
    are = {type(leaf) is Ref for leaf in tree.leaves(arg)}
    if len(are) > 1:
        raise TypeError(
            f"an argument of a {kind} function is a tree of references and of other values: "
            "pass the references as an argument of their own"
        )
    return True in are


class ReferencesOfCall:
    """The references of one call, and how its arguments lie without them.

    Args:
      kind: ``custom_jvp`` or ``custom_vjp``.
      name: the function's name.
      given: its arguments.
      static: the positions of those that are not differentiated.
      closed: references that it closes over.

    Attributes:
      refs: the references, each once; those among the arguments come first.
      inside: how many those are.
      rest: the positions of arguments that are no references.
      static: the positions of arguments that are not differentiated.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        given: Sequence[Any],
        static: Iterable[int],
        closed: Iterable[Ref],
    ) -> None:
        self._kind, self._name, self._count = kind, name, len(given)
        self.args = {i: arg for i, arg in enumerate(given) if is_of_references(kind, arg)}
        inside = {id(ref): ref for arg in self.args.values() for ref in tree.leaves(arg)}
        self.refs = list({**inside, **{id(ref): ref for ref in closed}}.values())
        self.inside = len(inside)
        self.rest = [i for i in range(self._count) if i not in self.args]
        self.static = sorted(static)
        self._written = [False] * len(self.refs)

    def static_of_rest(self) -> list[int]:
        """Return where arguments that are not differentiated lie behind the values."""
        return [self.rest.index(i) + 1 for i in self.static if i in self.rest]

    def full(self, others: Iterable[Any]) -> list[Any]:
        """Return all arguments, given those that are no references."""
        return self._filled(range(self._count), self.args, others)

    def nondiff(self, others: Iterable[Any]) -> list[Any]:
        """Return the arguments that are not differentiated, given those that are no references."""
        return self._filled(self.static, self.args, others)

    def diff(self, others: Iterable[Any], refs: dict[int, Any] | None = None) -> tuple[Any, ...]:
        """Return the differentiated arguments, given those that are no references.

        Args:
          others: those.
          refs: what stands for arguments that are references, by position; they themselves.
        """
        places = [i for i in range(self._count) if i not in self.static]
        return tuple(self._filled(places, self.args if refs is None else refs, others))

    def count_diff(self) -> int:
        """Return how many arguments are differentiated, references among them."""
        return self._count - len(self.static)

    def without(self, pulled: Sequence[Any]) -> tuple[Any, ...]:
        """Return the cotangents of differentiated arguments that are no references."""
        places = [i for i in range(self._count) if i not in self.static]
        return tuple(ct for i, ct in zip(places, pulled, strict=True) if i not in self.args)

    @staticmethod
    def _filled(places: Iterable[int], refs: dict[int, Any], others: Iterable[Any]) -> list[Any]:
        rest = iter(others)
        return [refs[i] if i in refs else next(rest) for i in places]

    def values(self) -> list[Any]:
        """Return what the references hold; by what is closed over nothing is differentiated."""
        held = [ref.read() for ref in self.refs]
        closed = [tree.map(self._undifferentiated, value) for value in held[self.inside :]]
        return [*held[: self.inside], *closed]

    def _undifferentiated(self, value: Any) -> Any:
        def refuse(*_: Any) -> Any:
            raise ClosedOverTracerError(self._kind, self._name, **place_in_source())

        rule = JvpRule(refuse, self._name, symbolic=True)
        [same] = bind_custom_jvp(lambda x: [x], rule, (), [value], captures=False)
        return same

    def run(self, values: Sequence[Any], call: Callable[[], Any]) -> tuple[Any, list[Any]]:
        """Call the function, or its rule, and return its result and the values after it."""
        with Lent(self.refs, values) as lent:
            result = call()
        self._written = lent.written
        return result, lent.after

    def run_moving(
        self, values: Sequence[Any], tangents: Sequence[Any], call: Callable[[dict[int, Any]], Any]
    ) -> tuple[Any, list[Any], list[Any]]:
        """Call a rule that takes tangents; return its result, and the values and tangents after it.

        Args:
          values: what the references hold first.
          tangents: those of the values.
          call: takes the tangents of arguments that are references, which are references too.
        """
        moving = {
            id(ref): Ref(tree.map(instantiate, tangent, is_leaf=_is_zero))
            for ref, tangent in zip(self.refs[: self.inside], tangents, strict=False)
        }
        given = {i: tree.map(lambda ref: moving[id(ref)], arg) for i, arg in self.args.items()}
        result, after = self.run(values, lambda: call(given))
        moved = [
            ref.read() if ref.binding().is_written else tangent
            for ref, tangent in zip(moving.values(), tangents, strict=False)
        ]
        still = [tree.map(Zero.tangent_of, value) for value in after[self.inside :]]
        return result, after, [*moved, *still]

    def write(self, after: Sequence[Any]) -> None:
        """Write to the references that were written what they hold, with its derivative."""
        for ref, value, is_written in zip(self.refs, after, self._written, strict=True):
            if is_written:
                ref.write(value)

    def write_past(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Write likewise, where no rule says what the derivative is: it stays what it was."""
        self.write([tree.map(_replaced, *pair) for pair in zip(before, after, strict=True)])


def _is_zero(value: Any) -> bool:
    return type(value) is Zero


def _replaced(before: Any, after: Any) -> Any:
    """Return a value with the derivative of another of its type."""

    def rule(operands: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [operands[1]], [tangents[0]]

    named = JvpRule(rule, "a written reference", symbolic=True)
    operands = [before, stop_gradient(after)]
    assert abstractify(before).shape == abstractify(after).shape, "as references check"
    [same] = bind_custom_jvp(lambda _, y: [y], named, (), operands, captures=False)
    return same
