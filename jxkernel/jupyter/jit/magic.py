"""``%%jit`` and its short forms: trace a cell, compile it, run it, and show what happened."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from jxkernel.errors import AxisError, JXError, TraceLimitError
from jxkernel.jupyter.cells.cell import Inputs, TraceInfo, Version, newest_entry, restore
from jxkernel.jupyter.code.analysis import is_definition_cell
from jxkernel.jupyter.errors.tracebacks import is_placed, tidy, with_cell_names
from jxkernel.jupyter.jit.definitions import define
from jxkernel.jupyter.jit.options import (
    Request,
    axes_type,
    cell_arguments,
    check_names,
    names_type,
    parse,
    without_cluster,
)
from jxkernel.jupyter.jit.report import report_of, sections_of
from jxkernel.jupyter.jit.view import RunReport, run_view
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import Recorder
from jxkernel.observe.limits import limit_error
from jxkernel.runtime import wait
from jxkernel.tree import leaves

__all__ = ["CELL_MAGICS", "JitMagics"]

CELL_MAGICS = ("jit", "grad", "vmap", "jaxpr")

_PATH = re.compile(r"args\[0\]\['(\w+)'\]")


@magics_class
class JitMagics(Magics):
    """Magics that trace a cell."""

    def __init__(self, shell: Any, session: Session) -> None:
        super().__init__(shell)
        self._session = session

    @no_var_expand
    @cell_magic
    @magic_arguments()
    @cell_arguments()
    @output_can_be_silenced
    def jit(self, line: str, cell: str) -> Any:
        """Trace this cell, compile it with XLA and run it.

        A cell of statements is a function from the names that it reads to the names that it
        assigns. Names that hold arrays, numbers or pytrees of them are traced; functions,
        modules, strings and everything else are static. Assigned names come back to the
        notebook when the whole cell has succeeded; a last expression is shown. Run again with
        the same kinds of inputs, the cell is not traced again::

            %%jit
            h = jnp.tanh(x @ w1 + b1)
            loss = jnp.mean((h @ w2 - y) ** 2)
            loss

            %%jit --static n --show jaxpr
            for _ in range(n):
                x = x * 0.5 + 1

        A cell of function definitions (with imports, classes and constants) gives each function
        ``jit`` with the same flags::

            %%jit --static n
            def power(x, n):
                return x ** n
        """
        return self._run("jit", line, cell)

    @no_var_expand
    @cell_magic
    @magic_arguments("grad")
    @argument("wrt", type=names_type, metavar="W,B", help="Names to differentiate by.")
    @cell_arguments("--grad", "--vmap")
    @output_can_be_silenced
    def grad(self, line: str, cell: str) -> Any:
        """Give the gradient of this cell's last expression: short for ``%%jit --grad W,B``.

        ::

            %%grad w,b
            jnp.mean((x @ w + b - y) ** 2)
        """
        return self._run("grad", line, cell)

    @no_var_expand
    @cell_magic
    @magic_arguments("vmap")
    @argument("axes", type=axes_type, metavar="X:0,Y:0", help="Axes to map over, by name.")
    @cell_arguments("--vmap", "--grad")
    @output_can_be_silenced
    def vmap(self, line: str, cell: str) -> Any:
        """Map this cell over an axis of some of its inputs: short for ``%%jit --vmap X:0``.

        ::

            %%vmap x:0
            jnp.dot(x, w)
        """
        return self._run("vmap", line, cell)

    @no_var_expand
    @cell_magic
    @magic_arguments("jaxpr")
    @cell_arguments("--no-run", "--show", "--max-traces")
    def jaxpr(self, line: str, cell: str) -> Any:
        """Show the jaxpr of this cell without running it: ``%%jit --no-run --show jaxpr``."""
        return self._run("jaxpr", line, cell)

    async def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """Run a magic of this class on a cell that awaits; IPython awaits it.

        What stands above the last ``await`` runs first; all or nothing of the cell is kept.
        """
        try:
            version, request = self._version(name, line, cell)
            _check_awaiting(version, request)
            names = {*version.source.first_names}
            before = {one: version.namespace[one] for one in names if one in version.namespace}
            try:
                await version.run_first()
                value = self._run_version(name, version, request)
            except BaseException:
                restore(version.namespace, names, before)
                raise
            if request.options.keep:
                restore(version.namespace, names.difference(request.options.keep), before)
        except Exception as error:
            raise tidy(error) from error.__cause__
        return None if DisplayHook.semicolon_at_end_of_expression(cell) else value

    def _run(self, name: str, line: str, cell: str) -> Any:
        words = without_cluster(line)
        if words is not None:
            return self._session.shell.run_cell_magic("spmd", "", f"%%{name} {words}\n{cell}")
        try:
            version, request = self._version(name, line, cell)
            if version.source.first:
                raise UsageError(
                    f"line {version.source.first[-1].lineno}: this cell awaits, and here it "
                    "cannot; run it as a cell of its own, with %autoawait on"
                )
            return self._run_version(name, version, request)
        except Exception as error:
            raise tidy(error) from error.__cause__

    def _version(self, name: str, line: str, cell: str) -> tuple[Version, Request]:
        request = parse(getattr(self, name), line, self._session.settings.backend)
        if name == "jaxpr":
            request = replace(request, run=False)
        return self._session.version_of(name, line, cell, request.options), request

    def _run_version(self, name: str, version: Version, request: Request) -> Any:
        if version.source.first or not is_definition_cell(version.source.tree):
            return self._run_body(version, request)
        if name != "jit":
            raise UsageError(
                f"%%{name}: a cell of definitions computes nothing; write a cell that calls "
                "one, or %jaxpr f(x), or %%jit here"
            )
        self._show(define(self._session, version, request.options), request)
        return None

    def _run_body(self, version: Version, request: Request) -> Any:
        if not version.source.tree.body:
            return None
        _check_source(version)
        inputs = version.inputs()
        _check_request(version, inputs)
        version.watch_names = self._session.settings.names
        function = version.jitted(inputs)
        arguments = {**inputs.traced, **inputs.static}
        traces = version.traces
        value: Any = None
        result: Any = None
        run_ns: int | None = None
        try:
            with Recorder(capacity=2_000) as steps:
                started = time.perf_counter_ns()
                if request.run:
                    result = function(**arguments)
                    run_ns = wait(result.arrays_on_device()) - started
                else:
                    function.trace(**arguments)
        except TraceLimitError as error:
            version.traces = traces
            raise self._limit_error(error) from None
        except BaseException as error:
            version.traces = traces
            self._remember_failed(version)
            told = _error_of_flags(error, request, inputs)
            if told is not None:
                raise told from None
            raise
        if request.run:
            limit = self._session.settings.kept_inputs
            version.keep_inputs(inputs, self._session.running.label, limit)
            value = version.write_back(result)
            info = result.info
        else:
            info = _traced_info(function)
        if version.traces > traces:
            info.entry = newest_entry(function)
            self._session.remember(info.provenance, is_shown=True)
        report = report_of(self._session, version, inputs, info, steps, run_ns)
        if version.traces > traces:
            self._session.program = report.outline
        self._show(report, request, version, info)
        return value

    def _remember_failed(self, version: Version) -> None:
        """Keep what was seen of a trace up to its failure: no output will hold it."""
        watching, version.watching = version.watching, None
        if watching is not None:
            self._session.remember(watching.provenance())

    def _limit_error(self, error: TraceLimitError) -> TraceLimitError:
        """The error with what the ledger knows of the cell's traces."""
        rows = [row for row in self._session.ledger(fun=error.fun) if row.cache is not None]
        return limit_error(error.fun, error.limit, rows, error.traces) if rows else error

    def _show(
        self,
        report: RunReport,
        request: Request,
        version: Version | None = None,
        info: TraceInfo | None = None,
    ) -> None:
        settings = self._session.settings
        if request.quiet or not settings.summary:
            return
        wanted = frozenset((*request.show, *settings.show)) or (
            frozenset() if request.run else frozenset({"jaxpr"})
        )
        report.open = wanted
        if version is not None and info is not None:
            report.sections = sections_of(version, info, wanted, report)
        view = with_cell_names(run_view(report), self._session.shell.compile)
        # As it stands: asking IPython's formatters for other forms of it takes half as long again.
        display(view._repr_mimebundle_(), raw=True)


