"""Taking pytrees apart, putting them together, mapping over them."""

import operator
import pickle
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any, NamedTuple

import hypothesis
import pytest
from hypothesis import strategies as st

import jxkernel
from jxkernel import tree, tree_util
from jxkernel.tree import DictKey, GetAttrKey, SequenceKey


class Point(NamedTuple):
    x: Any
    y: Any


Old = namedtuple("Old", "a b")
LEAF = tree.structure(0)

# (tree, its leaves from left to right)
TREES = [
    (1, [1]),
    ("text", ["text"]),
    (None, []),
    ((), []),
    ([], []),
    ({}, []),
    ([1, [2, [3]]], [1, 2, 3]),
    ((1, None, 2), [1, 2]),
    ({"b": 1, "a": (2, 3)}, [2, 3, 1]),
    ({3: 1, 1: 2}, [2, 1]),
    (OrderedDict([("b", 1), ("a", 2)]), [1, 2]),
    (defaultdict(list, {"b": 1, "a": 2}), [2, 1]),
    (Point(1, [2]), [1, 2]),
    (Old(1, None), [1]),
    ([{"a": (1, None)}, OrderedDict(z=Point(2, {}))], [1, 2]),
]


@pytest.mark.parametrize(("value", "leaves"), TREES)
def test_flatten_gives_leaves_in_order_and_unflatten_undoes_it(
    value: Any, leaves: list[Any]
) -> None:
    found, treedef = tree.flatten(value)
    assert found == leaves == tree.leaves(value)
    assert treedef == tree.structure(value)
    assert treedef.num_leaves == len(leaves)
    again = tree.unflatten(treedef, found)
    assert again == value
    assert type(again) is type(value)


def test_containers_keep_what_is_no_leaf() -> None:
    again = tree.map(lambda x: x, defaultdict(list, {"a": 1}))
    assert again["missing"] == []
    assert list(tree.map(lambda x: x, OrderedDict([("b", 1), ("a", 2)]))) == ["b", "a"]


def test_subclasses_of_containers_are_leaves_but_named_tuples_are_nodes() -> None:
    class Mapping(dict):
        pass

    class Pair(Point):
        pass

    assert tree.leaves([Mapping(a=1)]) == [{"a": 1}]
    assert tree.leaves([Pair(1, 2)]) == [1, 2]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1], (1,)),
        ({"a": 1}, {"b": 1}),
        (Point(1, 2), (1, 2)),
        (None, 1),
        ([], ()),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        ({"a": 1}, OrderedDict(a=1)),
    ],
)
def test_different_structures_are_unequal(a: Any, b: Any) -> None:
    assert tree.structure(a) != tree.structure(b)


def test_structures_hash_compare_and_print_by_content() -> None:
    first, second = tree.structure({"a": [1, None]}), tree.structure({"a": [2, None]})
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == "PyTreeDef({'a': [*, None]})"


def test_structure_survives_pickling() -> None:
    treedef = tree.structure({"a": (1, [2]), "b": OrderedDict(c=Point(None, 3))})
    assert pickle.loads(pickle.dumps(treedef)) == treedef


def test_is_leaf_stops_the_descent() -> None:
    value = [(1, 2), None, {"a": 3}]
    assert tree.leaves(value, is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    assert tree.leaves(value, is_leaf=lambda x: x is None) == [1, 2, None, 3]
    assert tree.leaves(value, is_leaf=lambda x: True) == [value]


def test_is_leaf_that_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="is_leaf must be a function of one node; got 3"):
        tree.flatten([1], is_leaf=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is_leaf must be a function of one node; got 3"):
        tree.all_leaves([], is_leaf=3)  # type: ignore[arg-type]


def test_exceptions_of_is_leaf_pass_through() -> None:
    def is_leaf(x: Any) -> bool:
        raise ValueError("from the user")

    with pytest.raises(ValueError, match="from the user"):
        tree.flatten([1], is_leaf=is_leaf)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({1: 2, "a": 3}, "the dict cannot"),
        ([0, {"b": {1: 2, "a": 3}}], r"the dict at the key path \[1\]\['b'\] cannot"),
        (defaultdict(int, {1: 2, "a": 3}), "the dict cannot"),
    ],
)
def test_unsortable_keys_are_shown_with_their_place(value: Any, place: str) -> None:
    for function in (tree.flatten, tree.flatten_with_path, tree.leaves, tree.structure):
        with pytest.raises(ValueError, match=rf"{place} be sorted.*\[1, 'a'\].*OrderedDict"):
            function(value)


