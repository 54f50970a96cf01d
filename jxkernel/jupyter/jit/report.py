"""From a run to its report: times, reasons, inputs, warnings, and the texts asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jxkernel.api.arguments import leaf_names
from jxkernel.compile import compile_lowered, executable_for
from jxkernel.config import enable_compilation_cache
from jxkernel.core.avals import abstractify
from jxkernel.events import (
    CacheMiss,
    Compiled,
    FastPathLost,
    Lowered,
    Traced,
)
from jxkernel.jupyter.cells.cell import Inputs, TraceInfo, Version
from jxkernel.jupyter.jit.view import RunReport, Section
from jxkernel.jupyter.programs.stage_view import stages_data, stages_html
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import Provenance, Recorder
from jxkernel.observe.explain import format_duration, format_size, slow_text
from jxkernel.observe.stages import of_texts
from jxkernel.runtime import default_device
from jxkernel.tree import physical

__all__ = ["report_of", "sections_of"]

_WARNINGS = 5


def report_of(
    session: Session,
    version: Version,
    inputs: Inputs,
    info: TraceInfo,
    steps: Recorder,
    elapsed_ns: int | None,
) -> RunReport:
    """Return the report of one run.

    Args:
      session: the session.
      version: what ran.
      inputs: what it ran on.
      info: what its trace left behind.
      steps: the events of this run.
      elapsed_ns: from the call until the results existed; None when it was only traced.
    """
    totals = steps.totals()
    name = version.cell.name
    traced = bool(steps.records(Traced, fun=name))
    built_ns = totals.build_ns
    device = version.options.device or default_device()
    return RunReport(
        cell=session.running.label,
        function=name,
        version=version.number,
        changed=version.changed if traced and version.traces == 1 else "",
        hit=not traced and not steps.records((Lowered, Compiled), fun=name),
        reasons=_reasons(steps, name) if version.number + version.traces > 2 else (),
        closed=info.entry.closed if info.entry else None,
        stack=_stack(version),
        arguments=_argument_names(version, info),
        names=info.names,
        reserved=session.shell.user_ns,
        trace_ns=totals.trace_ns,
        lower_ns=totals.lower_ns,
        compile_ns=totals.compile_ns,
        run_ns=None if elapsed_ns is None else max(elapsed_ns - built_ns, 0),
        device=f"{device.platform}:{device.id}",
        traced={key: _type_text(value) for key, value in inputs.traced.items()},
        static={key: repr(value) for key, value in inputs.static.items()},
        assigned=(*version.source.first_names, *version.source.names.assigned),
        awaited=_awaited(version),
        provenance=info.provenance,
        rendered=info.rendered,
        warnings=(
            *_slow(steps, name),
            *_warnings(session, version, inputs, info.provenance if traced else None, traced),
            *map(_text_warning, info.texts),
        ),
    )


def sections_of(
    version: Version, info: TraceInfo, wanted: frozenset[str], report: RunReport
) -> tuple[Section, ...]:
    """Return the texts that ``--show`` asks for, compiling where that is needed."""
    found = []
    if wanted & {"stages", "hlo", "optimized", "cost", "memory"} and info.entry is not None:
        executable = _executable(version, info)
        if "hlo" in wanted:
            found.append(Section("hlo", "StableHLO", executable.lowered.text()))
        if "optimized" in wanted:
            found.append(Section("optimized", "Optimized HLO", _optimized(executable)))
        if "stages" in wanted:
            found.append(_stages_section(executable, info, report))
        if "cost" in wanted:
            found.append(Section("cost", "Cost estimate", _cost_text(executable)))
        if "memory" in wanted:
            found.append(Section("memory", "Memory", _memory_text(executable)))
    if "timeline" in wanted:
        found.append(Section("timeline", "Timeline", _timeline_text(report)))
    return tuple(found)


def _optimized(executable: Any) -> str:
    return "\n\n".join(module.to_string() for module in executable.whole.hlo_modules())


def _stages_section(executable: Any, info: TraceInfo, report: RunReport) -> Section:
    program, entry, lowered = report.outline(), info.entry, executable.lowered
    assert program is not None
    assert entry is not None
    if executable.from_disk:
        # It bears the lines of the program that was compiled first.
        with enable_compilation_cache(False):
            target = executable.placement or executable.device
            executable = compile_lowered(lowered, entry.closed, target)
    found = of_texts(program, lowered.text(locations=True), _optimized(executable))
    return Section("stages", "Stages", str(found), stages_html(found), stages_data(found))


def _executable(version: Version, info: TraceInfo) -> Any:
    entry = info.entry
    assert entry is not None
    donated = version.donated(entry)
    device = version.options.device or default_device()
    return executable_for(entry.closed, device, name=version.cell.name, donated=donated)


def _stack(version: Version) -> tuple[str, ...]:
    """The cell and the transforms that its options apply, innermost first."""
    options = version.options
    grad = [f"grad {','.join(options.grad)}"] * bool(options.grad)
    axes = ",".join(f"{name}:{axis}" for name, axis in options.axes)
    return (version.cell.name, *grad, *[f"vmap {axes}"] * bool(axes), "jit")


def _awaited(version: Version) -> tuple[int, int] | None:
    """The first and the last line that ran untraced because the cell awaits."""
    first = version.source.first
    if not first:
        return None
    return first[0].lineno, first[-1].end_lineno or first[-1].lineno


def _argument_names(version: Version, info: TraceInfo) -> tuple[str, ...]:
    if info.entry is None:
        return ()
    if "arguments" not in info.rendered:
        # All come by name, so no function's parameters are asked for.
        info.rendered["arguments"] = tuple(leaf_names(version.inputs, info.entry.call))
    return info.rendered["arguments"]


def _reasons(steps: Recorder, name: str) -> tuple[Any, ...]:
    for record in steps.records(CacheMiss, fun=name):
        if isinstance(record.event, CacheMiss):
            return record.event.reasons
    return ()


def _slow(steps: Recorder, name: str) -> Iterator[str]:
    for record in steps.records(FastPathLost, fun=name):
        if isinstance(record.event, FastPathLost):
            yield slow_text(record.event.reason)


def _type_text(value: Any) -> str:
    """The types of a pytree's arrays; of a large one the first few."""
    leaves = physical.leaves(value)
    texts = [abstractify(leaf).short(weak=True) for leaf in leaves[:4]]
    if len(leaves) == 1:
        return texts[0]
    more = f", … {len(leaves)} leaves" if len(leaves) > 4 else ""
    return f"{type(value).__name__} of {', '.join(texts)}{more}"


