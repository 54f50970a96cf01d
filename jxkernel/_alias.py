"""Alias mode: ``import jax`` gives jxkernel, so that programs written for JAX run unchanged."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from jxkernel._lazy import explained, late_function, late_module, missing
from jxkernel.source import users_level

__all__ = ["INTERFACE_VERSION", "Alias", "alias", "aliases", "of_a_later_interface", "unalias"]

INTERFACE_VERSION = "0.12.0"
"""The version of JAX whose public interface jxkernel has: what ``jax.__version__`` says."""

find_spec = late_function("importlib.util", "find_spec")

_OWN = "jxkernel"
_PEER = "jax"
_BOTH = (
    "jax and jxkernel cannot share a process: both attach their methods to jaxlib's one array "
    "class."
)


_NEWER = (
    f"It has the names of JAX {INTERFACE_VERSION}: what is written for a later or an earlier "
    "one, such as a library, runs here in its release for this one."
)

_VERSION = {
    "__version__": INTERFACE_VERSION,
    "__version_info__": tuple(int(part) for part in INTERFACE_VERSION.split(".")),
}


_INTERNAL = ("_src", "experimental.pallas")
"""Where modules of internal names are, so that the table is read for these alone."""


def _rows(below: str) -> dict[str, Any] | None:
    """Return the internal names of a module below the alias; None where there is no such module.

    Packages of such modules have none of their own.
    """
    if not below.startswith(_INTERNAL):
        return None
    rows = late_module(f"{_OWN}._alias_internals").ROWS
    if below in rows:
        return rows[below]
    inside = any(name.startswith(f"{below}.") for name in rows)
    return {} if inside and _own_spec(below) is None else None


class _Internal(ModuleType):
    """A module of internal names: each is looked up in jxkernel when it is asked for."""

    def __init__(self, name: str, rows: dict[str, Any]) -> None:
        super().__init__(name, "Internal names that libraries need, and what they mean here.")
        self.__path__ = []
        self._rows = rows

    def __getattr__(self, name: str) -> Any:
        row = self._rows.get(name)
        if row is None:
            return self._module(name)
        found = getattr(late_module(f"{_OWN}.{row.home}".rstrip(".")), row.name)
        self.__dict__[name] = found
        return found

    def _module(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if name.startswith("__") or _rows(full.partition(".")[2]) is None:
            raise explained(_internal(full))
        return late_module(full)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._rows})


def _internal(fullname: str) -> str:
    """Return what to say of an internal name that is not here."""
    return (
        f"{fullname!r} is internal to the reference implementation, which is not here: "
        f"{fullname.partition('.')[0]} is an alias of {_OWN}. What it has that is public is under "
        f"the public names; {_OWN}.core and {_OWN}.extend.core have the like of its internals."
    )


_AT_ONCE = ("core", "lax", "nn", "tree_util")
"""Modules that libraries look for in ``sys.modules`` when they have imported the alias alone."""


def _late_module(below: str) -> ModuleType:
    """Return one of jxkernel's modules, whose code runs when an attribute is first asked for."""
    name = f"{_OWN}.{below}"
    if name not in sys.modules:
        spec = find_spec(name)
        util = late_module("importlib.util")
        spec.loader = util.LazyLoader(spec.loader)
        module = sys.modules[name] = util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


_OLDER = {"api": ("", "jax"), "xla": ("interpreters.xla", "jax.interpreters.xla")}
"""Modules of earlier years below the alias: which of ours has their names today, and its name."""


class _Older(ModuleType):
    """A module of earlier years: its names are another's today, and each says so."""

    def __init__(self, name: str, home: str, today: str) -> None:
        super().__init__(name, f"Names of earlier years, which are those of {today} today.")
        self._home = late_module(f"{_OWN}.{home}".rstrip("."))
        self._today = today

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._home, name)
        if not name.startswith("_"):
            warnings.warn(
                f"{self.__name__}.{name} is an older name: write {self._today}.{name}.",
                DeprecationWarning,
                stacklevel=users_level(),
            )
        return found


