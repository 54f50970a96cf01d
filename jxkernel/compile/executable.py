"""Executables: compiling a lowered program, running it, and the record the C++ path runs from.

An executable belongs to a program, a device and the options that shaped it; it is remembered on
the program, so it lives exactly as long.  Arguments are checked here, in Python,
before they reach ``execute_sharded``: the runtime reinterprets a wrong dtype of the same size.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from jxkernel import dtypes, events
from jxkernel._jaxlib import (
    ArrayImpl,
    array_result_handler,
    trace_context,
)
from jxkernel._lazy import late_function
from jxkernel.compile.disk_cache import LoadedEntry, load_or_compile
from jxkernel.compile.donation import warn_of_unusable
from jxkernel.compile.executions import report_execution
from jxkernel.compile.logs import logged
from jxkernel.compile.noticing import NoticingLayout
from jxkernel.compile.placement import (
    Placement,
    compile_options,
    device_list,
    devices_of,
    named,
    pinned,
    placed_argument,
    result_shardings,
    whole_on,
)
from jxkernel.config import (
    compile_runner,
    launch_hook,
    long_chains,
    loop_unrolling,
    no_execution,
    run_hook,
)
from jxkernel.core.effects import TOKEN, effect_names
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.errors import DeletedArrayError
from jxkernel.hlo import Inspection
from jxkernel.lowering import LoweredProgram, constant_sharding, lower_program, pin_results
from jxkernel.runtime import (
    as_device_array,
    device_put_single,
    has_sharding,
    issue_token,
    place,
    previous_token,
    surfacing,
)
from jxkernel.runtime.clients import platform_of, sharding_on
from jxkernel.sharding.layout import Format, layout_of
from jxkernel.sharding.named import is_single

__all__ = [
    "Executable",
    "Executables",
    "FastpathData",
    "compile_lowered",
    "compiled_once",
    "executable_for",
    "has_kernel_loops",
    "has_loops_divided",
    "has_loops_unrolled",
    "lowered_for",
    "lowering_conditions",
]

_COLLECTIVE = (
    r" ((?:ragged-)?(?:all-reduce|all-gather|all-to-all|reduce-scatter|collective-[a-z]+|send"
    r"|recv))(?:-start)?\("
)
"""An instruction of a compiled module by which devices exchange."""

_EXTRA_OPTIONS = "xla_backend_extra_options"
"""The XLA flag that says, among others, whether LLVM unrolls loops."""

sha256 = late_function("hashlib", "sha256")
apply_options = late_function("jxkernel.compile.effort", "apply_options")
without_dividing = late_function("jxkernel.compile.effort", "without_dividing")
without_kernel_loops = late_function("jxkernel.compile.effort", "without_kernel_loops")
without_unrolling = late_function("jxkernel.compile.effort", "without_unrolling")
Future = late_function("concurrent.futures", "Future")


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
    """A compiled program on one device, or divided over those of a mesh.

    Attributes:
      name: the program's name.
      xla: jaxlib's loaded executable.
      lowered: what it was compiled from.
      device: the device it runs on, the first of several.
      placement: how it is divided over devices, results included; None on one device.
      sharding: of arguments and results on one device; of what is whole on several.
      in_avals: the types of all arguments, constants not included.
      out_avals: the types of the results.
      compiler_options: XLA options by name that it was compiled with.
    """

    __slots__ = (
        "_collectives",
        "_committed_handlers",
        "_entry",
        "_fingerprint",
        "_free_handlers",
        "_program",
        "_whole",
        "compiler_options",
        "constants",
        "device",
        "in_avals",
        "kept_args",
        "lowered",
        "name",
        "out_avals",
        "placement",
        "sharding",
        "xla",
    )

    def __init__(
        self,
        xla: Any,
        lowered: LoweredProgram,
        closed: ClosedJaxpr,
        target: Any,
        *,
        fingerprint: str = "",
        entry: LoadedEntry | None = None,
        compiler_options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        self.name = lowered.name
        self.compiler_options = compiler_options
        self.xla = xla
        self._entry = entry
        self._whole: Any = None
        self.lowered = lowered
        # The program remembers this one: held both ways, its constants would outlive its last use.
        self._program = ref(closed)
        self.device = devices_of(target)[0]
        self.placement: Placement | None = target if type(target) is Placement else None
        self.sharding = sharding_on(target) if self.placement is None else whole_on(target.mesh)
        self.in_avals = closed.in_avals
        self.out_avals = closed.out_avals
        count = len(closed.consts)
        self.constants = [
            self._placed_constant(closed.consts[index]) for index in lowered.kept if index < count
        ]
        self.kept_args = [index - count for index in lowered.kept if index >= count]
        self._fingerprint = bytes.fromhex(fingerprint)
        self._collectives: tuple[str, ...] | None = None
        self._free_handlers = self._handlers(committed=False)
        self._committed_handlers = self._handlers(committed=True)

    def _placed_constant(self, const: Any) -> Any:
        if self.placement is None:
            return _on_device(const, self.device)
        return place(const, constant_sharding(const, self.placement.mesh))

    def _handlers(self, *, committed: bool) -> list[Any]:
        handlers = [
            _no_numbers(aval)
            if aval.dtype == dtypes.float0
            else array_result_handler(aval, sharding, committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]
        if self.lowered.gives_token:
            handlers.append(array_result_handler(TOKEN, self.sharding, committed))
        return handlers

    @property
    def in_shardings(self) -> Sequence[Any]:
        """The shardings of all arguments, constants not included."""
        if self.placement is None:
            return [self.sharding] * len(self.in_avals)
        return self.placement.in_shardings

    @property
    def out_shardings(self) -> Sequence[Any]:
        """The shardings of the results."""
        if self.placement is None:
            return [self.sharding] * len(self.out_avals)
        return self.placement.out_shardings

    @property
    def in_formats(self) -> Sequence[Format]:
        """The formats of all arguments, constants not included; an empty one where it is unread."""
        found = [Format()] * len(self.in_avals)
        layouts = self.xla.get_parameter_layouts()[len(self.constants) :]
        for index, layout in zip(self.kept_args, layouts, strict=False):
            found[index] = Format(layout_of(layout), self.in_shardings[index])
        return found

    @property
    def out_formats(self) -> Sequence[Format]:
        """The formats of the results."""
        pairs = zip(self.xla.get_output_layouts(), self.out_shardings, strict=False)
        return [Format(layout_of(layout), sharding) for layout, sharding in pairs]

    @property
    def fingerprint(self) -> str:
        """What tells its module from others, the same in all processes; lines do not count."""
        self._fingerprint = self._fingerprint or sha256(self.lowered.text().encode()).digest()
        return self._fingerprint.hex()

    @property
    def from_disk(self) -> bool:
        """Whether it was loaded from the disk cache."""
        return self._entry is not None

    @property
    def whole(self) -> Any:
        """The executable of jaxlib with all of its module, for who reads it.

        What came from disk may lack the bodies of loops; the whole one is loaded when it is asked
        for, or compiled again where it is there no more.
        """
        loading = self._entry and self._entry.whole
        if loading is None:
            return self.xla
        if self._whole is None:
            self._whole = loading() or self._compiled_again()
        return self._whole

    @property
    def is_trimmed(self) -> bool:
        """Whether ``xla`` lacks bodies of loops that ``whole`` has."""
        return self._entry is not None and self._entry.whole is not None

    def _compiled_again(self) -> Any:
        return Compilation(self.lowered, self.placement or self.device, self.compiler_options)()

    def serialized(self) -> bytes:
        """Return XLA's bytes of it.

        One that came from disk is compiled again: XLA leaves the code out of what it writes of it.
        """
        return (self._compiled_again() if self.from_disk else self.xla).serialize()

    def call(self, args: Sequence[Any], *, committed: bool = False) -> list[Any]:
        """Run on flat arguments, asynchronously, and return the result arrays.

        Raises:
          TypeError: an argument's type is not the one compiled for.
          DeletedArrayError: an argument was donated or deleted before.
          RuntimeError: ``no_execution`` is set.
        """
        if no_execution.value:
            raise RuntimeError(
                f"{self.name} would run, and no_execution is set: trace or lower it alone "
                "(make_jaxpr, eval_shape, jit(f).lower), or call it outside of the block"
            )
        hook = run_hook.value
        if hook is not None:
            hook(self._program(), args, self.name)
        self._launch()
        inputs = list(self.constants)
        for index in self.kept_args:
            inputs.append(self._checked(args[index], index))
        handlers = self._committed_handlers if committed else self._free_handlers
        if self.needs_python:
            return self._call_with_effects(inputs, handlers)
        outs: list[Any] = self.xla.execute_sharded(inputs).consume_with_handlers(handlers)
        if events.listening():
            report_execution(self.name, self.device, _on_devices(outs))
        return outs

    @property
    def collectives(self) -> tuple[str, ...]:
        """The kinds of instructions by which it exchanges with other processes.

        Where there are any, its parts in the other processes must run as well.
        """
        if self._collectives is None:
            spans = self.placement is not None and self.placement.mesh.is_multi_process
            modules = self.xla.hlo_modules() if spans else []
            found = [re.findall(_COLLECTIVE, module.to_string()) for module in modules]
            self._collectives = tuple(dict.fromkeys(itertools.chain.from_iterable(found)))
        return self._collectives

    @property
    def identity(self) -> tuple[str, str, tuple[str, ...]]:
        """What tells its calls from those of others: its fingerprint, name and collectives."""
        return self.fingerprint, self.name, self.collectives

    def _launch(self) -> None:
        guard = launch_hook.value
        if guard is not None and self.collectives:
            guard(self, self._program())

    @property
    def needs_python(self) -> bool:
        """Whether each call must pass through Python, so that there is no fast path.

        Tokens are handed from call to call here.  And a callback that fails while the call is
        dispatched would come out of C++ as an error of the runtime, not as what was raised.
        """
        return bool(self.lowered.callbacks) or self.lowered.gives_token

    @property
    def _gives_no_numbers(self) -> bool:
        """Whether a result is of ``float0``, which C++ would give as the booleans it lies as."""
        return any(aval.dtype == dtypes.float0 for aval in self.out_avals)

    def _call_with_effects(self, inputs: list[Any], handlers: list[Any]) -> list[Any]:
        takes, gives = self.lowered.takes_token, self.lowered.gives_token
        if takes:
            inputs.append(place(previous_token(self.device), self.sharding))
        outs = surfacing(self.xla.execute_sharded, inputs).consume_with_handlers(handlers)
        arrays = _on_devices(outs)
        if events.listening():
            report_execution(self.name, self.device, arrays)
        if gives:
            issue_token(outs.pop(), ordered=takes)
        elif arrays:
            issue_token(arrays[0], ordered=False)
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
        if self.placement is None:
            return _on_device(array, self.device)
        return placed_argument(array, self.placement.in_shardings[index])

    def fastpath(
        self, out_tree: Any, args: Sequence[Any], *, committed: bool
    ) -> FastpathData | None:
        """Return the record from which C++ runs later calls of the same kind; None for none.

        C++ hands committed arguments on as they lie, so none may need to be moved.
        """
        if self.needs_python or self._gives_no_numbers:
            return None
        if run_hook.value is not None or self._moves(args):
            return None
        layouts = [_FROM_HOST if _is_numpy(args[index]) else None for index in self.kept_args]
        if launch_hook.value is not None and self.collectives and not self._noticed(layouts):
            return None
        kept = set(self.kept_args)
        wanted = self.in_shardings
        ins = [const._sharding for const in self.constants]
        ins += [wanted[index] for index in self.kept_args]
        return FastpathData(
            xla_executable=self.xla,
            out_pytree_def=out_tree,
            in_shardings=ins,
            out_shardings=self.out_shardings,
            out_avals=self.out_avals,
            out_committed=[committed] * len(self.out_avals),
            kept_var_bitvec=[True] * len(self.constants)
            + [index in kept for index in range(len(self.in_avals))],
            in_device_local_layouts=[None] * len(self.constants) + layouts,
            const_args=self.constants,
        )

    def _noticed(self, layouts: list[Any]) -> bool:
        """Have an argument's layout tell the guard of each call; return whether one can."""
        if launch_hook.value.sees_all or None not in layouts:
            return False
        place = layouts.index(None)
        rank = len(self.in_avals[self.kept_args[place]].shape)
        layouts[place] = NoticingLayout(rank, self.identity)
        return True

    def _moves(self, args: Sequence[Any]) -> bool:
        """Whether a committed argument lies otherwise than the program takes it."""
        wanted = self.in_shardings
        return any(
            type(args[index]) is ArrayImpl
            and args[index]._committed
            and not has_sharding(args[index], wanted[index])
            for index in self.kept_args
        )


