"""``jit``: a function traced once per kind of arguments, compiled, and run from C++.

The callable is jaxlib's ``PjitFunction``: a repeated call is answered in C++.  A call it does
not know enters ``JitState.cache_miss``: take the arguments apart, find or make the trace, find
or make the executable, run, and hand C++ the record for next time.  Under another transform the
call becomes one ``jit`` equation instead.

Traces are remembered per function object, not per ``jit`` wrapper, and die with the function.
"""

import copyreg
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any
from weakref import ref

from jxkernel import events, tree
from jxkernel._jaxlib import Device, PjitFunction, PjitFunctionCache, trace_context
from jxkernel._lazy import late_function, late_module
from jxkernel._reprs import look_anew, with_type
from jxkernel.api.arguments import (
    Call,
    Parameters,
    abstract_leaves,
    check_hashable,
    function_name,
    incomparable,
    leaf_names,
    named_like,
    rebuild,
    split_call,
    static_and_donated,
    static_name,
)
from jxkernel.api.inlining import Inline
from jxkernel.api.memo import FunctionMemo
from jxkernel.api.shardings import (
    UNSPECIFIED,
    GivenShardings,
    check_arguments,
    constrained,
    lying,
    naming_leaf,
    positional_shardings,
)
from jxkernel.api.traced import check_function, clear_traced
from jxkernel.compile import (
    Dispatch,
    cpp_callable,
    program_shardings,
    standing,
)
from jxkernel.compile.logs import logged
from jxkernel.compile.signature import call_signature, function_number
from jxkernel.config import config, explain_cache_misses
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import axis_environment
from jxkernel.core.checking import check_if_enabled
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.primitive import clear_primitive_caches
from jxkernel.core.trace import Tracer, evaluating, state
from jxkernel.events.vocabulary import CacheName
from jxkernel.higher_order.jit import call as call_program
from jxkernel.higher_order.references import CapturedReferences, Ref, bind, check_distinct, staging
from jxkernel.records import record
from jxkernel.runtime import (
    clear_registered_caches,
    drop_stale_cpu,
    local_devices,
    own_array,
)
from jxkernel.source import current_user_frame
from jxkernel.transforms.stage import StageTrace, trace_flat
from jxkernel.tree import physical

if TYPE_CHECKING:
    from jxkernel.compile.stages import Lowered, Traced

__all__ = [
    "JitState",
    "TraceEntry",
    "clear_caches",
    "jit",
    "jit_anew",
    "jit_on",
    "jit_state",
    "traced_functions",
]

Recorder = late_function("jxkernel.higher_order.recorded_references", "Recorder")
listed_options = late_function("jxkernel.compile.effort", "listed_options")
make_options = late_function("jxkernel.compile.stages", "LowerOptions")
make_outside = late_function("jxkernel.compile.stages", "Outside")
make_traced = late_function("jxkernel.compile.stages", "Traced")

_LOGGER = logging.getLogger("jxkernel")
_CACHE = PjitFunctionCache(capacity=8192)
_TRACES = FunctionMemo("traces")


@record(frozen=False, weakref_slot=True)
class TraceEntry:
    """A function traced for one kind of call.

    Attributes:
      closed: the program of the dynamic leaves.
      out_tree: the structure of the result.
      avals: the types of the dynamic leaves.
      call: how the leaves were arranged (without their values).
      has_references: whether the function makes references.
    """

    closed: ClosedJaxpr
    out_tree: Any
    avals: tuple[ShapedArray, ...]
    call: Call
    has_references: bool = False


