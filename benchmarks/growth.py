"""How tracing, its transforms and lowering grow with the number of equations.

The figure is the exponent of a power law, fitted to programs of increasing length by least
squares on logarithms: 1 is linear.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Work, seconds_per_run
from benchmarks.tracing import (
    chain_work,
    in_grad,
    in_jvp,
    in_vmap,
    lax_steps,
    lowering_work,
    plain,
)

__all__ = ["CURVES", "GOAL", "Curve", "exponent"]

LENGTHS = (300, 600, 1200, 2400)
GOAL = 1.1


@dataclass(frozen=True)
class Curve:
    """A step whose cost should be proportional to the program's length.

    Attributes:
      name: what is measured.
      setup: makes, for a number of operations, the setup of the work.
    """

    name: str
    setup: Callable[[int], Callable[[Library], Work]]


def exponent(library: Library, curve: Curve) -> float:
    """Return the power of the length with which the step's time grows."""
    seconds = [seconds_per_run(library, curve.setup(length)(library)) for length in LENGTHS]
    slope, _ = np.polyfit(np.log(LENGTHS), np.log(seconds), 1)
    return float(slope)


CURVES = (
    *(
        Curve(f"trace{words}", partial(chain_work, lax_steps, transform))
        for words, transform in (
            ("", plain),
            (" under jvp", in_jvp),
            (" under grad", in_grad),
            (" under vmap", in_vmap),
        )
    ),
    Curve("lower", lowering_work),
)