def _no_numbers(aval: Any) -> Callable[[Any], Any]:
    """Return what makes a result of ``float0``: an array of NumPy, which says so to NumPy."""
    return lambda _: np.zeros(aval.shape, dtypes.float0)


_FROM_HOST = "from the host"
"""Stands where a layout might: C++ then asks ``shard_argument`` to place the argument.

By itself C++ reads the bytes of a NumPy array whatever their order; its signature of the call does
not tell one order from the other.
"""


def _on_devices(outs: Sequence[Any]) -> list[Any]:
    """Return the results that are computed: all but those of ``float0``."""
    return [out for out in outs if type(out) is ArrayImpl]


def _is_numpy(arg: Any) -> bool:
    return isinstance(arg, (np.ndarray, np.generic))


def _on_device(value: Any, device: Any) -> Any:
    array = as_device_array(value)
    sharding = array._sharding
    if is_single(sharding) and sharding._device == device:
        return array
    return device_put_single(array, device)


def compile_lowered(
    lowered: LoweredProgram,
    closed: ClosedJaxpr,
    target: Any,
    compiler_options: Sequence[tuple[str, Any]] = (),
    *,
    function_id: int = 0,
    compilation: Compilation | None = None,
) -> Executable:
    """Compile a lowered program for a device or a placement, or load it from the disk cache.

    Args:
      lowered: the program.
      closed: what it was lowered from.
      target: the device or placement.
      compiler_options: XLA options by name.
      function_id: the number of the function object, for events.
      compilation: a compilation of it that may have begun already.

    Raises:
      JaxRuntimeError: XLA refuses the module or an option.
    """
    about: dict[str, Any] = {"fun": lowered.name, "function_id": function_id}
    compilation = compilation or Compilation(lowered, target, compiler_options)
    devices = devices_of(target)
    with (
        logged("compiled %s", lowered.name),
        events.span(events.Compiled, **about, platform=devices[0].platform) as span,
    ):
        span.follow(eqns=closed.eqns)
        if lowered.callbacks or lowered.partitions:  # objects of this process
            xla, entry = compilation(), None
        else:
            options = _options(lowered, target, compiler_options)
            xla, entry = load_or_compile(
                compilation, lowered.module, devices, options, compiler_options, **about
            )
            span.set(from_disk=entry is not None)
    if type(target) is Placement:
        ranks = [aval.ndim for aval in closed.out_avals]
        outs = result_shardings(xla, target, ranks)
        settled = pinned(target, outs)
        if None in outs:
            # XLA divided a result along part of a mesh axis: have it whole instead.
            pin_results(lowered.module, settled, ranks, tokens=int(lowered.gives_token))
            return compile_lowered(
                lowered, closed, settled, compiler_options, function_id=function_id
            )
        target = settled
    executable = Executable(
        xla, lowered, closed, target, entry=entry, compiler_options=compiler_options
    )
    if executable.needs_python and events.listening():
        names = effect_names(closed.effects)
        why = f"callbacks with effects ({names})" if names else "callbacks"
        events.emit(events.FastPathLost, **about, reason=why)
    return executable


