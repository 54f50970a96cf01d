"""Which calls the table of weak results is of: functions beyond ``type_rows``, and operands.

Read by the test and, in another environment, by the tool that writes the table: it may import
neither jxkernel nor the reference implementation, and is given one of them.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

ARRAYS = ("int32", "float16", "float32", "int*", "float*", "complex*")
"""Dtypes of array operands; a starred one is weak."""
OPERANDS = {"m": ARRAYS, "v": ARRAYS, "s": (*ARRAYS, "number")}
"""Letter of an operand -> what it may be; ``number`` is a Python float."""
SHAPES = {"m": (3, 3), "v": (3,), "s": (3,)}
_SCALARS = {"int*": 1, "float*": 1.0, "complex*": 1j}

_GROUPS = {
    "m": """
        numpy.diagonal:offset=1 numpy.linalg.matrix_rank
        numpy.linalg.cholesky numpy.linalg.cond numpy.linalg.det numpy.linalg.eig numpy.linalg.eigh
        numpy.linalg.eigvals numpy.linalg.eigvalsh numpy.linalg.inv numpy.linalg.pinv
        numpy.linalg.qr numpy.linalg.slogdet numpy.linalg.svd numpy.linalg.svdvals
        numpy.linalg.diagonal numpy.linalg.norm numpy.diag lax.linalg.cholesky lax.linalg.eigh
        lax.linalg.lu lax.linalg.qr lax.linalg.schur lax.linalg.svd scipy.linalg.lu scipy.linalg.qr
        scipy.linalg.schur scipy.linalg.cholesky scipy.linalg.hessenberg scipy.linalg.expm
    """,
    "mv": "numpy.linalg.solve scipy.linalg.solve numpy.cov:aweights",
    "vv": """
        numpy.histogram:weights numpy.histogram:bins numpy.cross numpy.polyadd numpy.polysub
        scipy.linalg.toeplitz scipy.linalg.hankel
    """,
    "v": """
        numpy.gradient numpy.unwrap numpy.diagflat lax.cumsum lax.cumlogsumexp scipy.signal.detrend
        numpy.histogram numpy.argpartition:kth=1 numpy.polyint numpy.polyint:m=2
    """,
    "s": """
        lax.abs lax.real lax.imag lax.conj numpy.log10 numpy.deg2rad numpy.angle numpy.rint
        numpy.spacing numpy.sinc numpy.angle:deg=1 scipy.special.logit scipy.special.erfcx
        scipy.special.gamma
    """,
    "ss": """
        numpy.gcd numpy.lcm lax.complex lax.pow numpy.heaviside numpy.logaddexp numpy.logaddexp2
        numpy.full_like
        scipy.special.rel_entr scipy.special.kl_div scipy.special.xlogy scipy.stats.bernoulli.cdf
        scipy.stats.chi2.cdf scipy.stats.gamma.sf scipy.stats.pareto.logcdf scipy.stats.poisson.cdf
        scipy.stats.vonmises.pdf
    """,
    "sss": """
        scipy.stats.cauchy.cdf scipy.stats.norm.cdf scipy.stats.norm.pdf scipy.stats.expon.pdf
        scipy.stats.logistic.pdf scipy.stats.gumbel_r.sf
    """,
}
CALLS = {name: letters for letters, names in _GROUPS.items() for name in names.split()}
"""Function -> the letters of its operands.

After a colon: the keyword of the last operand, or a number for a keyword (``name=1``).
"""


def operand(root: Any, letter: str, kind: str) -> Any:
    """Return an operand: an array of ones, or a number."""
    if kind == "number":
        return 0.5
    if kind in _SCALARS:
        return root.numpy.broadcast_to(root.numpy.asarray(_SCALARS[kind]), SHAPES[letter])
    return np.ones(SHAPES[letter], kind)


def calls(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the kinds of operands of the calls of a function."""
    yield from product(*[OPERANDS[letter] for letter in CALLS[name]])


def answer(root: Any, name: str, kinds: tuple[str, ...]) -> str:
    """Return the dtypes of a call's results, ``*`` where weak; ``!`` where it is refused."""
    path, _, keyword = name.partition(":")
    keyword, _, number = keyword.partition("=")
    function = reduce(getattr, path.split("."), root)
    given = [operand(root, *pair) for pair in zip(CALLS[name], kinds, strict=True)]
    numbers = {place: x for place, x in enumerate(given) if isinstance(x, float)}
    arrays = [x for place, x in enumerate(given) if place not in numbers]

    def call(*arrays: Any) -> Any:
        rest = iter(arrays)
        operands = [numbers.get(i) or next(rest) for i in range(len(given))]
        if number:
            return function(*operands, **{keyword: int(number)})
        return function(*operands, **{keyword: operands.pop()} if keyword else {})

    try:
        results = root.tree.leaves(root.eval_shape(call, *arrays))
    except (TypeError, ValueError, NotImplementedError):
        return "!"
    # The weakness of a boolean means nothing: every dtype outranks bool.
    return ",".join(x.dtype.name + "*" * (x.weak_type and x.dtype != bool) for x in results)
