"""Trees as programs take them: every leaf is a number or an array of numbers.

To users a random key is a leaf, for it is an array.  To a program it is a *wrapper* of its key
data, an array of numbers, and so a node with one child.  A tree has as many leaves in one view as
in the other, in the same order.  Transforms, loops and compiled calls flatten by this module, so
that none of them knows of keys, and ``unflatten`` of what they flattened gives keys again.

Structures of the two views are not to be compared: what a user gets to see is made ``logical``.
This module must not know which types are wrappers, nor of arrays.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from jxkernel.tree import operations, prefix
from jxkernel.tree.nodes import KeyPath, PyTreeDef, physical_registry, registry

__all__ = [
    "broadcast_prefix",
    "flatten",
    "flatten_with_path",
    "leaf_paths",
    "leaves",
    "leaves_with_path",
    "logical",
    "map",
    "mismatches",
    "of_logical",
    "register_wrapper",
    "structure",
    "structure_mismatch",
]

IsLeaf = Callable[..., bool] | None


def register_wrapper(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
) -> None:
    """Make instances of a type nodes to programs; to users they stay leaves.

    Args:
      nodetype: the type; its subclasses are not included.
      flatten_func: from an instance to its one child and its metadata, hashable and comparable.
      unflatten_func: from metadata and that child, which may be anything, to an instance.
    """
    physical_registry.register_node(nodetype, flatten_func, unflatten_func, None)


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a tree, from left to right, and its structure; see ``tree.flatten``."""
    try:
        return physical_registry.flatten(tree, is_leaf)
    except operations.REFUSALS as error:
        operations.explain(error, tree, is_leaf)
        raise


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree, from left to right."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Return the structure of a tree, without its leaves."""
    return flatten(tree, is_leaf)[1]


def logical(structure: PyTreeDef) -> PyTreeDef:
    """Return a structure as users know it, with a leaf for each wrapper."""
    node = structure.node_data()
    if node is None or not registry.is_node(node[0]):
        return _LEAF
    children = [logical(child) for child in structure.children()]
    return PyTreeDef.from_node_data_and_children(registry, node, children)


_LEAF = registry.flatten(0)[1]


def of_logical(structure: PyTreeDef) -> PyTreeDef:
    """Return a structure that users know as programs know it, where none of its leaves is a key."""
    node = structure.node_data()
    if node is None:
        return _PHYSICAL_LEAF
    children = [of_logical(child) for child in structure.children()]
    return PyTreeDef.from_node_data_and_children(physical_registry, node, children)


_PHYSICAL_LEAF = physical_registry.flatten(0)[1]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to each leaf, and return the tree of its results; see ``tree.map``."""
    values, treedef = flatten(tree, is_leaf)
    columns = [
        prefix.flatten_up_to(
            treedef, other, "the first tree", f"tree {number}", by=physical_registry
        )
        for number, other in enumerate(rest, 2)
    ]
    return treedef.unflatten([f(*subtrees) for subtrees in zip(values, *columns, strict=True)])


def leaf_paths(structure: PyTreeDef) -> list[KeyPath]:
    """Return the key path of each leaf of a structure; that of a wrapper is its own."""
    return operations.leaf_paths(logical(structure))


def flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Return (key path, leaf) pairs, from left to right, and the structure of a tree."""
    values, treedef = flatten(tree, is_leaf)
    paths = [path for path, _ in operations.tree_leaves_with_path(tree, is_leaf)]
    return list(zip(paths, values, strict=True)), treedef


def leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return (key path, leaf) pairs, from left to right."""
    return flatten_with_path(tree, is_leaf)[0]


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return for each leaf of a tree the leaf above it; see ``tree.tree_broadcast_prefix``."""
    return prefix.tree_broadcast_prefix(prefix_tree, full_tree, is_leaf, by=physical_registry)


def mismatches(treedef: PyTreeDef, tree: Any, **options: Any) -> Any:
    """Yield each place where a tree departs from a structure; see ``tree.mismatches``."""
    return prefix.mismatches(treedef, tree, by=physical_registry, **options)


def structure_mismatch(expected: PyTreeDef, found: PyTreeDef) -> prefix.Mismatch:
    """Return the first place where a structure departs from another."""
    return prefix.structure_mismatch(expected, found, by=physical_registry)