def has_loops_unrolled(lowered: LoweredProgram, options: Sequence[tuple[str, Any]]) -> bool:
    """Whether LLVM unrolls a program's loops; options of the user's own are left as they are."""
    return bool(lowered.unrolled or options or _EXTRA_OPTIONS in os.environ.get("XLA_FLAGS", ""))


def has_loops_divided(lowered: LoweredProgram, options: Sequence[tuple[str, Any]]) -> bool:
    """Whether XLA divides a program's loops among cores; it does where the user gave options."""
    return bool(lowered.divided or options)


def has_kernel_loops(lowered: LoweredProgram, options: Sequence[tuple[str, Any]]) -> bool:
    """Whether XLA makes one kernel of a program's loops; it does where the user gave options."""
    return bool(lowered.kernel_loops or options)


def _options(
    lowered: LoweredProgram, target: Any, compiler_options: Sequence[tuple[str, Any]]
) -> Any:
    """Return XLA's options for a program, before those of the user are added."""
    options = compile_options(target, lowered.gives_token)
    if not has_loops_unrolled(lowered, compiler_options):
        options = without_unrolling(options)
    if not has_loops_divided(lowered, compiler_options):
        options = without_dividing(options)
    if not has_kernel_loops(lowered, compiler_options):
        options = without_kernel_loops(options)
    return options


