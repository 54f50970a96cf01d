"""Where two trees part, and what it means that one tree is a prefix of another.

Tree P is a *prefix* of tree F when F can be had from P by replacing leaves of P with trees.  In
C++ the question costs little, but the answer "no" says little; the walk here is made only after a
"no", and names the key path, what each tree has there, and what a user may have meant.

This module must not know which transform asks.  Where a function takes a registry ``by`` which
trees are flattened, that is the one of users' trees where none is given.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from jxkernel._jaxlib import pytree
from jxkernel._reprs import guarded_text
from jxkernel.records import record
from jxkernel.tree.nodes import KeyPath, PyTreeDef, keyed_children, registry

__all__ = [
    "Mismatch",
    "check_predicate",
    "explain_unsortable_keys",
    "flatten_up_to",
    "keystr",
    "mismatches",
    "structure_mismatch",
    "structure_text",
    "tree_broadcast",
    "tree_broadcast_prefix",
]


def _simple_name(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _text(key: Any) -> str:
    return guarded_text(str, key)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as text: ``['a'][1].x``.

    Args:
      keys: the path.
      simple: leave out brackets, quotes and dots.
      separator: what to put between two keys; with ``simple=True, separator='/'``: ``a/1/x``.

    Raises:
      TypeError: the separator is no text.

    >>> from jxkernel import tree
    >>> path = tree.leaves_with_path({"a": [0, 1]})[1][0]
    >>> tree.keystr(path), tree.keystr(path, simple=True, separator="/")
    ("['a'][1]", 'a/1')
    """
    if not isinstance(separator, str):
        raise TypeError(f"keystr got separator={separator!r:.100}: it is text to put between keys")
    return separator.join(map(_simple_name if simple else _text, keys))


@record()
class Mismatch:
    """One place where two trees differ.

    Attributes:
      path: the keys from the root to that place.
      expected: what the first tree has there, in words.
      found: what the second tree has there, in words.
      advice: what may have been meant, or the empty string.
    """

    path: KeyPath
    expected: str
    found: str
    advice: str = ""

    def describe(self, first: str, second: str) -> str:
        """Return the sentence that names the trees ``first`` and ``second``."""
        place = f"at the key path {keystr(self.path)}" if self.path else "at the root"
        sentence = (
            f"The tree structures part {place}: {first} has {self.expected} there, "
            f"{second} has {self.found}."
        )
        return f"{sentence} {self.advice}" if self.advice else sentence


_DICTS = (dict, OrderedDict, defaultdict)
_NONE_ADVICE = (
    "None is a node without leaves; to treat it as a leaf, pass is_leaf=lambda x: x is None."
)


def _typed(node_type: type) -> str:
    name = node_type.__qualname__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


_LONGEST_METADATA = 200


def _shortened(x: Any) -> str:
    return _capped(repr(x))


def _dict_keys(node_type: type, metadata: Any) -> list[Any]:
    """Return the keys of a dict, OrderedDict or defaultdict from its metadata."""
    return list(metadata[1] if issubclass(node_type, defaultdict) else metadata)


def _shape(node_type: type, metadata: Any, size: int) -> str:
    """Return a node in words: its type, and what else makes two nodes of one type differ."""
    if node_type is type(None):
        return "None"
    if node_type in _DICTS:
        keys = _shortened(_dict_keys(node_type, metadata))
        return f"{_typed(node_type)} with the keys {keys}"
    if metadata is None:
        return f"{_typed(node_type)} of length {size}"
    return f"{_typed(node_type)} of length {size} with the metadata {_shortened(metadata)}"


def structure_text(structure: PyTreeDef) -> str:
    """Return a structure as messages write it: the containers, with ``*`` for each leaf.

    >>> from jxkernel import tree
    >>> structure_text(tree.structure({"a": 1, "b": (2, 3)})), structure_text(tree.structure(1))
    ("{'a': *, 'b': (*, *)}", '* (one leaf)')
    """
    text = str(structure).removeprefix("PyTreeDef(").removesuffix(")")
    return "* (one leaf)" if text == "*" else _capped(text)


def _capped(text: str) -> str:
    return text if len(text) <= _LONGEST_METADATA else f"{text[:_LONGEST_METADATA]}..."


_STAND_IN = object()
"""Stands for the leaves of a structure of which there is no tree."""