def _warnings(
    session: Session,
    version: Version,
    inputs: Inputs,
    provenance: Provenance | None,
    traced: bool,
) -> Iterable[str]:
    found = list(_map_warnings(session, provenance)) if provenance else []
    if traced:
        found += version.lints()
    names = version.source.names
    for name in version.options.donate:
        if name not in names.assigned and name in inputs.traced:
            found.append(f"{name} was donated and is not assigned anew: its data is gone")
    if len(found) > _WARNINGS:
        found[_WARNINGS:] = [f"… {len(found) - _WARNINGS} more; see the map of the source"]
    return found


def _text_warning(name: str) -> str:
    return (
        f"{name} holds a text made of a traced value, which tells its type and not its value; make "
        "the text in a cell after this one"
    )


def _map_warnings(session: Session, provenance: Provenance) -> Iterator[str]:
    for function in provenance.functions:
        for mark in function.effects:
            yield session.teaching.told(function.file, mark, session.running.label)
        for loop in function.loops:
            if loop.equations > 100:
                code = "".join(f"\n    {line}" for line in loop.rewrite.splitlines())
                yield (
                    f"line {loop.line}: tracing unrolled {loop.times:,} rounds into "
                    f"{loop.equations:,} equations; instead:{code or f' {loop.instead}'}"
                )


def _cost_text(executable: Any) -> str:
    costs = executable.whole.cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs
    chosen = {name: value for name, value in costs.items() if "{" not in name}
    width = max((len(name) for name in chosen), default=0)
    return "\n".join(f"{name.ljust(width)}  {value:,.0f}" for name, value in chosen.items())


def _memory_text(executable: Any) -> str:
    stats = executable.xla.get_compiled_memory_stats()
    parts = {
        "arguments": stats.argument_size_in_bytes,
        "results": stats.output_size_in_bytes,
        "results in donated arguments": stats.alias_size_in_bytes,
        "temporary": stats.temp_size_in_bytes,
        "code": stats.generated_code_size_in_bytes,
    }
    width = max(map(len, parts))
    return "\n".join(f"{name.ljust(width)}  {format_size(size)}" for name, size in parts.items())


def _timeline_text(report: RunReport) -> str:
    stages = (
        ("trace", report.trace_ns),
        ("lower", report.lower_ns),
        ("compile", report.compile_ns),
        ("run", report.run_ns or 0),
    )
    total = sum(time_ns for _, time_ns in stages) or 1
    lines = []
    before = 0
    for name, time_ns in stages:
        start, width = round(40 * before / total), max(round(40 * time_ns / total), 1)
        bar = " " * start + "█" * width * bool(time_ns)
        lines.append(f"{name:8} {bar:42} {format_duration(time_ns)}")
        before += time_ns
    return "\n".join(lines)