def _begin_inspection(inspection: Inspection, target: Any) -> None:
    """Have an inspection told what XLA will make of its value; of one device it is known."""
    if type(target) is not Placement:
        inspection.callback(sharding_on(target))
    elif target.mesh.size == 1:
        inspection.callback(whole_on(target.mesh))
    else:
        inspection.name = lambda given, rank: named(given, target.mesh, rank)


class Compilation:
    """XLA's part of the work; where a runner lets it be left, it goes on and is taken up again.

    Args:
      lowered: the program.
      target: the device or placement.
      compiler_options: XLA options by name.
    """

    __slots__ = ("_outcome", "_work", "lowered")

    def __init__(
        self, lowered: LoweredProgram, target: Any, compiler_options: Sequence[tuple[str, Any]]
    ) -> None:
        options = _options(lowered, target, compiler_options)
        if compiler_options:
            apply_options(options, compiler_options)
        self.lowered = lowered
        for call in lowered.callbacks:
            if isinstance(call, Inspection):
                _begin_inspection(call, target)
        self._work = partial(
            surfacing,
            devices_of(target)[0].client.compile_and_load,
            lowered.module,
            device_list(target),
            options,
            list(lowered.callbacks),
        )
        self._outcome: Any = None

    def __call__(self) -> Any:
        """Return XLA's executable."""
        run, outcome = compile_runner.value, self._outcome
        # An interrupt may have come before the work began: nobody would ever finish it.
        if outcome is not None and (outcome.running() or outcome.done()):
            return outcome.result() if run is None else run(outcome.result)
        if run is None:
            return self._work()
        self._outcome = outcome = Future()
        return run(partial(self._do, outcome))

    def _do(self, outcome: Any) -> Any:
        outcome.set_running_or_notify_cancel()
        try:
            outcome.set_result(self._work())
        except BaseException as error:  # raised below, here and where it was waited for
            outcome.set_exception(error)
        return outcome.result()


