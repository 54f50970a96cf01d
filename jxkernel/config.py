"""Settings: every option by its public name, with a value per process and per thread.

Each option is a ``State``: a C++ setting of jaxlib, so the compiled dispatch path reads it
without entering Python.  A state says whether its value is part of the key of compiled calls
(``in_jit_key``) and of the key of traces (``in_trace_context``); the latter is what
``trace_context()`` returns.  ``config`` is the object that users see as ``jxkernel.config``.

Three ways to set an option, the later ones winning: the environment, read once at import
(``JXKERNEL_ENABLE_X64``, else ``JAX_ENABLE_X64``); ``config.update("jax_enable_x64", True)`` for
the process; ``with enable_x64(True):`` for the current thread and block.

Importing this module hands jaxlib the three settings that it must have before arrays exist.
This module must not know of dtypes, arrays, devices' contents or tracing.
"""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from typing import Any, NoReturn

from jxkernel import events
from jxkernel._jaxlib import Config, Device, jax_jit
from jxkernel._lazy import late_function, late_module
from jxkernel.records import record

__all__ = [
    "Override",
    "Settings",
    "State",
    "UserContext",
    "allow_f16_reductions",
    "auto_pcast",
    "check_static_indices",
    "check_tracer_leaks",
    "checking_leaks",
    "compilation_cache_dir",
    "compilation_cache_include_metadata_in_key",
    "compilation_cache_max_size",
    "compile_runner",
    "config",
    "cpu_enable_async_dispatch",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_compilation_cache",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "high_dynamic_range_gumbel",
    "legacy_prng_key",
    "log_compiles",
    "long_chains",
    "loop_unrolling",
    "make_user_context",
    "module_passes",
    "no_collectives",
    "no_execution",
    "no_tracing",
    "num_cpu_devices",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "operation_attributes",
    "pallas_dynamic_shapes",
    "pallas_enable_debug_checks",
    "pallas_poison_buffers",
    "persistent_cache_min_compile_time_secs",
    "persistent_cache_min_entry_size_bytes",
    "platform_name",
    "platforms",
    "post_hook",
    "progress_display",
    "random_seed_offset",
    "remove_size_one_mesh_axis_from_type",
    "softmax_custom_jvp",
    "threefry_partitionable",
    "trace_state",
    "traceback_filtering",
    "wait_runner",
]

option_without_effect = late_function("jxkernel._refusals", "option_without_effect")


@record()
class Kind:
    """What values an option takes: in words, as a test, and read from text.

    ``accepts`` judges a Python value; ``from_text`` reads an environment variable, whose result
    is judged in turn.
    """

    expected: str
    accepts: Callable[[Any], bool]
    from_text: Callable[[str], Any]


_TRUE = ("1", "true", "yes", "on", "t", "y")
_FALSE = ("0", "false", "no", "off", "f", "n", "")


def _boolean_from_text(text: str) -> object:
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else text


def _number_from_text(text: str) -> object:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _text_or_none(text: str) -> str | None:
    return text or None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_device(value: Any) -> bool:
    return value is None or isinstance(value, (str, Device))


def _is_set_of_names(value: Any) -> bool:
    return isinstance(value, (set, frozenset)) and all(map(_is_hashable, value))


def _names_from_text(text: str) -> frozenset[str]:
    return frozenset([name.strip() for name in text.split(",") if name.strip()])


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


BOOLEAN = Kind("True or False", lambda value: isinstance(value, bool), _boolean_from_text)
INTEGER = Kind(
    "an integer", lambda value: _is_number(value) and isinstance(value, int), _number_from_text
)
NUMBER = Kind("a number", _is_number, _number_from_text)
TEXT = Kind(
    "a string or None", lambda value: value is None or isinstance(value, str), _text_or_none
)
DEVICE = Kind("a device, the name of a platform such as 'cpu', or None", _is_device, _text_or_none)

ANYTHING = Kind("any value", lambda _: True, _text_or_none)
HASHABLE = Kind("a hashable value", _is_hashable, _text_or_none)
NAMES = Kind("a set of names, such as {'x'}", _is_set_of_names, _names_from_text)


def one_of(*values: str | None) -> Kind:
    """Return the kind of an option that takes one of the listed ``values``."""
    return Kind(
        "one of " + ", ".join(repr(value) for value in values),
        lambda value: value is None or isinstance(value, str) if value in values else False,
        lambda text: None if text in ("", "None") and None in values else text,
    )


