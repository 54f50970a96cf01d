"""The vocabulary of events: what jxkernel can say about its own work.

Units: times are ``time.perf_counter_ns`` readings in nanoseconds; sizes are bytes.
"""

from __future__ import annotations

from typing import Literal

from jxkernel.records import record

__all__ = [
    "CacheHit",
    "CacheMiss",
    "CacheName",
    "CallSignature",
    "CellFinished",
    "CellStarted",
    "Compiled",
    "ConstantCaptured",
    "Event",
    "Executed",
    "FastPathLost",
    "LeafKind",
    "LeafSignature",
    "Leak",
    "Lowered",
    "Narrowed",
    "Reason",
    "ReasonKind",
    "SettingChanged",
    "StaticKind",
    "TraceTimeEffect",
    "Traced",
    "Transferred",
]

CacheName = Literal["trace", "memory", "disk"]
"""Which cache answered: of jaxprs, of executables in this process, of executables on disk."""

LeafKind = Literal["array", "numpy", "python scalar", "tracer"]
"""What an argument leaf was before it became an aval."""

StaticKind = Literal["number", "function", "identity", "value"]
"""What a static value is to its key: a number, code, an object equal to itself alone, or other."""

ReasonKind = Literal[
    "first_call",
    "new_function_object",
    "tree_structure",
    "kwargs_form",
    "shape",
    "dtype",
    "weak_type",
    "static_value",
    "sharding",
    "donated",
    "context",
    "constant_changed",
    "evicted",
]
"""What part of a call's key made it miss."""


@record()
class LeafSignature:
    """What one array leaf of a call's arguments contributes to the cache key.

    Attributes:
      path: where the leaf sits, as the user would write it: ``x``, ``params['w'][0]``.
      shape: its shape; a symbolic dimension is not a leaf signature's business.
      dtype: the short dtype name, ``float32``.
      weak_type: whether the dtype gives way to others in promotion.
      kind: what the leaf was before abstraction.
      sharding: the sharding in words, or None when it is the default device's.
      committed: whether the array is bound to its device.
      explicit_sharding: how explicit mesh axes divide it, which is a part of its type.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    weak_type: bool = False
    kind: LeafKind = "array"
    sharding: str | None = None
    committed: bool = False
    explicit_sharding: str = ""


@record()
class CallSignature:
    """All that decides whether a call may reuse an earlier trace and executable.

    Attributes:
      fun: the function's name.
      function_id: a number of the function object, never used twice in a process.
      code_location: ``file:line`` of the code object, equal for redefinitions of the same code.
      structure: the pytree structure of the dynamic arguments, in words.
      leaves: the dynamic leaves in order.
      static: (name, repr) of each static argument; reprs are capped by the maker.
      keyword_names: names of the arguments that came by keyword, sorted.
      donated: indices of donated leaves.
      context: (setting, value) of each configuration value that the key holds.
      constants: (name, fingerprint) of each value that the function has closed over.
      containers: (path, kind) of each container among the dynamic arguments.
      static_kinds: (name, kind) of each static argument.
      qualified: the function's name with those of the functions and classes around it.
      site: ``file:line`` of the user's line that calls; empty where there is none.
    """

    fun: str
    function_id: int
    code_location: str
    structure: str
    leaves: tuple[LeafSignature, ...]
    static: tuple[tuple[str, str], ...] = ()
    keyword_names: tuple[str, ...] = ()
    donated: tuple[int, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, str], ...] = ()
    containers: tuple[tuple[str, str], ...] = ()
    static_kinds: tuple[tuple[str, StaticKind], ...] = ()
    qualified: str = ""
    site: str = ""


@record()
class Reason:
    """One difference between a call's key and the closest earlier key.

    Attributes:
      kind: which part of the key differs.
      what: the argument, setting or function that differs, as the user would name it.
      before: its earlier state in words; empty where there was none.
      after: its present state in words; empty where there is none.
      fix: one line of advice; empty where there is nothing to fix.
    """

    kind: ReasonKind
    what: str
    before: str = ""
    after: str = ""
    fix: str = ""

    def sentence(self) -> str:
        """Say the difference in one line, ``x: f32[8] → f32[16]``."""
        if not self.before and not self.after:
            return self.what
        return f"{self.what}: {self.before or 'nothing'} → {self.after or 'nothing'}"


@record(kw_only=True)
class Event:
    """What every event has: its place in the tree of spans and its time.

    Attributes:
      span: the event's own number, unique in the process.
      parent: the number of the span that was open when this one began, or None.
      start_ns: ``time.perf_counter_ns()`` at its beginning.
      duration_ns: how long it took; 0 for an instant.
      error: the exception that ended it, ``TypeError: ...``, or None when it succeeded.
    """

    span: int
    parent: int | None
    start_ns: int
    duration_ns: int
    error: str | None = None


@record(kw_only=True)
class Traced(Event):
    """A function was traced to a jaxpr of ``eqns`` equations."""

    fun: str
    function_id: int = 0
    eqns: int = 0


@record(kw_only=True)
class Lowered(Event):
    """A jaxpr became a StableHLO module of ``ops`` operations.

    Where long chains are cut, ``stored`` values are kept in memory.  LLVM unrolls its loops, or
    not (``unrolled``); XLA divides them among the cores of the CPU, or not (``divided``), and makes
    one kernel of a loop that the program has, or not (``kernel_loops``).
    """

    fun: str
    function_id: int = 0
    ops: int = 0
    stored: int = 0
    unrolled: bool = True
    divided: bool = True
    kernel_loops: bool = True


@record(kw_only=True)
class Compiled(Event):
    """XLA made an executable, or one was loaded from the disk cache (``from_disk``)."""

    fun: str
    function_id: int = 0
    platform: str = ""
    from_disk: bool = False


@record(kw_only=True)
class FastPathLost(Event):
    """A program was made whose every call enters Python, because of its effects.

    Attributes:
      fun: the function's name.
      function_id: a number of the function object; 0 when unknown.
      reason: the effects, or what else needs Python.
    """

    fun: str
    function_id: int = 0
    reason: str = ""


@record(kw_only=True)
class CacheHit(Event):
    """A cache below the C++ fast path had the answer.

    From disk came ``bytes``, and ``saved_ns`` of compiling were saved, loading already deducted.
    """

    fun: str
    function_id: int = 0
    cache: CacheName = "trace"
    bytes: int = 0
    saved_ns: int = 0


@record(kw_only=True)
class CacheMiss(Event):
    """A cache had no answer; ``reasons`` compare the call with the closest earlier one.

    Where the disk cache had none, ``bytes`` were stored there for next time. ``site`` is the user's
    line that called, ``file:line``.
    """

    fun: str
    function_id: int = 0
    cache: CacheName = "trace"
    reasons: tuple[Reason, ...] = ()
    signature: CallSignature | None = None
    bytes: int = 0
    site: str = ""


@record(kw_only=True)
class Executed(Event):
    """An executable was called; ``duration_ns`` is the dispatch, not the device's work."""

    fun: str
    function_id: int = 0
    platform: str = ""
    devices: tuple[int, ...] = ()