@record()
class JitOptions:
    """What ``jit`` was asked for, besides the function."""

    static: Parameters
    donate: Parameters
    keep_unused: bool
    inline: bool
    device: Any
    compiler_options: tuple[tuple[str, Any], ...]
    in_shardings: GivenShardings | None = None
    out_shardings: GivenShardings | None = None
    as_program: bool = False
    """Whether arguments are moved to where the program, which maps over a mesh, takes them."""

    def where(self) -> Any:
        """Return the device to run on, of a platform the first one; None for any.

        Raises:
          RuntimeError: there is no such platform.
          TypeError: it is neither a device nor the name of a platform.
        """
        if type(self.device) is str:
            return local_devices(backend=self.device)[0]
        if self.device is not None and not isinstance(self.device, Device):
            raise TypeError(
                f"jit got device={with_type(self.device)}: it is "
                "a device, such as jax.devices()[0], or the name of a platform"
            )
        return self.device

    def in_words(self) -> list[tuple[str, str]]:
        """Name and value of what executables depend on, where it is not the default."""
        given = {
            "keep_unused": self.keep_unused or None,
            "device": self.device,
            "compiler_options": dict(self.compiler_options) or None,
            "in_shardings": self.in_shardings,
            "out_shardings": self.out_shardings,
        }
        return [(name, f"{value!s:.200}") for name, value in given.items() if value is not None]


