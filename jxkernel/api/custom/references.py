"""References that a function with a derivative of its own uses.

A rule may run in another trace than the function, later, and more than once.  So the values of
references are arguments of the function and of its rule, and what they hold afterwards is a
result.  References among the arguments have derivatives by the rule; of others that the function
closes over there is none, as of all that it closes over.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jxkernel.core.avals import abstractify
from jxkernel.core.trace import place_in_source
from jxkernel.core.zeros import Zero
from jxkernel.errors import ClosedOverTracerError
from jxkernel.higher_order.custom_jvp import JvpRule, bind_custom_jvp
from jxkernel.higher_order.references import Lent, Ref
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.tree import physical

__all__ = ["ReferencesOfCall", "has_references"]


def has_references(arg: Any) -> bool:
    """Whether an argument is a reference, or a tree with references in it."""
    return any(type(leaf) is Ref for leaf in physical.leaves(arg))


class _Argument:
    """An argument with references in it, apart from its other leaves.

    Args:
      arg: the argument, a tree.

    Attributes:
      structure: that of the tree.
      refs: the references, by position among the leaves.
    """

    __slots__ = ("refs", "structure")

    def __init__(self, arg: Any) -> None:
        leaves, self.structure = physical.flatten(arg)
        self.refs = {at: leaf for at, leaf in enumerate(leaves) if type(leaf) is Ref}

    def others(self, arg: Any) -> tuple[Any, ...]:
        """Return the leaves of a tree of this structure where no references are."""
        leaves = self.structure.flatten_up_to(arg)
        return tuple([leaf for at, leaf in enumerate(leaves) if at not in self.refs])

    def whole(self, others: Iterable[Any], instead: Callable[[Ref], Any] | None = None) -> Any:
        """Return the tree of the other leaves and the references, or what is there instead."""
        rest = iter(others)
        count = self.structure.num_leaves
        known = {at: instead(ref) if instead else ref for at, ref in self.refs.items()}
        leaves = [known[at] if at in known else next(rest) for at in range(count)]
        return self.structure.unflatten(leaves)


class ReferencesOfCall:
    """The references of one call, and how its arguments lie without them.

    An argument that has references in it is passed on as the tuple of its other leaves.

    Args:
      kind: ``custom_jvp`` or ``custom_vjp``.
      name: the function's name.
      given: its arguments.
      static: the positions of those that are not differentiated.
      closed: references that it closes over.

    Attributes:
      refs: the references, each once; those among the arguments come first.
      inside: how many those are.
      rest: the arguments without references.
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
        self._kind, self._name = kind, name
        self._args = {i: _Argument(arg) for i, arg in enumerate(given) if has_references(arg)}
        inside = {id(ref): ref for arg in self._args.values() for ref in arg.refs.values()}
        self.refs = list({**inside, **{id(ref): ref for ref in closed}}.values())
        self.inside = len(inside)
        self.rest = [
            self._args[i].others(arg) if i in self._args else arg for i, arg in enumerate(given)
        ]
        self.static = sorted(static)
        self._diff = [i for i in range(len(given)) if i not in self.static]
        self._written = [False] * len(self.refs)

    def full(self, others: Iterable[Any]) -> list[Any]:
        """Return all arguments, given what they are without references."""
        return self._filled(range(len(self.rest)), others)

    def nondiff(self, others: Iterable[Any]) -> list[Any]:
        """Return the arguments that are not differentiated, given them without references."""
        return self._filled(self.static, others)

    def diff(
        self, others: Iterable[Any], instead: Callable[[Ref], Any] | None = None
    ) -> tuple[Any, ...]:
        """Return the differentiated arguments, given them without references.

        Args:
          others: those.
          instead: what stands for a reference; it itself.
        """
        return tuple(self._filled(self._diff, others, instead))

    def fits(self, pulled: Any) -> bool:
        """Whether a rule returned one cotangent for each differentiated argument."""
        return isinstance(pulled, tuple | list) and len(pulled) == len(self._diff)

    def without(self, pulled: Sequence[Any], shaped: Callable[[Any, Any], Any]) -> Iterator[Any]:
        """Yield cotangents of the differentiated arguments without those of references.

        Args:
          pulled: one cotangent for each.
          shaped: gives a cotangent the structure of its argument.
        """
        for place, ct in zip(self._diff, pulled, strict=True):
            arg = self._args.get(place)
            yield ct if arg is None else arg.others(shaped(arg.structure, ct))

    def _filled(
        self,
        places: Iterable[int],
        others: Iterable[Any],
        instead: Callable[[Ref], Any] | None = None,
    ) -> list[Any]:
        return [
            self._args[i].whole(other, instead) if i in self._args else other
            for i, other in zip(places, others, strict=True)
        ]

    def values(self) -> list[Any]:
        """Return what the references hold; by what is closed over nothing is differentiated."""
        held = [ref.read() for ref in self.refs]
        closed = [physical.map(self._undifferentiated, value) for value in held[self.inside :]]
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
        self,
        values: Sequence[Any],
        tangents: Sequence[Any],
        call: Callable[[Callable[[Ref], Ref]], Any],
    ) -> tuple[Any, list[Any], list[Any]]:
        """Call a rule that takes tangents; return its result, and the values and tangents after it.

        Args:
          values: what the references hold first.
          tangents: those of the values.
          call: takes a function from a reference to that of its tangent.
        """
        moving = {
            id(ref): Ref(physical.map(instantiate, tangent, is_leaf=_is_zero))
            for ref, tangent in zip(self.refs[: self.inside], tangents, strict=False)
        }
        result, after = self.run(values, lambda: call(lambda ref: moving[id(ref)]))
        moved = [
            ref.read() if ref.binding().is_written else tangent
            for ref, tangent in zip(moving.values(), tangents, strict=False)
        ]
        still = [physical.map(Zero.tangent_of, value) for value in after[self.inside :]]
        return result, after, [*moved, *still]

    def write(self, after: Sequence[Any]) -> None:
        """Write to the references that were written what they hold, with its derivative."""
        for ref, value, is_written in zip(self.refs, after, self._written, strict=True):
            if is_written:
                ref.write(value)

    def write_past(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Write likewise, where no rule says what the derivative is: it stays what it was."""
        self.write([physical.map(_replaced, *pair) for pair in zip(before, after, strict=True)])


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
