"""Structures of arguments and results as plain data, for programs that leave their process.

None, tuples, lists and dicts are known.  Classes of the user's are written by a name that both
processes register: nothing that is read can name code.  This module must not know of programs.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from jxkernel import tree
from jxkernel.records import record
from jxkernel.tree import physical

__all__ = [
    "read_tree",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "written_tree",
]

NodeType = TypeVar("NodeType", bound=type)


@record()
class _Serialization:
    """How one class of nodes is written and read."""

    node_type: type
    name: str
    write: Callable[[Any], bytes | bytearray]
    read: Callable[[bytes], Any]
    build: Callable[[Any, Iterable[Any]], Any]


class _Registrations:
    """The registered classes, by class and by name."""

    def __init__(self) -> None:
        self.by_type: dict[type, _Serialization] = {}
        self.by_name: dict[str, _Serialization] = {}

    def add(self, found: _Serialization) -> None:
        """Add one, of a class and a name that are not registered yet."""
        for other in (self.by_type.get(found.node_type), self.by_name.get(found.name)):
            if other is not None:
                raise ValueError(
                    f"{found.node_type.__qualname__} cannot be registered for export as "
                    f"{found.name!r}: {other.node_type.__qualname__} is registered as "
                    f"{other.name!r}"
                )
        self.by_type[found.node_type] = self.by_name[found.name] = found

    def clear(self) -> None:
        """Forget all."""
        self.by_type.clear()
        self.by_name.clear()


_registrations = _Registrations()


def register_pytree_node_serialization(
    nodetype: NodeType,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes | bytearray],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Iterable[Any]], Any] | None = None,
) -> NodeType:
    """Let trees with nodes of a class leave and enter processes.

    Args:
      nodetype: the class, registered as a pytree node.
      serialized_name: its name in what is written; the reader registers the same one.
      serialize_auxdata: writes the metadata of a node as bytes.
      deserialize_auxdata: reads them.
      from_children: makes a node from metadata and children; by default as the class was
        registered with ``tree_util``.

    Returns:
      the class, so this serves in a decorator.

    Raises:
      ValueError: the class or the name is registered already, or the class is no pytree node.
    """
    if not tree.is_tree_node(nodetype):
        raise ValueError(
            f"{nodetype.__qualname__} is no pytree node: register it with tree_util first"
        )

    def build(metadata: Any, children: Iterable[Any]) -> Any:
        leaves = [tree.structure(0)] * len(list(children))
        made = tree.PyTreeDef.from_node_data_and_children(
            tree.registry, (nodetype, metadata), leaves
        )
        return made.unflatten(children)

    _registrations.add(
        _Serialization(
            nodetype,
            serialized_name,
            serialize_auxdata,
            deserialize_auxdata,
            from_children or build,
        )
    )
    return nodetype


def register_namedtuple_serialization(nodetype: NodeType, *, serialized_name: str) -> NodeType:
    """Let trees with a class of named tuples leave and enter processes.

    Args:
      nodetype: the class.
      serialized_name: its name in what is written; the reader registers the same one.

    Raises:
      ValueError: the class is no named tuple, or it or the name is registered already.
    """
    fields = getattr(nodetype, "_fields", None)
    if not issubclass(nodetype, tuple) or fields is None:
        raise ValueError(f"{nodetype.__qualname__} is no class of named tuples")
    written = "\n".join(fields).encode()

    def read(data: bytes) -> Any:
        if data != written:
            raise ValueError(
                f"the named tuple {serialized_name!r} was written with the fields "
                f"{data.decode().splitlines()}, and here it has {list(fields)}"
            )
        return nodetype

    _registrations.add(
        _Serialization(
            nodetype,
            serialized_name,
            lambda _: written,
            read,
            lambda _, children: nodetype(*children),
        )
    )
    return nodetype


_KEYS = (str, int, float, bool)


def written_tree(structure: Any) -> Any:
    """Return a structure as lists, texts and numbers.

    Raises:
      ValueError: it holds a class that is not registered, a random key, or a key of a dict that is
        no text or number.
    """
    node = structure.node_data()
    if node is None:
        return "*"
    kind, metadata = node
    children = [written_tree(child) for child in structure.children()]
    if kind is type(None):
        return ["none"]
    if kind in (tuple, list):
        return [kind.__name__, children]
    if kind in (dict, OrderedDict):
        wrong = [key for key in metadata if not isinstance(key, _KEYS)]
        if wrong:
            raise ValueError(f"the key {wrong[0]!r} of a dict cannot be written: use text")
        return ["dict" if kind is dict else "ordered", list(metadata), children]
    if not tree.is_tree_node(kind):
        raise ValueError(
            "random keys as arguments or results cannot be written: let the function take "
            "random.key_data(key), and call random.wrap_key_data in it"
        )
    found = _registrations.by_type.get(kind)
    if found is None:
        how = "namedtuple" if hasattr(kind, "_fields") else "pytree_node"
        raise ValueError(
            f"{kind.__qualname__} cannot be written: call export.register_{how}_serialization "
            "for it, here and where the program is read"
        )
    return ["node", found.name, bytes(found.write(metadata)).hex(), children]


def read_tree(written: Any) -> Any:
    """Return the structure that ``written_tree`` wrote.

    Raises:
      ValueError: it names a class that is not registered here, or is none of ours.
    """
    return physical.structure(_built(written))


def _built(written: Any) -> Any:
    """Return a tree of that structure, with a number at each leaf."""
    match written:
        case "*":
            return 0
        case ["none"]:
            return None
        case ["tuple", list(children)]:
            return tuple([_built(child) for child in children])
        case ["list", list(children)]:
            return [_built(child) for child in children]
        case ["dict" | "ordered" as kind, list(keys), list(children)]:
            pairs = zip(keys, map(_built, children), strict=True)
            return dict(pairs) if kind == "dict" else OrderedDict(pairs)
        case ["node", str(name), str(data), list(children)]:
            found = _registrations.by_name.get(name)
            if found is None:
                raise ValueError(
                    f"the program's structure names {name!r}, which is not registered here: call "
                    "export.register_pytree_node_serialization (or ..._namedtuple_...) for it"
                )
            metadata = found.read(bytes.fromhex(data))
            return found.build(metadata, [_built(child) for child in children])
        case _:
            raise ValueError(f"no structure of arguments: {written!r:.100}")
