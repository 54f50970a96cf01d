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
        "16 and 8 bits are not factorized, whatever the size of the matrix.",
        ours=r"(lu|qr|cholesky|eigh?|svd|solve) does not accept dtype (b?float16|float8)",
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
        program=r"random\.|scipy\.(stats|special)\.",
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
        "value",
        "Quantiles at the ends are the ends of what can be drawn.",
        program=r"\.ppf\(|\.isf\(",
        nan=True,
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
    Meant(
        "refused",
        "A quantile of a scalar has no axis to keep, as in NumPy.",
        program=r"(percentile|quantile|median)\(.*keepdims=True",
        ours=r"rank 0",
    ),
    Meant(
        "shape",
        "Quantiles at no ranks are none, of no elements too.",
        program=r"(percentile|quantile)\(.*array\(\[\]",
    ),
    Meant("refused", "A kernel without elements is refused.", ours=r"no window is empty"),
    Meant(
        "refused",
        "Positions of axes are looked at, where the shape stays as well.",
        ours=r"broadcast_in_dim cannot place",
    ),
    Meant(
        "refused",
        "Numbers of fewer than 16 or 8 bits are promoted by no function.",
        ours=r"no implicit promotion in standard mode",
    ),
    Meant(
        "refused",
        "Keys, and integers where floats are meant, are refused.",
        ours=r"^isfinite got key|^cumlogsumexp does not accept dtype|^segment_sum does not accept",
    ),
    Meant(
        "refused",
        "A label stands for one size, as in NumPy.",
        ours=r"einsum got sizes 1 and 0 for the label",
    ),
    Meant(
        "value",
        "What stands for missing positions does so among no elements too.",
        program=r"nonzero\(.*fill_value=",
    ),
    Meant("value", "Orders are whole numbers.", program=r"expn\("),
    Meant(
        "value",
        "Of two ranks as near the even one is taken, as in NumPy.",
        program=r"(percentile|quantile)\(.*method='nearest'",
    ),
    Meant(
        "weak",
        "A carry that a loop makes strong is strong where the loop reads it.",
        program=r"lax\.scan\(",
    ),
    Meant(
        "value",
        "Zeros come in from the left of 4 bits without a sign.",
        program=r"(?s)(?=.*uint4).*(right_shift|shift_right|>>)",
    ),
    Meant(
        "value",
        "Integers become floats before they are negated or subtracted.",
        program=r"(?s)(?=.*(soft_sign|soft_?max)\().*(int|bool|True|False)",
    ),
    Meant("value", "A single sample has no area.", program=r"trapezoid\(", nan=True),
    Meant(
        "value",
        "Densities of NaN are NaN, and those of large parameters lose their digits in both.",
        program=r"(?s)(?=.*(gamma|chi2)\.logpdf\().*(nan|inf|e\+?\d\d|\d{5})",
    ),
    Meant(
        "value",
        "Subnormal numbers have parts.",
        program=r"(?s)(?=.*frexp\().*e-(3[89]|4\d|30[89]|3[12]\d)",
    ),
    Meant(
        "shape",
        "A promise that values differ changes nothing where it is broken.",
        program=r"intersect1d\(.*assume_unique",
    ),
    Meant(
        "shape",
        "Draws have the shape that is asked for, or that of the parameters.",
        program=r"double_sided_maxwell\(",
    ),
    Meant("value", "Each parameter has a draw of its own.", program=r"weibull_min\("),
    Meant("value", "Infinity has a whole part, and no other.", program=r"modf\(", nan=True),
    Meant(
        "value",
        "NaN of either sign is above all numbers.",
        program=r"(?s)(?=.*top_k\().*(nan|inf)",
    ),
    Meant(
        "value",
        "Incomplete functions have the values that they have for large parameters too.",
        program=r"(?s)(gammaincc?|betainc)\(.*(\d{7}|e\+?[1-9]\d)",
    ),
    Meant("weak", "Divisors and multiples are strong.", program=r"(lcm|gcd)\("),
    Meant("dtype", "16 bits stay 16 bits (decision 26).", program=r"angle|owens_t|norm\.(ppf|isf)"),
)


def meant(kind: str, source: str, ours: Answer, theirs: Answer) -> str:
    """Return the reason why a difference is meant, empty where it is none of the table's."""
    rows = (row for row in TABLE if row.fits(kind, source, ours, theirs))
    return next((row.reason for row in rows), "")
