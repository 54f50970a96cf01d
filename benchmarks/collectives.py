"""One of two processes that sum and gather, as a program with a library, a rank and an address.

It reads the names of collectives, one a line, and answers each with the seconds of a call.  With
jxkernel programs are guarded as in a notebook's cluster.
"""

import sys
from collections.abc import Callable
from time import perf_counter
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


def _join(library: str, rank: int, address: str) -> Library:
    loaded = load(library)
    if library == "jxkernel":
        loaded.api.cluster.join(rank, 2, address)
        loaded.api.cluster.guard()
    else:
        loaded.api.distributed.initialize(address, 2, rank)
    return loaded


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


def main() -> None:
    """Answer until there are no more questions."""
    _, library, rank, address = sys.argv
    loaded = _join(library, int(rank), address)
    programs = {what: _program(loaded, *how) for what, how in COLLECTIVES.items()}
    for function, x in programs.values():
        for _ in range(3):
            function(x).block_until_ready()
    print("ready", flush=True)
    for line in sys.stdin:
        what = line.strip()
        function, x = programs[what]
        calls = CALLS[COLLECTIVES[what][1]]
        began = perf_counter()
        for _ in range(calls):
            function(x).block_until_ready()
        print((perf_counter() - began) / calls, flush=True)


if __name__ == "__main__":
    main()