class _Front(ModuleType):
    """The module that stands for the alias: jxkernel's names, and a version of the interface."""

    def __init__(self, name: str) -> None:
        super().__init__(name, sys.modules[_OWN].__doc__)
        self.__path__ = []
        self.__file__ = sys.modules[_OWN].__file__
        self.__dict__.update(_VERSION)

    def __getattr__(self, name: str) -> Any:
        if name in ("version", "_src") or name in _OLDER:
            return late_module(f"{self.__name__}.{name}")
        try:
            found = getattr(sys.modules[_OWN], name)
        except AttributeError:
            called = f"{self.__name__!r} (an alias of {_OWN})"
            known = late_module(f"{_OWN}._refusals").reason("", name)
            said = missing(_OWN, name, called)
            error = explained(said if known else f"{said}. {_NEWER}")
            error.name, error.obj = name, self
            raise error from None
        self.__dict__[name] = found  # libraries read a few names hundreds of times
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system hangs a module below its package; a name of jxkernel's own goes before
        # (``jax.config`` is the settings, also after ``from jax.config import config``).
        own = sys.modules[_OWN]
        if isinstance(value, ModuleType) and value.__name__ == f"{_OWN}.{name}":
            if not hasattr(own, name):
                setattr(own, name, value)
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(sys.modules[_OWN]), *self.__dict__})


class _Opening:
    """Loads a module of an alias: jxkernel's own module of that name, as it is."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: Any = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        rows = _rows(self._target)
        if rows is not None:
            module = _Internal(spec.name, rows)
        elif self._target in _OLDER:
            module = _Older(spec.name, *_OLDER[self._target])
        elif self._target == "version":
            module = ModuleType(spec.name, "The version of the interface.")
            vars(module).update(_VERSION)
        elif not self._target:
            module = _Front(spec.name)
        else:
            module = late_module(f"{_OWN}.{self._target}")
            self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own name for the import system, so that it can be reloaded."""
        if self._spec is not None:
            module.__spec__ = self._spec
        if not self._target:
            for name in _AT_ONCE:
                sys.modules.setdefault(f"{module.__name__}.{name}", _late_module(name))


class _Refusing:
    """Refuses to load the package that would take over jaxlib's classes."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Refuse.

        Raises:
          ImportError: always.
        """
        raise ImportError(
            f"{_BOTH} jxkernel is loaded. Write jxkernel.alias({_PEER!r}) before `import jax` to "
            "run a program written for it here, or use jax in a process of its own (restart the "
            "kernel).",
            name=spec.name,
        )

    def exec_module(self, module: ModuleType) -> None:
        """Never reached."""


class _Hook:
    """The import hook: opens aliases, and refuses the real package where there is none."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module of an alias is made; None for what is no concern of this hook."""
        top, _, below = fullname.partition(".")
        if top in self.names:
            found = (
                not below
                or below in _OLDER
                or _rows(below) is not None
                or _own_spec(below) is not None
            )
            if not found and _only_asked():
                return None
            if not found and below.startswith("_src."):
                # Without its name, or ``from jax._src.core import X`` would hide what it says.
                raise ModuleNotFoundError(_internal(fullname))
            if not found:
                self._refuse(fullname, below)
            opening: Any = _Opening(below)
            return ModuleSpec(fullname, opening, is_package=True) if found else None
        if fullname == _PEER and self._found_elsewhere(fullname, path, target):
            refusing: Any = _Refusing()
            return ModuleSpec(fullname, refusing)
        # What ``from jax.experimental import X`` asks of our package, which has its own name.
        imports = self.names and top == _OWN and below.startswith("experimental.")
        if imports and not _only_asked() and _refused(below):
            if self._found_elsewhere(fullname, path, target):
                return None
            self._refuse(f"{_PEER}.{below}", below)
        return None

    def _refuse(self, fullname: str, below: str) -> None:
        """Raise an error with the reason why there is no such module, if one is known.

        It names no module, for ``from jax import X`` says nothing of what it does not find so.
        """
        module = below.rpartition(".")[0]
        reason = _refused(below)
        if reason is None and module == "experimental":
            there = late_module(f"{_OWN}.experimental").__all__
            reason = f"Of what is experimental there are {', '.join(there)}."
        if reason is None and not module:
            reason = _NEWER
        if reason is not None:
            raise ModuleNotFoundError(f"{_OWN} has no {fullname!r}. {reason}")

    def _found_elsewhere(self, *question: Any) -> bool:
        others = (finder for finder in sys.meta_path if finder is not self)
        return any(finder.find_spec(*question) for finder in others)

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """Yield what is known of an alias that is asked for by name."""
        name = getattr(context, "name", None)
        if name not in self.names:
            return iter(())
        metadata = late_module(f"{_OWN}._alias_metadata")
        return iter([metadata.AliasDistribution(name, INTERFACE_VERSION)])