def test_unsortable_keys_are_no_matter_in_an_ordered_dict_or_below_a_leaf() -> None:
    assert tree.leaves(OrderedDict([(1, 2), ("a", 3)])) == [2, 3]
    assert tree.leaves([{1: 2, "a": 3}], is_leaf=lambda x: isinstance(x, dict)) == [{1: 2, "a": 3}]


@pytest.mark.parametrize(("count", "message"), [(1, "Too few"), (3, "Too many")])
def test_unflatten_with_a_wrong_number_of_leaves_is_refused(count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree.unflatten(tree.structure((1, 2)), range(count))


# ---------------------------------------------------------------------------- map


def test_map_applies_to_each_leaf_in_order() -> None:
    seen = []
    result = tree.map(lambda x: seen.append(x) or 10 * x, {"b": [1, None], "a": (2,)})
    assert result == {"b": [10, None], "a": (20,)}
    assert seen == [2, 1]


def test_map_over_several_trees_takes_subtrees_of_the_later_ones() -> None:
    result = tree.map(lambda x, y, z: (x, y, z), [1, 2], [3, (4, 5)], [None, {"a": 6}])
    assert result == [(1, 3, None), (2, (4, 5), {"a": 6})]


def test_map_names_the_tree_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"at the root: the first tree has .* 2 there, tree 3 has"):
        tree.map(lambda *xs: xs, [1, 2], [3, 4], [5])


def test_map_lets_every_exception_of_the_function_pass() -> None:
    for error in (StopIteration, ValueError, KeyboardInterrupt):

        def function(*_: Any, error: type[BaseException] = error) -> Any:
            raise error("from the user")

        with pytest.raises(error, match="from the user"):
            tree.map(function, [1, 2])
        with pytest.raises(error, match="from the user"):
            tree.map(function, [1, 2], [3, 4])


def test_map_with_path_gives_key_paths() -> None:
    result = tree.map_with_path(
        lambda path, x, y: (tree.keystr(path), x, y),
        {"a": [1], "b": Point(2, 3)},
        {"a": [4], "b": Point(5, (6,))},
    )
    assert result["a"] == [("['a'][0]", 1, 4)]
    assert result["b"] == Point(("['b'].x", 2, 5), ("['b'].y", 3, (6,)))


def test_map_with_path_names_the_tree_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="tree 2 has a tuple of length 1"):
        tree.map_with_path(lambda p, x, y: x, [1], (1,))


# ---------------------------------------------------------------------------- paths


def test_flatten_with_path_gives_the_keys_of_each_kind_of_node() -> None:
    pairs, treedef = tree.flatten_with_path(
        [{"a": Point(1, 2)}, OrderedDict(b=3), defaultdict(int, c=4)]
    )
    assert pairs == [
        ((SequenceKey(0), DictKey("a"), GetAttrKey("x")), 1),
        ((SequenceKey(0), DictKey("a"), GetAttrKey("y")), 2),
        ((SequenceKey(1), DictKey("b")), 3),
        ((SequenceKey(2), DictKey("c")), 4),
    ]
    assert tree.leaf_paths(treedef) == [path for path, _ in pairs]


def test_path_of_a_lone_leaf_is_empty() -> None:
    assert tree.leaves_with_path(5) == [((), 5)]


def test_is_leaf_may_take_the_path() -> None:
    value = {"a": [1, (2, 3)]}
    by_node = tree.leaves_with_path(value, is_leaf=lambda x: isinstance(x, tuple))
    by_path = tree.leaves_with_path(value, lambda path, _: len(path) == 2, is_leaf_takes_path=True)
    assert by_node == by_path
    assert [leaf for _, leaf in by_node] == [1, (2, 3)]
    counts = tree.map_with_path(
        lambda path, x: len(path),
        value,
        is_leaf=lambda path, _: len(path) == 1,
        is_leaf_takes_path=True,
    )
    assert counts == {"a": 1}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "['a'][1].x[<flat index 3>]"),
        ({"simple": True, "separator": "/"}, "a/1/x/3"),
        ({"separator": " "}, "['a'] [1] .x [<flat index 3>]"),
    ],
)
def test_keystr(options: dict[str, Any], text: str) -> None:
    path = (DictKey("a"), SequenceKey(1), GetAttrKey("x"), tree.FlattenedIndexKey(3))
    assert tree.keystr(path, **options) == text
    assert tree.keystr((), **options) == ""


