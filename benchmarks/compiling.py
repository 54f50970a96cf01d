"""First results: tracing, lowering and compiling the programs of the corpus, and what comes after.

A first result is measured in processor time, of all threads: XLA compiles on all cores, and other
processes on them would lengthen the time on the clock.  Run as a program, ``python -m
benchmarks.compiling LIBRARY``, this makes a first result of most programs in one process and
prints the processor time of all: for comparing sessions with and without a cache on disk.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpus import PROGRAMS, Program, chain_program
from benchmarks.library import Library, load
from benchmarks.metric import Metric, Work

__all__ = ["EXPONENT", "FIRST", "LATER", "SESSIONS", "exponent", "first_result", "seconds_of_all"]

LENGTHS = {"jxkernel": (20, 50, 100, 200, 400), "jax": (20, 40, 60)}
"""Unrolled layers whose compile times a power law is fitted to; 200 take real jax over ten minutes.
"""

EXPONENT = "exponent of compiling unrolled layers"
GOAL_EXPONENT = 1.2

LONGEST = ("60 unrolled layers of sines", "60 unrolled layers of products")
"""Programs that a session does without: real jax alone compiles them for 13 seconds."""


_COMPILED: dict[str, Callable[[], Any]] = {}
"""The program that had its first result last: a later run is of the same build."""


def first_result(library: Library, program: Program) -> float:
    """Return the processor seconds until a function that was never called has its first result."""
    function, arguments = program.make(library)
    jitted = library.api.jit(function)
    library.api.block_until_ready(arguments)
    start = process_time()
    library.api.block_until_ready(jitted(*arguments))
    elapsed = process_time() - start
    _COMPILED.clear()
    _COMPILED[program.name] = partial(jitted, *arguments)
    return elapsed


def exponent(library: Library) -> float:
    """Return the power of the number of unrolled layers with which a first result's time grows."""
    lengths = LENGTHS[library.name]
    made = (Program("chain", chain_program("sines", count), True) for count in lengths)
    seconds = [first_result(library, program) for program in made]
    slope, _ = np.polyfit(np.log(lengths), np.log(seconds), 1)
    return float(slope)


def _later(program: Program) -> Metric:
    def setup(library: Library) -> Work:
        if program.name not in _COMPILED:
            first_result(library, program)
        return Work(_COMPILED[program.name])

    return Metric(f"later run, {program.name}", program.steady_goal, setup)


FIRST = {f"first result, {program.name}": program for program in PROGRAMS}
LATER = tuple(map(_later, PROGRAMS))
SESSIONS = (
    ("first results of a session, no disk cache", None),
    ("first results of a session, an empty disk cache", None),
    ("first results of a session, a filled disk cache", 0.4),
)


def seconds_of_all(library: Library) -> float:
    """Return the processor seconds of first results of all programs but the longest."""
    return sum(first_result(library, one) for one in PROGRAMS if one.name not in LONGEST)


if __name__ == "__main__":
    chosen = load(sys.argv[1])
    # What the first program of a process sets up is no part of any.
    chosen.api.block_until_ready(chosen.api.jit(lambda x: x + 1)(1.0))
    print(seconds_of_all(chosen))