def _traced_info(function: Any) -> TraceInfo:
    entry = newest_entry(function)
    assert entry is not None
    result = entry.out_tree.unflatten(entry.closed.out_avals)
    return result.info


def _error_of_flags(error: BaseException, request: Request, inputs: Inputs) -> Exception | None:
    """What is wrong with a flag or an input, when no line of the cell is to blame; else None."""
    if is_placed(error):
        return None
    message = _PATH.sub(r"\1", error.what if isinstance(error, JXError) else str(error))
    match error:
        case OverflowError():
            for name, value in inputs.traced.items():
                if any(isinstance(leaf, int) and str(leaf) in message for leaf in leaves(value)):
                    advice = f"make it a float, keep it static (--static {name}), or %jx x64 on"
                    return OverflowError(f"the input {name}: {message.rstrip('.')}; {advice}")
        case AxisError() if request.options.axes:
            told = message.removeprefix("vmap in_axes: ").removeprefix("vmap: <lambda> ")
            return UsageError(f"--vmap: {told}")
        case TypeError() if request.options.grad and message.startswith("Gradient only"):
            return UsageError(
                "--grad: the last expression must be a scalar; reduce it with .sum() or .mean(). "
                f"{message.partition('. ')[2].partition(':')[0].replace('differentiated', 'It')}"
            )
        case TypeError() if request.options.grad and message.startswith("grad requires"):
            names = ", ".join(request.options.grad)
            return UsageError(f"--grad {names}: {message}")
        case _:
            pass
    return None


