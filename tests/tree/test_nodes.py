"""Users' own node types."""

import dataclasses
from collections import namedtuple
from typing import Any

import pytest

from jxkernel import tree
from jxkernel.tree import DictKey, FlattenedIndexKey, GetAttrKey


class Pair:
    def __init__(self, a: Any, b: Any, tag: Any = None) -> None:
        self.a, self.b, self.tag = a, b, tag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def fresh(base: type = Pair) -> type:
    """Return a new class: a type can be registered once."""
    return type("Fresh", (base,), {})


def unflatten(cls: type) -> Any:
    return lambda tag, children: cls(*children, tag)


def test_registered_type_is_a_node_with_metadata() -> None:
    cls = fresh()
    assert not tree.is_tree_node(cls)
    assert tree.leaves(cls(1, 2))[0].a == 1
    tree.register_pytree_node(cls, lambda p: ((p.a, p.b), p.tag), unflatten(cls))
    assert tree.is_tree_node(cls)
    assert tree.leaves([cls(1, (2,), "t"), 3]) == [1, 2, 3]
    assert tree.map(lambda x: -x, cls(1, (2,), "t")) == cls(-1, (-2,), "t")
    assert tree.structure(cls(0, 0, "t")) != tree.structure(cls(0, 0, "u"))
    assert tree.leaves_with_path(cls(1, 2))[1] == ((FlattenedIndexKey(1),), 2)


def test_keys_given_at_registration_show_in_paths() -> None:
    cls = fresh()
    tree.register_pytree_node(
        cls,
        lambda p: ((p.a, p.b), p.tag),
        unflatten(cls),
        lambda p: (((GetAttrKey("a"), p.a), (DictKey("b"), p.b)), p.tag),
    )
    assert [tree.keystr(path) for path, _ in tree.leaves_with_path(cls(1, [2]))] == [
        ".a",
        "['b'][0]",
    ]


@pytest.mark.parametrize("with_flatten", [True, False])
def test_register_with_keys(with_flatten: bool) -> None:
    cls, calls = fresh(), []

    def flatten_with_keys(p: Any) -> Any:
        return ((GetAttrKey("a"), p.a), (GetAttrKey("b"), p.b)), p.tag

    def flatten(p: Any) -> Any:
        calls.append(p)
        return (p.a, p.b), p.tag

    tree.register_pytree_with_keys(
        cls, flatten_with_keys, unflatten(cls), flatten if with_flatten else None
    )
    assert tree.map(lambda x: x + 1, cls(1, [2], "t")) == cls(2, [3], "t")
    assert bool(calls) is with_flatten
    assert tree.leaf_paths(tree.structure(cls(1, 2))) == [(GetAttrKey("a"),), (GetAttrKey("b"),)]


def test_register_class_uses_its_methods() -> None:
    @tree.register_pytree_node_class
    class Node(Pair):
        def tree_flatten(self) -> Any:
            return (self.a, self.b), self.tag

        @classmethod
        def tree_unflatten(cls, tag: Any, children: Any) -> Any:
            return cls(*children, tag)

    assert tree.map(str, Node(1, None, "t")) == Node("1", None, "t")


@pytest.mark.parametrize("with_flatten", [True, False])
def test_register_with_keys_class_uses_its_methods(with_flatten: bool) -> None:
    class Node(Pair):
        def tree_flatten_with_keys(self) -> Any:
            return ((DictKey("a"), self.a), (DictKey("b"), self.b)), self.tag

        @classmethod
        def tree_unflatten(cls, tag: Any, children: Any) -> Any:
            return cls(*children, tag)

    calls = []
    if with_flatten:
        Node.tree_flatten = lambda self: calls.append(1) or ((self.a, self.b), self.tag)
    assert tree.register_pytree_with_keys_class(Node) is Node
    assert tree.leaves(Node(1, 2)) == [1, 2]
    assert bool(calls) is with_flatten
    assert tree.keystr(tree.leaves_with_path(Node(1, 2))[0][0]) == "['a']"


def test_second_registration_is_refused() -> None:
    cls = fresh()
    tree.register_pytree_node(cls, lambda p: ((p.a, p.b), None), unflatten(cls))
    for register in (
        lambda: tree.register_pytree_node(cls, lambda p: ((), None), unflatten(cls)),
        lambda: tree.register_dataclass(cls, ["a", "b"], []),
        lambda: tree.register_static(cls),
    ):
        with pytest.raises(ValueError, match="Fresh is already registered as a pytree node"):
            register()
    assert tree.leaves(cls(1, 2)) == [1, 2]


