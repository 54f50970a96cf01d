"""Where the libraries differ on purpose: one table, each row with its reason."""

import re
from dataclasses import dataclass

from tests.campaign.answers import Answer
from tests.campaign.compare import only_not_a_number


@dataclass(frozen=True)
class Meant:
    """A difference that is meant.

    Attributes:
      kind: in what the libraries differ, as an expression.
      reason: why.
      program: what the program's source holds, as an expression.
      ours: what our error says, as an expression.
      theirs: what theirs says, as an expression.
      dtype: the dtypes of our result, as an expression.
      nan: whether theirs is NaN wherever the values differ.
    """

    kind: str
    reason: str
    program: str = ""
    ours: str = ""
    theirs: str = ""
    dtype: str = ""
    nan: bool = False

    def fits(self, kind: str, source: str, ours: Answer, theirs: Answer) -> bool:
        """Say whether a difference is this one."""
        dtypes = " ".join(leaf.dtype for leaf in ours.leaves)
        texts = (source, ours.message, theirs.message, dtypes)
        wanted = (self.program, self.ours, self.theirs, self.dtype)
        pairs = zip(wanted, texts, strict=True)
        if not re.fullmatch(self.kind, kind) or not all(re.search(w, t) for w, t in pairs):
            return False
        return not self.nan or only_not_a_number(ours, theirs)


TABLE = (
    Meant(
        "accepted",
        "Dtypes that the other library has no kernel for are computed in float32 here.",
        theirs=r"dtype=\w+ is not supported|does not accept dtype (bfloat16|float16)",
    ),
    Meant(
        "weak",
        "Weakness of derivatives is what their operations give (decision 26).",
        program=r"jax\.(grad|vjp|jvp|linearize)|own_",
    ),
    Meant(
        "refused",
        "A mode that does not exist is refused, whether the operation looks at it or not.",
        ours=r"unknown indexing mode",
    ),
    Meant(
        "refused",
        "What is no function, position, dtype or accuracy is refused where it is given.",
        ours=r"needs a callable|nums(=| is)|got (sig|acc)|takes whole|no dtype|takes True",
    ),
    Meant("refused", "Masked arrays are refused by every function.", ours=r"Arrays have no mask"),
    Meant(
        "refused",
        "What NumPy refuses: polynomials that are no vectors, positions beyond the end, scalars to"
        " search or to accumulate.",
        ours=r"takes vectors of coeff|insert got obj|on 0d arrays|accumulate got axis 0 for an arr",
    ),
    Meant(
        "refused",
        "16 bits are not factorized, whatever the size of the matrix.",
        ours=r"(lu|qr|cholesky|eigh?|svd) does not accept dtype (b?float16)",
    ),
    Meant(
        "refused",
        "Python numbers that a dtype cannot hold are refused.",
        ours=r"does not fit|cannot convert float infinity|out of bounds for u?int",
    ),
    Meant(
        "refused",
        "An option that cannot be hashed is refused, whether the function looks at it or not.",
        ours=r"^Non-hashable static arguments",
    ),
    Meant(
        "refused",
        "Complex where real is meant is refused (decision 26).",
        program=r"random\.|scipy\.stats\.",
        ours=r"complex numbers have no order",
    ),
    Meant("weak", "Solutions are strong (decision 26).", program=r"root\(|solved\("),
    Meant(
        "value",
        "Integers to negative powers have no value.",
        program=r"power\(|\*\*",
        dtype=r"u?int",
    ),
    Meant(
        "value",
        "Special functions have the values that they have in 16 bits, at poles and of large"
        " arguments too.",
        program=r"poch\(|loggamma\(|expi\(|exp1\(|expn\(",
        nan=True,
    ),
    Meant(
        "value",
        "Probabilities are SciPy's: none of numbers between integers, NaN of invalid parameters.",
        program=r"logpmf\(|\.pmf\(",
    ),
    Meant(
        "refused",
        "A variance is computed in a floating dtype, as a deviation is.",
        ours=r"is computed in a floating dtype",
    ),
    Meant(
        "refused",
        "Complex numbers have no least or greatest one, among no elements too.",
        ours=r"arg(max|min) does not accept dtype complex",
    ),
    Meant(
        "refused",
        "A position beyond the end is refused beside no positions too, as NumPy does.",
        program=r"\[\[\]|array\(\[\]",
        ours=r"is out of bounds for axis \d+, which has size 0",
    ),
    Meant(
        "refused",
        "What stands for NaN is no larger than the array, as in NumPy.",
        program=r"nan_to_num",
        ours=r"cannot be broadcast to shape",
    ),
    Meant(
        "refused",
        "Booleans are not subtracted, of arrays without elements neither.",
        ours=r"sub does not accept dtype bool",
    ),
    Meant(
        "shape",
        "A boolean beside an integer adds an axis in front, as in NumPy.",
        program=r"\[[^\]]*\d, (None, )?(True|False)",
    ),
    Meant(
        "shape",
        "Counts have the size that is asked for, of no elements too.",
        program=r"unique\(.*size=.*return_counts",
    ),
    Meant(
        "shape",
        "A quantile of a scalar has no axis to keep, as in NumPy.",
        program=r"(percentile|quantile|median)\(.*keepdims=True",
    ),
    Meant("weak", "Divisors and multiples are strong.", program=r"(lcm|gcd)\("),
    Meant("dtype", "16 bits stay 16 bits (decision 26).", program=r"angle|owens_t|norm\.(ppf|isf)"),
)


def meant(kind: str, source: str, ours: Answer, theirs: Answer) -> str:
    """Return the reason why a difference is meant, empty where it is none of the table's."""
    rows = (row for row in TABLE if row.fits(kind, source, ours, theirs))
    return next((row.reason for row in rows), "")