def _check_source(version: Version) -> None:
    """Refuse what a traced cell cannot hold.

    Raises:
      UsageError: the cell holds ``import *``.
    """
    names = version.source.names
    if names.star_imports:
        raise UsageError(
            f"line {names.star_imports[0]}: `import *` cannot stand in a traced cell, which must "
            "know its names; import the names, or import in a cell of its own"
        )


def _check_awaiting(version: Version, request: Request) -> None:
    """Refuse a cell that awaits and has nothing to trace, or is not to be run.

    Raises:
      UsageError: it is one.
    """
    source = version.source
    line = source.first[-1].lineno
    if not request.run:
        raise UsageError(
            f"line {line}: a cell that is not run cannot await; await in a cell before it"
        )
    if not source.tree.body:
        raise UsageError(
            f"line {line}: this `await` is the last statement, and what stands above it runs "
            "untraced; await in the first lines of the cell, or in a cell of its own"
        )


def _check_defined(version: Version) -> None:
    """Refuse flags for names that the cell reads and the notebook does not have.

    Raises:
      UsageError: there is one.
    """
    options = version.options
    wanted = {
        "--static": options.static,
        "--donate": options.donate,
        "--grad": options.grad,
        "--vmap": [name for name, _ in options.axes],
    }
    for flag, names in wanted.items():
        for name in names:
            if name in version.source.names.reads and name not in version.namespace:
                raise UsageError(
                    f"{flag}: the name {name!r} is not defined; assign it in a cell before"
                )


def _check_request(version: Version, inputs: Inputs) -> None:
    """Check the flags that name inputs and results against the cell.

    Raises:
      UsageError: one names something that the cell does not read or assign.
    """
    options = version.options
    _check_defined(version)
    reads = [*inputs.traced, *inputs.static]
    check_names("--static", options.static, reads, "reads")
    traced = list(inputs.traced)
    does = "traces"
    check_names("--donate", options.donate, traced, does)
    check_names("--grad", options.grad, traced, does)
    check_names("--vmap", [name for name, _ in options.axes], traced, does)
    assigned = [*version.source.first_names, *version.source.names.assigned]
    check_names("-o", options.keep, assigned, "assigns")
    if options.grad and not version.source.shown:
        last = f", such as {assigned[-1]}" if assigned else ""
        raise UsageError(f"--grad: the cell must end in the expression to differentiate{last}")