def _leaf(x: Any) -> str:
    return "a leaf" if x is _STAND_IN else f"a leaf of type {type(x).__qualname__}"


def _level(
    x: Any, is_leaf: Callable[[Any], bool] | None, by: pytree.PyTreeRegistry
) -> tuple[list[Any], Any] | None:
    """Return the (key, child) pairs and metadata of a node, or None for a leaf."""
    if is_leaf is not None and is_leaf(x):
        return None
    level = keyed_children(x, by)
    if level is None:
        return None
    pairs, metadata = level
    # The metadata of a named tuple is its type here, and None in a tree definition.
    return pairs, None if metadata is type(x) else metadata


def _same_metadata(first: Any, second: Any) -> bool:
    # A tree definition gives the keys of a dict as a list, flattening gives them as a tuple.
    if isinstance(first, list):
        first = tuple(first)
    return bool(first == second)


def mismatches(
    treedef: PyTreeDef,
    tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
    *,
    exact: bool = False,
    by: pytree.PyTreeRegistry = registry,
) -> Iterator[Mismatch]:
    """Yield each place where ``tree`` departs from ``treedef``, from left to right.

    Args:
      treedef: the expected structure.
      tree: the tree to compare with it.
      is_leaf: which nodes of ``tree`` count as leaves.
      exact: refuse a subtree where ``treedef`` has a leaf, which otherwise is a prefix.
      by: the registry of ``treedef``.

    >>> from jxkernel import tree
    >>> found = next(tree.mismatches(tree.structure({"a": 0}), {"b": 0}))
    >>> found.advice
    "Missing: ['a']; unexpected: ['b']."
    """
    yield from _mismatches(treedef, tree, is_leaf, exact, by, ())


def _mismatches(
    treedef: PyTreeDef,
    tree: Any,
    is_leaf: Callable[[Any], bool] | None,
    exact: bool,
    by: pytree.PyTreeRegistry,
    path: KeyPath,
) -> Iterator[Mismatch]:
    node = treedef.node_data()
    level = _level(tree, is_leaf, by) if node is not None or exact else None
    if node is None:
        if level is not None:
            found = _shape(type(tree), level[1], len(level[0]))
            yield Mismatch(path, "a leaf", found, _NONE_ADVICE if tree is None else "")
        return
    node_type, metadata = node
    children = treedef.children()
    expected = _shape(node_type, metadata, len(children))
    if level is None:
        yield Mismatch(path, expected, _leaf(tree), _advice(node_type, type(tree)))
        return
    pairs, found_metadata = level
    same_kind = type(tree) is node_type and len(pairs) == len(children)
    if not same_kind or not _same_metadata(metadata, found_metadata):
        found = _shape(type(tree), found_metadata, len(pairs))
        advice = _key_advice(node_type, metadata, type(tree), found_metadata)
        yield Mismatch(path, expected, found, advice or _advice(node_type, type(tree)))
        return
    for child, (key, subtree) in zip(children, pairs, strict=True):
        yield from _mismatches(child, subtree, is_leaf, exact, by, (*path, key))


def structure_mismatch(
    expected: PyTreeDef, found: PyTreeDef, *, by: pytree.PyTreeRegistry = registry
) -> Mismatch:
    """Return the first place where a structure departs from another that it is unequal to.

    >>> from jxkernel import tree
    >>> tree.structure_mismatch(tree.structure((0, 0)), tree.structure(0)).found
    'a leaf'
    """
    standing = found.unflatten([_STAND_IN] * found.num_leaves)
    return next(mismatches(expected, standing, exact=True, by=by))


def _advice(expected: type, found: type) -> str:
    if expected is found:
        return ""
    if type(None) in (expected, found):
        return _NONE_ADVICE
    if {expected, found} == {list, tuple}:
        return "A list and a tuple are different structures."
    return ""


def _key_advice(expected: type, metadata: Any, found: type, found_metadata: Any) -> str:
    """Return which keys one of two dicts of one type lacks, or the empty string."""
    if expected is not found or expected not in _DICTS:
        return ""
    wanted, present = _dict_keys(expected, metadata), _dict_keys(found, found_metadata)
    missing = [key for key in wanted if key not in present]
    unexpected = [key for key in present if key not in wanted]
    parts = [
        f"{word}: {_shortened(keys)}"
        for word, keys in (("missing", missing), ("unexpected", unexpected))
        if keys
    ]
    text = "; ".join(parts) or "their keys are in another order"
    return f"{text[0].upper()}{text[1:]}."


