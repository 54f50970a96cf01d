"""Which Python types are pytree nodes, and how users add theirs.

A *node* is a container whose children are looked into; everything else is a *leaf*.  A C++
registry of jaxlib knows ``None`` (a node without children), tuples, named tuples, lists and dicts
(children in the order of their sorted keys); here ``OrderedDict``, ``defaultdict`` and users' own
types join them.

There are two registries.  Users see trees through ``registry``.  Programs take them through
``physical_registry``, in which a wrapper of one array, such as a random key, is a node as well, so
that every leaf is what a program takes; the compiled dispatch path flattens arguments through it.

This module must not know of arrays or tracers: a leaf may be anything.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from jxkernel._jaxlib import pytree
from jxkernel._lazy import late_module
from jxkernel._reprs import with_type

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "PyTreeDef",
    "SequenceKey",
    "is_tree_node",
    "keyed_children",
    "physical_registry",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "registry",
    "static",
]

if TYPE_CHECKING:

    class PyTreeDef(Any):
        """jaxlib ships no types: to a type checker the class is only a name."""
else:
    PyTreeDef = pytree.PyTreeDef
SequenceKey: TypeAlias = pytree.SequenceKey
DictKey: TypeAlias = pytree.DictKey
GetAttrKey: TypeAlias = pytree.GetAttrKey
FlattenedIndexKey: TypeAlias = pytree.FlattenedIndexKey

PyTreeDef.__doc__ = """The structure of a tree without its leaves; hashable and comparable."""
SequenceKey.__doc__ = """A step of a key path into a tuple or list: ``[idx]``."""
DictKey.__doc__ = """A step of a key path into a dict: ``[key]``."""
GetAttrKey.__doc__ = """A step of a key path into an object with attributes: ``.name``."""
FlattenedIndexKey.__doc__ = """A step into a node that gives its children no keys of their own."""

KeyEntry: TypeAlias = Any
"""One step of a key path: one of the four key types, or what a user's node gives for its own."""
KeyPath: TypeAlias = tuple[KeyEntry, ...]
"""The steps from the root of a tree to a leaf."""

Node = TypeVar("Node")
NodeType = TypeVar("NodeType", bound=type)

registry = pytree.PyTreeRegistry()
"""The C++ registry of users' trees: ``registry.flatten(tree)`` is the fastest way to flatten."""

physical_registry = pytree.PyTreeRegistry()
"""The C++ registry of trees as programs take them; see ``jxkernel.tree.physical``."""

# Tree definitions are pickled with a reference to their registry, by module and name.
registry.__module__, registry.__name__ = "jxkernel.tree", "registry"
physical_registry.__module__, physical_registry.__name__ = __name__, "physical_registry"


def is_tree_node(typ: type) -> bool:
    """Return whether instances of the type are nodes.

    Raises:
      TypeError: ``typ`` is no type.

    >>> from jxkernel import tree
    >>> tree.is_tree_node(dict), tree.is_tree_node(int)
    (True, False)
    """
    if not isinstance(typ, type):
        raise TypeError(
            f"is_tree_node takes a type, got {with_type(typ)}: write is_tree_node(type(x))"
        )
    return registry.is_node(typ)


def keyed_children(
    x: Any, by: pytree.PyTreeRegistry = registry
) -> tuple[list[tuple[KeyEntry, Any]], Any] | None:
    """Return the (key, child) pairs of a node and its metadata, or None for a leaf."""
    level = by.flatten_one_level_with_keys(x)
    if level is None:
        return None
    pairs, metadata = level
    if metadata is type(x) and isinstance(x, tuple):
        # A named tuple: jaxlib 0.10 gives each child the key of the first one.
        return [(GetAttrKey(name), getattr(x, name)) for name in metadata._fields], metadata
    return list(pairs), metadata


def _register(nodetype: type, *functions: Any) -> None:
    registry.register_node(nodetype, *functions)
    physical_registry.register_node(nodetype, *functions)