class JitState:
    """A jitted function's Python side: what its C++ callable turns to on a miss.

    Attributes:
      fun: the user's function.
      name: its name.
      options: what ``jit`` was asked for.
    """

    __slots__ = ("__weakref__", "_own_traces", "_taking", "fun", "name", "options")

    shows_references = True
    """Whether stages have a program with references to look at, beside the one that runs."""

    def __init__(self, fun: Callable[..., Any], options: JitOptions) -> None:
        self.fun = fun
        self.name = function_name(fun)
        self.options = options
        self._own_traces: dict[Any, TraceEntry] = {}
        self._taking: TakingReferences | None = None

    @property
    def traces(self) -> dict[Any, TraceEntry]:
        """The function's traces, shared by every ``jit`` of the same function object."""
        try:
            return _TRACES.of(self.fun)
        except TypeError:
            return self._own_traces

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Answer a call that C++ does not know: (result, fast-path record or None, False)."""
        try:
            return self._run(args, kwargs)
        except Exception as error:
            hide_internal_frames(error)
            raise

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
        if self._taking is not None:
            return self._taking.run(args, kwargs), None, False
        try:
            call, entry = self.trace_call(args, kwargs)
        except CapturedReferences as found:
            return self._taking_for(found).run(args, kwargs), None, False
        donated = self.donated(entry, args)
        closed = entry.closed
        shardings, results = self.shardings(call, entry)
        if not evaluating() or any(isinstance(const, Tracer) for const in closed.consts):
            outs = call_program(
                closed,
                constrained(call.flat, shardings),
                name=self.name,
                donated=donated,
                inline=self.options.inline,
                keep_unused=self.options.keep_unused,
            )
            return entry.out_tree.unflatten(constrained(outs, results)), None, False
        dispatch = Dispatch(
            self.name,
            donated,
            self.options.keep_unused,
            self.options.compiler_options,
            self.options.where(),
            shardings,
            results,
            function_id=function_number(self.fun),
            on_further=partial(self._tell_miss, call, entry.avals, len(args), "memory"),
            names=partial(leaf_names, self.fun, call),
        )
        return dispatch.answer(closed, call.flat, entry.out_tree)

    def _taking_for(self, found: CapturedReferences) -> "TakingReferences":
        """Return what takes references along, from now on.

        Raises:
          CapturedReferences: it was another function, inside, that takes none along.
        """
        if found.outside is not staging():
            raise found
        self._taking = TakingReferences(self)
        return self._taking

    def applied(
        self,
        use: Callable[["JitState", tuple[Any, ...], dict[str, Any]], tuple[Any, Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Return what a use of the function gives, on arguments that may be references.

        Args:
          use: uses a function on arguments without references; it gives anything, and the result.
          args: positional arguments.
          kwargs: keyword arguments.
        """
        taking = self._taking
        if taking is None:
            try:
                return use(self, args, kwargs)
            except CapturedReferences as found:
                taking = self._taking_for(found)
        return taking.applied(use, args, kwargs)

    def shardings(self, call: Call, entry: TraceEntry) -> tuple[list[Any] | None, list[Any] | None]:
        """Return the shardings given for the arguments' and results' leaves, None for none."""
        given, wanted = self.options.in_shardings, self.options.out_shardings
        if given is None and wanted is None:
            return program_shardings(entry.closed) if self.options.as_program else None, None
        ins = outs = None
        if given is not None:
            ins = positional_shardings(given, call.in_tree, self.name)
            names = partial(leaf_names, self.fun, call)
            check_arguments(call.flat, ins, names, self.name)
        if wanted is not None:
            outs = wanted.flat_for(entry.out_tree, "jit", "out_shardings")
            avals, who = entry.closed.out_avals, f"jit out_shardings of {self.name}"
            with naming_leaf(who, avals, outs, entry.out_tree, "result"):
                for sharding, aval in zip(outs, avals, strict=True):
                    if sharding is not None:
                        sharding.check_compatible_aval(aval.shape)
        return ins, outs

    def trace_call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, computes: bool = True
    ) -> tuple[Call, TraceEntry]:
        """Take a call apart and return its trace, made if there is none.

        Args:
          args: positional arguments.
          kwargs: keyword arguments.
          computes: whether the arguments are values; else descriptions may stand for them.
        """
        call = split_call(args, kwargs, self.options.static)
        refs = [leaf for leaf in call.flat if isinstance(leaf, Ref)]
        if refs:
            raise CapturedReferences(self.name, refs, [True] * len(refs), staging())
        if not computes:
            call = call.standing(standing)
        if call.static:
            check_hashable(self.fun, call)
        avals = abstract_leaves(self.fun, call)
        key = (call.static_key(), call.in_tree, avals, trace_context(), axis_environment())
        traces = self.traces
        try:
            entry = traces.get(key)
        except Exception as error:
            known = [others[0] for others in traces]
            raise incomparable(self.fun, call, known, error) from error
        if entry is None:
            try:
                told = self._tell_miss(call, avals, len(args), "trace")
                try:
                    entry = self._trace(call, avals)
                except BaseException:
                    if told is not None:
                        late_module("jxkernel.compile.keys").history.forget(told)
                    raise
            finally:
                if evaluating():
                    look_anew()
            if not any(isinstance(const, Tracer) for const in entry.closed.consts):
                traces[key] = entry
        elif events.listening():
            events.emit(
                events.CacheHit, fun=self.name, function_id=function_number(self.fun), cache="trace"
            )
        return call, entry

    def _tell_miss(
        self, call: Call, avals: tuple[ShapedArray, ...], count: int, cache: CacheName
    ) -> Any:
        """Say why a call of ``count`` positional arguments missed, if anyone wants to know.

        Returns:
          the signature that is kept to compare later calls with; None where none is.
        """
        explained = explain_cache_misses.value
        if not explained and not events.listening():
            return None
        names = leaf_names(self.fun, call)
        static = [(static_name(self.fun, key), value) for key, value in call.static]
        flags = self._donated_leaves(call, count)
        donated = tuple(index for index, gone in enumerate(flags) if gone)
        frame = current_user_frame()
        site = f"{frame.file}:{frame.line}" if frame else ""
        options = self.options.in_words()
        signature = call_signature(
            self.fun, self.name, call, avals, names, static, donated, options, site
        )
        keys = late_module("jxkernel.compile.keys")
        reasons = keys.history.record(signature, cache)
        if explained:
            _LOGGER.warning("%s", keys.miss_text(self.name, cache, site, reasons))
        events.emit(
            events.CacheMiss,
            fun=self.name,
            function_id=function_number(self.fun),
            cache=cache,
            reasons=reasons,
            signature=signature,
            site=site,
        )
        return signature

    def _trace(self, call: Call, avals: tuple[ShapedArray, ...]) -> TraceEntry:
        fun, in_tree, static = self.fun, call.in_tree, call.static
        out_tree: Any = None
        has_references = False

        def flat_fun(*leaves: Any) -> list[Any]:
            nonlocal out_tree, has_references
            trace = state.trace
            if isinstance(trace, StageTrace):
                span.follow(eqns=trace.eqns)
            args, kwargs = rebuild(in_tree, static, leaves)
            result, out_tree = physical.flatten(fun(*args, **kwargs))
            for index, leaf in enumerate(result):
                if not isinstance(leaf, Tracer):
                    check_result(self.name, out_tree, index, leaf)
            has_references = trace.references is not None
            return result

        names = partial(leaf_names, fun, Call([], in_tree, static))
        about = ("traced %s for %s", self.name, [aval.short(weak=True) for aval in avals])
        with (
            logged(*about),
            events.span(events.Traced, fun=self.name, function_id=function_number(fun)) as span,
        ):
            closed = trace_flat(flat_fun, avals, name=self.name, arguments=names, of_user=True)
            span.set(eqns=len(closed.eqns))
        # A NumPy array may change after the trace; the trace keeps what it saw.
        closed.consts = list(map(own_array, closed.consts))
        check_if_enabled(closed)
        return TraceEntry(closed, out_tree, avals, Call([], in_tree, static), has_references)

    def recorded(self, call: Call) -> ClosedJaxpr:
        """Return the program of a call as one looks at it: with references, as equations use them.

        It is traced anew: what runs has their values instead.
        """

        def flat_fun(*leaves: Any) -> list[Any]:
            recorder = state.trace.recorder
            given = [
                recorder.argument(old, new.variable) if isinstance(old, Ref) else new
                for old, new in zip(call.flat, leaves, strict=True)
            ]
            args, kwargs = rebuild(call.in_tree, call.static, given)
            return physical.leaves(self.fun(*args, **kwargs))

        call = call.standing(_standing_or_reference)
        avals: list[Any] = [
            leaf.aval if isinstance(leaf, Ref) else abstractify(leaf) for leaf in call.flat
        ]
        names = partial(leaf_names, self.fun, Call([], call.in_tree, call.static))
        how = {"name": self.name, "arguments": names, "of_user": True, "recorder": Recorder}
        closed = trace_flat(flat_fun, avals, **how)
        closed.consts = [x if type(x) is Ref else own_array(x) for x in closed.consts]
        check_if_enabled(closed)
        return closed

    def donated(self, entry: TraceEntry, args: tuple[Any, ...]) -> tuple[bool, ...]:
        """Say for each dynamic leaf whether its buffer is given away; empty for none."""
        return self._donated_leaves(entry.call, len(args))

    def _donated_leaves(self, call: Call, count: int) -> tuple[bool, ...]:
        donate = self.options.donate
        if not donate.numbers and not donate.names:
            return ()
        static = {key for key, _ in call.static if not isinstance(key, str)}
        dynamic = [position for position in range(count) if position not in static]
        chosen = donate.positions(count)
        flags: list[bool] = []
        for which, first, *_ in physical.leaf_paths(call.in_tree):
            positional = which.idx == 0
            flags.append(dynamic[first.idx] in chosen if positional else first.key in donate.names)
        return tuple(flags)

    @filtered
    def trace(self, *args: Any, **kwargs: Any) -> "Traced":
        """Trace for given arguments and return the stage.

        Anything with a shape and a dtype, such as ``ShapeDtypeStruct``, stands for an array.
        """
        if self._taking is not None:
            return self._taking.trace(args, kwargs)
        try:
            call, entry = self.trace_call(args, kwargs, computes=False)
        except CapturedReferences as found:
            return self._taking_for(found).trace(args, kwargs)
        traced = self._staged(call, entry, args)
        if entry.has_references and self.shows_references:
            traced.recorded = self.recorded(call)
        return traced

    def _staged(self, call: Call, entry: TraceEntry, args: tuple[Any, ...]) -> "Traced":
        given, results = self.shardings(call, entry)
        options = make_options(
            self.donated(entry, args),
            self.options.keep_unused,
            self.options.where(),
            self.options.compiler_options,
            function_number(self.fun),
            partial(leaf_names, self.fun, entry.call),
            tuple(lying(call.flat, given)),
            None if results is None else tuple(results),
        )
        return make_traced(entry.closed, self.name, entry.call.in_tree, entry.out_tree, options)

    @filtered
    def lower(self, *args: Any, **kwargs: Any) -> "Lowered":
        """Trace and lower for given arguments and return the stage."""
        return self.trace(*args, **kwargs).lower()

    @filtered
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result's shapes and dtypes without computing it."""
        return self.trace(*args, **kwargs).out_info