class Executables:
    """What was compiled of a program, which remembers it.

    Attributes:
      made: the executables, by device and options.
      under_way: compilations by the same.  One that an interrupt has left goes on, and the next
        call waits for its end.
    """

    __slots__ = ("made", "under_way")

    def __init__(self, closed: ClosedJaxpr) -> None:
        self.made: dict[Any, Executable] = {}
        self.under_way: dict[Any, Compilation] = {}

    @contextmanager
    def following(self, key: Any, compilation: Compilation) -> Iterator[None]:
        """Remember a compilation until it has ended, in the first thread that follows it."""
        self.under_way[key] = compilation
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.under_way.pop(key, None)
            raise
        self.under_way.pop(key, None)


def lowered_for(
    closed: ClosedJaxpr,
    target: Any,
    platform: str,
    *,
    name: str,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    compiler_options: tuple[tuple[str, Any], ...] = (),
    function_id: int = 0,
    names: Callable[[], Sequence[str]] | None = None,
) -> LoweredProgram:
    """Lower a program for a platform, and warn of donated arguments that no result can use.

    Args:
      closed: the program.
      target: the device or placement.
      platform: the platform whose rules are used.
      name: the program's name.
      donated: which arguments' buffers are given away.
      keep_unused: whether arguments that the program never reads stay parameters.
      compiler_options: XLA options by name that it will be compiled with.
      function_id: the number of the function object, for events.
      names: a function that returns a name for each argument, for warnings.
    """
    with events.span(events.Lowered, fun=name, function_id=function_id) as span:
        span.follow(eqns=closed.eqns)
        lowered = lower_program(
            closed,
            name=name,
            platform=platform,
            donated=donated,
            keep_unused=keep_unused,
            partitioning=target if type(target) is Placement else None,
        )
        span.set(
            ops=len(closed.eqns),
            stored=lowered.stored,
            unrolled=has_loops_unrolled(lowered, compiler_options),
            divided=has_loops_divided(lowered, compiler_options),
            kernel_loops=has_kernel_loops(lowered, compiler_options),
        )
    warn_of_unusable(lowered, closed.in_avals, names)
    return lowered