def flatten_up_to(
    treedef: PyTreeDef,
    tree: Any,
    first: str = "the prefix",
    second: str = "the full tree",
    *,
    by: pytree.PyTreeRegistry = registry,
) -> list[Any]:
    """Return the subtrees of ``tree`` that stand where ``treedef`` has leaves.

    Args:
      treedef: the structure of a prefix of ``tree``.
      tree: any tree.
      first: what ``treedef`` is called in the error.
      second: what ``tree`` is called there.
      by: the registry of ``treedef``.

    Raises:
      ValueError: ``treedef`` is no prefix of ``tree``; the message says where they differ.

    >>> from jxkernel import tree
    >>> tree.flatten_up_to(tree.structure([0, 0]), [(1, 2), {"a": 3}])
    [(1, 2), {'a': 3}]
    """
    try:
        return treedef.flatten_up_to(tree)
    except AttributeError:
        if isinstance(treedef, PyTreeDef):
            raise
        raise TypeError(
            f"flatten_up_to takes a PyTreeDef, as tree.structure(...) returns, got {treedef!r:.100}"
        ) from None
    except ValueError as error:
        for mismatch in mismatches(treedef, tree, by=by):
            raise ValueError(mismatch.describe(first, second)) from None
        raise error from None


def check_predicate(is_leaf: Any) -> None:
    """Refuse an ``is_leaf`` that is no function."""
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(f"is_leaf must be a function of one node; got {is_leaf!r}.") from None


def tree_broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: Callable[[Any], bool] | None = None,
    *,
    by: pytree.PyTreeRegistry = registry,
) -> list[Any]:
    """Return one entry for each leaf of ``full_tree``: the leaf of ``prefix_tree`` above it.

    Args:
      prefix_tree: a prefix of ``full_tree``.
      full_tree: any tree.
      is_leaf: which nodes of ``prefix_tree`` count as leaves.
      by: the registry that flattens both.

    Raises:
      ValueError: ``prefix_tree`` is no prefix of ``full_tree``.

    >>> from jxkernel import tree
    >>> tree.tree_broadcast_prefix([1, 2], [(0, 0), {"a": 0}])
    [1, 1, 2]
    """
    check_predicate(is_leaf)
    leaves, treedef = by.flatten(prefix_tree, is_leaf)
    subtrees = flatten_up_to(treedef, full_tree, by=by)
    result: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        result.extend([leaf] * by.flatten(subtree)[1].num_leaves)
    return result


def tree_broadcast(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Return a tree like ``full_tree``, with each leaf that of ``prefix_tree`` above it.

    Raises:
      ValueError: ``prefix_tree`` is no prefix of ``full_tree``.

    >>> from jxkernel import tree
    >>> tree.broadcast([1, 2], [(0, 0), {"a": 0}])
    [(1, 1), {'a': 2}]
    """
    leaves = tree_broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return registry.flatten(full_tree)[1].unflatten(leaves)


def _sort_problem(x: Any) -> str | None:
    try:
        sorted(x)
    except Exception as error:
        return str(error)
    return None


def _unsortable(
    x: Any, is_leaf: Callable[[Any], bool] | None, path: KeyPath
) -> tuple[KeyPath, Any, str] | None:
    """Return the path, the dict and the reason, for the first dict whose keys have no order."""
    if is_leaf is not None and is_leaf(x):
        return None
    if isinstance(x, dict) and registry.is_node(type(x)):
        problem = None if isinstance(x, OrderedDict) else _sort_problem(x)
        if problem is not None:
            return path, x, problem
    level = keyed_children(x)
    for key, child in level[0] if level is not None else ():
        found = _unsortable(child, is_leaf, (*path, key))
        if found is not None:
            return found
    return None


def explain_unsortable_keys(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> None:
    """Raise the ValueError that shows the first dict in ``tree`` whose keys cannot be sorted.

    To be called when flattening raised; returns when that was for another reason.
    """
    found = _unsortable(tree, is_leaf, ())
    if found is None:
        return
    path, node, problem = found
    place = f" at the key path {keystr(path)}" if path else ""
    raise ValueError(
        f"The keys of the dict{place} cannot be sorted, so its leaves have no order: "
        f"{list(node)!r} ({problem}). Use keys of one type, or an OrderedDict, which keeps the "
        "order of insertion."
    ) from None