class Override(ContextDecorator):
    """A value of one option for one block of code in the current thread, or for one function.

    Nothing changes until the block is entered; leaving it, by an exception too, restores what was
    there before.  One object may be entered again inside itself.

    >>> import jxkernel as jx
    >>> with jx.numpy_rank_promotion("raise"):
    ...     jx.numpy_rank_promotion.value
    'raise'
    """

    __slots__ = ("_previous", "_state", "_value")

    def __init__(self, state: "State", value: Any) -> None:
        self._state = state
        self._value = value
        self._previous: list[Any] = []

    def __enter__(self) -> None:
        self._previous.append(self._state.swap_local(self._value))

    def __exit__(self, *exception: object) -> None:
        self._state.set_local(self._previous.pop())

    def _recreate_cm(self) -> "Override":
        # A decorated function may run in several threads at once: each call has its own stack.
        return Override(self._state, self._value)


class State(Config):
    """One option: ``state.value`` reads it (C++, about 40 ns), ``with state(x):`` overrides it.

    Attributes:
      option: the public name, such as ``jax_enable_x64``.
      help: what the option does, in one sentence.
      kind: which values it takes.
      default: its value when nothing sets it.
      in_trace_context: whether its value is part of the key of traces.

    >>> import jxkernel as jx
    >>> with jx.enable_x64(True):
    ...     jx.enable_x64.value, jx.numpy.ones(2).dtype.name
    (True, 'float64')
    >>> jx.enable_x64.value
    False
    """

    __slots__ = ("default", "help", "in_trace_context", "kind", "option")

    def __init__(
        self,
        option: str,
        default: Any,
        kind: Kind,
        help: str,
        *,
        in_jit_key: bool = False,
        in_trace_context: bool = False,
    ) -> None:
        self.option = option
        self.kind = kind
        self.help = help
        self.default = default
        self.in_trace_context = in_trace_context
        super().__init__(
            option,
            self._from_environment(os.environ),
            include_in_jit_key=in_jit_key,
            include_in_trace_context=in_trace_context,
        )

    def __call__(self, new_val: Any = ...) -> Override:
        """Return the context manager (and decorator) that sets this option to ``new_val``.

        A boolean option is switched on when no value is given.

        Raises:
          ValueError: the option does not take ``new_val``.
        """
        if new_val is ... and self.kind is BOOLEAN:
            new_val = True
        return Override(self, self.checked(new_val))

    def checked(self, value: Any, source: str = "") -> Any:
        """Return ``value``, or raise the ValueError that says which values the option takes."""
        if not self.kind.accepts(value):
            found = "no value" if value is ... else repr(value)
            raise ValueError(f"{source or self.option} takes {self.kind.expected}; got {found}.")
        return value

    def _from_environment(self, environment: Mapping[str, str]) -> Any:
        suffix = self.option.removeprefix("jax_").upper()
        for variable in (f"JXKERNEL_{suffix}", f"JAX_{suffix}"):
            text = environment.get(variable)
            if text is not None:
                source = f"The environment variable {variable}"
                return self.checked(self.kind.from_text(text), source)
        return self.default

    def __repr__(self) -> str:
        return f"<option {self.option} = {self.value!r}>"


class UserContext(State):
    """A value of the user's that traces depend on; see ``make_user_context``."""

    __slots__ = ()

    def __init__(self, default: Any) -> None:
        super().__init__(
            "user_context",
            default,
            HASHABLE,
            "A value that functions read while they are traced.",
            in_jit_key=True,
            in_trace_context=True,
        )

    def _from_environment(self, environment: Mapping[str, str]) -> Any:
        return self.checked(self.default)


def make_user_context(default_value: Any = None) -> UserContext:
    """Return a value that traced functions may read: calls under another value trace anew.

    A function that reads a global variable keeps what it saw when it was traced.  One that reads
    ``context.value`` is traced again for each value.

    Args:
      default_value: the value outside of any ``with context(value):`` block; hashable.

    Returns:
      an object whose attribute ``value`` is the present value, and whose call gives a context
      manager, and decorator, that sets it for a block in the current thread.

    Raises:
      ValueError: a value is not hashable.

    >>> import jxkernel as jx
    >>> power = jx.make_user_context(2)
    >>> f = jx.jit(lambda x: x ** power.value)
    >>> with power(3):
    ...     print(float(f(2.0)))
    8.0
    >>> float(f(2.0))
    4.0
    """
    return UserContext(default_value)


