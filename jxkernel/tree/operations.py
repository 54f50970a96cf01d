"""Taking pytrees apart, putting them together, and mapping over them.

Each function is a thin layer over jaxlib's C++ flattening: a try block costs nothing until it is
needed, and errors are explained only after C++ has refused.  Layers that flatten on a hot path
call ``registry.flatten`` and ``treedef.unflatten`` themselves.

This module must not know of arrays or tracers.
"""

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from jxkernel._jaxlib import pytree
from jxkernel._reprs import with_type
from jxkernel.tree.nodes import KeyPath, PyTreeDef, keyed_children, registry
from jxkernel.tree.prefix import check_predicate, explain_unsortable_keys, flatten_up_to, mismatches

__all__ = [
    "all_leaves",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "leaf_paths",
    "tree_all",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_is_strict_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[..., bool] | None
_NO_VALUE = object()


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a tree, from left to right, and its structure.

    Args:
      tree: any value; one that is no node is a leaf itself.
      is_leaf: called on each node; where it returns true, the node is a leaf.

    Raises:
      TypeError: ``is_leaf`` is no function.
      ValueError: the keys of a dict cannot be sorted, or the tree contains itself or is
        nested too deeply.

    >>> from jxkernel import tree
    >>> leaves, treedef = tree.flatten({"b": 2, "a": (1, None)})
    >>> leaves, treedef.num_leaves
    ([1, 2], 2)
    """
    try:
        return registry.flatten(tree, is_leaf)
    except REFUSALS as error:
        explain(error, tree, is_leaf)
        raise


REFUSALS = (ValueError, TypeError, SystemError, RecursionError)
"""What C++ raises where it cannot flatten a tree."""


def explain(error: BaseException, tree: Any, is_leaf: IsLeaf) -> None:
    """Raise a clear error in place of the one that C++ raised, where the cause is known."""
    if isinstance(error, (ValueError, TypeError)):
        check_predicate(is_leaf)
        explain_unsortable_keys(tree, is_leaf)
    # C++ gave up because the tree has no end that it could reach.
    if isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError):
        raise ValueError(
            "A tree contains itself, or is nested more deeply than can be followed: what is "
            "flattened are finite containers, such as lists and dicts of arrays."
        ) from None


def _structure(name: str, treedef: Any) -> PyTreeDef:
    """Return an argument that is a structure, or say that it is none."""
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(
            f"{name} takes a PyTreeDef, as tree.structure(...) returns, got {with_type(treedef)}"
        )
    return treedef


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Return the tree of structure ``treedef`` with the given leaves: ``tree_flatten`` undone.

    Raises:
      ValueError: there are too few or too many leaves.

    >>> from jxkernel import tree
    >>> tree.unflatten(tree.structure({"a": 0, "b": (0, 0)}), [1, 2, 3])
    {'a': 1, 'b': (2, 3)}
    """
    return _structure("unflatten", treedef).unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree, from left to right.

    >>> from jxkernel import tree
    >>> tree.leaves({"b": [3, 4], "a": 1, "c": None})
    [1, 3, 4]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Return the structure of a tree, without its leaves; hashable and comparable.

    >>> from jxkernel import tree
    >>> tree.structure([1, (2, 3)]) == tree.structure(["x", ("y", "z")])
    True
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to each leaf, and return the tree of its results.

    Args:
      f: takes a leaf of ``tree`` and, for each tree of ``rest``, the subtree in its place.
      tree: the tree that gives the structure.
      *rest: further trees, of which ``tree`` is a prefix.
      is_leaf: which nodes of ``tree`` count as leaves.

    Raises:
      ValueError: ``tree`` is no prefix of one of ``rest``; the message says where they differ.

    >>> from jxkernel import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    # A list and not map(): a StopIteration from ``f`` must not pass for the end of the leaves.
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in leaves])
    columns = zip(leaves, *_columns(treedef, rest), strict=True)
    return treedef.unflatten([f(*subtrees) for subtrees in columns])


def _columns(treedef: PyTreeDef, rest: tuple[Any, ...]) -> list[list[Any]]:
    return [
        flatten_up_to(treedef, tree, "the first tree", f"tree {number}")
        for number, tree in enumerate(rest, 2)
    ]