def _standing_or_reference(leaf: Any) -> Any:
    return leaf if isinstance(leaf, Ref) else standing(leaf)


class TakingReferences:
    """A jitted function that uses references, as arguments or of outside: their values go along.

    Args:
      state: the function's Python side.
    """

    def __init__(self, state: JitState) -> None:
        self._state = state
        self._captured: list[Ref] = []
        self._functions: dict[Any, Any] = {}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, and write what it wrote.

        Raises:
          CapturedReferences: a function inside, which takes none along, uses references.
          RefError: a reference is given twice, or given and closed over.
        """
        call = split_call(args, kwargs, self._state.options.static)
        result, written = self._used(call, _call)
        self._write(call, written)
        return result

    def applied(
        self, use: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Return what a use of the function gives, and write what it wrote: see ``JitState``."""
        call = split_call(args, kwargs, self._state.options.static)
        found, (result, written) = self._used(call, lambda run, *given: use(run._jit_state, *given))
        self._write(call, written)
        return found, result

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Traced":
        """Trace the function and return the stage, which writes when it is compiled and called.

        Raises:
          CapturedReferences: a function inside, which takes none along, uses references.
          RefError: a reference is given twice, or given and closed over.
        """
        call = split_call(args, kwargs, self._state.options.static)
        traced = self._used(call, _trace)
        traced.recorded = self._state.recorded(call)
        structure = traced.out_structure
        result = structure.unflatten([0] * structure.num_leaves)[0]
        traced.outside = make_outside(call.in_tree, physical.structure(result), self._runs)
        return traced

    def _runs(self, compiled: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call what was compiled, without static arguments, and write what it wrote."""
        flat, in_tree = physical.flatten((args, kwargs))
        call = Call(flat, in_tree, ())
        there, named = in_tree.unflatten([x.read() if isinstance(x, Ref) else x for x in flat])
        values = [one.read() for one in self._captured]
        result, written = compiled(*there, **named, **{_VALUES: values})
        self._write(call, written)
        return result

    def _used(self, call: Call, use: Callable[..., Any]) -> Any:
        """Return what a use of the function gives that takes values of references for them."""
        given = {i: leaf for i, leaf in enumerate(call.flat) if isinstance(leaf, Ref)}
        self._check_distinct(call, given)
        while True:
            flat = [given[i].read() if i in given else leaf for i, leaf in enumerate(call.flat)]
            there, named = rebuild(call.in_tree, call.static, flat)
            values = [one.read() for one in self._captured]
            try:
                return use(self._function(tuple(given)), there, {**named, _VALUES: values})
            except CapturedReferences as more:
                if more.outside is not staging():
                    raise
                self._captured += more.refs
                self._check_distinct(call, given)

    def _write(self, call: Call, written: dict[int, Any]) -> None:
        refs = [*(leaf for leaf in call.flat if isinstance(leaf, Ref)), *self._captured]
        for position, value in written.items():
            refs[position].write(value)

    def _check_distinct(self, call: Call, given: dict[int, Ref]) -> None:
        names = leaf_names(self._state.fun, call)
        closed_over = [("a variable that is closed over", one) for one in self._captured]
        arguments = [(names[position], one) for position, one in given.items()]
        check_distinct(self._state.name, [*closed_over, *arguments])

    def _function(self, positions: tuple[int, ...]) -> Any:
        """Return the function that takes values of references for them, jitted."""
        key = (positions, len(self._captured))
        found = self._functions.get(key)
        if found is None:
            run = self._taking(positions, list(self._captured))
            found = self._functions[key] = _make(_TakenAlong(run, self._state.options))
        return found

    def _taking(self, positions: tuple[int, ...], captured: list[Ref]) -> Callable[..., Any]:
        state = self._state

        @wraps(state.fun)
        def run(*args: Any, **kwargs: Any) -> tuple[Any, dict[int, Any]]:
            bind(captured, kwargs.pop(_VALUES))
            call = split_call(args, kwargs, state.options.static)
            leaves = [Ref(x) if i in positions else x for i, x in enumerate(call.flat)]
            given, named = rebuild(call.in_tree, call.static, leaves)
            refs = [*(leaves[i] for i in positions), *captured]
            bindings = [one.binding() for one in refs]  # before the function freezes one
            result = state.fun(*given, **named)
            written = {i: one.value for i, one in enumerate(bindings) if one.is_written}
            return result, written

        return run


class _TakenAlong(JitState):
    """A function that has the values of references as arguments; of others it only tells."""

    __slots__ = ()

    shows_references = False

    def _taking_for(self, found: CapturedReferences) -> TakingReferences:
        raise found


def _call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


def _trace(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Traced":
    return function.trace(*args, **kwargs)


_VALUES = "~values of references"  # last among the keyword arguments


def check_result(name: str, out_tree: Any, index: int, leaf: Any) -> None:
    """Check that a leaf of a function's result is an array or a number.

    Raises:
      TypeError: it is not; the message names it.
    """
    try:
        abstractify(leaf)
    except TypeError:
        path = tree.keystr(physical.leaf_paths(out_tree)[index])
        raise TypeError(
            f"{name} returned a value of type {type(leaf).__name__}"
            f"{f' at result{path}' if path else ''}, which is not a valid array type: return "
            "arrays, numbers, or pytrees of them (None is fine)"
            f"{'; of a reference, what it holds: ref[...]' if isinstance(leaf, Ref) else ''}"
        ) from None


def jit_on(
    device: Any,
    fun: Callable[..., Any],
    static_argnames: Sequence[str] = (),
    donate_argnames: Sequence[str] = (),
) -> Any:
    """Return a jitted function that runs on one device (None: any), and moves arguments there."""
    options = JitOptions(
        Parameters.of(fun, None, static_argnames, "static"),
        Parameters.of(fun, None, donate_argnames, "donate"),
        False,
        False,
        device,
        (),
        None,
        None,
    )
    return _make(JitState(fun, options))


def jit_anew(function: Any) -> Any:
    """Return a jitted function like another that has been neither traced nor compiled."""
    state = function._jit_state
    fun = state.fun

    # The attributes of a function hold its traces: they stay behind.
    @wraps(fun, updated=())
    def again(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    anew = JitState(again, state.options)
    anew.name = state.name
    return _make(anew)


def jit_as_program(
    fun: Callable[..., Any],
    static_argnums: Sequence[int] | None,
    donate_argnums: Sequence[int] | None,
) -> Any:
    """Return a jitted function of a program over a mesh, which moves arguments to its devices."""
    parameters = static_and_donated(fun, (static_argnums, None), (donate_argnums, None))
    return _make(JitState(fun, JitOptions(*parameters, False, False, None, (), as_program=True)))


def _warn_of_placement(device: Any, backend: str | None) -> None:
    if device is not None or backend is not None:
        given = "backend" if device is None else "device"
        warnings.warn(
            f"jit({given}=...) is an older argument: put the arguments on the device instead, with "
            "jax.device_put(x, device), or write `with jax.default_device(device):`.",
            DeprecationWarning,
            stacklevel=3,
        )


def jit(
    fun: Any = UNSPECIFIED,
    /,
    *,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function with XLA, once per kind of arguments.

    The function is traced: it runs once with tracers in place of arrays, and what it does to
    them is compiled.  Later calls whose arguments have the same shapes, dtypes, structure and
    static values run the compiled program without running the function.  Calls return before
    the result exists; reading it waits.

    Args:
      fun: a function of arrays, numbers and pytrees of them, without side effects.  Without it
        a decorator is returned.
      in_shardings: how the positional arguments are divided over devices: shardings, partition
        specs (under ``set_mesh``) or None, as a tree that is a prefix of theirs.  Arguments that
        are not committed, or are divided alike over others, are moved; without it each stays.
      out_shardings: the same for the results; where it says nothing XLA decides.
      static_argnums: positions of arguments that are constants of the trace: any hashable value.
      static_argnames: their names.  Where one of the two is left out, it is completed from the
        other; given both, they are all that is static.
      donate_argnums: positions of arguments whose buffers results reuse, on every platform; they
        are deleted, or kept with a warning where no result fits.
      donate_argnames: their names.
      keep_unused: whether arguments that the function never reads stay parameters.
      device: an older argument: the device to run on, or the name of a platform, committing the
        results to it.
      backend: an older argument: the platform to run on, such as ``cpu``.
      inline: whether, inside a trace, equations are written out, not called; or an ``Inline``.
      compiler_options: XLA options by name.

    Returns:
      a callable with the function's signature and the methods ``trace``, ``lower``,
      ``eval_shape``, ``clear_cache``.

    Raises:
      TypeError: ``fun`` is not callable, or an option is no string, boolean or number.
      ValueError: a static or donated parameter does not exist, or an argument does not fit its
        sharding.

    The derivative and batching of a jitted function are those of the function.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> @jx.jit
    ... def f(x, y):
    ...     return x * y + 1
    >>> f(jnp.array([1.0, 2.0]), 10.0).tolist()
    [11.0, 21.0]
    """
    given = locals()
    if fun is UNSPECIFIED:
        return partial(jit, **{name: value for name, value in given.items() if name != "fun"})
    check_function("jit", fun)
    _warn_of_placement(device, backend)
    device = backend if device is None else device
    options = JitOptions(
        *static_and_donated(
            fun, (static_argnums, static_argnames), (donate_argnums, donate_argnames)
        ),
        keep_unused,
        inline in (True, Inline.JAX_EARLY),
        device,
        listed_options(compiler_options) if compiler_options else (),
        GivenShardings.of(in_shardings, "jit", "in_shardings"),
        GivenShardings.of(out_shardings, "jit", "out_shardings"),
    )
    return _make(JitState(fun, options))


def _make(state: JitState) -> Any:
    function = cpp_callable(
        state.name,
        state.fun,
        state.cache_miss,
        static=state.options.static,
        key=state.options,
        cache=_CACHE if _can_be_referred_to(state.fun) else None,
    )
    named_like(function, state.fun)
    function.__wrapped__ = state.fun
    function.trace = state.trace
    function.lower = state.lower
    function.eval_shape = state.eval_shape
    function.clear_cache = partial(_clear_one, ref(function), state)
    function._jit_state = state
    return function


def _can_be_referred_to(fun: Callable[..., Any]) -> bool:
    """Whether a function has weak references, by which C++ shares calls among its ``jit``."""
    try:
        ref(fun)
    except TypeError:
        return False
    return True


def _clear_one(function: ref[Any], state: JitState) -> None:
    """Forget the function's traces and compiled calls.

    The function holds this one, so it is held weakly: a cycle would outlive its last name.
    """
    state.traces.clear()
    alive = function()
    if alive is not None:
        alive._clear_cache()


def jit_state(function: Any) -> JitState | None:
    """Return the Python side of a jitted function, or None for anything else."""
    # Operations are such callables too, without a Python side.
    return getattr(function, "_jit_state", None) if isinstance(function, PjitFunction) else None


def _reduced(function: Any) -> Any:
    """Return by what ``pickle`` and ``copy`` know a jitted function: its name, as of others.

    A cell's function is not there in another process, and is refused as before.
    """
    name = getattr(function, "__qualname__", None)
    by_name = name is not None and function.__module__ != "__main__"
    return name if by_name else function.__reduce_ex__(4)


copyreg.pickle(PjitFunction, _reduced)


def traced_functions(
    *, empty: bool = False
) -> Iterator[tuple[Callable[..., Any], dict[Any, TraceEntry]]]:
    """Yield every living function that ``jit`` has traced, with its traces.

    Args:
      empty: whether to include those that have no trace, or none yet.
    """
    return ((fun, traces) for fun, traces in _TRACES.items() if traces or empty)


def clear_caches() -> None:
    """Forget every trace and compiled call: of jitted functions, loops' bodies and primitives.

    >>> import jxkernel as jx
    >>> jx.clear_caches()
    >>> jx.jit(lambda x: x + 1)(4).item()
    5
    """
    _TRACES.clear()
    clear_primitive_caches()
    clear_traced()
    # ``clear_all`` empties the caches of living callables; the cache itself keeps those of
    # callables that are gone, for the next ``jit`` of the same function.
    _CACHE.clear_all()
    _CACHE.clear()
    clear_registered_caches()


def _cpu_devices_changed() -> None:
    """Forget the CPU's client and what was compiled for it; arrays on its devices stay."""
    if drop_stale_cpu():
        clear_caches()


config.after_update["jax_num_cpu_devices"] = _cpu_devices_changed
