"""One of two processes that sum and gather, as a program with a library, a rank and an address.

It reads questions, one a line: the name of a collective, how many calls, and whether they are
guarded.  It answers each with the seconds of a call, and the processor's of the calling thread.
With jxkernel programs are guarded as in a notebook's cluster.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from benchmarks.library import Library, load

__all__ = ["CALLS", "COLLECTIVES"]

COLLECTIVES = {
    "psum of 4 KB": ("psum", 1 << 10),
    "psum of 4 MB": ("psum", 1 << 20),
    "all-gather of 4 KB": ("all_gather", 1 << 10),
    "all-gather of 4 MB": ("all_gather", 1 << 20),
}
"""What is measured: the function of ``lax``, and how many numbers each process has."""

CALLS = {1 << 10: 10, 1 << 20: 2}
"""How many calls a batch has, by size: few, so that some batch is disturbed by nothing else."""


def _join(library: str, rank: int, address: str) -> tuple[Library, Callable[[bool], object]]:
    """Return the library, joined, and what says whether calls are guarded from now on."""
    loaded = load(library)
    if library != "jxkernel":
        loaded.api.distributed.initialize(address, 2, rank)
        return loaded, lambda guarded: None
    loaded.api.cluster.join(rank, 2, address)
    guard, hook = loaded.api.cluster.guard(), import_module(f"{library}.config").launch_hook
    return loaded, lambda guarded: hook.set_global(guard if guarded else None)


def _program(library: Library, name: str, size: int) -> tuple[Callable[[Any], Any], Any]:
    api, spec = library.api, library.sharding.PartitionSpec
    mesh = library.sharding.Mesh(np.array(api.devices()), ("x",))
    rows = library.sharding.NamedSharding(mesh, spec("x"))
    own = np.ones((1, size), np.float32)
    x = api.make_array_from_process_local_data(rows, own)

    def collective(x: Any) -> Any:
        return getattr(library.lax, name)(x, "x")

    over = api.shard_map(
        collective, mesh=mesh, in_specs=spec("x"), out_specs=spec(), check_vma=False
    )
    return api.jit(over), x


def _timed(function: Callable[[Any], Any], x: Any, calls: int) -> tuple[float, float]:
    """Return the seconds of a call, and the processor's of this thread in it."""
    began, began_processor = perf_counter(), thread_time()
    for _ in range(calls):
        function(x).block_until_ready()
    ended, ended_processor = perf_counter(), thread_time()
    return (ended - began) / calls, (ended_processor - began_processor) / calls


def main() -> None:
    """Answer until there are no more questions."""
    _, library, rank, address = sys.argv
    loaded, set_guarded = _join(library, int(rank), address)
    programs = {what: _program(loaded, *how) for what, how in COLLECTIVES.items()}
    for guarded in (False, True):
        set_guarded(guarded)
        for function, x in programs.values():
            for _ in range(3):
                function(x).block_until_ready()
    print("ready", flush=True)
    for line in sys.stdin:
        what, calls, guarded = json.loads(line)
        set_guarded(guarded)
        print(json.dumps(_timed(*programs[what], calls)), flush=True)


if __name__ == "__main__":
    main()
