"""Cells under ``%%jit``: traced as functions of what they read, run, and written back whole.

A cell's function returns one pytree, ``CellResult``: its children are the arrays, its metadata all
that is known when the trace ends (strings, shapes, functions). So a hit on the compiled path
brings back the metadata of the very trace that it runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.derivatives.autodiff import grad
from jxkernel.api.jit import TraceEntry, jit_on, jit_state
from jxkernel.api.vectorize import vmap
from jxkernel.core.trace import Tracer
from jxkernel.errors import LeakError, TraceLimitError
from jxkernel.jupyter.cells.body import CellSource, make_function, place_of_change, statements
from jxkernel.jupyter.cells.changes import Change, HeldObjects, TracedInputs, apply_change
from jxkernel.jupyter.cells.kept_inputs import Inputs, KeptInputs
from jxkernel.jupyter.cells.top_level_await import run_awaiting
from jxkernel.jupyter.code.analysis import attribute_chains
from jxkernel.jupyter.code.functions import captured_values
from jxkernel.jupyter.code.lints import lint
from jxkernel.jupyter.code.static_keys import (
    Static,
    describe_static,
    freeze,
    freeze_module,
    is_traceable,
)
from jxkernel.observe.names import NameWatch
from jxkernel.observe.provenance import Provenance, Watching
from jxkernel.runtime import ArrayImpl
from jxkernel.tree import physical

__all__ = ["Cell", "CellOptions", "CellResult", "Inputs", "TraceInfo", "Version"]


@dataclass(frozen=True, slots=True)
class CellOptions:
    """What a ``%%jit`` line asks of a body cell.

    Attributes:
      static: names to keep static although they hold numbers or arrays.
      donate: names whose buffers the results may take.
      keep: the only names to write back; empty for all.
      grad: names to differentiate the last expression by; empty for no derivative.
      axes: the axis to map over for each name; empty for no batching.
      device: the device to run on, or None.
      max_traces: how often one version of the cell may be traced, or None.
    """

    static: tuple[str, ...] = ()
    donate: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    grad: tuple[str, ...] = ()
    axes: tuple[tuple[str, int], ...] = ()
    device: Any = None
    max_traces: int | None = None


@dataclass(slots=True, eq=False)
class TraceInfo:
    """What one trace of a cell left behind, besides the arrays.

    Attributes:
      structure: of (last expression, bound names), with all leaves.
      leaves: the static leaves; ``_ARRAY`` stands for an array.
      deleted: names that the cell deleted.
      changed: traced inputs that the cell changed in place.
      rebuilt: names whose statements are to be run in the notebook itself: functions.
      entry: the trace as ``jit`` keeps it; filled in after the call that made it.
      function: the cell's name in events.
      watching: what was seen of the names while it ran, or None.
      rendered: what was drawn of it, so that a hit draws nothing again.
      names: the cell's names for variables of the program, as far as ``provenance`` saw them.
      texts: names whose texts were made of traced values, and tell their types only.
    """

    structure: Any
    leaves: tuple[Any, ...]
    deleted: tuple[str, ...] = ()
    rebuilt: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    function: str = ""
    entry: TraceEntry | None = None
    watching: Watching | None = None
    rendered: dict[str, Any] = field(default_factory=dict)
    names: dict[Any, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    _provenance: Provenance | None = None

    @property
    def provenance(self) -> Provenance | None:
        """What was traced and what was static; None when that was not watched."""
        if self._provenance is None and self.watching is not None:
            # The watch holds tracers; the provenance is text.
            self.names = self.watching.variable_names()
            self._provenance, self.watching = self.watching.provenance(self.function), None
        return self._provenance


_ARRAY = object()


class CellResult:
    """What a cell's function returns: arrays as children, everything else as metadata."""

    __slots__ = ("arrays", "gradient", "info")

    def __init__(self, arrays: Sequence[Any], info: TraceInfo, gradient: Any = None) -> None:
        self.arrays = arrays
        self.info = info
        self.gradient = gradient

    def arrays_on_device(self) -> list[Any]:
        """The arrays of the results and of the gradient."""
        return [*self.arrays, *physical.leaves(self.gradient)]

    def values(self) -> tuple[Any, dict[str, Any], dict[str, Change]]:
        """The last expression, the names that the cell bound, and the inputs that it changed."""
        arrays = iter(self.arrays)
        leaves = [next(arrays) if leaf is _ARRAY else _own(leaf) for leaf in self.info.leaves]
        return self.info.structure.unflatten(leaves)


tree.register_pytree_node(
    CellResult,
    lambda result: ((result.arrays, result.gradient), result.info),
    lambda info, children: CellResult(children[0], info, children[1]),
)


