"""What `%jx` answers: plain functions from a session and words to a view.

Purpose: look things up in the core and in `observe`, and choose the view.

Place in the pipeline: between `magics.jx` and the core.

Must not know: how a line is split into subcommands, or how views are drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from jxkernel import _alias, runtime, tree
from jxkernel.api.jit import clear_caches, jit, jit_state
from jxkernel.compile import clear_disk_cache, disk_cache_summary
from jxkernel.config import config
from jxkernel.jupyter.display import (
    View,
    jaxpr_view,
    ledger_view,
    map_view,
    stacked_view,
    table_view,
    text_view,
)
from jxkernel.jupyter.overview import overview, page_of
from jxkernel.jupyter.session import Session
from jxkernel.jupyter.statics import is_traceable
from jxkernel.jupyter.waiting import arrays_in
from jxkernel.observe import LedgerRow, explain
from jxkernel.observe.explain import format_duration, format_size

__all__ = [
    "alias",
    "backend",
    "cache",
    "cost",
    "devices",
    "events",
    "explain_function",
    "free",
    "help_view",
    "hlo",
    "jaxpr",
    "ledger_rows",
    "live",
    "memory",
    "report",
    "source_map",
    "tour",
    "virtual",
    "why",
    "x64",
]


_MOST_DEVICES = 64


def help_view(commands: Mapping[str, str]) -> View:
    """Returns the list of subcommands."""
    rows = [(f"%jx {name}", *line.partition("  ")[::2]) for name, line in commands.items()]
    rows = [(f"{name} {words}" if text else name, text or words) for name, words, text in rows]
    return table_view("%jx: what jxkernel does", ("command", "what it shows or sets"), rows)


def devices(session: Session, words: str = "") -> View:
    """Returns the devices of the running platforms, with their memory where it is known."""
    runtime.default_device()
    rows = []
    for platform, client in runtime.backends().items():
        for device in client.local_devices():
            default = "default" if device == runtime.default_device() else ""
            rows.append((f"{platform}:{device.id}", device.device_kind, *_memory(device), default))
    head = ("device", "kind", "in use", "limit", "")
    return table_view("devices", head, rows, numeric=(2, 3))


def backend(session: Session, words: str) -> View:
    """Chooses the default device, `cpu` or `cpu:1`, and returns the devices.

    Raises:
      UsageError: there is no such platform or device.
    """
    if words:
        platform, _, number = words.partition(":")
        try:
            found = runtime.local_devices(platform)
        except RuntimeError as error:
            raise UsageError(f"%jx backend: {error}") from None
        if number and (not number.isdigit() or int(number) >= len(found)):
            raise UsageError(
                f"%jx backend: there is no device {number!r} on {platform}, "
                f"which has 0 to {len(found) - 1}"
            )
        config.update("jax_default_device", found[int(number or 0)])
    return devices(session)


def explain_function(session: Session, words: str) -> View:
    """Returns the history of a function, given by an expression or its name."""
    if not words:
        raise UsageError("%jx explain: name a function")
    try:
        function = _evaluate(session, words)
    except NameError:
        function = words
    text = explain(function, session.recorder)
    return text_view("", text)


def ledger_rows(session: Session, words: str) -> View:
    """Returns the recompilation ledger: of one function if one is named, or of `all`.

    Operations that run by themselves are compiled too, once for each kind of arguments; they are
    counted, and listed only with `all`.
    """
    rows = session.ledger(fun=None if words == "all" else words or None)
    eager = [row for row in rows if row.cache is None and row.eqns is None]
    if not words:
        rows = _counted_anew(row for row in rows if row not in eager)
    notes = []
    if eager and not words:
        took = format_duration(sum(row.cost_ns for row in eager))
        what = f"{len(eager)} operation{'' if len(eager) == 1 else 's'} outside jit"
        notes.append(f"and {what}, compiled in {took}: %jx ledger all")
    return ledger_view(rows, session.recorder.dropped, notes)


def _counted_anew(rows: Iterable[LedgerRow]) -> tuple[LedgerRow, ...]:
    """Rows chosen from a ledger, with numbers and running totals of their own."""
    total = 0
    counted = []
    for number, row in enumerate(rows, start=1):
        total += row.cost_ns
        counted.append(replace(row, number=number, total_ns=total))
    return tuple(counted)


def events(session: Session, words: str) -> View:
    """Returns the latest events, 40 unless a number is given."""
    if words and not words.isdigit():
        raise UsageError(f"%jx events: {words!r} is not a count")
    records = session.recorder.records()[-int(words or 40) :]
    rows = [
        (
            record.cell or "",
            type(record.event).__name__,
            record.fun or "",
            format_duration(record.event.duration_ns) if record.event.duration_ns else "",
            record.event.error or "",
        )
        for record in records
    ]
    return table_view("events", ("cell", "event", "function", "took", "error"), rows, numeric=(3,))


def why(session: Session, words: str) -> View:
    """Returns what a name of a traced cell is and why, in the latest trace that has it.

    Raises:
      UsageError: no name is given, or no cell was traced.
    """
    if not words:
        raise UsageError("%jx why: give a name of a traced cell")
    if not session.maps:
        raise UsageError("%jx why: no cell was traced yet; run one under %%jit")
    for label, provenance in reversed(session.maps):
        if provenance.find(words):
            return text_view("", f"{label}: {provenance.why(words)}")
    label, provenance = session.maps[-1]
    return text_view("", f"{label}: {provenance.why(words)}")


def source_map(session: Session, words: str = "") -> View:
    """Returns the traced/static map of the cell traced last.

    Raises:
      UsageError: no cell was traced.
    """
    if not session.maps:
        raise UsageError("%jx map: no cell was traced yet; run one under %%jit")
    return map_view(session.maps[-1][1])


def jaxpr(session: Session, words: str) -> View:
    """Returns the explorer of an expression's jaxpr.

    Raises:
      UsageError: no expression is given.
    """
    return jaxpr_view(_traced(session, words, "%jaxpr").jaxpr, words)


def hlo(session: Session, words: str) -> View:
    """Returns the StableHLO module of an expression and the HLO that XLA made of it."""
    lowered = _traced(session, words, "%jx hlo").lower()
    text = lowered.as_text()
    optimized = lowered.compile().as_text()
    return text_view(f"StableHLO of {words}", f"{text}\n\n// optimized\n{optimized}")


def cost(session: Session, words: str) -> View:
    """Returns XLA's estimate of an expression's operations and bytes."""
    compiled = _traced(session, words, "%jx cost").lower().compile()
    costs = compiled.cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs
    rows = [(name, f"{value:,.0f}") for name, value in costs.items() if "{" not in name]
    return table_view(f"cost of {words}", ("", "estimate"), rows, numeric=(1,))


def live(session: Session, words: str = "") -> View:
    """Returns the device arrays that notebook variables hold, largest first."""
    found: dict[int, tuple[Any, list[str]]] = {}
    hidden = session.shell.user_ns_hidden
    for name, value in list(session.shell.user_ns.items()):
        if name in hidden or name in ("Out", "_oh"):
            continue
        for array in arrays_in(value):
            found.setdefault(id(array), (array, []))[1].append(name)
    rows = [
        (
            ", ".join(names),
            array.aval.short(weak=True),
            "deleted" if array.is_deleted() else format_size(array.nbytes),
            "" if array.is_deleted() else str(array.device),
        )
        for array, names in sorted(found.values(), key=lambda one: -one[0].nbytes)
    ]
    total = sum(array.nbytes for array, _ in found.values() if not array.is_deleted())
    title = f"{len(rows)} arrays in variables, {format_size(total)}"
    return table_view(title, ("names", "type", "size", "device"), rows, numeric=(2,))


def cache(session: Session, words: str) -> View:
    """Returns what is remembered, on disk and of the session's cells; `clear` forgets it.

    `clear` forgets every trace and executable and empties the disk cache; `clear memory` and
    `clear disk` do one of the two.

    Raises:
      UsageError: the words are none of these.
    """
    if words and words not in ("clear", "clear memory", "clear disk"):
        raise UsageError(f"%jx cache: {words!r} is not 'clear', 'clear memory' or 'clear disk'")
    said: list[str] = []
    if words in ("clear", "clear memory"):
        clear_caches()
        session.cells.clear()
        said.append("every trace and compiled call is forgotten")
    if words in ("clear", "clear disk"):
        said.append(f"{clear_disk_cache()} executables deleted from disk")
    return text_view("", "; ".join(said)) if said else _remembered(session)


def _remembered(session: Session) -> View:
    disk = disk_cache_summary()
    limit = "no bound" if disk.limit < 0 else f"of {format_size(disk.limit)}"
    rows: list[tuple[str, object]] = [("folder", disk.folder or "none: the cache is off")]
    if disk.folder:
        rows += [
            ("entries", disk.entries),
            ("size", f"{format_size(disk.bytes)} {limit}"),
            ("hits", f"{disk.hits}, {format_size(disk.bytes_read)} read"),
            ("misses", f"{disk.misses}, {format_size(disk.bytes_written)} stored"),
            ("saved", format_duration(disk.saved_ns)),
        ]
    if disk.problem:
        rows.append(("cannot be written", disk.problem))
    cells = [
        (cell.name, len(cell.versions), sum(one.traces for one in cell.versions.values()))
        for cell in session.cells.values()
    ]
    return stacked_view(
        "cache",
        {
            "disk": table_view("executables on disk", ("", "in this process"), rows),
            "cells": table_view(
                "cells under %%jit", ("cell", "versions", "traces"), cells, numeric=(1, 2)
            ),
        },
    )


def x64(session: Session, words: str) -> View:
    """Switches 64-bit dtypes on or off, or says which it is.

    Raises:
      UsageError: the word is neither `on` nor `off`.
    """
    if words not in ("", "on", "off"):
        raise UsageError(f"%jx x64: {words!r} is neither 'on' nor 'off'")
    if words:
        config.update("jax_enable_x64", words == "on")
    state = "on: float64 stays" if config.jax_enable_x64 else "off: float64 becomes float32"
    return text_view("", f"64-bit dtypes are {state}")


def virtual(session: Session, words: str) -> View:
    """Gives this process that many CPU devices, and returns the devices.

    What is compiled is forgotten.  Arrays on the devices before stay alive and usable there; with
    ``move`` those that variables hold go to the first of the new devices.

    Raises:
      UsageError: the word is not a number from 1 to 64, or the second one not ``move``.
    """
    number, *rest = words.split() or [""]
    if not number.isdigit() or not 1 <= int(number) <= _MOST_DEVICES or rest not in ([], ["move"]):
        raise UsageError(
            f"%jx virtual: give a number of CPU devices from 1 to {_MOST_DEVICES}, and `move` to "
            "move the arrays that variables hold"
        )
    config.update("jax_num_cpu_devices", int(number))
    if rest:
        _move_variables(session.shell.user_ns)
    return devices(session)


def _move_variables(namespace: dict[str, Any]) -> None:
    """Put the arrays that variables hold, alone or in trees, where new arrays are made."""
    client = runtime.default_device().client
    for name, value in list(namespace.items()):
        held = arrays_in(value)
        if not name.startswith("_") and any(_elsewhere(array, client) for array in held):
            namespace[name] = tree.map(partial(_moved, client=client), value)


def _elsewhere(array: Any, client: Any) -> bool:
    on_cpu = array.platform() == "cpu" and not array.is_deleted()
    return on_cpu and next(iter(array.sharding.device_set)).client is not client


def _moved(leaf: Any, client: Any) -> Any:
    if not isinstance(leaf, runtime.ArrayImpl) or not _elsewhere(leaf, client):
        return leaf
    return runtime.device_put_single(leaf, runtime.default_device())


def alias(session: Session, words: str) -> View:
    """Makes `import NAME` mean jxkernel in this kernel, ends that, or says what is an alias.

    Raises:
      UsageError: a package of that name is loaded already, or it is no name.
    """
    name, _, rest = words.partition(" ")
    if rest not in ("", "off"):
        raise UsageError(f"%jx alias: {rest!r} is not 'off'; write `%jx alias jax` or ... off")
    try:
        if rest:
            _alias.unalias(name)
        elif name:
            _alias.alias(name)
    except (ImportError, ValueError) as error:
        raise UsageError(f"%jx alias: {error}") from None
    named = [f"`import {one}` gives jxkernel" for one in _alias.aliases()]
    return text_view("", "; ".join(named) or "no other name means jxkernel")


def memory(session: Session, words: str) -> View:
    """Returns the memory that a compiled expression takes; without one, that of live arrays."""
    if not words:
        return live(session)
    stats = _traced(session, words, "%jx memory").lower().compile().memory_analysis()
    rows = [
        ("arguments", format_size(stats.argument_size_in_bytes)),
        ("results", format_size(stats.output_size_in_bytes)),
        ("results in donated arguments", format_size(stats.alias_size_in_bytes)),
        ("temporary", format_size(stats.temp_size_in_bytes)),
        ("code", format_size(stats.generated_code_size_in_bytes)),
    ]
    return table_view(f"memory of {words}", ("", "size"), rows, numeric=(1,))


def free(session: Session, words: str) -> View:
    """Deletes the arrays that variables hold, and the variables.

    Raises:
      UsageError: no variable is named, or one does not exist or holds no array.
    """
    namespace = session.shell.user_ns
    names = words.replace(",", " ").split()
    if not names:
        raise UsageError("%jx free: name the variables whose arrays to delete")
    for name in names:
        if not arrays_in(namespace.get(name)):
            raise UsageError(f"%jx free: {name} holds no device array")
    freed = 0
    for name in names:
        for array in arrays_in(namespace.pop(name)):
            if not array.is_deleted():
                freed += array.nbytes
                array.delete()
    return text_view("", f"{', '.join(names)} deleted: {format_size(freed)}")


def report(session: Session, words: str) -> View:
    """Returns the session in one view; with a file name, writes it as HTML or JSON.

    Raises:
      UsageError: the file is neither `.html` nor `.json`, or cannot be written.
    """
    view = overview(session)
    if words:
        file = Path(words)
        if file.suffix not in (".html", ".json"):
            raise UsageError(f"%jx report: {words} must end in .html or .json")
        try:
            file.write_text(page_of(view, as_json=file.suffix == ".json"), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"%jx report: {error}") from None
    return view


def tour(session: Session, words: str = "") -> View:
    """Returns the steps of a first visit, to be typed one after the other."""
    return table_view("a tour: run these in turn", ("cell", "what it shows"), _TOUR)


_TOUR = (
    ("import jxkernel.numpy as jnp; x = jnp.arange(8.0)", "arrays on a device"),
    ("%%jit ⏎ y = jnp.sin(x) * 2", "a cell traced, compiled and run, with its jaxpr and its map"),
    ("run the cell again", "a hit: nothing is traced"),
    ("x = jnp.arange(16.0), and run the cell again", "a miss, with its reason"),
    ("%jx ledger", "every trace and compilation, what it cost, what would avoid it"),
    ("%jx why y", "the way back from a value to an argument"),
    ("%timeit jnp.sin(x)", "dispatch, pipelined and latency of an asynchronous call"),
    ("%jaxpr jnp.sin(x) * 2", "the program of an expression"),
    ("%%grad x ⏎ (jnp.sin(x) ** 2).sum()", "the gradient of a cell"),
    ("%%jit ⏎ if x.sum() > 0: y = x", "an error that names the expression and the rewrite"),
    ("%jx", "everything else"),
)


def _memory(device: Any) -> tuple[str, str]:
    try:
        stats = device.memory_stats() or {}
    except Exception:  # a platform without memory statistics raises its own error
        stats = {}
    in_use, limit = stats.get("bytes_in_use"), stats.get("bytes_limit")
    return (
        format_size(in_use) if in_use is not None else "",
        format_size(limit) if limit else "",
    )


def _evaluate(session: Session, text: str) -> Any:
    return eval(text, session.shell.user_ns)


def _traced(session: Session, words: str, magic: str) -> Any:
    """Traces an expression of the user's and returns the stage.

    Raises:
      UsageError: there is no expression.
    """
    if not words:
        raise UsageError(f"{magic}: give a call such as f(x), or an expression")
    parsed = ast.parse(words, mode="eval").body
    if isinstance(parsed, ast.Call):
        function = _evaluate(session, ast.unparse(parsed.func))
        args, kwargs = _arguments(session, parsed)
        if callable(function) and _is_traceable_call(function, args, kwargs):
            jitted: Any = function if jit_state(function) is not None else jit(function)
            return jitted.trace(*args, **kwargs)
    namespace = session.shell.user_ns
    names = {one.id for one in ast.walk(parsed) if isinstance(one, ast.Name)}
    inputs = {
        name: namespace[name]
        for name in sorted(names)
        if name in namespace and is_traceable(namespace[name])
    }
    code = compile(words, "<%jaxpr>", "eval")

    def expression(**values: Any) -> Any:
        return eval(code, {**namespace, **values})

    return jit(expression).trace(**inputs)


def _is_traceable_call(
    function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether a call can be traced with its arguments as inputs."""
    if jit_state(function) is not None:
        return True
    return all(is_traceable(value) for value in (*args, *kwargs.values()))


def _arguments(session: Session, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    text = ast.unparse(ast.Call(ast.Name("__arguments__", ast.Load()), call.args, call.keywords))

    def collect(*args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        return list(args), kwargs

    return eval(text, {**session.shell.user_ns, "__arguments__": collect})
