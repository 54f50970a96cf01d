"""What special functions are called with: one row is one call, SciPy gives the answer.

Adding a row here adds its tests: values in float32 and float64, narrow floats, the trace, vmap and
the derivative.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

_random = np.random.default_rng(20260101)


def between(low: float, high: float) -> Any:
    """Return numbers spread evenly over an interval, in random order."""
    return _random.permutation(np.linspace(low, high, 12))


def scales(low: float, high: float) -> Any:
    """Return numbers whose logarithms are spread evenly, in random order."""
    return _random.permutation(np.geomspace(low, high, 12))


def orders(count: int) -> Any:
    """Return the whole numbers below ``count``, again and again."""
    return np.arange(12.0) % count


@dataclass(frozen=True)
class Row:
    """One function.

    Attributes:
      name: its name, here and in SciPy.
      args: its operands, inside its domain.
      edges: operands where something happens: poles, ends, infinities, NaN.
      slopes: the arguments in which it is differentiable.
      factor: how many tolerances results may be apart.
    """

    name: str
    args: tuple[Any, ...]
    edges: tuple[Any, ...] = ()
    slopes: tuple[int, ...] = (0,)
    factor: float = 8.0

    def __str__(self) -> str:
        return self.name


ENDS = (np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]),)
UNIT = (np.array([0.0, 1.0, 0.5, 1e-30, 2.0, -0.1, np.nan]),)

ROWS = (
    Row("gamma", (between(-4.7, 12.1),), ENDS),
    Row("gammaln", (between(-4.7, 60.1),), ENDS[:0]),
    Row("loggamma", (scales(0.01, 100),)),
    Row("gammasgn", (between(-6.3, 5.2),), ENDS),
    Row("digamma", (between(0.2, 50),)),
    Row("factorial", (between(0.1, 15.3),), (np.array([-1.0, 0.0, 1.0, 5.0]),)),
    Row("beta", (scales(0.1, 20), scales(0.1, 20)), slopes=(0, 1)),
    Row("betaln", (scales(0.1, 500), scales(0.1, 500)), slopes=(0, 1)),
    Row(
        "betainc",
        (scales(0.2, 20), scales(0.2, 20), between(0.02, 0.98)),
        (np.array([0.0, 1, np.inf, 1, -1]), np.array([1.0, 0, 1, np.inf, 1]), np.full(5, 0.5)),
        slopes=(2,),
    ),
    Row("gammainc", (scales(0.1, 30), scales(0.1, 30)), slopes=(0, 1)),
    Row("gammaincc", (scales(0.1, 30), scales(0.1, 30)), slopes=(0, 1)),
    Row(
        "comb",
        (between(10.2, 40.1), between(1.1, 9.7)),
        (np.array([5.0, 5, -1, 3, 0]), np.array([2.0, 6, 1, -1, 0])),
        slopes=(0, 1),
    ),
    Row(
        "poch",
        (scales(0.3, 12), between(-0.2, 6.3)),
        (np.array([0.0, -1, 2, -1.5, 0]), np.array([2.0, 2, 0, 2, 0])),
        slopes=(0, 1),
    ),
    Row("polygamma", (orders(4).astype(np.int32), scales(0.3, 20)), slopes=(1,)),
    Row("zeta", (between(1.2, 12), scales(0.3, 9)), slopes=(0, 1)),
    Row("erf", (between(-3, 3),), ENDS),
    Row("erfc", (between(-3, 8),), ENDS),
    Row("erfinv", (between(-0.99, 0.99),)),
    Row("erfcinv", (between(0.03, 1.96),), UNIT),
    Row("erfcx", (between(-3, 40),), ENDS),
    Row("dawsn", (between(-20, 20),), ENDS),
    Row("ndtr", (between(-9, 9),), ENDS),
    Row("ndtri", (between(0.003, 0.99),), UNIT),
    Row("log_ndtr", (between(-50, 5),), ENDS),
    Row("exp1", (scales(2e-2, 30),), ENDS),
    Row("expi", (between(-20, 40),), ENDS[:0]),
    Row(
        "expn",
        (orders(6), scales(0.02, 30)),
        (np.array([0.0, 1, 2, 3, 4]), np.array([0.0, 0, 0, np.inf, np.nan])),
        slopes=(1,),
    ),
    Row("spence", (scales(1e-2, 1e3),), (np.array([0.0, 1.0, 0.5, 2.0, -1.0, np.nan]),)),
    Row("owens_t", (between(-4, 4), between(-3, 3)), slopes=(0, 1)),
    Row(
        "hyp1f1", (between(-2.3, 4), scales(0.4, 6), between(-25, 25)), slopes=(0, 1, 2), factor=40
    ),
    Row(
        "hyp2f1",
        (between(-1.7, 2.6), between(-1.2, 2.3), between(0.6, 4), between(-4, 0.93)),
        slopes=(0, 1, 2, 3),
        factor=40,
    ),
    Row("i0", (between(-9, 9),), ENDS[:0]),
    Row("i1", (between(-9, 9),), ENDS[:0]),
    Row("i0e", (between(-30, 30),)),
    Row("i1e", (between(-30, 30),)),
    Row("entr", (between(0.1, 5),), ENDS),
    Row(
        "xlogy",
        (between(-2, 2), scales(0.1, 5)),
        (np.array([0.0, 0, 0, 1]), np.array([0.0, np.inf, np.nan, 0])),
        slopes=(0, 1),
    ),
    Row(
        "xlog1py",
        (between(-2, 2), scales(0.1, 5)),
        (np.array([0.0, 0, 0, 1]), np.array([-1.0, np.inf, np.nan, -1])),
        slopes=(0, 1),
    ),
    Row(
        "rel_entr",
        (scales(0.2, 5), scales(0.1, 9)),
        (np.array([0.0, 0, 1, -1, np.nan]), np.array([0.0, 2, 0, 1, 1])),
        slopes=(0, 1),
    ),
    Row(
        "kl_div",
        (scales(0.2, 5), scales(0.1, 9)),
        (np.array([0.0, 0, 1, -1, np.nan]), np.array([0.0, 2, 0, 1, 1])),
        slopes=(0, 1),
    ),
    Row("expit", (between(-20, 20),), ENDS),
    Row("logit", (between(0.01, 0.99),), UNIT),
    Row(
        "boxcox",
        (scales(0.1, 5), between(-2, 2)),
        (np.array([0.0, 1.0, 2, 3]), np.array([0.0, 0.5, 0, 1e-9])),
        slopes=(0, 1),
    ),
    Row("boxcox1p", (scales(0.1, 5), between(-2, 2)), slopes=(0, 1)),
    Row("sici", (between(-20, 20),), (np.array([0.0, np.inf, np.nan, 3.0]),)),
    Row("fresnel", (between(-6, 6),), (np.array([0.0, np.inf, -np.inf, np.nan]),)),
)
"""The elementwise functions of real arguments."""