class CellFunction:
    """What ``jit`` sees of a cell: a callable with the code, name and parameters of the cell.

    Args:
      version: the cell's version.
      parameters: names that are arguments of the cell's own function.
      names: all names that come as keyword arguments, with those that only key the cache.
    """

    def __init__(self, version: Version, parameters: Sequence[str], names: Sequence[str]) -> None:
        self._version = version
        self._parameters = frozenset(parameters)
        self._function = version.function(parameters)
        self.__name__ = self.__qualname__ = version.cell.name
        self.__code__ = self._function.__code__
        kind = inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __call__(self, **inputs: Any) -> CellResult:
        version = self._version
        version.count_trace()
        fixed = {name: one.value for name, one in inputs.items() if isinstance(one, Static)}
        held = HeldObjects(fixed, version.namespace)
        static = {name: value for name, value in fixed.items() if name in self._parameters}
        traced = {name: value for name, value in inputs.items() if not isinstance(value, Static)}
        try:
            result = self._transformed(traced, static)
            version.check_leaks(held.leaks())
        except BaseException:
            held.restore()
            raise
        return result

    def _transformed(self, traced: dict[str, Any], static: dict[str, Any]) -> CellResult:
        options = self._version.options
        run: Callable[[dict[str, Any]], CellResult] = lambda traced: self._run(traced, static)  # noqa: E731
        if options.grad:
            run = _gradient(run, options.grad)
        if options.axes:
            axes = dict(options.axes)
            in_axes = {name: axes.get(name) for name in traced}
            run = vmap(run, in_axes=(in_axes,))
        return run(traced)

    def _run(self, traced: dict[str, Any], static: dict[str, Any]) -> CellResult:
        version = self._version
        inputs = TracedInputs(traced)
        if not version.watch_names:
            value, bound = self._function(**traced, **static)
            return version.pack(value, bound, inputs)
        names = NameWatch()
        version.watching = Watching(names, tuple(traced))
        with names:
            value, bound = self._function(**traced, **static)
        result = version.pack(value, bound, inputs)
        result.info.watching = Watching(names, result.info.changed)
        version.watching = None
        return result


def _gradient(
    run: Callable[[dict[str, Any]], CellResult], wanted: Sequence[str]
) -> Callable[[dict[str, Any]], CellResult]:
    """The cell with the gradient of its last expression beside its results."""

    def differentiated(chosen: dict[str, Any], others: dict[str, Any]) -> Any:
        result = run({**others, **chosen})
        value, _, _ = result.values()
        return value, result

    def with_gradient(traced: dict[str, Any]) -> CellResult:
        chosen = {name: traced[name] for name in wanted}
        others = {name: value for name, value in traced.items() if name not in chosen}
        gradients, result = grad(differentiated, has_aux=True)(chosen, others)
        ordered = tuple(gradients[name] for name in wanted)
        result.gradient = ordered[0] if len(ordered) == 1 else ordered
        return result

    return with_gradient