def register_pytree_node(
    nodetype: type[Node],
    flatten_func: Callable[[Node], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Node],
    flatten_with_keys_func: Callable[[Node], tuple[Iterable[tuple[Any, Any]], Hashable]]
    | None = None,
) -> None:
    """Make instances of a type nodes of pytrees.

    Args:
      nodetype: the type; its subclasses are not included.
      flatten_func: from an instance to its children and its auxiliary data, which must be
        hashable and comparable: it is part of the structure.
      unflatten_func: from auxiliary data and children to an instance.  The children may be
        anything at all, such as tracers or ``None``: it must not check them.
      flatten_with_keys_func: as ``flatten_func``, with (key, child) pairs in place of children.

    Raises:
      TypeError: ``nodetype`` is no class.
      ValueError: it is a node already; a named tuple may be registered, once.

    >>> from jxkernel import tree, tree_util
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> flatten = lambda pair: ((pair.a, pair.b), None)
    >>> tree_util.register_pytree_node(Pair, flatten, lambda _, children: Pair(*children))
    >>> tree.leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"A pytree node type must be a class; got {nodetype!r}.")
    try:
        _register(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    except ValueError:
        raise ValueError(
            f"{nodetype.__qualname__} is already registered as a pytree node; a type can be "
            "registered once. In a notebook, run the cell that defines the class again first."
        ) from None


def register_pytree_node_class(cls: NodeType) -> NodeType:
    """Make a class a node type by its own methods; a decorator.

    The class has a method ``tree_flatten(self) -> (children, aux_data)`` and a class method
    ``tree_unflatten(cls, aux_data, children)``.

    Raises:
      TypeError, ValueError: as ``register_pytree_node``.

    >>> from jxkernel import tree, tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    ...     def tree_flatten(self):
    ...         return (self.content,), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> tree.map(lambda x: x + 1, Box(4)).content
    5
    """
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[Node],
    flatten_with_keys: Callable[[Node], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], Node],
    flatten_func: Callable[[Node], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make instances of a type nodes whose children have keys, which key paths then show.

    Args:
      nodetype: the type; its subclasses are not included.
      flatten_with_keys: from an instance to its (key, child) pairs and its auxiliary data.
      unflatten_func: from auxiliary data and children to an instance.
      flatten_func: the same as ``flatten_with_keys`` without keys, where that can be faster.

    Raises:
      TypeError, ValueError: as ``register_pytree_node``.

    >>> from jxkernel import tree, tree_util
    >>> class Cell:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> flatten = lambda cell: (((tree_util.GetAttrKey("value"), cell.value),), None)
    >>> tree_util.register_pytree_with_keys(Cell, flatten, lambda _, children: Cell(*children))
    >>> tree_util.keystr(tree.leaves_with_path([Cell(8)])[0][0])
    '[0].value'
    """

    def flatten_without_keys(node: Node) -> tuple[Iterable[Any], Hashable]:
        pairs, aux_data = flatten_with_keys(node)
        return [child for _, child in pairs], aux_data

    register_pytree_node(
        nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys
    )


