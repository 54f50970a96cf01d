"""Pytrees: nested containers of leaves, on jaxlib's C++ registry.

``jxkernel.tree`` is the public module (``tree.map``, ``tree.flatten`` ...); transforms flatten
their arguments and unflatten their results by ``jxkernel.tree.physical``, which looks into random
keys.  Place in the pipeline: lowest layer.  It must not know what a leaf is.
"""

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
    registry,
    static,
)
from jxkernel.tree.operations import (
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    leaf_paths,
    treedef_children,
    treedef_is_leaf,
    treedef_is_strict_leaf,
    treedef_tuple,
)
from jxkernel.tree.operations import tree_all as all
from jxkernel.tree.operations import tree_flatten as flatten
from jxkernel.tree.operations import tree_flatten_with_path as flatten_with_path
from jxkernel.tree.operations import tree_leaves as leaves
from jxkernel.tree.operations import tree_leaves_with_path as leaves_with_path
from jxkernel.tree.operations import tree_map as map
from jxkernel.tree.operations import tree_map_with_path as map_with_path
from jxkernel.tree.operations import tree_reduce as reduce
from jxkernel.tree.operations import tree_reduce_associative as reduce_associative
from jxkernel.tree.operations import tree_structure as structure
from jxkernel.tree.operations import tree_transpose as transpose
from jxkernel.tree.operations import tree_unflatten as unflatten
from jxkernel.tree.partial import Partial
from jxkernel.tree.prefix import (
    Mismatch,
    flatten_up_to,
    keystr,
    mismatches,
    structure_mismatch,
    tree_broadcast_prefix,
)
from jxkernel.tree.prefix import tree_broadcast as broadcast

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Mismatch",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all",
    "all_leaves",
    "broadcast",
    "flatten",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_up_to",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "leaf_paths",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "mismatches",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "registry",
    "static",
    "structure",
    "structure_mismatch",
    "transpose",
    "tree_broadcast_prefix",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_is_strict_leaf",
    "treedef_tuple",
    "unflatten",
]