class Version:
    """One text of a cell with one set of options.

    Attributes:
      cell: the cell.
      number: 1 for the first text, and one more for each edit.
      source: the parsed cell.
      options: what the magic's line asks for.
      changed: in words, what an edit changed; empty for the first version.
      traces: how often it was traced.
      watch_names: whether the next trace notes what the cell's names hold.
      watching: what was seen of a trace that has not ended well, or None.
      kept: the last good inputs, where it updates its own state.
      namespace: the notebook's variables.
    """

    def __init__(
        self,
        cell: Cell,
        number: int,
        source: CellSource,
        options: CellOptions,
        namespace: dict[str, Any],
        compiler: Any,
        changed: str = "",
    ) -> None:
        self.cell = cell
        self.number = number
        self.source = source
        self.options = options
        self.changed = changed
        self.traces = 0
        self.watch_names = True
        self.watching: Watching | None = None
        self.kept = KeptInputs()
        self.namespace = namespace
        self._compiler = compiler
        self._functions: dict[tuple[str, ...], Any] = {}
        self._jitted: dict[Any, Any] = {}
        self._statements = statements(source)
        self._binding = {name: one for one in self._statements for name in one.names}
        self._labels: dict[str, dict[Any, str]] = {}
        self._attributes = attribute_chains(source.tree)

    def keep_inputs(self, inputs: Inputs, label: str, limit: int) -> None:
        """Keep what a run that has ended began with, for ``%jx nan``; what it donated is gone."""
        if not self.options.donate:
            self.kept.keep(inputs, self.source.names.assigned, label, limit)

    async def run_first(self) -> None:
        """Run what stands above the traced part, because it awaits, among the notebook's names."""
        statements, file = list(self.source.first), self.source.file
        await run_awaiting(statements, file, self._compiler.flags, self.namespace)

    def function(self, parameters: Sequence[str]) -> Any:
        """The cell's own function with the given parameters."""
        key = tuple(sorted(parameters))
        if key not in self._functions:
            self._functions[key] = make_function(self.source, key, self.namespace, self._compiler)
        return self._functions[key]

    def inputs(self) -> Inputs:
        """Sort the names that the cell reads into traced and static inputs."""
        traced: dict[str, Any] = {}
        static: dict[str, Static] = {}
        for name in self.source.names.reads:
            if name in self.namespace:
                value = self.namespace[name]
                if name not in self.options.static and is_traceable(value):
                    traced[name] = value
                else:
                    static[name] = self._static(name, value)
        return Inputs(traced, static)

    def _static(self, name: str, value: Any) -> Static:
        if isinstance(value, ModuleType):
            chains = self._attributes.get(name, ())
            key, text = freeze_module(value, chains, self.namespace)
        else:
            key, text = freeze(value, self.namespace), ""
        labels = self._labels.setdefault(name, {})
        label = labels.get(key)
        if label is None:
            text = text or describe_static(value)
            before = sum(other.partition(" (")[0] == text for other in labels.values())
            label = labels[key] = f"{text} (changed {before}x)" if before else text
        return Static(value, key, label)

    def jitted(self, inputs: Inputs) -> Any:
        """The compiled function for these names being traced and those static."""
        key = (tuple(inputs.traced), tuple(inputs.static))
        found = self._jitted.get(key)
        if found is None:
            names = self.source.names
            local = {*names.assigned, *names.deleted, *names.shared}
            parameters = [*inputs.traced, *(name for name in inputs.static if name in local)]
            function = CellFunction(self, parameters, [*inputs.traced, *inputs.static])
            found = self._jitted[key] = jit_on(
                self.options.device,
                function,
                static_argnames=tuple(inputs.static),
                donate_argnames=tuple(n for n in self.options.donate if n in inputs.traced),
            )
        return found

    def entries(self) -> list[TraceEntry]:
        """The traces of this version that are remembered, oldest first."""
        states = [jit_state(function) for function in self._jitted.values()]
        return [entry for state in states if state for entry in state.traces.values()]

    def lints(self) -> list[str]:
        """Silent mistakes that the cell's text shows."""
        return lint(self.source.tree, self.namespace)

    def donated(self, entry: TraceEntry) -> tuple[bool, ...]:
        """Whether each array of a trace's arguments was donated; empty for none."""
        if not self.options.donate:
            return ()
        paths = physical.leaf_paths(entry.call.in_tree)
        return tuple(path[1].key in self.options.donate for path in paths)

    def count_trace(self) -> None:
        """Count a trace that begins.

        Raises:
          TraceLimitError: it is one more than the options allow.
        """
        limit = self.options.max_traces
        if limit is not None and self.traces >= limit:
            raise TraceLimitError(
                self.cell.name,
                limit,
                self.traces + 1,
                instead=("see what differs between its inputs: %jx ledger",),
            )
        self.traces += 1

    def pack(self, value: Any, names: Mapping[str, Any], inputs: TracedInputs) -> CellResult:
        """Split what the cell's function gave into arrays and metadata.

        Args:
          value: the value of the last expression.
          names: what the cell's names hold at its end.
          inputs: the traced inputs, some of which it may have changed in place.

        Raises:
          LeakError: an object that cannot be taken apart holds a traced value.
        """
        own = self.source.names
        wanted = [name for name in own.assigned if name in names]
        deleted = tuple(sorted(name for name in own.deleted if name not in names))
        rebuilt = tuple(name for name in wanted if self._is_rebuilt(name, names[name]))
        changes = inputs.changes(names, whole=self.options.donate)
        if self.options.keep:
            wanted = [name for name in wanted if name in self.options.keep]
            changes = {name: one for name, one in changes.items() if name in wanted}
        apart = {*rebuilt, *changes}
        bound = {name: names[name] for name in wanted if name not in apart}
        leaves, structure = physical.flatten((value, bound, changes))
        arrays = [leaf for leaf in leaves if isinstance(leaf, Tracer | ArrayImpl)]
        kept = tuple(
            _ARRAY if isinstance(leaf, Tracer | ArrayImpl) else _own(leaf) for leaf in leaves
        )
        self.check_leaks(_leaks_of_names(bound))
        info = TraceInfo(structure, kept, deleted, rebuilt, tuple(changes), self.cell.name)
        info.texts = tuple(_texts_of_traced({**bound, "the result": value}))
        return CellResult(arrays, info)

    def _is_rebuilt(self, name: str, value: Any) -> bool:
        """Whether a name is bound by running its statement in the notebook: it holds code."""
        binding = self._binding.get(name)
        if binding is None:
            return False
        return binding.is_definition or (callable(value) and not _is_array(value))

    def check_leaks(self, leaks: Sequence[tuple[str, str]]) -> None:
        """Refuse to leave traced values in objects.

        Args:
          leaks: what is left, and what would hold it: ``log[0]``, or a name of the cell.

        Raises:
          LeakError: something is; it names the cell's line that put it there.
        """
        if not leaks:
            return
        where, code, underline = place_of_change(self.source, _root(leaks[0][1]))
        instead = ["assign the value to a name of the cell, and store it in a later cell"]
        if any("." in holder or "object" in leak for leak, holder in leaks):
            instead.append(
                "or register the class, so that its objects are traced: "
                "jxkernel.tree_util.register_dataclass(CLASS)"
            )
        raise LeakError(
            self.cell.name,
            leaks,
            where=where,
            code=code,
            underline=underline,
            instead=instead,
        )

    def write_back(self, result: CellResult) -> Any:
        """Assign what the cell bound to the notebook's names, and give its last expression.

        All or nothing: if a definition fails, the notebook is as it was.
        """
        value, names, changes = result.values()
        info = result.info
        namespace = self.namespace
        again = [
            statement
            for statement in self._statements
            if any(name in info.rebuilt for name in statement.names)
        ]
        touched = {*names, *info.deleted, *(name for one in again for name in one.names)}
        before = {name: namespace[name] for name in touched if name in namespace}
        try:
            namespace.update(names)
            for name in info.deleted:
                namespace.pop(name, None)
            for statement in again:
                statement.run(namespace, self._compiler, self.source.file)
        except BaseException:
            restore(namespace, touched, before)
            raise
        if self.options.keep:
            dropped = touched.difference(self.options.keep, info.deleted)
            restore(namespace, dropped, before)
        for name, change in changes.items():
            namespace[name] = apply_change(namespace[name], change)
        return value if result.gradient is None else result.gradient


