"""Executables: compiling a lowered program, running it, and the record the C++ path runs from.

An executable belongs to a program, a device and the options that shaped it; it is remembered on
the program (``derived``), so it lives exactly as long.  Arguments are checked here, in Python,
before they reach ``execute_sharded``: the runtime reinterprets a wrong dtype of the same size.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jxkernel import events
from jxkernel._jaxlib import (
    ArrayImpl,
    CompileOptions,
    DeviceAssignment,
    DeviceList,
    array_result_handler,
    pjit,
    trace_context,
)
from jxkernel.compile.disk_cache import load_or_compile
from jxkernel.compile.executions import report_execution
from jxkernel.compile.nonfinite import checking_results, report_nonfinite
from jxkernel.config import compile_runner
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.effects import TOKEN, effect_names
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import Tracer, unexpected_tracer
from jxkernel.errors import DeletedArrayError
from jxkernel.lowering import LoweredProgram, lower_program
from jxkernel.runtime import (
    as_device_array,
    default_device,
    device_put_single,
    issue_token,
    previous_token,
    surfacing,
)
from jxkernel.runtime.clients import sharding_on
from jxkernel.transforms.key_reuse import check_keys, checking_keys
from jxkernel.tree import registry, structure

__all__ = [
    "Executable",
    "FastpathData",
    "compile_lowered",
    "executable_for",
    "execute",
    "execute_checked",
    "make_callable",
    "target_device",
]


class FastpathData(NamedTuple):
    """What jaxlib's C++ dispatch needs to run a call without entering Python.

    The field names are jaxlib's; anything but a named tuple of these is refused.
    """

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Sequence[Any]
    out_shardings: Sequence[Any]
    out_avals: Sequence[Any]
    out_committed: Sequence[bool]
    kept_var_bitvec: Sequence[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[Any]


class Executable:
    """A compiled program on one device.

    Attributes:
      name: the program's name.
      xla: jaxlib's loaded executable.
      lowered: what it was compiled from.
      device: the device it runs on.
      in_avals: the types of all arguments, constants not included.
      out_avals: the types of the results.
    """

    __slots__ = (
        "_committed_handlers",
        "_free_handlers",
        "constants",
        "device",
        "in_avals",
        "kept_args",
        "lowered",
        "name",
        "out_avals",
        "sharding",
        "xla",
    )

    def __init__(self, xla: Any, lowered: LoweredProgram, closed: ClosedJaxpr, device: Any) -> None:
        self.name = lowered.name
        self.xla = xla
        self.lowered = lowered
        self.device = device
        self.sharding = sharding_on(device)
        self.in_avals = closed.in_avals
        self.out_avals = closed.out_avals
        count = len(closed.consts)
        self.constants = [
            _on_device(closed.consts[index], device) for index in lowered.kept if index < count
        ]
        self.kept_args = [index - count for index in lowered.kept if index >= count]
        self._free_handlers = self._handlers(committed=False)
        self._committed_handlers = self._handlers(committed=True)

    def _handlers(self, *, committed: bool) -> list[Any]:
        avals = [*self.out_avals, TOKEN] if self.lowered.gives_token else self.out_avals
        return [array_result_handler(aval, self.sharding, committed) for aval in avals]

    def call(self, args: Sequence[Any], *, committed: bool = False) -> list[Any]:
        """Run on flat arguments, asynchronously, and return the result arrays.

        Raises:
          TypeError: an argument's type is not the one compiled for.
          DeletedArrayError: an argument was donated or deleted before.
        """
        inputs = list(self.constants)
        for index in self.kept_args:
            inputs.append(self._checked(args[index], index))
        handlers = self._committed_handlers if committed else self._free_handlers
        if self.needs_python:
            return self._call_with_effects(inputs, handlers)
        results = self.xla.execute_sharded(inputs)
        if events.listening():
            report_execution(self.name, self.device)
        return results.consume_with_handlers(handlers)

    @property
    def needs_python(self) -> bool:
        """Whether each call must pass through Python, so that there is no fast path.

        Tokens are handed from call to call here.  And a callback that fails while the call is
        dispatched would come out of C++ as an error of the runtime, not as what was raised.
        """
        return bool(self.lowered.callbacks) or self.lowered.gives_token

    def _call_with_effects(self, inputs: list[Any], handlers: list[Any]) -> list[Any]:
        takes, gives = self.lowered.takes_token, self.lowered.gives_token
        if takes:
            inputs.append(previous_token(self.device))
        if events.listening():
            report_execution(self.name, self.device)
        outs = surfacing(self.xla.execute_sharded, inputs).consume_with_handlers(handlers)
        if gives:
            issue_token(outs.pop(), ordered=takes)
        elif outs:
            issue_token(outs[0], ordered=False)
        return outs

    def _checked(self, arg: Any, index: int) -> Any:
        expected = self.in_avals[index]
        array = as_device_array(arg)
        aval = array.aval
        if aval.shape != expected.shape or aval.dtype != expected.dtype:
            raise TypeError(
                f"{self.name} was compiled for {expected.short()} as argument {index} and got "
                f"{aval.short()}"
            )
        if array.is_deleted():
            raise DeletedArrayError(aval.short())
        return _on_device(array, self.device)

    def fastpath(self, out_tree: Any, *, committed: bool) -> FastpathData | None:
        """Return the record from which C++ runs later calls of the same kind; None for none."""
        if self.needs_python:
            return None
        kept = set(self.kept_args)
        count = len(self.constants) + len(self.kept_args)
        return FastpathData(
            xla_executable=self.xla,
            out_pytree_def=out_tree,
            in_shardings=[self.sharding] * count,
            out_shardings=[self.sharding] * len(self.out_avals),
            out_avals=self.out_avals,
            out_committed=[committed] * len(self.out_avals),
            kept_var_bitvec=[True] * len(self.constants)
            + [index in kept for index in range(len(self.in_avals))],
            in_device_local_layouts=[None] * count,
            const_args=self.constants,
        )


def _on_device(value: Any, device: Any) -> Any:
    array = as_device_array(value)
    return array if array.sharding._device == device else device_put_single(array, device)


def target_device(args: Sequence[Any], wanted: Any = None) -> tuple[Any, bool]:
    """Return the device to run on, and whether the arguments (or the caller) bind it.

    Raises:
      ValueError: arguments are committed to different devices.
    """
    found: Any = wanted
    for arg in args:
        if type(arg) is ArrayImpl and arg._committed:
            device = arg.sharding._device
            if found is None:
                found = device
            elif found != device and wanted is None:
                raise ValueError(
                    "Received incompatible devices for jitted computation: arguments are "
                    f"committed to {found} and to {device}. Move them together with device_put."
                )
    return (default_device(), False) if found is None else (found, True)


def _compile_options(device: Any) -> Any:
    options = CompileOptions()
    options.num_replicas = 1
    options.num_partitions = 1
    options.device_assignment = DeviceAssignment.create(np.array([[device.id]], np.int32))
    return options


def compile_lowered(
    lowered: LoweredProgram,
    closed: ClosedJaxpr,
    device: Any,
    compiler_options: Sequence[tuple[str, Any]] = (),
    *,
    function_id: int = 0,
) -> Executable:
    """Compile a lowered program for one device, or load it from the disk cache.

    Raises:
      JaxRuntimeError: XLA refuses the module or an option.
    """
    about: dict[str, Any] = {"fun": lowered.name, "function_id": function_id}
    compilation = partial(_compile, lowered, device, compiler_options)
    with events.span(events.Compiled, **about, platform=device.platform) as span:
        if lowered.callbacks:  # objects of this process
            xla = compilation()
        else:
            options = _compile_options(device)
            xla, from_disk = load_or_compile(
                compilation, lowered.module, (device,), options, compiler_options, **about
            )
            span.set(from_disk=from_disk)
    executable = Executable(xla, lowered, closed, device)
    if executable.needs_python and events.listening():
        why = effect_names(closed.effects) or "calls of Python functions"
        events.emit(events.FastPathLost, **about, reason=why)
    return executable


def _compile(
    lowered: LoweredProgram, device: Any, compiler_options: Sequence[tuple[str, Any]]
) -> Any:
    options = _compile_options(device)
    options.env_option_overrides = list(compiler_options)
    compilation = partial(
        device.client.compile_and_load,
        lowered.module,
        DeviceList((device,)),
        options,
        list(lowered.callbacks),
    )
    run = compile_runner.value
    return compilation() if run is None else run(compilation)


def executable_for(
    closed: ClosedJaxpr,
    device: Any,
    *,
    name: str,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    compiler_options: tuple[tuple[str, Any], ...] = (),
    function_id: int = 0,
) -> Executable:
    """Return the executable of a program on a device, made on first use."""
    key = ("executable", device, donated, keep_unused, compiler_options, trace_context())
    found = closed.derived.get(key)
    if found is None:
        with events.span(events.Lowered, fun=name, function_id=function_id) as span:
            lowered = lower_program(
                closed,
                name=name,
                platform=device.platform,
                donated=donated,
                keep_unused=keep_unused,
            )
            span.set(ops=len(closed.eqns))
        found = compile_lowered(lowered, closed, device, compiler_options, function_id=function_id)
        closed.derived[key] = found
    return found


def execute(
    closed: ClosedJaxpr, args: Sequence[Any], *, name: str, donated: tuple[bool, ...] = ()
) -> list[Any]:
    """Compile (once) and run a program on flat arguments."""
    device, committed = target_device(args)
    executable = executable_for(closed, device, name=name, donated=donated)
    return executable.call(args, committed=committed)


def execute_checked(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    *,
    name: str,
    depth: float = 0,
    donated: tuple[bool, ...] = (),
    **options: Any,
) -> list[Any]:
    """Run a program under ``debug_nans`` or ``debug_infs``.

    Arguments are given away only after the results have been looked at, for the search of the
    equation that gave a bad one begins with them.

    Args:
      closed: the program.
      args: flat arguments.
      name: its name.
      depth: see ``report_nonfinite``.
      donated: which arguments' buffers are given away.
      **options: those of ``executable_for``, and ``device``.

    Raises:
      NonFiniteError: a result holds a NaN, or an infinity.
    """
    device, committed = target_device(args, options.pop("device", None))
    executable = executable_for(closed, device, name=name, **options)
    outs = executable.call(args, committed=committed)
    report_nonfinite(closed, args, outs, name=name, execute=execute, depth=depth)
    for arg, gone in zip(args, donated, strict=False):
        if gone and type(arg) is ArrayImpl and not any(arg is out for out in outs):
            arg.delete()
    return outs


def make_callable(
    name: str,
    program_for: Callable[[tuple[ShapedArray, ...]], ClosedJaxpr],
    *,
    as_list: bool = True,
    donated: tuple[bool, ...] = (),
    depth: float = 0,
) -> Any:
    """Return a C++ callable of flat array arguments.

    Args:
      name: what errors and profiles call it.
      program_for: a function from argument avals to the closed program to run.
      as_list: whether results come as a list; else there is one.
      donated: which arguments' buffers may hold results.
      depth: from which depth on equations' sources tell who called; see ``report_nonfinite``.
    """

    def cache_miss(*args: Any) -> tuple[Any, Any, bool]:
        closed = program_for(tuple([_checked_aval(arg) for arg in args]))
        if checking_keys():
            check_keys(closed, args, name)
        if checking_results():
            outs = execute_checked(closed, args, name=name, depth=depth, donated=donated)
            return (outs if as_list else outs[0]), None, False
        device, committed = target_device(args)
        executable = executable_for(closed, device, name=name, donated=donated)
        outs = executable.call(args, committed=committed)
        out_tree = structure(outs if as_list else 0)
        fastpath = executable.fastpath(out_tree, committed=committed)
        return (outs if as_list else outs[0]), None if checking_keys() else fastpath, False

    def run(*args: Any) -> Any:
        """Run without the fast path: what C++ calls under ``disable_jit``."""
        return cache_miss(*args)[0]

    function = pjit(name, run, cache_miss, [], [], object(), registry, _shard, None)
    function.__name__ = name
    return function


def _shard(value: Any, sharding: Any, layout: Any) -> Any:
    return _on_device(value, sharding._device)


def _checked_aval(arg: Any) -> ShapedArray:
    if isinstance(arg, Tracer):
        raise unexpected_tracer(arg)
    return abstractify(arg)