def test_a_named_tuple_may_be_registered_once() -> None:
    pair = namedtuple("pair", "x note")

    def register() -> None:
        tree.register_pytree_node(pair, lambda p: ((p.x,), p.note), lambda note, c: pair(*c, note))

    assert tree.leaves(pair(1, 2)) == [1, 2]
    register()
    assert tree.map(lambda x: x + 1, pair(1, "two")) == pair(2, "two")
    with pytest.raises(ValueError, match="pair is already registered as a pytree node"):
        register()


def test_classes_of_one_name_are_two_types() -> None:
    first, second = fresh(), fresh()
    for cls, extra in ((first, 1), (second, 2)):
        tree.register_pytree_node(cls, lambda p, extra=extra: ((p.a, extra), None), unflatten(cls))
    assert tree.leaves(first(7, 0)) == [7, 1]
    assert tree.leaves(second(7, 0)) == [7, 2]
    assert tree.structure(first(7, 0)) != tree.structure(second(7, 0))


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a class; got 3"):
        tree.register_pytree_node(3, lambda x: ((), None), lambda a, c: 3)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------- dataclasses


def test_dataclass_fields_are_children_and_static_fields_are_structure() -> None:
    @tree.register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: Any
        bias: Any
        name: str = tree.static(default="layer")
        cache: Any = dataclasses.field(default=None, init=False)

    layer = Layer([1, 2], 3, name="first")
    assert tree.leaves(layer) == [1, 2, 3]
    assert tree.map(lambda x: 2 * x, layer) == Layer([2, 4], 6, name="first")
    assert tree.structure(layer) != tree.structure(Layer([1, 2], 3))
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(layer)]
    assert paths == [".weight[0]", ".weight[1]", ".bias"]


def test_dataclass_fields_can_be_listed_and_dropped() -> None:
    @dataclasses.dataclass
    class State:
        a: Any
        b: int
        scratch: Any = "default"

    tree.register_dataclass(State, data_fields=["a"], meta_fields=["b"], drop_fields=["scratch"])
    assert tree.leaves(State(1, 2, "lost")) == [1]
    assert tree.map(lambda x: x + 1, State(1, 2, "lost")) == State(2, 2, "default")


def test_frozen_dataclass_is_a_node() -> None:
    @tree.register_dataclass
    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        x: Any
        y: Any = tree.static(default=0, metadata={"unit": "m"})  # noqa: RUF009 - it is a field

    assert tree.map(lambda v: v + 1, Frozen(1, 5)) == Frozen(2, 5)
    assert dataclasses.fields(Frozen)[1].metadata == {"unit": "m", "static": True}


def test_class_that_is_no_dataclass_can_list_its_fields() -> None:
    class Plain:
        def __init__(self, x: Any, size: int) -> None:
            self.x, self.size = x, size

    tree.register_dataclass(Plain, ["x"], ["size"])
    doubled = tree.map(lambda v: 2 * v, Plain([1, 2], 3))
    assert (doubled.x, doubled.size) == ([2, 4], 3)


@dataclasses.dataclass
class Three:
    a: Any
    b: Any
    c: Any = 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((Three, ["a", "b"]), TypeError, "both data_fields and meta_fields, or neither"),
        ((Three, ["a"], ["b"]), ValueError, r"leave out \['c'\] of Three"),
        ((Three, ["a", "b"], ["b", "c"]), ValueError, r"overlap in \['b'\]"),
        ((Three, ["a", "b", "d"], ["c"]), ValueError, r"\['d'\] are no fields that Three\(\)"),
        ((int,), TypeError, "is no dataclass: give register_dataclass its data_fields"),
    ],
)
def test_wrong_fields_are_refused_and_leave_the_class_alone(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tree.register_dataclass(*arguments)
    assert not tree.is_tree_node(arguments[0])


def test_static_type_is_structure_without_leaves() -> None:
    @tree.register_static
    class Name(str):
        __slots__ = ()

    leaves, treedef = tree.flatten([Name("a"), 1])
    assert leaves == [1]
    assert treedef == tree.structure([Name("a"), 2])
    assert treedef != tree.structure([Name("b"), 2])
    assert tree.unflatten(treedef, [5]) == ["a", 5]


@pytest.mark.parametrize("value", [None, [1], 3])
def test_a_value_is_not_taken_for_a_type_of_nodes(value: Any) -> None:
    with pytest.raises(TypeError, match=r"write is_tree_node\(type\(x\)\)"):
        tree.is_tree_node(value)
