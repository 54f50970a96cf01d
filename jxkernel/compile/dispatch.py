"""Dispatch: how a call that C++ does not know is answered.

Jitted functions, fused functions of the NumPy API and primitives that are applied eagerly are C++
callables of jaxlib.  A call of a kind that one has not seen comes to its ``cache_miss``, which
finds the program.  From there on all go the same way, which is this: check keys, find the device,
find or make the executable, run it, look at the results if that is asked for, and hand C++ the
record by which it answers the next call of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel._jaxlib import ArrayImpl, pjit
from jxkernel._lazy import late_function
from jxkernel.compile.executable import Executable, FastpathData, executable_for
from jxkernel.compile.placement import target_device
from jxkernel.config import debug_infs, debug_key_reuse, debug_nans
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import Tracer, unexpected_tracer
from jxkernel.errors import IncompatibleDevicesError
from jxkernel.records import record
from jxkernel.runtime import shard_argument
from jxkernel.tree import physical
from jxkernel.tree.nodes import physical_registry

__all__ = [
    "Dispatch",
    "cpp_callable",
    "execute",
    "make_callable",
]

_check_keys = late_function("jxkernel.transforms.key_reuse", "check_keys")
_report_nonfinite = late_function("jxkernel.compile.nonfinite", "report_nonfinite")


def _checking_results() -> bool:
    """Return whether results are to be looked at."""
    return debug_nans.value or debug_infs.value


@record()
class Dispatch:
    """What a callable asks of its runs, besides the program.

    Attributes:
      name: what errors and profiles call it.
      donated: which arguments' buffers are given away.
      keep_unused: whether arguments that the program never reads stay parameters.
      compiler_options: XLA options by name.
      device: the device to run on; None for any.
      shardings: for each argument the sharding that it shall have, or None.
      results: the same for the results.
      depth: from which depth on equations' sources tell who called; see ``report_nonfinite``.
      function_id: the number of the function object, for events.
      on_further: called before a program that has executables already gets another one.
      names: a function that returns a name for each argument, for errors and warnings, or None.
      compiled: the executable to run, where it was compiled ahead; None to find it.
    """

    name: str
    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()
    device: Any = None
    shardings: Sequence[Any] | None = None
    results: Sequence[Any] | None = None
    depth: float = 0
    function_id: int = 0
    on_further: Callable[[], object] | None = None
    names: Callable[[], Sequence[str]] | None = None
    compiled: Executable | None = None

    def answer(
        self, closed: ClosedJaxpr, args: Sequence[Any], out_tree: Any
    ) -> tuple[Any, FastpathData | None, bool]:
        """Run a program and return what a ``cache_miss`` does: result, record or None, False.

        Raises:
          IncompatibleDevicesError: arguments are committed to different devices.
          KeyReuseError: a key is used twice, while that is checked.
          NonFiniteError: a result holds a NaN or an infinity, while that is looked for.
        """
        if debug_key_reuse.value:
            _check_keys(closed, args, self.name)
        if _checking_results():
            return out_tree.unflatten(self._checked(closed, args)), None, False
        outs, executable, committed = self._run(closed, args, self.donated)
        # C++ would not check keys.
        known = not debug_key_reuse.value
        fastpath = executable.fastpath(out_tree, args, committed=committed) if known else None
        return out_tree.unflatten(outs), fastpath, False

    def _run(
        self, closed: ClosedJaxpr, args: Sequence[Any], donated: tuple[bool, ...]
    ) -> tuple[list[Any], Any, bool]:
        target, committed = self._target(closed, args)
        if self.compiled is not None and (donated or not any(self.donated)):
            return self.compiled.call(args, committed=committed), self.compiled, committed
        executable = executable_for(
            closed,
            target,
            name=self.name,
            donated=donated,
            keep_unused=self.keep_unused,
            compiler_options=self.compiler_options,
            function_id=self.function_id,
            on_further=self.on_further,
            names=self.names,
        )
        return executable.call(args, committed=committed), executable, committed

    def _target(self, closed: ClosedJaxpr, args: Sequence[Any]) -> tuple[Any, bool]:
        """Return the device or placement to run on, and whether the call is bound to it."""
        ahead = self.compiled
        if ahead is not None and ahead.placement is not None:
            return ahead.placement, True
        try:
            target, committed = target_device(
                args,
                self.device,
                closed=closed,
                shardings=self.shardings,
                results=self.results,
                keep_unused=self.keep_unused,
            )
        except IncompatibleDevicesError as error:
            raise error.naming(self.names() if self.names else (), self.name) from None
        return (target if ahead is None else ahead.device), committed

    def _checked(self, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        """Run a program and look at its results.

        Arguments are given away only afterwards: the search of the equation that gave a bad
        result begins with them.
        """
        outs, *_ = self._run(closed, args, ())
        _report_nonfinite(closed, args, outs, name=self.name, execute=execute, depth=self.depth)
        for arg, gone in zip(args, self.donated, strict=False):
            if gone and type(arg) is ArrayImpl and not any(arg is out for out in outs):
                arg.delete()
        return outs


def execute(closed: ClosedJaxpr, args: Sequence[Any], *, name: str) -> list[Any]:
    """Compile (once) and run a program on flat arguments, and look at nothing."""
    return Dispatch(name)._run(closed, args, ())[0]


def cpp_callable(
    name: str,
    function: Callable[..., Any],
    cache_miss: Callable[..., tuple[Any, Any, bool]],
    *,
    static: Any = None,
    key: Any = None,
    cache: Any = None,
) -> Any:
    """Return jaxlib's callable, which turns to ``cache_miss`` for calls that it does not know.

    Args:
      name: what profiles call it.
      function: what is called under ``disable_jit``.
      cache_miss: see ``Dispatch.answer``.
      static: the ``Parameters`` that are no arrays; None for none.
      key: what tells callables of one function apart.
      cache: where callables of one function share calls; None for nowhere.
    """
    return pjit(
        name,
        function,
        cache_miss,
        list(static.numbers) if static else [],
        list(static.names) if static else [],
        object() if key is None else key,
        physical_registry,
        shard_argument,
        cache,
    )


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
      depth: see ``Dispatch``.
    """
    dispatch = Dispatch(name, donated, depth=depth)

    def cache_miss(*args: Any) -> tuple[Any, Any, bool]:
        closed = program_for(tuple([_checked_aval(name, arg) for arg in args]))
        return dispatch.answer(closed, args, physical.structure(closed.out_avals if as_list else 0))

    def run(*args: Any) -> Any:
        return cache_miss(*args)[0]

    function = cpp_callable(name, run, cache_miss)
    function.__name__ = name
    return function


def _checked_aval(name: str, arg: Any) -> ShapedArray:
    if isinstance(arg, Tracer):
        raise unexpected_tracer(arg)
    try:
        return abstractify(arg)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