def register_pytree_with_keys_class(cls: NodeType) -> NodeType:
    """Make a class a node type with keys by its own methods; a decorator.

    The class has ``tree_flatten_with_keys(self) -> (pairs, aux_data)`` and a class method
    ``tree_unflatten(cls, aux_data, children)``; a method ``tree_flatten`` is used where it exists.

    Raises:
      TypeError, ValueError: as ``register_pytree_node``.

    >>> from jxkernel import tree, tree_util
    >>> @tree_util.register_pytree_with_keys_class
    ... class Jar:
    ...     def __init__(self, content):
    ...         self.content = content
    ...     def tree_flatten_with_keys(self):
    ...         return ((tree_util.GetAttrKey("content"), self.content),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> tree_util.keystr(tree.leaves_with_path(Jar(4))[0][0])
    '.content'
    """
    flatten = (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(
        cls, lambda node: node.tree_flatten_with_keys(), cls.tree_unflatten, flatten
    )
    return cls


def static(**kwargs: Any) -> Any:
    """Declare a field of a dataclass as metadata, which ``register_dataclass`` makes no child of.

    Args:
      **kwargs: as for ``dataclasses.field``.

    >>> from jxkernel import tree, tree_util
    >>> import dataclasses
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = tree.static(default="layer")
    >>> tree.leaves(Layer(0.5))
    [0.5]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return late_module("dataclasses").field(metadata=metadata, **kwargs)


def _constructor_fields(nodetype: type) -> list[Any] | None:
    """Return the fields that a dataclass's constructor takes; None for a class that is none."""
    dataclasses = late_module("dataclasses")
    if not dataclasses.is_dataclass(nodetype):
        return None
    return [field for field in dataclasses.fields(nodetype) if field.init]


def _fields_by_role(nodetype: type) -> tuple[list[str], list[str]]:
    """Return the names of a dataclass's data fields and of its static fields."""
    fields = _constructor_fields(nodetype)
    if fields is None:
        raise TypeError(
            f"{nodetype!r} is no dataclass: give register_dataclass its data_fields and "
            "meta_fields, or decorate the class with @dataclasses.dataclass first."
        )
    data: list[str] = []
    meta: list[str] = []
    for field in fields:
        (meta if field.metadata.get("static") else data).append(field.name)
    return data, meta


def _check_fields(
    nodetype: type, data: Sequence[str], meta: Sequence[str], dropped: Sequence[str]
) -> None:
    both = set(data) & set(meta)
    if both:
        raise ValueError(f"data_fields and meta_fields overlap in {sorted(both)}.")
    fields = _constructor_fields(nodetype)
    if fields is None:
        return
    expected = {field.name for field in fields} - set(dropped)
    given = {*data, *meta}
    if missing := expected - given:
        raise ValueError(
            f"data_fields and meta_fields leave out {sorted(missing)} of "
            f"{nodetype.__qualname__}; name them there, or in drop_fields."
        )
    if unexpected := given - expected:
        raise ValueError(
            f"{sorted(unexpected)} are no fields that {nodetype.__qualname__}() takes."
        )


def register_dataclass(
    nodetype: NodeType,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> NodeType:
    """Make a dataclass a node type; its data fields are children, its meta fields structure.

    Usable as a decorator.  Flattening and unflattening run in C++.

    Args:
      nodetype: a dataclass, or a class whose constructor takes its fields by keyword.
      data_fields: the fields that are children.  When both lists are left out, every field
        that the constructor takes is one, save those declared with ``static``.
      meta_fields: the fields that are part of the structure, hashable and comparable.
      drop_fields: fields of the constructor that are neither, and get their default.

    Raises:
      TypeError: one list is given without the other, or neither for a class that is no
        dataclass.
      ValueError: the lists overlap or do not match the fields, or the class is a node
        already.

    >>> from jxkernel import tree, tree_util
    >>> import dataclasses
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     name: str = tree.static(default="p")
    >>> tree.leaves(Point(2.5))
    [2.5]
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("Give register_dataclass both data_fields and meta_fields, or neither.")
    if data_fields is None or meta_fields is None:
        data, meta = _fields_by_role(nodetype)
        data = [name for name in data if name not in drop_fields]
    else:
        data, meta = list(data_fields), list(meta_fields)
    _check_fields(nodetype, data, meta, drop_fields)
    if registry.is_node(nodetype):
        raise ValueError(f"{nodetype.__qualname__} is already registered as a pytree node.")
    registry.register_dataclass_node(nodetype, data, meta)
    physical_registry.register_dataclass_node(nodetype, data, meta)
    return nodetype


def register_static(cls: NodeType) -> NodeType:
    """Make instances of a class part of the structure: nodes without leaves; a decorator.

    They must be hashable and comparable; a function under ``jit`` is traced anew for each value.

    Raises:
      TypeError, ValueError: as ``register_pytree_node``.

    >>> from jxkernel import tree, tree_util
    >>> @tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> tree.leaves([Mode("fast"), 1])
    [1]
    """
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def _flatten_ordered(node: OrderedDict[Any, Any]) -> tuple[Iterable[Any], Hashable]:
    return tuple(node.values()), tuple(node)


def _flatten_ordered_with_keys(node: OrderedDict[Any, Any]) -> tuple[Iterable[Any], Hashable]:
    return tuple((DictKey(key), child) for key, child in node.items()), tuple(node)


def _unflatten_ordered(keys: Any, children: Any) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(keys, children, strict=True))


def _flatten_default(node: defaultdict[Any, Any]) -> tuple[Iterable[Any], Hashable]:
    keys = tuple(sorted(node))
    return [node[key] for key in keys], (node.default_factory, keys)


def _flatten_default_with_keys(node: defaultdict[Any, Any]) -> tuple[Iterable[Any], Hashable]:
    keys = tuple(sorted(node))
    return [(DictKey(key), node[key]) for key in keys], (node.default_factory, keys)


def _unflatten_default(aux_data: Any, children: Any) -> defaultdict[Any, Any]:
    factory, keys = aux_data
    return defaultdict(factory, zip(keys, children, strict=True))


_register(OrderedDict, _flatten_ordered, _unflatten_ordered, _flatten_ordered_with_keys)
_register(defaultdict, _flatten_default, _unflatten_default, _flatten_default_with_keys)