def lowering_conditions(donated: tuple[bool, ...], keep_unused: bool) -> tuple[Any, ...]:
    """Return all that a lowered module depends on besides the program and where it runs."""
    return donated, keep_unused, long_chains.value, loop_unrolling.value, trace_context()


def compiled_once(
    closed: ClosedJaxpr,
    target: Any,
    conditions: tuple[Any, ...],
    lower: Callable[[], LoweredProgram],
    *,
    compiler_options: tuple[tuple[str, Any], ...] = (),
    function_id: int = 0,
    on_further: Callable[[], object] | None = None,
) -> Executable:
    """Return the executable of a program on a device or a placement, made on first use.

    Args:
      closed: the program.
      target: the device or placement.
      conditions: what the lowered module depends on besides; see ``lowering_conditions``.
      lower: what gives the lowered module.
      compiler_options: XLA options by name.
      function_id: the number of the function object, for events.
      on_further: called before a program that has executables already gets another one.
    """
    known = closed.remember(Executables)
    key = (target, compiler_options, conditions)
    found = known.made.get(key)
    if found is None:
        if on_further is not None and known.made:
            on_further()
        compilation = known.under_way.get(key) or Compilation(lower(), target, compiler_options)
        with known.following(key, compilation):
            found = known.made[key] = compile_lowered(
                compilation.lowered,
                closed,
                target,
                compiler_options,
                function_id=function_id,
                compilation=compilation,
            )
    return found


def executable_for(
    closed: ClosedJaxpr,
    target: Any,
    *,
    name: str,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    compiler_options: tuple[tuple[str, Any], ...] = (),
    function_id: int = 0,
    on_further: Callable[[], object] | None = None,
    names: Callable[[], Sequence[str]] | None = None,
) -> Executable:
    """Return the executable of a program as a call of it needs it, lowered if it must be.

    Args:
      closed: the program.
      target: the device or placement.
      name: the program's name.
      donated: which arguments' buffers are given away.
      keep_unused: whether arguments that the program never reads stay parameters.
      compiler_options: XLA options by name.
      function_id: the number of the function object, for events.
      on_further: called before a program that has executables already gets another one.
      names: a function that returns a name for each argument, for warnings.
    """
    lower = partial(
        lowered_for,
        closed,
        target,
        platform_of(devices_of(target)[0]),
        name=name,
        donated=donated,
        keep_unused=keep_unused,
        compiler_options=compiler_options,
        function_id=function_id,
        names=names,
    )
    return compiled_once(
        closed,
        target,
        lowering_conditions(donated, keep_unused),
        lower,
        compiler_options=compiler_options,
        function_id=function_id,
        on_further=on_further,
    )
