"""Pytree functions under their ``tree_`` names; ``jxkernel.tree`` has the short ones.

A façade: it re-exports, and gives the names of older programs with a warning.
"""

import warnings
from typing import Any

from jxkernel.tree.nodes import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from jxkernel.tree.nodes import registry as default_registry
from jxkernel.tree.operations import (
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    tree_all,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from jxkernel.tree.partial import Partial
from jxkernel.tree.prefix import keystr, tree_broadcast

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
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
    "treedef_tuple",
]


def __getattr__(name: str) -> Any:
    if name == "tree_multimap":
        warnings.warn(
            "tree_multimap is an older name: write jxkernel.tree.map, which takes several trees.",
            DeprecationWarning,
            stacklevel=2,
        )
        return tree_map
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
