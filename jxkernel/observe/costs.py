"""What a program costs, estimated from its types alone.

A matrix product counts what its primitive says (two operations for each multiply and add), a
reduction one for each element read, what only moves data none, a loop its body as often as it
runs, a branch its costliest, and everything else one for each element of its result. Bytes are
those of the operands and results as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, subjaxprs

__all__ = ["Cost", "equation_cost", "format_flops", "program_cost"]

_MOVES = frozenset(
    {
        *("bitcast_convert_type", "broadcast_in_dim", "concatenate", "convert_element_type"),
        *("copy", "dynamic_slice", "dynamic_update_slice", "gather", "imag", "iota", "key_use"),
        *("name", "optimization_barrier", "pad", "pbroadcast", "platform_index", "real", "reshape"),
        *("rev", "select_n", "sharding_constraint", "slice", "split", "squeeze", "stack"),
        *(
            "stop_gradient",
            "transpose",
            "untaken",
            "axis_index",
            "all_gather",
            "all_to_all",
            "ppermute",
        ),
        *("scatter", "scatter_apply", "debug_callback", "io_callback", "pure_callback"),
        *("inspect_sharding", "xla_metadata_value", "get", "set", "program_id"),
    }
)
_CUBIC = frozenset({"cholesky", "eig", "eigh", "geqrf", "hessenberg", "lu", "qr", "schur", "svd"})


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate.

    Attributes:
      flops: floating-point operations.
      bytes: bytes read and written.
    """

    flops: int = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def times(self, count: int) -> Cost:
        """The cost of doing it several times."""
        return Cost(self.flops * count, self.bytes * count)


def equation_cost(eqn: Eqn) -> Cost:
    """Return the cost of one equation, with what happens inside it."""
    programs = list(subjaxprs(eqn.params)) if eqn.params else []
    if programs:
        return _cost_of_programs(eqn, programs)
    moved = 0
    for atom in eqn.invars:
        if type(atom) is not Literal:
            moved += _bytes(atom.aval)
    for var in eqn.outvars:
        moved += _bytes(var.aval)
    return Cost(_flops(eqn), moved)


def program_cost(jaxpr: Jaxpr) -> Cost:
    """Return the cost of a program: that of its equations together.

    >>> import jxkernel as jx
    >>> from jxkernel.observe.costs import program_cost
    >>> closed = jx.make_jaxpr(lambda a, b: a @ b)(jx.numpy.ones((2, 3)), jx.numpy.ones((3, 4)))
    >>> program_cost(closed.jaxpr)
    Cost(flops=48, bytes=104)
    """
    return sum(map(equation_cost, jaxpr.eqns), Cost())


def format_flops(count: int) -> str:
    """Write a count of operations in a fitting unit: ``1.2 Mflop``."""
    for limit, unit, scale in ((1e3, "flop", 1), (1e6, "kflop", 1e3), (1e9, "Mflop", 1e6)):
        if count < 0.9995 * limit:
            return f"{count / scale:.3g} {unit}"
    return f"{count / 1e9:.3g} Gflop" if count < 1e12 else f"{count / 1e12:.3g} Tflop"


def _cost_of_programs(eqn: Eqn, programs: list[ClosedJaxpr]) -> Cost:
    costs = [program_cost(closed.jaxpr) for closed in programs]
    if eqn.primitive.name == "cond":
        return max(costs, key=lambda one: (one.flops, one.bytes))
    if eqn.primitive.name == "scan":
        return costs[0].times(int(eqn.params.get("length", 1)))
    if eqn.primitive.name == "pallas_call":
        return costs[0].times(prod(eqn.params["grid"]))
    if eqn.primitive.name.startswith("custom_"):  # the rules run only when it is differentiated
        return costs[0]
    return sum(costs, Cost())


def _flops(eqn: Eqn) -> int:
    primitive, name = eqn.primitive, eqn.primitive.name
    ins, outs = [atom.aval for atom in eqn.invars], [var.aval for var in eqn.outvars]
    try:
        if primitive.cost is not None:
            return int(primitive.cost(ins, outs, **eqn.params))
        if name in _MOVES:
            return 0
        if name.startswith(("reduce_", "cum", "arg", "sort", "top_k")):
            return max((aval.size for aval in ins), default=0)
        if name == "conv_general_dilated":
            features = ins[1].shape[eqn.params["dimension_numbers"].rhs_spec[0]]
            return 2 * outs[0].size * prod(ins[1].shape) // max(features, 1)
        if name in _CUBIC:
            return ins[0].size * min(ins[0].shape[-2:])
        return outs[0].size if len(outs) == 1 else max((aval.size for aval in outs), default=0)
    except TypeError:  # a size that is a name
        return 0


def _bytes(aval: Any) -> int:
    try:
        return int(aval.size) * aval.dtype.itemsize
    except (AttributeError, TypeError):  # a size that is a name; a type without bytes
        return 0