class _NamesState(State):
    """An option that is a set of names.

    >>> from jxkernel.sharding import no_collectives
    >>> with no_collectives({"x"}):
    ...     no_collectives.value
    frozenset({'x'})
    """

    __slots__ = ()

    def checked(self, value: Any, source: str = "") -> frozenset[Any]:
        """Return the names, frozen, for values of options are parts of keys."""
        return frozenset(super().checked(value, source))


class _DisableJit(State):
    """The option behind ``disable_jit(disable=True)``, whose argument has a name of its own.

    >>> import jxkernel as jx
    >>> f = jx.jit(lambda x: x if x > 2 else -x)
    >>> with jx.disable_jit():
    ...     f(1.5)
    -1.5
    """

    __slots__ = ()

    def __call__(self, disable: bool = True) -> Override:
        """Return the context manager inside which ``jit`` runs functions op by op."""
        return super().__call__(disable)


def user_cache_folder() -> str | None:
    """Return the folder for what jxkernel keeps between sessions, by the platform's convention.

    None where the user has no home.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join("~", "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join("~", "Library", "Caches")
    else:
        # The XDG base directory specification ignores a path that is not absolute.
        named = os.environ.get("XDG_CACHE_HOME", "")
        base = named if os.path.isabs(named) else os.path.join("~", ".cache")
    folder = os.path.expanduser(os.path.join(base, "jxkernel", "executables"))
    return None if folder.startswith("~") else folder


class _Widths(State):
    """The option that keeps 64-bit dtypes; ``seen`` is whether it has been on in this process.

    >>> import jxkernel as jx
    >>> with jx.enable_x64(True):
    ...     jx.numpy.ones(2).dtype.name
    'float64'
    """

    seen = False  # and while it has not been on, no value has 64 bits

    def checked(self, value: Any, source: str = "") -> Any:
        """Return ``value``, which is about to be set, or raise the ValueError of ``State``."""
        self.seen = super().checked(value, source) or self.seen
        return value


enable_x64 = _Widths(
    "jax_enable_x64",
    False,
    BOOLEAN,
    "Keep 64-bit dtypes; otherwise they become their 32-bit counterparts.",
    in_jit_key=True,
    in_trace_context=True,
)
disable_jit = _DisableJit(
    "jax_disable_jit",
    False,
    BOOLEAN,
    "Run functions under jit, and control flow, operation by operation in Python.",
    in_jit_key=True,
    in_trace_context=True,
)
default_matmul_precision = State(
    "jax_default_matmul_precision",
    None,
    one_of(
        None,
        *("default", "high", "highest", "fastest"),
        *("bfloat16", "bfloat16_3x", "tensorfloat32", "float32"),
        *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
        *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
        *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32"),
        *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
        *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
    ),
    "The precision of matrix products and convolutions that do not name one.",
    in_jit_key=True,
    in_trace_context=True,
)
numpy_dtype_promotion = State(
    "jax_numpy_dtype_promotion",
    "standard",
    one_of("standard", "strict"),
    "Promote operands of different dtypes by the lattice, or refuse them.",
    in_jit_key=True,
    in_trace_context=True,
)
numpy_rank_promotion = State(
    "jax_numpy_rank_promotion",
    "allow",
    one_of("allow", "warn", "raise"),
    "What to do when an elementwise function adds axes to an operand by broadcasting.",
    in_jit_key=True,
    in_trace_context=True,
)
check_static_indices = State(
    "jax_check_static_indices",
    False,
    BOOLEAN,
    "Raise where an index that is known is out of bounds and no mode says what that means.",
    in_jit_key=True,
    in_trace_context=True,
)
debug_nans = State(
    "jax_debug_nans",
    False,
    BOOLEAN,
    "Raise where a computation first gives a NaN, naming the equation.",
    in_jit_key=True,
)
debug_infs = State(
    "jax_debug_infs",
    False,
    BOOLEAN,
    "Raise where a computation first gives an infinity, naming the equation.",
    in_jit_key=True,
)
debug_key_reuse = State(
    "jax_debug_key_reuse",
    False,
    BOOLEAN,
    "Raise when a random key is consumed twice.",
    in_jit_key=True,
    in_trace_context=True,
)
check_tracer_leaks = State(
    "jax_check_tracer_leaks",
    False,
    BOOLEAN,
    "Raise when a tracer outlives its trace, naming what still holds it.",
    in_jit_key=True,
    in_trace_context=True,
)
checking_leaks = check_tracer_leaks
enable_checks = State(
    "jax_enable_checks",
    False,
    BOOLEAN,
    "Check every jaxpr against the rules of the IR as it is made.",
    in_jit_key=True,
)
log_compiles = State(
    "jax_log_compiles", False, BOOLEAN, "Log each trace and compilation with its duration."
)
explain_cache_misses = State(
    "jax_explain_cache_misses", False, BOOLEAN, "Log why a call had to be traced again."
)
no_tracing = State(
    "jax_no_tracing",
    False,
    BOOLEAN,
    "Raise where a function would be traced, for one that must have its program already.",
)
no_execution = State(
    "jax_no_execution",
    False,
    BOOLEAN,
    "Raise where a compiled program would run, for code that must only trace or compile.",
    in_jit_key=True,
)
long_chains = State(
    "jax_long_chains",
    "cut",
    one_of("cut", "whole"),
    "On CPU, store what several loops would each compute by a long chain, and random keys that are "
    "made from keys, or leave it to XLA.",
    in_jit_key=True,
)
loop_unrolling = State(
    "jax_loop_unrolling",
    "auto",
    one_of("auto", "on", "off"),
    "On CPU, have LLVM unroll loops in programs that run faster for it, in all, or in none.",
    in_jit_key=True,
)
default_device = State(
    "jax_default_device",
    None,
    DEVICE,
    "Where arrays go that no argument or sharding places.",
    in_jit_key=True,
    in_trace_context=True,
)
traceback_filtering = State(
    "jax_traceback_filtering",
    "auto",
    one_of("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
    "How jxkernel's own frames are left out of tracebacks.",
)
platforms = State(
    "jax_platforms",
    None,
    TEXT,
    "Comma-separated platforms to start, the first one being the default; None: all found.",
)
platform_name = State(
    "jax_platform_name", None, TEXT, "The default platform; older name, see jax_platforms."
)
num_cpu_devices = State(
    "jax_num_cpu_devices", -1, INTEGER, "How many CPU devices to make; -1: as XLA_FLAGS says."
)
cpu_enable_async_dispatch = State(
    "jax_cpu_enable_async_dispatch", True, BOOLEAN, "Return from CPU calls before they finish."
)
accelerator_preallocate = State(
    "jax_accelerator_preallocate",
    "auto",
    one_of("auto", "on", "off"),
    "Take most of a GPU's memory at once (on) or grow (off); auto: grow in a notebook.",
)
accelerator_memory_fraction = State(
    "jax_accelerator_memory_fraction",
    0.0,
    NUMBER,
    "The share of a GPU's memory that may be taken, from 0 to 1; 0: as XLA says (0.75).",
)
accelerator_allocator = State(
    "jax_accelerator_allocator",
    "default",
    one_of("default", "bfc", "cuda_async", "platform"),
    "How a GPU's memory is handed out; platform asks the driver each time, and is slow.",
)
softmax_custom_jvp = State(
    "jax_softmax_custom_jvp",
    False,
    BOOLEAN,
    "Differentiate softmax by a rule that needs its result alone, which programs show as a call.",
    in_jit_key=True,
    in_trace_context=True,
)
allow_f16_reductions = State(
    "jax_allow_f16_reductions",
    True,
    BOOLEAN,
    "Let reduce_sum take 16-bit floats; off, it refuses them: their sum has few digits.",
    in_jit_key=True,
    in_trace_context=True,
)
auto_pcast = State(
    "jax_auto_pcast",
    True,
    BOOLEAN,
    "In shard_map, take a value that is the same on all devices to one that varies where they "
    "meet; off, refuse it, for lax.pcast to say it.",
    in_jit_key=True,
    in_trace_context=True,
)
remove_size_one_mesh_axis_from_type = State(
    "jax_remove_size_one_mesh_axis_from_type",
    False,
    BOOLEAN,
    "Leave mesh axes of size 1 out of types: they divide nothing, and nothing varies along them.",
    in_jit_key=True,
    in_trace_context=True,
)
no_collectives = _NamesState(
    "jax_no_collectives",
    frozenset(),
    NAMES,
    "Refuse what sends data along these explicit mesh axes, by its types.",
    in_jit_key=True,
    in_trace_context=True,
)
threefry_partitionable = State(
    "jax_threefry_partitionable",
    True,
    BOOLEAN,
    "Generate threefry bits from their positions alone; off, as older programs expect them.",
    in_jit_key=True,
    in_trace_context=True,
)
pallas_enable_debug_checks = State(
    "jax_pallas_enable_debug_checks",
    False,
    BOOLEAN,
    "Let the debug_check of a kernel check, and raise where its condition does not hold.",
    in_jit_key=True,
    in_trace_context=True,
)
pallas_dynamic_shapes = State(
    "jax_pallas_dynamic_shapes",
    False,
    BOOLEAN,
    "Let grids of kernels have symbolic sizes, in programs that are exported.",
    in_jit_key=True,
    in_trace_context=True,
)
pallas_poison_buffers = State(
    "jax_pallas_poison_buffers",
    True,
    BOOLEAN,
    "Let scratch memory of a kernel begin as NaN (the least integer, False); off, as zeros.",
    in_jit_key=True,
    in_trace_context=True,
)
random_seed_offset = State(
    "jax_random_seed_offset",
    0,
    INTEGER,
    "Add this to every seed of a random key, to try a program with other numbers.",
    in_jit_key=True,
    in_trace_context=True,
)
high_dynamic_range_gumbel = State(
    "jax_high_dynamic_range_gumbel",
    False,
    BOOLEAN,
    "Draw Gumbel and categorical numbers from two words of bits where no mode is given.",
    in_jit_key=True,
    in_trace_context=True,
)
default_prng_impl = State(
    "jax_default_prng_impl",
    "threefry2x32",
    one_of("threefry2x32", "rbg", "unsafe_rbg"),
    "The generator behind random keys that do not name one.",
    in_jit_key=True,
    in_trace_context=True,
)
enable_custom_prng = State(
    "jax_enable_custom_prng",
    False,
    BOOLEAN,
    "Let PRNGKey make typed keys, as key does.",
    in_jit_key=True,
    in_trace_context=True,
)
legacy_prng_key = State(
    "jax_legacy_prng_key",
    "allow",
    one_of("allow", "warn", "error"),
    "What to do where a raw key is used: nothing, warn, or refuse it.",
    in_jit_key=True,
    in_trace_context=True,
)
enable_compilation_cache = State(
    "jax_enable_compilation_cache", True, BOOLEAN, "Use the disk cache when it has a folder."
)
compilation_cache_dir = State(
    "jax_compilation_cache_dir",
    user_cache_folder(),
    TEXT,
    "The folder of the disk cache; None: no disk cache.",
)
compilation_cache_max_size = State(
    "jax_compilation_cache_max_size",
    1_000_000_000,
    INTEGER,
    "The most bytes that the disk cache may hold; -1: no bound, 0: no disk cache.",
)
compilation_cache_include_metadata_in_key = State(
    "jax_compilation_cache_include_metadata_in_key",
    False,
    BOOLEAN,
    "Compile again when source lines have moved, so that profiles name the present ones.",
)
persistent_cache_min_compile_time_secs = State(
    "jax_persistent_cache_min_compile_time_secs",
    0.0,
    NUMBER,
    "Store on disk only what took at least this many seconds to compile.",
)
persistent_cache_min_entry_size_bytes = State(
    "jax_persistent_cache_min_entry_size_bytes",
    0,
    INTEGER,
    "Store on disk only executables of at least this many bytes; -1: no lower bound.",
)

trace_state: Any = Config(
    "trace_state", None, include_in_jit_key=True, include_in_trace_context=False
)
"""Set, per thread, by ``core`` while a trace is current, so that compiled calls step aside."""

post_hook: Any = Config("post_hook", None, include_in_jit_key=False, include_in_trace_context=False)
"""A callable that C++ calls after each compiled call, or None; set while someone listens."""

compile_runner: Any = Config(
    "compile_runner", None, include_in_jit_key=False, include_in_trace_context=False
)
"""A callable that is given each compilation as a function and returns its result, or None.