def test_keystr_takes_text_as_separator() -> None:
    with pytest.raises(TypeError, match="separator=2: it is text"):
        tree.keystr((DictKey("a"),), separator=2)  # type: ignore[arg-type]


def test_keys_compare_hash_and_match_by_content() -> None:
    assert {DictKey("a"), DictKey("a"), SequenceKey(0)} == {DictKey("a"), SequenceKey(0)}
    match DictKey("a"):
        case tree.DictKey(key):
            assert key == "a"
    assert (SequenceKey(2).idx, GetAttrKey("n").name, tree.FlattenedIndexKey(1).key) == (2, "n", 1)


# ---------------------------------------------------------------------------- reductions


def test_all_is_true_without_leaves() -> None:
    assert tree.all([True, (1, None)]) is True
    assert tree.all({"a": [True, 0]}) is False
    assert tree.all([]) is True


def test_reduce_goes_from_left_to_right() -> None:
    assert tree.reduce(lambda a, b: f"({a}{b})", ["a", ("b", {"c": "c"})]) == "((ab)c)"
    assert tree.reduce(lambda a, b: f"({a}{b})", ["a", "b"], "z") == "((za)b)"
    assert tree.reduce(lambda a, b: (a, b), [1, 2], None) == ((None, 1), 2)
    assert tree.reduce(operator.add, [], 7) == 7


@pytest.mark.parametrize("count", range(1, 10))
def test_reduce_associative_keeps_order_at_logarithmic_depth(count: int) -> None:
    text = "abcdefghi"[:count]
    assert tree.reduce_associative(operator.add, list(text)) == text
    depth = tree.reduce_associative(lambda a, b: max(a, b) + 1, [0] * count)
    assert depth == (count - 1).bit_length()


def test_reductions_without_leaves_need_a_value() -> None:
    with pytest.raises(TypeError, match="without an initializer"):
        tree.reduce(operator.add, [None])
    with pytest.raises(TypeError, match="without an identity"):
        tree.reduce_associative(operator.add, [])
    assert tree.reduce_associative(operator.add, [], identity=7) == 7


# ---------------------------------------------------------------------------- transpose


def test_transpose_turns_a_list_of_dicts_into_a_dict_of_lists() -> None:
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": (0, None)})
    value = [{"a": 1, "b": (2, None)}, {"a": 3, "b": (4, None)}]
    expected = {"a": [1, 3], "b": ([2, 4], None)}
    assert tree.transpose(outer, inner, value) == expected
    assert tree.transpose(outer, None, value) == expected
    assert tree.transpose(inner, outer, expected) == value


class Known:
    """A node that knows in its metadata how what it holds is made."""

    def __init__(self, *parts: Any, made: Any = None) -> None:
        self.parts = parts
        self.made = made


tree_util.register_pytree_node(
    Known,
    lambda node: (node.parts, (tree.structure(node.parts), node.made)),
    lambda aux, parts: Known(*parts, made=aux[1]),
)


def test_transpose_looks_through_metadata_that_tells_a_structure() -> None:
    outer = tree.structure(Known(0, 0, made="here"))
    first, second = tree.transpose(
        outer, tree.structure([0, 0]), Known([1, 2], [3, 4], made="here")
    )
    assert (first.parts, second.parts) == ((1, 3), (2, 4))
    assert first.made == "here"
    with pytest.raises(TypeError, match="part at the root"):
        tree.transpose(outer, tree.structure([0, 0]), Known([1], [3, 4]))


def test_transpose_of_a_tree_without_leaves() -> None:
    assert tree.transpose(tree.structure([]), tree.structure((0, 0)), []) == ([], [])
    assert tree.transpose(tree.structure([]), None, []) is None


@pytest.mark.parametrize(
    ("inner", "value", "message"),
    [
        ((0, 0), [{"a": 1, "b": 2}, {"a": 3, "b": 4}], r"key path \[0\]: .* a tuple of length 2"),
        (None, [{"a": 1, "b": 2}, {"a": 3, "c": 4}], r"key path \[1\].*Missing: \['b'\]; unexp"),
        ((0, 0), [(1, 2), (3, (4, 5))], r"key path \[1\]\[1\]: .* has a leaf there, the tree to"),
    ],
)
def test_transpose_of_another_structure_says_where_it_parts(
    inner: Any, value: Any, message: str
) -> None:
    inner_treedef = None if inner is None else tree.structure(inner)
    with pytest.raises(TypeError, match=message):
        tree.transpose(tree.structure([0, 0]), inner_treedef, value)


