"""Prefixes: broadcasting along them, and the errors that show where two trees part."""

from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest

from jxkernel import tree
from jxkernel.tree import DictKey, Mismatch, SequenceKey


class Point(NamedTuple):
    x: Any
    y: Any


@tree.register_pytree_node_class
class Tagged:
    """A node whose metadata is a tag."""

    def __init__(self, tag: Any, *children: Any) -> None:
        self.tag = tag
        self.children = children

    def tree_flatten(self) -> tuple[Any, Any]:
        return self.children, self.tag

    @classmethod
    def tree_unflatten(cls, tag: Any, children: Any) -> "Tagged":
        return cls(tag, *children)


def test_flatten_up_to_gives_the_subtrees_below_a_prefix() -> None:
    treedef = tree.structure({"a": 0, "b": [0, None]})
    assert tree.flatten_up_to(treedef, {"a": (1, 2), "b": [{}, None]}) == [(1, 2), {}]


# (prefix, full tree, key path, what the prefix has, what the full tree has, advice)
PARTINGS = [
    ([1, 2], [1, 2, 3], "", "a list of length 2", "a list of length 3", ""),
    ([1], (1,), "", "a list of length 1", "a tuple of length 1", "different structures"),
    ({"a": [0]}, {"a": 5}, "['a']", "a list of length 1", "a leaf of type int", ""),
    ([0, None], [0, 5], "[1]", "None", "a leaf of type int", "is_leaf=lambda x: x is None"),
    ([0, (1,)], [0, None], "[1]", "a tuple of length 1", "None", "is_leaf=lambda x: x is None"),
    (
        {"a": 0, "b": 0},
        {"a": 0, "c": 0, "d": 0},
        "",
        "a dict with the keys ['a', 'b']",
        "a dict with the keys ['a', 'c', 'd']",
        "Missing: ['b']; unexpected: ['c', 'd'].",
    ),
    (
        OrderedDict(a=0, b=0),
        OrderedDict(b=0, a=0),
        "",
        "an OrderedDict with the keys ['a', 'b']",
        "an OrderedDict with the keys ['b', 'a']",
        "Their keys are in another order.",
    ),
    (
        [defaultdict(int, a=0)],
        [defaultdict(int, b=0)],
        "[0]",
        "a defaultdict with the keys ['a']",
        "a defaultdict with the keys ['b']",
        "Missing: ['a']; unexpected: ['b'].",
    ),
    (
        {"a": 0},
        OrderedDict(a=0),
        "",
        "a dict with the keys ['a']",
        "an OrderedDict with the keys ['a']",
        "",
    ),
    ([Point(0, (1,))], [Point(0, [1])], "[0].y", "a tuple of length 1", "a list", "different"),
    (Point(0, 0), (0, 0), "", "a Point of length 2", "a tuple of length 2", ""),
    (
        Tagged("t", 0),
        Tagged("u", 0),
        "",
        "a Tagged of length 1 with the metadata 't'",
        "a Tagged of length 1 with the metadata 'u'",
        "",
    ),
    (Tagged("t", [0]), Tagged("t", 0), "[<flat index 0>]", "a list of length 1", "a leaf", ""),
]


@pytest.mark.parametrize(("prefix", "full", "path", "expected", "found", "advice"), PARTINGS)
def test_parting_names_the_path_and_both_nodes(
    prefix: Any, full: Any, path: str, expected: str, found: str, advice: str
) -> None:
    with pytest.raises(ValueError, match="The tree structures part") as error:
        tree.flatten_up_to(tree.structure(prefix), full, "in_axes", "args")
    message = str(error.value)
    place = f"at the key path {path}" if path else "at the root"
    assert f"part {place}: in_axes has {expected} there, args has {found}" in message
    assert advice in message


def test_error_of_c_is_not_shown() -> None:
    with pytest.raises(ValueError, match="part at the root") as error:
        tree.map(lambda x, y: x, [None], 5)
    assert error.value.__suppress_context__


def test_all_partings_are_listed_from_left_to_right() -> None:
    found = list(tree.mismatches(tree.structure([[0], 0, {"a": (0,)}]), [5, 6, {"a": 7}]))
    assert [mismatch.path for mismatch in found] == [
        (SequenceKey(0),),
        (SequenceKey(2), DictKey("a")),
    ]
    assert found[0] == Mismatch((SequenceKey(0),), "a list of length 1", "a leaf of type int")


def test_exact_comparison_refuses_a_subtree_in_place_of_a_leaf() -> None:
    treedef = tree.structure([0, 0])
    assert list(tree.mismatches(treedef, [1, (2,)])) == []
    (mismatch,) = tree.mismatches(treedef, [1, (2,)], exact=True)
    assert mismatch.describe("carry in", "carry out") == (
        "The tree structures part at the key path [1]: carry in has a leaf there, "
        "carry out has a tuple of length 1."
    )


def test_is_leaf_holds_for_the_second_tree() -> None:
    treedef = tree.structure([None, 0])
    assert len(list(tree.mismatches(treedef, [None, 1]))) == 0
    assert len(list(tree.mismatches(treedef, [None, 1], is_leaf=lambda x: x is None))) == 1


def test_long_metadata_is_cut() -> None:
    with pytest.raises(ValueError, match=r"\.\.\.") as error:
        tree.flatten_up_to(tree.structure(Tagged("t" * 10_000, 0)), 5)
    assert len(str(error.value)) < 1000


# ---------------------------------------------------------------------------- broadcasting


@pytest.mark.parametrize(
    ("prefix", "full", "leaves"),
    [
        (7, {"a": 1, "b": [2, 3]}, [7, 7, 7]),
        ([1, 2], [(0, 0), {"a": 0}], [1, 1, 2]),
        ([None, 1], [None, (0, 0)], [1, 1]),
        (1, None, []),
        ((1, [2, 3]), (0, [0, ()]), [1, 2]),
    ],
)
def test_broadcast_repeats_each_leaf_over_its_subtree(
    prefix: Any, full: Any, leaves: list[Any]
) -> None:
    assert tree.tree_broadcast_prefix(prefix, full) == leaves
    assert tree.broadcast(prefix, full) == tree.unflatten(tree.structure(full), leaves)


def test_none_can_be_broadcast_as_a_leaf() -> None:
    prefix, full = (0, None), ([1, 2], {"a": 3, "b": 4})
    found = tree.tree_broadcast_prefix(prefix, full, is_leaf=lambda x: x is None)
    assert found == [0, 0, None, None]


def test_broadcast_of_no_prefix_says_where_they_part() -> None:
    with pytest.raises(ValueError, match=r"key path \[1\]: the prefix has a tuple .*the full tree"):
        tree.broadcast([0, (1, 2)], [0, [1, 2]])
