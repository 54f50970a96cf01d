"""What each primitive is tried on: operands, parameters, and the reference it must agree with.

Primitives made by ``ops.families`` need no entry: their cases follow from the dtypes they accept,
save for what ``DOMAINS`` and ``PARAMS`` say.  Every other primitive has one in ``CASES``, or its
module stands in ``ELSEWHERE`` with the tests that it has instead.  A primitive with neither fails
the test.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from jxkernel import dtypes
from jxkernel.core.primitive import Primitive
from jxkernel.primitives.elementwise.rounding import RoundingMethod
from tests.table.rows import SHAPE, Case, Operand
from tests.table.structural import STRUCTURAL

POSITIVE = Operand(0.2, 3.0)
UNIT = Operand(-0.9, 0.9)
ORDER = Operand(1.2, 6.0)

DOMAINS: dict[str, tuple[Operand, ...]] = {
    "acos": (UNIT,),
    "acosh": (Operand(1.2, 3.0),),
    "asin": (UNIT,),
    "atan2": (POSITIVE, Operand()),
    "atanh": (UNIT,),
    "cbrt": (POSITIVE,),
    "clamp": (Operand(-1.5, -0.5), Operand(), Operand(0.5, 1.5)),
    "digamma": (POSITIVE,),
    "div": (Operand(), POSITIVE),
    "erf_inv": (UNIT,),
    "igamma": (POSITIVE, POSITIVE),
    "igamma_grad_a": (POSITIVE, POSITIVE),
    "igammac": (POSITIVE, POSITIVE),
    "integer_pow": (POSITIVE,),
    "lgamma": (POSITIVE,),
    "log": (POSITIVE,),
    "log1p": (POSITIVE,),
    "log2": (POSITIVE,),
    "polygamma": (Operand(2.0, 2.0), POSITIVE),
    "random_gamma_curvature": (POSITIVE, POSITIVE),
    "random_gamma_grad": (POSITIVE, POSITIVE),
    "regularized_incomplete_beta": (POSITIVE, POSITIVE, Operand(0.1, 0.9)),
    "rem": (Operand(0.1, 0.9), Operand(1.1, 2.0)),
    "rsqrt": (POSITIVE,),
    "shift_left": (Operand(), Operand(integers=(0, 40))),
    "shift_right_arithmetic": (Operand(), Operand(integers=(0, 40))),
    "shift_right_logical": (Operand(), Operand(integers=(0, 40))),
    "sqrt": (POSITIVE,),
    "zeta": (ORDER, POSITIVE),
}
"""Where the operands of regular primitives lie; elsewhere in [-2, 2]."""

PARAMS: dict[str, tuple[dict[str, Any], ...]] = {
    "integer_pow": ({"y": 3}, {"y": 0}, {"y": 2}),
    "name": ({"name": "residual"},),
    "reduce_precision": (
        {"exponent_bits": 5, "mantissa_bits": 2},
        {"exponent_bits": 8, "mantissa_bits": 7},
    ),
    "xla_metadata_value": ({"attributes": (("key", "value"),)},),
    "round": tuple({"rounding_method": method} for method in RoundingMethod),
}
"""The parameters that regular primitives are tried with."""


SMOOTH: dict[str, tuple[type, ...]] = {
    "reduce_precision": (),
    "stop_gradient": (),
    "untaken": (),
}
"""Where the derivative is by convention not the limit of differences: rounding passes tangents,
and ``stop_gradient`` and ``untaken`` are for having none."""

CONSTANT = ("stop_gradient",)
"""Linear functions whose derivative is zero all the same, and which are not transposed."""


SPECIAL_ELSEWHERE: dict[str, str] = {
    "digamma": "its pole at -0.0 counts as that at 0.0: tests/primitives/test_special.py",
    "igamma_grad_a": "the reference has no limits",
    "lgamma": "inf at -inf, as C has it: tests/primitives/test_special.py",
    "polygamma": "it has no limits: tests/primitives/test_special.py",
    "random_gamma_curvature": "the reference has no limits",
    "random_gamma_grad": "the reference has no limits",
    "zeta": "it has no limits: tests/primitives/test_special.py",
}
"""Primitives that differ from their reference at zeros, infinities or NaN, and why."""


def _slope_in_a(function: Callable[[Any, Any], Any], a: Any, x: Any) -> Any:
    """Return the derivative in a by extrapolated differences, good to some ten digits."""

    def slope(step: float) -> Any:
        above, below = (function(a + s, x) for s in (step, -step))
        return (above - below) / (2 * step)

    coarse, middle, fine = (slope(step) for step in (4e-3, 2e-3, 1e-3))
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return (16 * second - first) / 15


def _igamma_grad_a(a: Any, x: Any) -> Any:
    return _slope_in_a(scipy.special.gammainc, a, x)


def _random_gamma_grad(a: Any, x: Any) -> Any:
    density = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
    return -_igamma_grad_a(a, x) / density


def _random_gamma_curvature(a: Any, x: Any) -> Any:
    return _slope_in_a(_random_gamma_grad, a, x)


REFERENCES: dict[str, Callable[..., Any]] = {
    "igamma_grad_a": _igamma_grad_a,
    "random_gamma_curvature": _random_gamma_curvature,
    "random_gamma_grad": _random_gamma_grad,
}
"""References that are longer than a name."""

INEXACT_REFERENCES = {
    "igamma_grad_a": 1e3,
    "random_gamma_curvature": 1e6,
    "random_gamma_grad": 1e3,
}
"""By what factor tolerances are widened where the reference itself is approximate."""


def _conversions() -> Iterator[Case]:
    wide, narrow = ("float64", "complex128"), ("float32", "float16", "bfloat16", "complex64")
    for name in (*wide, *narrow, "int32", "uint8", "int8", "bool"):
        yield Case(
            (Operand(-100.0, 100.0),),
            {"new_dtype": dtypes.as_dtype(name), "weak_type": False},
            label=name,
            smooth=() if name in narrow else (np.inexact,),
        )


def _bitcasts() -> Iterator[Case]:
    for old, new, shape in (
        ("float32", "int32", (2, 3)),
        ("float32", "uint8", (2, 3)),
        ("int16", "float32", (3, 2)),
        ("bfloat16", "int16", (2, 0)),
        ("uint8", "uint8", ()),
    ):
        yield Case(
            (Operand(shape=shape, dtype=np.dtype(dtypes.as_dtype(old))),),
            {"new_dtype": np.dtype(new)},
            label=f"{old}-{new}",
        )


def _choices(kind: Any, count: int, shape: tuple[int, ...] = SHAPE) -> Case:
    which = Operand(shape=shape, dtype=np.dtype(kind), integers=(-1, count))
    return Case((which, *[Operand()] * count), label=f"{count}-by-{kind.__name__}{len(shape)}")


def _barrier(*operands: Any) -> Any:
    return list(operands)


CASES: dict[str, list[Case]] = {
    **STRUCTURAL,
    "add_any": [Case((Operand(), Operand()), reference=np.add)],
    "bitcast_convert_type": list(_bitcasts()),
    "convert_element_type": list(_conversions()),
    "optimization_barrier": [Case((Operand(), Operand(shape=())), reference=_barrier)],
    "pow": [
        Case((POSITIVE, Operand()), accepts=(np.inexact,)),
        Case(
            (Operand(), Operand(dtype=np.dtype(np.int32), integers=(-3, 3))),
            accepts=(np.inexact,),
            label="integer",
        ),
    ],
    "select_n": [
        _choices(np.bool_, 2),
        _choices(np.bool_, 1),
        _choices(np.int32, 2),
        _choices(np.int32, 5),
        _choices(np.bool_, 2, ()),
        _choices(np.int32, 3, ()),
    ],
}
"""Cases of primitives that no family constructor made."""

ELSEWHERE: dict[str, str] = {
    # Calls of programs: their rules transform the programs they call.
    "jxkernel.higher_order.jit": "tests/compose",
    "jxkernel.higher_order": "tests/higher_order",
    # Made of others, whose rules are tested.
    "jxkernel.transforms.composed": "tests/transforms/test_composed.py",
    # Calls of Python functions, which are whatever these are.
    "jxkernel.primitives.callback": "tests/api/test_callbacks.py",
    "jxkernel.primitives.inspecting": "tests/observe/test_layout.py",
    # They give nothing.
    "jxkernel.primitives.marking": "tests/transforms/test_composed.py",
    "jxkernel.experimental.hijax": "tests/experimental/test_hijax.py",
    # Many layouts and cases, with tables of their own.
    "jxkernel.primitives.collective": "tests/primitives/test_collectives.py",
    "jxkernel.primitives.collective.varying": "tests/api/test_varying.py",
    "jxkernel.primitives.sharding.constraints": "tests/api/test_shardings.py",
    "jxkernel.primitives.sharding.device_put": "tests/api/test_moving_devices.py",
    "jxkernel.primitives.contraction.dot_general": "tests/primitives/test_contract.py",
    "jxkernel.primitives.conv.conv": "tests/primitives/test_conv.py",
    "jxkernel.primitives.fft": "tests/primitives/test_fft.py",
    "jxkernel.primitives.indexing.gather": "tests/primitives/test_indexing.py",
    "jxkernel.primitives.linalg": "tests/primitives/test_linalg.py",
    "jxkernel.primitives.indexing.scatter": "tests/primitives/test_scatter.py",
    "jxkernel.primitives.conv.reduce_window": "tests/primitives/test_window.py",
    # It calls whatever was exported.
    "jxkernel.export": "tests/export",
    # A mark for the checker of key reuse.
    "jxkernel.primitives.key_use": "tests/transforms/test_key_reuse.py",
    # Bits that no function of NumPy gives.
    "jxkernel.primitives.random_bits": "tests/random",
}
"""Modules whose primitives need no case, and the file or folder that tests them instead."""


def instead_of_cases(primitive: Primitive) -> str | None:
    """Return what tests a primitive without a case, by the module that defines it."""
    module = str(getattr(primitive.abstract_eval, "__module__", ""))
    return next((tests for prefix, tests in ELSEWHERE.items() if module.startswith(prefix)), None)


def cases_of(primitive: Primitive) -> list[Case]:
    """Return the cases of a primitive; none if it is tested elsewhere."""
    if primitive.name in CASES:
        return CASES[primitive.name]
    accepted = getattr(primitive, "accepted", None)
    if accepted is None:
        return []
    operands = DOMAINS.get(primitive.name, (Operand(),) * len(accepted))
    return [
        Case(
            operands,
            params,
            accepted[0],
            label=_label(params),
            smooth=SMOOTH.get(primitive.name, (np.inexact,)),
            elementwise=True,
        )
        for params in PARAMS.get(primitive.name, ({},))
    ]


def _label(params: dict[str, Any]) -> str:
    return "-".join(f"{name}{value}" for name, value in params.items())