# ---------------------------------------------------------------------------- one level, structures


def test_flatten_one_level_gives_children_and_metadata() -> None:
    assert tree.flatten_one_level({"b": [1], "a": 2}) == ((2, [1]), ("a", "b"))
    pairs, metadata = tree.flatten_one_level_with_keys((3, [4]))
    assert (list(pairs), metadata) == ([(SequenceKey(0), 3), (SequenceKey(1), [4])], None)
    pairs, _ = tree.flatten_one_level_with_keys(Point(3, [4]))
    assert list(pairs) == [(GetAttrKey("x"), 3), (GetAttrKey("y"), [4])]
    for function in (tree.flatten_one_level, tree.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="type int is a leaf, not a node: 5"):
            function(5)


def test_all_leaves() -> None:
    assert tree.all_leaves([1, "a"])
    assert not tree.all_leaves([1, [2]])
    assert not tree.all_leaves([None])
    assert tree.all_leaves([1, [2]], is_leaf=lambda x: isinstance(x, list))
    assert not tree.all_leaves([(1,), [2]], is_leaf=lambda x: isinstance(x, list))


def test_structures_can_be_taken_apart_and_joined() -> None:
    parts = [tree.structure([1, 2]), LEAF, tree.structure(None)]
    joined = tree.treedef_tuple(iter(parts))
    assert joined == tree.structure(([1, 2], 3, None))
    assert tree.treedef_children(joined) == parts
    assert tree.treedef_children(LEAF) == []


@pytest.mark.parametrize(
    ("value", "is_leaf", "is_strict"),
    [(1, True, True), (None, True, False), ((), True, False), ([1], False, False)],
)
def test_structures_that_are_leaves(value: Any, is_leaf: bool, is_strict: bool) -> None:
    assert tree.treedef_is_leaf(tree.structure(value)) is is_leaf
    assert tree.treedef_is_strict_leaf(tree.structure(value)) is is_strict


def _endless() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


WAYS_IN = {
    "leaves": tree.leaves,
    "leaves with paths": tree.leaves_with_path,
    "map": lambda x: tree.map(lambda leaf: leaf, x),
    "jit": jxkernel.jit(lambda x: x),
    "a result of jit": lambda x: jxkernel.jit(lambda: x)(),
    "grad": jxkernel.grad(lambda x: 0.0),
    "vmap": jxkernel.vmap(lambda x: x),
    "device_put": jxkernel.device_put,
}


@pytest.mark.parametrize("make", [_endless, _deep])
@pytest.mark.parametrize("way", WAYS_IN.values(), ids=WAYS_IN)
def test_trees_without_an_end_in_reach_are_refused(way: Any, make: Any) -> None:
    value = make()
    with pytest.raises(ValueError, match="contains itself, or is nested more deeply"):
        way(value)
    while value and value[0] is not value:
        value = value[0]  # taken apart from the outside: Python frees deep lists by recursion


# ---------------------------------------------------------------------------- any tree

KEYS = st.text("abc", max_size=2)
ANY_TREE = st.recursive(
    st.integers() | st.none(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.tuples(children, children)
        | st.dictionaries(KEYS, children, max_size=3)
        | st.dictionaries(KEYS, children, max_size=3).map(OrderedDict)
        | st.builds(Point, children, children)
    ),
    max_leaves=12,
)


@hypothesis.given(ANY_TREE)
def test_any_tree_comes_back_whole(value: Any) -> None:
    leaves, treedef = tree.flatten(value)
    assert tree.unflatten(treedef, leaves) == value
    assert [leaf for _, leaf in tree.leaves_with_path(value)] == leaves
    assert tree.flatten_up_to(treedef, value) == leaves
    assert list(tree.mismatches(treedef, value, exact=True)) == []
    assert tree.unflatten(tree.treedef_tuple([treedef, LEAF]), [*leaves, 0]) == (value, 0)


@hypothesis.given(ANY_TREE, ANY_TREE)
def test_the_walk_finds_a_mismatch_exactly_when_c_refuses(prefix: Any, full: Any) -> None:
    treedef = tree.structure(prefix)
    try:
        treedef.flatten_up_to(full)
    except ValueError:
        assert next(tree.mismatches(treedef, full), None) is not None
    else:
        assert list(tree.mismatches(treedef, full)) == []
    same = treedef == tree.structure(full)
    assert same == (not list(tree.mismatches(treedef, full, exact=True)))