def _path_predicate(is_leaf: IsLeaf, takes_path: bool) -> IsLeaf:
    if is_leaf is None or takes_path:
        return is_leaf
    return lambda _, x: is_leaf(x)


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Return (key path, leaf) pairs, from left to right, and the structure of a tree.

    Args:
      tree: any value.
      is_leaf: which nodes count as leaves.
      is_leaf_takes_path: call ``is_leaf(path, node)`` in place of ``is_leaf(node)``.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    >>> from jxkernel import tree
    >>> pairs, treedef = tree.flatten_with_path({"a": [5, 6]})
    >>> [(tree.keystr(path), leaf) for path, leaf in pairs]
    [("['a'][0]", 5), ("['a'][1]", 6)]
    """
    try:
        return registry.flatten_with_path(tree, _path_predicate(is_leaf, is_leaf_takes_path))
    except REFUSALS as error:
        check_predicate(is_leaf)
        explain(error, tree, None if is_leaf_takes_path else is_leaf)
        raise


def tree_leaves_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return (key path, leaf) pairs, from left to right; see ``tree_flatten_with_path``.

    >>> from jxkernel import tree
    >>> [(tree.keystr(path), leaf) for path, leaf in tree.leaves_with_path([7, {"x": 8}])]
    [('[0]', 7), ("[1]['x']", 8)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to each key path and leaf; otherwise as ``tree_map``.

    Raises:
      ValueError: ``tree`` is no prefix of one of ``rest``.

    >>> from jxkernel import tree
    >>> tree.map_with_path(lambda path, x: f"{tree.keystr(path)}={x}", {"a": 1, "b": 2})
    {'a': "['a']=1", 'b': "['b']=2"}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = zip(pairs, *_columns(treedef, rest), strict=True)
    return treedef.unflatten([f(*pair, *subtrees) for pair, *subtrees in columns])


def leaf_paths(treedef: PyTreeDef) -> list[KeyPath]:
    """Return the key path of each leaf of a structure.

    Users' own nodes are made once, with integers in the place of their children.

    >>> from jxkernel import tree
    >>> [tree.keystr(path) for path in tree.leaf_paths(tree.structure({"a": [1, 2]}))]
    ["['a'][0]", "['a'][1]"]
    """
    structure = _structure("leaf_paths", treedef)
    placeholders = structure.unflatten(range(structure.num_leaves))
    return [path for path, _ in registry.flatten_with_path(placeholders)[0]]


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Return whether every leaf is true; a tree without leaves gives True.

    >>> from jxkernel import tree
    >>> tree.all([True, {"a": 1}]), tree.all((1, 0))
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _NO_VALUE,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves from left to right: ``f(f(initializer, leaf0), leaf1)`` and so on.

    Raises:
      TypeError: there is neither a leaf nor an initializer.

    >>> from jxkernel import tree
    >>> tree.reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]}, 10)
    16
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not _NO_VALUE:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("A tree without leaves cannot be reduced without an initializer.")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _NO_VALUE,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves in a balanced tree of operations, of logarithmic depth.

    Args:
      operation: an associative function of two leaves.
      tree: the leaves.
      identity: the result for a tree without leaves.
      is_leaf: which nodes count as leaves.

    Raises:
      TypeError: there is neither a leaf nor an identity.

    >>> from jxkernel import tree
    >>> tree.reduce_associative(lambda x, y: x + y, ["a", ["b", "c"]])
    'abc'
    """
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is _NO_VALUE:
            raise TypeError("A tree without leaves cannot be reduced without an identity.")
        return identity
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        odd_one = values[-1:] if len(values) % 2 else []
        values = [operation(first, second) for first, second in pairs] + odd_one
    return values[0]


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out: a list of dicts into a dict of lists.

    Args:
      outer_treedef: the structure of the outer tree.
      inner_treedef: the structure of each of its leaves; by default that of the first one.
      pytree_to_transpose: the tree.

    Returns:
      A tree of structure ``inner_treedef`` whose leaves have the structure ``outer_treedef``.

    Raises:
      TypeError: the tree does not have the one structure within the other; the message says
        where they differ.
      ValueError: ``outer_treedef`` is no prefix of the tree and ``inner_treedef`` is None.

    >>> from jxkernel import tree
    >>> outer = tree.structure([0, 0])
    >>> tree.transpose(outer, None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    _structure("transpose", outer_treedef)
    if inner_treedef is not None:
        _structure("transpose", inner_treedef)
    leaves, treedef = tree_flatten(pytree_to_transpose)
    inner = inner_treedef or _first_structure(outer_treedef, pytree_to_transpose)
    if treedef != outer_treedef.compose(inner):
        # A node's metadata may tell the structure below it, so it is asked for anew.
        expected = _nested(outer_treedef, inner)
        if treedef != expected:
            raise TypeError(_transpose_message(expected, pytree_to_transpose))
    width = inner.num_leaves
    columns = [outer_treedef.unflatten(leaves[start::width]) for start in range(width)]
    return inner.unflatten(columns)


def _first_structure(treedef: PyTreeDef, tree: Any) -> PyTreeDef:
    """Return the structure of the first subtree below ``treedef``; of None if there is none."""
    subtrees = flatten_up_to(treedef, tree, "outer_treedef", "the tree to transpose")
    return tree_structure(subtrees[0] if subtrees else None)


def _nested(outer: PyTreeDef, inner: PyTreeDef) -> PyTreeDef:
    """Return the structure of a tree whose every leaf is a tree, as their nodes flatten then."""
    leaf = inner.unflatten([0] * inner.num_leaves)
    return tree_structure(outer.unflatten([leaf] * outer.num_leaves))


def _transpose_message(expected: PyTreeDef, tree: Any) -> str:
    for mismatch in mismatches(expected, tree, exact=True):
        return mismatch.describe("inner_treedef within outer_treedef", "the tree to transpose")
    return f"The tree to transpose has not the structure {expected}."


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Return whether each element is a leaf: no node, or a node that ``is_leaf`` calls one.

    Raises:
      TypeError: ``is_leaf`` is no function.

    >>> from jxkernel import tree
    >>> tree.all_leaves([1, "a"]), tree.all_leaves([1, (2,)])
    (True, False)
    """
    check_predicate(is_leaf)
    if is_leaf is None:
        return pytree.all_leaves(registry, iter(iterable))
    return all(not registry.is_node(type(x)) or is_leaf(x) for x in iterable)


def _refuse_leaf(x: Any) -> ValueError:
    return ValueError(f"A value of type {type(x).__qualname__} is a leaf, not a node: {x!r}.")


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Return the children of a node, unflattened, and its metadata.

    Raises:
      ValueError: it is a leaf.

    >>> from jxkernel import tree_util
    >>> children, metadata = tree_util.flatten_one_level([1, (2, 3)])
    >>> list(children)
    [1, (2, 3)]
    """
    level = registry.flatten_one_level(tree)
    if level is None:
        raise _refuse_leaf(tree)
    return level


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """Return the (key, child) pairs of a node and its metadata.

    Raises:
      ValueError: it is a leaf.

    >>> from jxkernel import tree_util
    >>> pairs, metadata = tree_util.flatten_one_level_with_keys({"a": 1, "b": (2, 3)})
    >>> [(str(key), child) for key, child in pairs]
    [("['a']", 1), ("['b']", (2, 3))]
    """
    level = keyed_children(tree)
    if level is None:
        raise _refuse_leaf(tree)
    return level


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose elements have the given structures.

    >>> from jxkernel import tree, tree_util
    >>> parts = [tree.structure(1), tree.structure([2, 3])]
    >>> tree_util.treedef_tuple(parts) == tree.structure((1, [2, 3]))
    True
    """
    structures = [_structure("treedef_tuple", treedef) for treedef in treedefs]
    return pytree.treedef_tuple(registry, structures)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of a structure's children; none for a leaf.

    >>> from jxkernel import tree, tree_util
    >>> [child.num_leaves for child in tree_util.treedef_children(tree.structure([1, (2, 3)]))]
    [1, 2]
    """
    return _structure("treedef_children", treedef).children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure is one leaf, or one node without children such as None.

    >>> from jxkernel import tree, tree_util
    >>> one, many = tree.structure(1), tree.structure([1, 2])
    >>> tree_util.treedef_is_leaf(one), tree_util.treedef_is_leaf(many)
    (True, False)
    """
    return _structure("treedef_is_leaf", treedef).num_nodes == 1


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure is one leaf.

    >>> from jxkernel import tree
    >>> tree.treedef_is_strict_leaf(tree.structure(None))
    False
    """
    structure = _structure("treedef_is_strict_leaf", treedef)
    return structure.num_nodes == 1 and structure.num_leaves == 1