Compiling is C++ and takes seconds; a caller that must stay responsive runs it elsewhere.
"""

module_passes: Any = Config(
    "module_passes", (), include_in_jit_key=True, include_in_trace_context=True
)
"""The user's passes over modules that XLA compiles, each as a tuple; see ``extend.xla``."""

operation_attributes: Any = Config(
    "operation_attributes", (), include_in_jit_key=True, include_in_trace_context=True
)
"""What ``set_xla_metadata`` gives to the operations of a block, as sorted pairs.

It stands here, and not where it is set: a module that is loaded at its first use may be loaded
inside a trace, and a key that grew meanwhile would be another one.
"""

run_hook: Any = Config("run_hook", None, include_in_jit_key=True, include_in_trace_context=False)
"""A callable that is given each program, its arguments and its name before it runs, or None.

While it is set no call has a fast path, so it sees every one.
"""

launch_hook: Any = Config(
    "launch_hook", None, include_in_jit_key=True, include_in_trace_context=False
)
"""A callable that is given each executable that exchanges with other processes, and its program,
before it runs, or None.

Calls that C++ answers are told to what its ``notices`` returns; while its ``sees_all`` is set there
are none.
"""

key_reuse_hook: Any = Config(
    "key_reuse_hook", None, include_in_jit_key=False, include_in_trace_context=False
)
"""A callable that is given each ``KeyReuseError`` instead of its being raised, or None."""

