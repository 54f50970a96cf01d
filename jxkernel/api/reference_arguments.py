"""Functions of references, as derivatives see them: values go in, and values come out.

A function that takes references is differentiated as one that takes the values they hold and
returns, besides its own value, what they hold afterwards.  Everything about derivatives is then
known; what is left is to write those values to the references, and their tangents or cotangents.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jxkernel import tree
from jxkernel.core.trace import state
from jxkernel.higher_order.references import Ref
from jxkernel.tree import physical

__all__ = [
    "OfValues",
    "Returned",
    "directions",
    "flatten_arguments",
    "has_references",
    "held_by",
    "is_made_here",
    "named",
    "refuse_references",
    "with_own",
    "write_written",
]


def flatten_arguments(args: Any) -> tuple[list[Any], Any]:
    """Return the arrays and references of arguments, and their structure; a key is one array."""
    return tree.flatten(args)


def has_references(leaves: Sequence[Any]) -> bool:
    """Whether one of an argument's leaves is a reference."""
    return True in [isinstance(leaf, Ref) for leaf in leaves]


def held_by(args: Any) -> Any:
    """Return arguments with the values of references in their places."""
    leaves, structure = flatten_arguments(args)
    return structure.unflatten([x.read() if isinstance(x, Ref) else x for x in leaves])


def refuse_references(who: str, leaves: Sequence[Any]) -> None:
    """Refuse to return a derivative by a reference.

    Raises:
      TypeError: one of the leaves is a reference.
    """
    if has_references(leaves):
        raise TypeError(
            f"{who} was asked for the derivative by a reference, which is in a reference itself: "
            "write value, pullback = vjp(f, ref, ...), and pullback.with_refs(gradient_ref, ...)"
            "(cotangent). A reference that argnums does not name may be an argument"
        )


def is_made_here(leaf: Any) -> bool:
    """Whether a leaf is a reference that was made in the trace at hand."""
    return type(leaf) is Ref and leaf.binding().trace is state.trace


class Returned:
    """The references in a function's result, which is transformed with their values in its place.

    What a reference holds that the function made is a value of the trace at hand, so another
    reference to the transformed value comes out.  One of outside comes out as it is.

    Args:
      result: the result, a tree.

    Attributes:
      structure: that of the result, in which a reference is a leaf.
      made: the types of references that the function made, by position.
      outside: the other references, by position.
    """

    def __init__(self, result: Any) -> None:
        leaves, self.structure = flatten_arguments(result)
        refs = {at: leaf for at, leaf in enumerate(leaves) if type(leaf) is Ref}
        self.made = {at: ref.aval for at, ref in refs.items() if is_made_here(ref)}
        self.outside = {at: ref for at, ref in refs.items() if at not in self.made}

    def values(self, result: Any) -> Any:
        """Return the result with the values of references; with None for those of outside."""
        leaves = self.structure.flatten_up_to(result)
        held = {at: leaves[at].read() for at in self.made}
        return self._with(leaves, {**held, **dict.fromkeys(self.outside)})

    def references(self, values: Any, outside: Mapping[int, Ref]) -> Any:
        """Return a tree like the result.

        Args:
          values: a tree of what became of the values.
          outside: what stands for the references of outside, by position.
        """
        leaves = self.structure.flatten_up_to(values)
        made = {at: Ref(leaves[at]) for at in self.made}
        return self._with(leaves, {**made, **outside})

    def _with(self, leaves: Sequence[Any], others: Mapping[int, Any]) -> Any:
        given = [others.get(at, leaf) for at, leaf in enumerate(leaves)]
        return self.structure.unflatten(given)


class OfValues:
    """A function of references as one of their values: (its value, the values afterwards).

    Args:
      fun: the function.
      primals: its arguments.
      has_aux: whether it returns (value, anything else); that comes last then.

    Attributes:
      func: the function.
      structure: that of the arguments.
      refs: the references among the arguments, by position among arrays and references.
      points: the arguments, with values in place of the references.
      written: for each reference whether the function wrote to it, once called.
      returned: which of them its value has, by position there, once called.
    """

    def __init__(self, fun: Callable[..., Any], primals: Sequence[Any], has_aux: bool) -> None:
        leaves, self.structure = flatten_arguments(tuple(primals))
        self.refs = {at: leaf for at, leaf in enumerate(leaves) if isinstance(leaf, Ref)}
        self.points = held_by(tuple(primals))
        self.func = fun
        self._has_aux = has_aux
        self.written: tuple[bool, ...] = ()
        self.returned: dict[int, int] = {}

    def __call__(self, *args: Any) -> Any:
        """Call the function with references that hold these values, and return theirs after it."""
        leaves = self.structure.flatten_up_to(args)
        inside = {at: Ref(leaves[at]) for at in self.refs}
        given = [inside.get(at, leaf) for at, leaf in enumerate(leaves)]
        bindings = [ref.binding() for ref in inside.values()]  # before the function freezes one
        result = self.func(*self.structure.unflatten(given))
        value, *aux = result if self._has_aux else (result,)
        own = {id(ref): at for at, ref in inside.items()}
        found = enumerate(flatten_arguments(value)[0])
        self.returned = {at: own[id(leaf)] for at, leaf in found if id(leaf) in own}
        after = [binding.value for binding in bindings]
        self.written = tuple([binding.is_written for binding in bindings])
        return ((value, after), *aux) if self._has_aux else (value, after)

    def named(self, what: str) -> list[tuple[str, Ref]]:
        """Return the references and what they are called, such as ``primals[0]['a']``."""
        return named(what, self.structure, self.refs)

    def write(self, after: Sequence[Any]) -> None:
        """Write the values after the function to the references that it wrote to."""
        write_written(self.refs.values(), self.written, after)


def named(what: str, structure: Any, refs: Mapping[int, Any]) -> list[tuple[str, Any]]:
    """Return things at positions of arguments and what they are called."""
    paths = list(physical.leaf_paths(structure))
    return [(f"{what}{tree.keystr(paths[at])}", ref) for at, ref in refs.items()]


def directions(
    who: str, what: str, structure: Any, positions: Iterable[int], given: Any
) -> dict[int, Ref]:
    """Return the tangents of references, by position; none where the structure is another.

    Args:
      who: who takes them, for the message.
      what: what they are called there.
      structure: that of the arguments.
      positions: where references are among them.
      given: trees like the arguments.

    Raises:
      TypeError: one is no reference.
    """
    leaves, found = flatten_arguments(tuple(given))
    if found != structure:
        return {}
    chosen = {at: leaves[at] for at in positions}
    for name, leaf in named(what, structure, chosen):
        if not isinstance(leaf, Ref):
            raise TypeError(
                f"{who} needs a reference as the tangent of a reference, got {leaf!r:.100} as "
                f"{name}: jxkernel.new_ref(tangent)"
            )
    return chosen


def with_own(value: Any, returned: Mapping[int, int], refs: Mapping[int, Ref]) -> Any:
    """Return a function's value, or its tangent, with the references that it got and returned.

    Args:
      value: a tree like the function's value.
      returned: which references, by position in it; see ``OfValues``.
      refs: the references, by position among arrays and references of arguments.
    """
    leaves, structure = flatten_arguments(value)
    for at, where in returned.items():
        leaves[at] = refs[where]
    return structure.unflatten(leaves)


def write_written(refs: Iterable[Ref], written: Iterable[bool], values: Iterable[Any]) -> None:
    """Write values to those of some references to which a function wrote."""
    for ref, is_written, value in zip(refs, written, values, strict=True):
        if is_written:
            ref.write(value)
