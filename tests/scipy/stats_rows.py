"""What distributions are called with: one row is one distribution, SciPy gives the answers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

LINE = np.array([-3.0, -0.4, 0.0, 0.3, 1.0, 2.5, 7.0])
"""Where densities and distribution functions are evaluated, outside the support too."""
PLACES = np.array([0.0, 1e-4, 0.2, 0.5, 0.93, 1.0, -0.5, 1.5])
"""Where quantiles are: the ends, the inside, the outside."""
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 1.5])


@dataclass(frozen=True)
class Row:
    """One distribution.

    Attributes:
      name: its module, here and in SciPy.
      functions: what it has.
      parameters: its parameters.
      moved: whether it takes a shift and a scale (of counts, a shift).
      points: where its functions other than quantiles are evaluated.
    """

    name: str
    functions: str
    parameters: tuple[float, ...] = ()
    moved: bool = True
    points: Any = field(default_factory=lambda: LINE)

    def __str__(self) -> str:
        return self.name


_ALL = "pdf logpdf cdf logcdf sf logsf"

ROWS = (
    Row("norm", f"{_ALL} ppf isf"),
    Row("cauchy", f"{_ALL} ppf isf"),
    Row("expon", f"{_ALL} ppf"),
    Row("uniform", "pdf logpdf cdf ppf"),
    Row("laplace", "pdf logpdf cdf"),
    Row("logistic", "pdf logpdf cdf sf ppf isf"),
    Row("gumbel_r", f"{_ALL} ppf"),
    Row("gumbel_l", f"{_ALL} ppf"),
    Row("gamma", _ALL, (2.5,)),
    Row("chi2", _ALL, (3.0,)),
    Row("beta", _ALL, (1.7, 2.6)),
    Row("t", "pdf logpdf", (3.5,)),
    Row("pareto", f"{_ALL} ppf", (1.5,)),
    Row("gennorm", "pdf logpdf cdf", (1.5,), moved=False),
    Row("truncnorm", _ALL, (-1.0, 2.0)),
    Row("vonmises", "pdf logpdf", (1.5,), moved=False),
    Row("wrapcauchy", "pdf logpdf", (0.4,), moved=False),
    Row("bernoulli", "pmf logpmf", (0.3,), points=COUNTS),
    Row("binom", "pmf logpmf", (4, 0.3), points=COUNTS),
    Row("betabinom", "pmf logpmf", (4, 1.5, 0.7), points=COUNTS),
    Row("geom", "pmf logpmf", (0.3,), points=COUNTS),
    Row("nbinom", "pmf logpmf", (3.0, 0.3), points=COUNTS),
    Row("poisson", "pmf logpmf cdf", (2.5,), points=COUNTS),
)
"""The distributions of numbers."""