@record(kw_only=True)
class Transferred(Event):
    """Data moved between memories, named as ``host``, ``cpu:0``, ``gpu:1``."""

    bytes: int
    source: str
    destination: str


@record(kw_only=True)
class Narrowed(Event):
    """A NumPy value of a 64-bit dtype became one of the 32-bit dtype, without being asked to.

    Attributes:
      dtype: what it was.
      becomes: what it is on the device.
      shape: its shape.
      lossy: whether numbers changed: none does where all of them fit.
      site: the user's line, ``file:line``.
    """

    dtype: str
    becomes: str
    shape: tuple[int, ...]
    lossy: bool
    site: str = ""


@record(kw_only=True)
class ConstantCaptured(Event):
    """A concrete array was baked into a trace as a constant."""

    fun: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    function_id: int = 0


@record(kw_only=True)
class Leak(Event):
    """A tracer outlived its trace: what it was, and which object holds it."""

    fun: str
    tracer: str
    holder: str


@record(kw_only=True)
class TraceTimeEffect(Event):
    """Python did something while tracing that compiled calls will not repeat.

    Attributes:
      fun: the function that was being traced.
      effect: what was done, in the user's words: ``print(x)``, ``log.append(...)``.
      file: the source file, or the file name that IPython gave the cell.
      line: the 1-based line.
    """

    fun: str
    effect: str
    file: str = ""
    line: int = 0


@record(kw_only=True)
class CellStarted(Event):
    """A notebook cell began; its ``parent`` is the span that ``CellFinished`` will carry."""

    cell: str
    execution_count: int | None = None
    file: str = ""


@record(kw_only=True)
class CellFinished(Event):
    """A notebook cell ended; its span is the root of all that happened in the cell."""

    cell: str
    execution_count: int | None = None
    file: str = ""


@record(kw_only=True)
class SettingChanged(Event):
    """An option got another value for the whole process, by ``config.update``.

    Attributes:
      option: its public name, ``jax_enable_x64``.
      before: the value that it had, as Python writes it; a device as ``cpu:0``.
      after: the value that it has.
    """

    option: str
    before: str
    after: str