wait_runner: Any = Config(
    "wait_runner", None, include_in_jit_key=False, include_in_trace_context=False
)
"""A callable that is given arrays whose values are read before they exist, and waits, or None."""

progress_display: Any = Config(
    "progress_display", None, include_in_jit_key=False, include_in_trace_context=False
)
"""A callable that makes what shows one run of a progress bar, or None for a line of text."""

# Without these, making the first array raises "enable_x64_state is not set".
jax_jit.set_enable_x64_state(enable_x64)
jax_jit.set_disable_jit_state(disable_jit)
jax_jit.set_post_hook_state(post_hook)


def _shown(value: Any) -> str:
    return f"{value.platform}:{value.id}" if isinstance(value, Device) else repr(value)


def _absl(name: str) -> Any:
    try:
        return late_module(f"absl.{name}")
    except ModuleNotFoundError as error:
        message = (
            "Options are set by flags of the command line through absl, which is not installed: "
            "pip install absl-py, or set them by the environment (JAX_ENABLE_X64=1) or by "
            "config.update."
        )
        raise ModuleNotFoundError(message, name=error.name) from None


class Settings:
    """All options: ``config.jax_enable_x64`` reads one, ``config.update`` sets it.

    ``config.enable_x64`` (without the prefix) is the ``State`` itself.

    >>> import jxkernel as jx
    >>> jx.config.update("jax_log_compiles", False)
    >>> jx.config.jax_log_compiles
    False
    """

    def __init__(self, *states: State) -> None:
        # Plain attributes: reading one must cost no more than a dict lookup.
        self.__dict__.update({state.option.removeprefix("jax_"): state for state in states})
        self.__dict__.update(
            checking_leaks=checking_leaks, trace_state=trace_state, post_hook=post_hook
        )
        self.__dict__["_states"] = {state.option: state for state in states}
        self.__dict__["after_update"] = {}  # option -> what is called when it was set

    def include(self, *states: State) -> None:
        """Add options that another module declares; called once for each, at its import."""
        self.__dict__.update({state.option.removeprefix("jax_"): state for state in states})
        self._states.update({state.option: state for state in states})

    def update(self, name: str, value: Any) -> None:
        """Set the option ``name`` for the whole process.

        Threads inside a ``with`` block that overrides the option keep their own value.

        Raises:
          AttributeError: there is no such option; the message lists those that exist.
          ValueError: the option does not take ``value``; the message says what it takes.

        An option of JAX that has nothing to change here keeps what it is set to, with a warning.
        """
        state = self.state(name)
        before = state.get_global()
        state.set_global(state.checked(value))
        self.after_update.get(name, bool)()
        if before is not value and events.listening_to(events.SettingChanged):
            events.emit(
                events.SettingChanged,
                option=name,
                before=_shown(before),
                after=_shown(state.get_global()),
            )

    def config_with_absl(self) -> None:
        """Define a flag of absl for each option; ``absl.app.run`` then sets options by flags.

        Raises:
          ModuleNotFoundError: absl is not installed.
        """
        self._define_flags()
        _absl("app").call_after_init(self._take_flags)

    def parse_flags_with_absl(self) -> None:
        """Set options by the flags ``--jax_...`` of the command line, through absl.

        Arguments that are no such flags, and all after ``--``, are left to the program.

        Raises:
          ModuleNotFoundError: absl is not installed.
          ValueError: an option does not take the value of its flag.
        """
        self._define_flags()
        end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
        given = [text for text in sys.argv[1:end] if text.startswith(("--jax_", "--nojax_"))]
        _absl("flags").FLAGS([*sys.argv[:1], *given], known_only=True)
        self._take_flags()

    def _define_flags(self) -> None:
        absl = _absl("flags")
        for name, state in self._states.items():
            if name not in absl.FLAGS:
                boolean = state.kind is BOOLEAN
                value = state.value if boolean or state.value is None else str(state.value)
                (absl.DEFINE_bool if boolean else absl.DEFINE_string)(name, value, state.help)

    def _take_flags(self) -> None:
        flags = _absl("flags").FLAGS
        for name, state in self._states.items():
            if name in flags and not flags[name].using_default_value:
                given = flags[name].value
                value = state.kind.from_text(given) if isinstance(given, str) else given
                self.update(name, state.checked(value, f"The flag --{name}"))

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are on, as this thread sees it."""
        return enable_x64.value

    def read(self, name: str) -> Any:
        """Return the value of the option ``name`` as this thread sees it."""
        return self.state(name).value

    def state(self, name: str) -> State:
        """Return the ``State`` of the option ``name`` (``jax_...``)."""
        state = self._states.get(name) or self._without_effect(name)
        if state is None:
            listed = "\n  ".join(sorted(self._states))
            raise AttributeError(f"There is no option {name!r}. The options are:\n  {listed}")
        return state

    def _without_effect(self, name: str) -> State | None:
        """Return an option of JAX that has nothing to change here, from now on among the others."""
        found = option_without_effect(name)
        if found is None:
            return None
        default, why = found
        state = State(name, default, ANYTHING, why)
        self.include(state)

        def warn() -> None:
            if state.get_global() != default:
                warnings.warn(f"{name} has no effect here. {why}", stacklevel=3)

        self.after_update[name] = warn
        return state

    @property
    def values(self) -> dict[str, Any]:
        """A copy of all options and their values as this thread sees them."""
        return {name: state.value for name, state in self._states.items()}

    @property
    def context(self) -> dict[str, Any]:
        """A copy of those options that shape traces, with their values: why a trace is stale."""
        states = self._states.items()
        return {name: state.value for name, state in states if state.in_trace_context}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a protocol's question (copy, pickle, inspect), not an option
            raise AttributeError(name)
        return self.state(name).value

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        option = name if name.startswith("jax_") else f"jax_{name}"
        raise AttributeError(f"Write config.update({option!r}, {value!r}) to set an option.")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._states})

    def __repr__(self) -> str:
        listed = "\n".join(f"  {name} = {value!r}" for name, value in sorted(self.values.items()))
        return f"jxkernel options:\n{listed}"


config = Settings(
    check_static_indices,
    enable_x64,
    disable_jit,
    default_matmul_precision,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    debug_nans,
    debug_infs,
    debug_key_reuse,
    check_tracer_leaks,
    enable_checks,
    log_compiles,
    explain_cache_misses,
    no_tracing,
    no_execution,
    long_chains,
    loop_unrolling,
    default_device,
    traceback_filtering,
    platforms,
    platform_name,
    num_cpu_devices,
    cpu_enable_async_dispatch,
    accelerator_preallocate,
    accelerator_memory_fraction,
    accelerator_allocator,
    softmax_custom_jvp,
    allow_f16_reductions,
    auto_pcast,
    remove_size_one_mesh_axis_from_type,
    no_collectives,
    threefry_partitionable,
    pallas_enable_debug_checks,
    pallas_dynamic_shapes,
    pallas_poison_buffers,
    random_seed_offset,
    high_dynamic_range_gumbel,
    default_prng_impl,
    enable_custom_prng,
    legacy_prng_key,
    enable_compilation_cache,
    compilation_cache_dir,
    compilation_cache_max_size,
    compilation_cache_include_metadata_in_key,
    persistent_cache_min_compile_time_secs,
    persistent_cache_min_entry_size_bytes,
)
"""The settings of this process."""