def restore(namespace: dict[str, Any], names: set[str], before: Mapping[str, Any]) -> None:
    """Give names the values that they had before, or none."""
    for name in names:
        if name in before:
            namespace[name] = before[name]
        else:
            namespace.pop(name, None)


@dataclass(slots=True, eq=False)
class Cell:
    """A notebook cell across its edits.

    Attributes:
      name: what events and programs call it.
      versions: its versions, by text and options, in the order of their first run.
      latest: the version that ran last.
      compiled: the compiled functions that a cell of definitions made, by name and content.
    """

    name: str
    versions: dict[Any, Version] = field(default_factory=dict)
    latest: Version | None = None
    compiled: dict[Any, Any] = field(default_factory=dict)


def newest_entry(function: Any) -> TraceEntry | None:
    """The trace that a jitted function made last."""
    state = jit_state(function)
    entries = list(state.traces.values()) if state is not None else []
    return entries[-1] if entries else None


def _root(holder: str) -> str:
    """The name at which a holder begins: ``log`` of ``log[0]``."""
    found = re.match(r"the name (\w+)|(\w+)", holder)
    return (found.group(1) or found.group(2)) if found else ""


def _leaks_of_names(bound: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (f"a {holder}", f"the name {name} of the cell")
        for name, value in bound.items()
        for leaf in physical.leaves(value)
        if not isinstance(leaf, Tracer | ArrayImpl) and (holder := _traced_inside(leaf))
    ]


def _texts_of_traced(bound: Mapping[str, Any]) -> Iterator[str]:
    """The names that hold texts in which a traced value stands by its type."""
    for name, value in bound.items():
        if any(isinstance(leaf, str) and "Traced<" in leaf for leaf in physical.leaves(value)):
            yield name


def _own(leaf: Any) -> Any:
    """A copy of what could be changed in place: the trace keeps what it saw."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _is_array(value: Any) -> bool:
    return isinstance(value, Tracer | ArrayImpl | np.ndarray)


def _traced_inside(leaf: Any) -> str:
    """What holds a traced value, in words; empty when nothing does."""
    if isinstance(leaf, FunctionType):
        values = captured_values(leaf)
        kind = f"function {leaf.__name__} that closes over a traced value"
    else:
        attributes = getattr(leaf, "__dict__", None)
        values = list(attributes.values()) if isinstance(attributes, dict) else []
        kind = f"{type(leaf).__name__} object with a traced attribute"
    return kind if any(isinstance(value, Tracer) for value in values) else ""