def _refused(below: str) -> str | None:
    module, _, name = below.rpartition(".")
    return late_module(f"{_OWN}._refusals").reason(module, name)


def _only_asked() -> bool:
    """Whether ``importlib.util.find_spec`` called the hook, and wants None where nothing is.

    An import wants a reason instead.  Between the hook and either is the import system's search.
    """
    return sys._getframe(3).f_globals.get("__name__") == "importlib.util"


def _own_spec(below: str) -> ModuleSpec | None:
    try:
        return find_spec(f"{_OWN}.{below}")
    except ModuleNotFoundError:
        return None


_hook = _Hook()


def of_a_later_interface() -> str | None:
    """Return what to say of a name that nobody knows, where an alias is in force."""
    return _NEWER if _hook.names else None


class Alias:
    """An alias in force; as a context manager it ends with the block.

    Attributes:
      name: the name that means jxkernel.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def undo(self) -> None:
        """End the alias: see ``unalias``."""
        unalias(self.name)

    def __enter__(self) -> "Alias":
        return self

    def __exit__(self, *exception: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        state = "" if self.name in _hook.names else ", undone"
        return f"<{self.name} is {_OWN}{state}>"


def alias(name: str = _PEER) -> Alias:
    """Make ``import jax`` mean jxkernel in this process, so that programs run unchanged.

    ``import jax``, ``import jax.numpy as jnp`` and ``from jax import grad`` give jxkernel's own
    modules and functions; ``jax.__version__`` is the version of the interface.

    Args:
      name: the name that is to mean jxkernel.

    Returns:
      an object whose ``undo()`` ends the alias; it may be used in a ``with`` statement.

    Raises:
      ImportError: another package of that name is loaded already.
      ValueError: the name is not one that can be imported.

    >>> import jxkernel
    >>> with jxkernel.alias("jax"):
    ...     import jax.numpy as jnp
    >>> jnp is jxkernel.numpy
    True
    """
    if not isinstance(name, str) or not name.isidentifier() or name == _OWN:
        raise ValueError(f"alias takes a name such as {_PEER!r}, got {name!r}")
    loaded = sys.modules.get(name)
    if loaded is not None and not isinstance(loaded, _Front):
        place = getattr(loaded, "__file__", None) or "a built-in module"
        raise ImportError(
            f"{name!r} is loaded already, from {place}, and cannot become an alias of {_OWN}: "
            "restart the process, and make the alias before the first import.",
            name=name,
        )
    _hook.names.add(name)
    if name == _PEER:
        _call_numpy_after(_PEER)
    return Alias(name)


def _call_numpy_after(package: str) -> None:
    """Name the module of NumPy's functions after a package.

    By this name libraries of the array API standard (SciPy, array-api-compat) tell whose functions
    they are, and so that arrays cannot be changed in place.
    """
    sys.modules[f"{_OWN}.numpy"].__name__ = f"{package}.numpy"


def unalias(name: str = _PEER) -> None:
    """End an alias: the name can be imported no longer, or means its own package again.

    What was imported under it stays as it is.

    Args:
      name: the name; nothing happens if it is no alias.

    >>> import jxkernel as jx
    >>> jx.alias("fields")
    <fields is jxkernel>
    >>> import fields
    >>> jx.unalias("fields")
    >>> import fields
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: ...
    """
    _hook.names.discard(name)
    if name == _PEER:
        _call_numpy_after(_OWN)
    if isinstance(sys.modules.get(name), _Front):
        for loaded in [n for n in sys.modules if n.partition(".")[0] == name]:
            del sys.modules[loaded]


def aliases() -> list[str]:
    """Return the names that mean jxkernel now."""
    return sorted(_hook.names)


def install() -> None:
    """Put the hook at the head of the import system's finders; called once, by the façade."""
    if _hook not in sys.meta_path:
        sys.meta_path.insert(0, _hook)
