"""Where the libraries differ on purpose: one table, each row with its reason."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.campaign.answers import Answer, Leaf
from tests.campaign.compare import differing, dtype_of, elements

Leaves = Callable[[Leaf, Leaf], bool]
"""What is true of the first leaf that differs, ours and theirs."""


@dataclass(frozen=True)
class Meant:
    """A difference that is meant.

    Attributes:
      kind: in what the libraries differ, as an expression.
      reason: why.
      program: what the program's source holds, as an expression.
      made: what the statements hold that made the first leaf that differs, as an expression.
      ours: what our error says, as an expression.
      theirs: what theirs says, as an expression.
      leaves: how that leaf differs.
    """

    kind: str
    reason: str
    program: str = ""
    made: str = ""
    ours: str = ""
    theirs: str = ""
    leaves: Leaves | None = None

    def fits(self, kind: str, source: str, ours: Answer, theirs: Answer, place: int) -> bool:
        """Say whether a difference is this one, by the leaf in that place."""
        path = ours.leaves[place].path if place >= 0 else ""
        texts = (source, makers(source, path), ours.message, theirs.message)
        wanted = (self.program, self.made, self.ours, self.theirs)
        pairs = zip(wanted, texts, strict=True)
        if not re.fullmatch(self.kind, kind) or not all(re.search(w, t) for w, t in pairs):
            return False
        return self.leaves is None or self.leaves(ours.leaves[place], theirs.leaves[place])


def makers(source: str, path: str) -> str:
    """Return the statements of ``f`` that made a leaf: those since the one that is shown before."""
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    place = re.search(r"\[(\d+)\]$", path)
    if not functions or place is None:
        return source
    *body, returned = functions[-1].body
    names = ast.unparse(returned).removeprefix("return").strip(" ()").split(", ")
    made = [n for n, s in enumerate(body) if isinstance(s, ast.Assign)]
    here = int(place[1])
    if len(names) != len(made) or here >= len(made):
        return source
    start = made[here - 1] + 1 if here else 0
    return "\n".join(map(ast.unparse, body[start : made[here] + 1]))


def _where(test: Callable[[Any, Any], Any]) -> Leaves:
    """Return whether something is true of all elements that differ, ours and theirs."""
    return lambda a, b: bool(np.all(test(*elements(a, b))))


def _same_elements(a: Leaf, b: Leaf) -> bool:
    """Return whether what differs is the order alone."""
    ours, theirs = map(np.ravel, elements(a, b))
    return np.array_equal(np.sort(ours), np.sort(theirs), equal_nan=True)


def _strong(a: Leaf, b: Leaf) -> bool:
    return b.weak and not a.weak


def _of(names: str) -> Leaves:
    """Return whether a leaf has one of these dtypes."""
    return lambda a, b: bool(re.fullmatch(names, a.dtype))


def _wider(a: Leaf, b: Leaf) -> bool:
    """Return whether theirs is floating and has more bits."""
    return dtype_of(a).itemsize < dtype_of(b).itemsize and "float" in b.dtype


WEAKLY = (("float32", "float64"), ("complex64", "complex128"))
"""What a number of 32 bits gives beside one that is weak, and beside one that is not."""

NOT_A_NUMBER = _where(lambda a, b: np.isnan(b))

_SUBNORMAL = r"e-(3[89]|4\d|30[89]|3[12]\d)"

_DENSITIES = r"(gamma|gumbel_[lr]|chi2|beta|pareto|gennorm|poisson|binom|t)\.(log)?(pd|pm|cd|s)f\("

TABLE = (
    Meant(
        "accepted",
        "Dtypes that the other library has no kernel for are computed in float32 here.",
        theirs=r"dtype=\w+ is not supported|does not accept dtype (bfloat16|float16)",
    ),
    Meant(
        "weak",
        "Weakness of derivatives is what their operations give (decision 26).",
        made=r"jax\.(grad|vjp|jvp|linearize)|own_",
    ),
    Meant(
        "refused",
        "A mode that does not exist is refused, whether the operation looks at it or not.",
        ours=r"unknown indexing mode",
    ),
    Meant(
        "refused",
        "What is no function, position, name, length, dtype or accuracy is refused where it is"
        " given.",
        ours=r"needs a callable|nums(=| is)|got (sig|acc)|takes whole|no dtype|takes True"
        r"|needs an integer as length|needs a string as name"
        r"|the size of a slice is|fill_value is one number|cannot have the dtype object",
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
        ours=r"^Non-hashable static arguments|must be hashable|takes a hashable",
    ),
    Meant(
        "refused",
        "Complex where real is meant is refused (decision 26).",
        program=r"random\.|scipy\.(stats|special)\.",
        ours=r"complex numbers have no order",
    ),
    Meant("weak", "Solutions are strong (decision 26).", made=r"root\(|solved\(", leaves=_strong),
    Meant(
        "value",
        "Integers to negative powers have no value.",
        program=r"-\d|uint",
        made=r"power\(|\*\*",
        leaves=_of(r"u?int\d+"),
    ),
    Meant(
        "value",
        "Special functions have the values that they have in 16 bits, at poles and of large"
        " arguments too.",
        made=r"(poch|loggamma|expi|exp1|expn|\bi[01]|kl_div)\(",
        leaves=NOT_A_NUMBER,
    ),
    Meant(
        "value",
        "Probabilities are SciPy's: none of numbers between integers, NaN of invalid parameters.",
        made=r"logpmf\(|\.pmf\(",
        leaves=_where(lambda a, b: np.isnan(a) | np.isneginf(a) | (a == 0)),
    ),
    Meant(
        "value",
        "Quantiles at the ends are the ends of what can be drawn.",
        made=r"\.ppf\(|\.isf\(",
        leaves=NOT_A_NUMBER,
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
        program=r"\[[^\]]*(\d, (None, )?|None, )(True|False)",
    ),
    Meant(
        "shape",
        "Counts have the size that is asked for, of no elements too.",
        made=r"unique\(.*size=.*return_counts",
        leaves=lambda a, b: 0 in b.shape,
    ),
    Meant(
        "shape",
        "A quantile of a scalar has no axis to keep, as in NumPy.",
        made=r"(percentile|quantile|median)\(.*keepdims=True",
        leaves=lambda a, b: sorted((*a.shape, 1)) == sorted(b.shape),
    ),
    Meant(
        "refused",
        "A quantile of a scalar has no axis to keep, as in NumPy.",
        program=r"(percentile|quantile|median)\(.*keepdims=True",
        ours=r"\brank\b|shape \(\)",
    ),
    Meant(
        "shape",
        "Quantiles at no ranks are none, of no elements too.",
        made=r"(percentile|quantile)\(.*array\(\[\]",
        leaves=lambda a, b: 0 in a.shape,
    ),
    Meant(
        "refused",
        "Quantiles at no ranks are none, of no elements too.",
        program=r"(percentile|quantile)\(.*array\(\[\]",
        ours=r"which has rank",
    ),
    Meant(
        "refused",
        "Sizes of meshes are whole numbers.",
        program=r"make_mesh\(",
        ours=r"^only integer arrays",
    ),
    Meant(
        "refused",
        "What is taken from a count is one number.",
        program=r"ddof=",
        ours=r"^sub got shapes",
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
        made=r"nonzero\(.*fill_value=",
        leaves=_where(lambda a, b: b == 0),
    ),
    Meant(
        "value",
        "Orders are whole numbers.",
        made=r"expn\(",
        leaves=_where(lambda a, b: np.isnan(a)),
    ),
    Meant(
        "value",
        "Of two ranks as near the even one is taken, as in NumPy.",
        made=r"(percentile|quantile)\(.*method='nearest'",
    ),
    Meant(
        "weak",
        "A carry that a loop makes strong is strong where the loop reads it.",
        made=r"lax\.scan\(|boxed",
        leaves=_strong,
    ),
    Meant(
        "dtype",
        "A carry that a loop makes strong is strong where the loop reads it; the slope by a Python"
        " number stays weak.",
        program=r"(?s)(?=.*(grad|vjp)\().*scan\(.*astype\(c\.dtype\)",
        leaves=lambda a, b: (a.dtype, b.dtype) == ("float16", "float32"),
    ),
    Meant(
        "value",
        "Zeros come in from the left of 4 bits without a sign.",
        program=r"uint4",
        made=r"right_shift|shift_right|>>",
    ),
    Meant(
        "value",
        "Integers become floats before they are negated, subtracted or squared.",
        program=r"int|bool|True|False",
        made=r"(soft_sign|soft_?max|squareplus|standardize|log_sigmoid)\(",
    ),
    Meant(
        "value",
        "A single sample has no area.",
        made=r"trapezoid\(",
        leaves=_where(lambda a, b: np.isnan(b) & (a == 0)),
    ),
    Meant(
        "value",
        "Densities of NaN and of invalid parameters are NaN, and those of large ones exact here.",
        program=r"nan|inf|-\d|0\.0",
        made=_DENSITIES,
        leaves=_where(lambda a, b: np.isnan(a) | ~np.isfinite(b)),
    ),
    Meant(
        "value",
        "Densities of NaN and of invalid parameters are NaN, and those of large ones exact here.",
        program=r"e\+?[1-9]\d|\d{5}",
        made=_DENSITIES,
    ),
    Meant(
        "value",
        "A complex number is true unless it is 0, as in NumPy (the page of differences).",
        program=r"\dj|complex",
        made=r"\.at\[",
        leaves=_of("bool"),
    ),
    Meant(
        "value",
        "A complex number is true unless it is 0, as in NumPy (the page of differences).",
        program=r"bool",
        made=r"\.at\[[^\n]*\dj",
    ),
    Meant(
        "value",
        "Where x is 0, x log y is 0 for every y: it does not move with y.",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize|jac|hessian)\().*(xlogy|xlog1py)\(",
        leaves=NOT_A_NUMBER,
    ),
    Meant(
        "value",
        "A carry that a loop makes strong is strong where the loop reads it: beside 16 bits it is"
        " not rounded to 16.",
        made=r"lax\.scan\(|boxed",
        leaves=_where(lambda a, b: np.isnan(b) | (b == np.float16(b))),
    ),
    Meant(
        "value",
        "Probabilities of counts are rounded by other formulas (the saddle point's).",
        made=r"(poisson|binom)\.logpmf\(",
        leaves=_where(lambda a, b: abs(a - b) <= 1e-6 * abs(b)),
    ),
    Meant(
        "value",
        "Subnormal numbers have parts.",
        program=_SUBNORMAL,
        made=r"frexp\(",
    ),
    Meant(
        "shape",
        "A promise that values differ changes nothing where it is broken.",
        made=r"intersect1d\(.*assume_unique",
        leaves=lambda a, b: a.shape < b.shape,
    ),
    Meant(
        "shape",
        "Draws have the shape that is asked for, or that of the parameters.",
        made=r"double_sided_maxwell\(",
        leaves=lambda a, b: a.shape == b.shape[: len(a.shape)],
    ),
    Meant(
        "value",
        "Each parameter has a draw of its own.",
        made=r"weibull_min\(",
        leaves=lambda a, b: a.shape != (),
    ),
    Meant(
        "value",
        "Infinity has a whole part, and no other.",
        made=r"modf\(",
        leaves=_where(lambda a, b: np.isnan(b) & (a == 0)),
    ),
    Meant(
        "value",
        "NaN of either sign is above all numbers.",
        program=r"nan|inf",
        made=r"top_k\(",
    ),
    Meant(
        "value",
        "Incomplete functions have the values that they have for large parameters too.",
        program=r"\d{7}|e\+?[1-9]\d",
        made=r"(gammaincc?|betainc)\(",
    ),
    Meant("weak", "Diagonals are strong.", made=r"(diag|diagonal|trace)\(", leaves=_strong),
    Meant("weak", "Divisors and multiples are strong.", made=r"(lcm|gcd)\(", leaves=_strong),
    Meant(
        "dtype",
        "A norm is floating for every order (decision 26).",
        made=r"vector_norm\(",
        leaves=lambda a, b: a.dtype.startswith("float") and "int" in b.dtype,
    ),
    Meant(
        "value",
        "Subnormal numbers are not zero.",
        program=_SUBNORMAL,
        made=r"norm\(.*ord=0",
    ),
    Meant("shape", "Subnormal numbers are not zero.", program=_SUBNORMAL, made=r"trim_zeros\("),
    Meant(
        "value",
        "Subnormal numbers are not zero.",
        program=_SUBNORMAL,
        made=r"gammaincc?\(",
        leaves=NOT_A_NUMBER,
    ),
    Meant(
        "value",
        "Subnormal numbers have roots (the page of differences), which those that choose look at.",
        program=rf"(?s)(?=.*{_SUBNORMAL}).*cbrt\(",
        made=r"[<>]|where\(|select\(",
    ),
    Meant(
        "value",
        "NaN is above all complex numbers, and below them too.",
        program=r"nan|inf",
        made=r"\b(reduce_)?(a?max|a?min|maximum|minimum)\(",
        leaves=_where(lambda a, b: np.iscomplexobj(a) & np.isnan(a)),
    ),
    Meant(
        "value",
        "Deviations of 8 bits are summed in 32, where squares are finite.",
        program=r"float8",
        made=r"\b(nan)?(std|var)\(",
        leaves=_where(lambda a, b: np.isfinite(a) & np.isnan(b)),
    ),
    Meant(
        "value",
        "NaN is below a complex number that an element is replaced by.",
        made=r"\.(min|max)\(1j",
        leaves=_where(lambda a, b: np.isnan(a)),
    ),
    Meant(
        "value",
        "A logarithm of a negative number has the sign that its zero has, which a quotient by a"
        " real number keeps.",
        made=r"\blog(2|10)?\(",
        leaves=_where(lambda a, b: np.isclose(a, np.conj(b))),
    ),
    Meant(
        "value",
        "A zeta function of large numbers is 0.",
        made=r"\bzeta\(",
        leaves=_where(lambda a, b: (a == 0) & np.isnan(b)),
    ),
    Meant(
        "value",
        "In which order the parts of a partition are nobody says.",
        made=r"partition\(",
        leaves=_same_elements,
    ),
    Meant(
        "value",
        "A hypergeometric function is infinite at 1 where its series is, as SciPy's.",
        made=r"hyp2f1\(",
        leaves=_where(lambda a, b: np.isinf(a) & np.isnan(b)),
    ),
    Meant(
        "value",
        "An unsigned number is not below -1.",
        made=r"hard_tanh\(",
        leaves=_of(r"uint\d+"),
    ),
    Meant(
        "value",
        "Derivatives at NaN are NaN where the sign of a number is looked at.",
        program=r"nan|inf",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\b(abs(olute)?|fabs|\w*norm)\(",
        leaves=_where(lambda a, b: np.isnan(a)),
    ),
    Meant(
        "value",
        "A derivative by what is not read is zero, beside NaN too.",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*boxed",
        leaves=_where(lambda a, b: np.isnan(b) & (a == 0)),
    ),
    Meant(
        "value",
        "What is not chosen has no derivative, beside NaN too.",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*(minimum|maximum|\]\.max|\]\.min|clip|clamp)\(",
        leaves=_where(lambda a, b: np.isnan(b) & (a == 0)),
    ),
    Meant(
        "value",
        "Where the greatest is NaN its derivative is that of the NaN (the page of differences).",
        program=r"nan|inf",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\b(a?max|a?min|reduce_max|reduce_min|ptp)\(",
        leaves=_where(lambda a, b: np.isnan(b) & np.isfinite(a)),
    ),
    Meant(
        "value",
        "A running extreme moves with the first of equal elements, or of NaN (the page of"
        " differences).",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\bcum(max|min)\(",
    ),
    Meant(
        "value",
        "Slopes of densities at NaN are NaN (the page of differences).",
        program=r"nan|inf",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\.(log)?(pdf|pmf|cdf|sf|ppf|isf)\(",
        leaves=_where(lambda a, b: np.isnan(a)),
    ),
    Meant(
        "value",
        "Complex infinities times zero are NaN or infinite, as a product is computed.",
        program=r"inf",
        made=r"(polymul|convolve|correlate|conv\w*)\(",
        leaves=_where(lambda a, b: np.iscomplexobj(a) & ~np.isfinite(a) & ~np.isfinite(b)),
    ),
    Meant(
        "value",
        "Densities have slopes at their ends and at infinities: the limits from within.",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\.(log)?(pdf|pmf|cdf|sf|ppf|isf)\(",
        leaves=NOT_A_NUMBER,
    ),
    Meant(
        "dtype",
        "16 bits stay 16 bits (decision 26).",
        made=r"angle|owens_t|norm\.(ppf|isf)",
        leaves=_of("b?float16"),
    ),
    Meant(
        "value",
        "A number in [0.5, 1) times a power of two has that power, in 8 bits too.",
        program=r"float8",
        made=r"frexp\(",
        leaves=_of("int32"),
    ),
    Meant(
        "dtype",
        "Transforms of nothing are floating in 32 bits, as those of something are.",
        program=r"float(16|8)",
        made=r"rfftn?\(",
        leaves=_of("float32"),
    ),
    Meant(
        "dtype",
        "What has no elements, or is a number, has the dtype that others have (decision 26).",
        made=r"angle\(|corrcoef\(|cov\(|polyint\(",
        leaves=_wider,
    ),
    Meant(
        "refused",
        "One element does not become none.",
        program=r"reshape\(\w+, 0\)",
        ours=r"cannot reshape array of shape \(\) \(size 1\) into shape \(0,\)",
    ),
    Meant(
        "shape",
        "Axes are kept where there are some, and probabilities where values are none: as NumPy.",
        made=r"(percentile|quantile|median)\(.*keepdims=True|nan(percentile|quantile)\(",
    ),
    Meant(
        "value",
        "The slope of an absolute value is 0 at 0.",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\()"
        r".*(\babs(olute)?|fabs|copysign|norm|laplace\.(log)?pdf)\(",
        leaves=_where(lambda a, b: a == 0),
    ),
    Meant(
        "value",
        "The slope of an absolute value is 0 at 0.",
        program=r"[^\d.]0\.0\b",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\babs\(",
    ),
    Meant(
        "value",
        "A complex number is true where either part is not 0.",
        program="complex",
        made=r"\b(any|all)\(",
        leaves=_of("bool|complex64|complex128"),
    ),
    Meant(
        "value",
        "The spacing at -0 is that at 0, as in NumPy.",
        program=r"(?s)spacing\(.*-0\.0",
        leaves=_where(lambda a, b: a == -b),
    ),
    Meant(
        "dtype",
        "Deviations are real (decision 26).",
        made=r"\bsem\(",
        leaves=_of("float(32|64)"),
    ),
    Meant(
        "value",
        "Spacing has the sign of its number, as in NumPy, in 16 bits too.",
        program=r"float16",
        made=r"spacing\(",
        leaves=_of("b?float16"),
    ),
    Meant(
        "value",
        "What has a limit has it where exponentials overflow, and in 8 bits.",
        made=r"spence\(|gumbel_[rl]\.logpdf\(|cumlogsumexp\(|trapezoid\(|(quantile|percentile|median)\(|\bbeta(ln)?\(",
        leaves=NOT_A_NUMBER,
    ),
    Meant(
        "dtype",
        "Weakness of derivatives is what their operations give (decision 26).",
        program=r"float16|bfloat16",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*expi\(",
        leaves=_of("float32"),
    ),
    Meant(
        "dtype",
        "Weakness of derivatives is what their operations give (decision 26).",
        program=r"enable_x64', True",
        made=r"(grad|vjp|jvp|linearize)\(",
        leaves=lambda a, b: (a.dtype, b.dtype) in WEAKLY,
    ),
    Meant(
        "value",
        "A carry that a loop makes strong is strong where the loop reads it.",
        program=r"enable_x64', True",
        made=r"(fori_loop|while_loop|scan)\(.*astype\(c\.dtype\)",
        leaves=_where(lambda a, b: b == np.float32(b)),
    ),
    Meant(
        "value",
        "What a dtype does not hold becomes the nearest number, of host values as of arrays.",
        made=r"convert_element_type\(|\bfull(_like)?\(",
        leaves=_of(r"u?int\d+"),
    ),
    Meant("weak", "Signs of determinants are strong.", made=r"slogdet\(", leaves=_strong),
    Meant(
        "value",
        "The determinant of what holds NaN or infinities has no sign, as in NumPy.",
        made=r"slogdet\(",
        leaves=_where(lambda a, b: np.isnan(a) & (np.abs(b) == 1)),
    ),
    Meant(
        "value",
        "The determinant of a matrix that is singular but for rounding is what rounding leaves.",
        made=r"linalg\.det\(",
        leaves=_where(lambda a, b: (a == 0) | (b == 0)),
    ),
    Meant(
        "value",
        "A partition moves each of equal elements once, and its derivative with it.",
        program=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*partition\(",
        leaves=_where(lambda a, b: np.isfinite(a) & np.isfinite(b)),
    ),
    Meant(
        "value",
        "A norm has the slope 0 at 0 (the page of differences).",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*\b(norm|hypot)\(",
        leaves=_where(lambda a, b: np.isnan(b) & (a == 0)),
    ),
    Meant(
        "value",
        "The determinant of a matrix with an infinite pivot is infinite, as in NumPy.",
        made=r"slogdet\(",
        leaves=_where(lambda a, b: np.isnan(b) & np.isposinf(a)),
    ),
    Meant(
        "value",
        "A normal density in 16 bits is computed so that its square does not overflow.",
        made=r"norm\.logpdf\(",
        leaves=_where(lambda a, b: np.isfinite(a) & np.isneginf(b)),
    ),
    Meant(
        "array for TypedNdArray",
        "What a function that was traced gives is an array, of no elements too.",
        program=r"own_",
    ),
    Meant(
        "refused",
        "What is no reference, type, length or number of the dtype is refused where it is given.",
        program=r"result = jax\.",
        ours=r"free_ref takes a ref|only integer scalar arrays can|of one dtype, got f32 and c64",
    ),
    Meant(
        "refused",
        "Whether something is a node is asked of its type.",
        program=r"is_tree_node\(",
        ours=r"is_tree_node takes a type",
    ),
    Meant(
        "refused",
        "A norm is floating for every order (decision 26).",
        program=r"vector_norm\(",
        ours=r"of one dtype, got f32 and the Python number",
    ),
    Meant(
        "refused",
        "A loop is differentiated as a whole: what it hands on unchanged too.",
        program=r"lambda n: \(1\.0, n\[1\]\)",
        ours=r"does not work through while_loop",
    ),
    Meant(
        "value",
        "Which bits a NaN has is nothing to count on.",
        made=r"bitcast_convert_type\(",
        leaves=_where(lambda a, b: np.abs(np.int64(a)) % 2**22 == np.abs(np.int64(b)) % 2**22),
    ),
    Meant(
        "dtype",
        "Positions are whole numbers, whatever follows the last one.",
        program=r"(nonzero|argwhere|where|intersect1d|setxor1d)\(.*fill_value=\d+\.",
        leaves=_of("int32"),
    ),
    Meant(
        "refused",
        "Complex numbers have no order (decision 26).",
        program=r"clamp\(|clip\(",
        ours=r"clamp does not accept dtype complex",
    ),
    Meant(
        "value",
        "Means are summed in 32 bits (decision 26), and rounded once.",
        made=r"mean\(.*dtype='float16'",
        leaves=_where(lambda a, b: np.isinf(b)),
    ),
    Meant(
        "array for float32",
        "An operation gives an array, of a NumPy scalar that stays as it is too.",
        made=r"reshape\(",
    ),
    Meant(
        "value",
        "Products of matrices with infinities are infinite or NaN by the order that they are taken"
        " in: NumPy's, where it has one.",
        made=r"(multi_dot|einsum)\(",
        leaves=_where(lambda a, b: ~np.isfinite(a) & ~np.isfinite(b)),
    ),
    Meant(
        "value",
        "A power of two of a complex infinity is 0 or infinite, as an exponential is.",
        made=r"exp2\(",
        leaves=_where(lambda a, b: np.iscomplexobj(a) & np.isnan(b)),
    ),
    Meant(
        "value",
        "Products in a determinant of three rows or fewer overflow each for itself (the page of"
        " differences).",
        made=r"linalg\.det\(",
        leaves=_where(lambda a, b: ~np.isfinite(a) & ~np.isfinite(b)),
    ),
    Meant(
        "value",
        "Zero to a complex power with a positive real part is 0 (the page of differences).",
        made=r"\*\*|pow(er)?\(",
        leaves=_where(lambda a, b: np.iscomplexobj(a) & (a == 0) & np.isnan(b)),
    ),
    Meant(
        "value",
        "A power has the slope 0 where its exponent is 0 (the page of differences).",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*(\*\*|pow(er)?\()",
        leaves=_where(lambda a, b: np.isnan(b) & np.isfinite(a)),
    ),
    Meant(
        "value",
        "Probabilities are SciPy's: none of numbers between integers, NaN of invalid parameters.",
        made=r"(?s)pmf\(.*(arg(max|min|sort|partition)|sort|top_k)\(",
    ),
    Meant(
        "value",
        "A variance of as many numbers as are taken from their count is NaN, and so is its slope.",
        made=r"(?s)(?=.*(grad|vjp|jvp|linearize)\().*ddof=",
        leaves=_where(lambda a, b: np.isnan(a) & (b == 0)),
    ),
    Meant(
        "value",
        "Which bits a NaN has is nothing to count on.",
        program=r"nan|inf",
        made=r"(signbit|copysign)\(",
    ),
    Meant("value", "Edges of bins are those of NumPy.", made=r"histogram\w*\("),
    Meant(
        "refused",
        "A name that stands for no axis is refused, of no arrays too.",
        program=r"lax\.\w+\((\(\)|\[\]|\{\}|None)",
        ours=r"unbound axis name",
    ),
    Meant("refused", "Shards are made by their array.", ours=r"^Shard\.__init__"),
    Meant(
        "array for Token",
        "Tokens are numbers: the order is that of what depends on them.",
        program=r"after_all\(",
    ),
)


def meant(kind: str, source: str, ours: Answer, theirs: Answer, place: int | None = None) -> str:
    """Return the reason why a difference is meant, empty where it is none of the table's.

    Args:
      kind: in what two answers differ.
      source: the program.
      ours: what this library gave.
      theirs: what the other one gave.
      place: the leaf that differs, -1 for none: the first that does where it is not said.
    """
    at = differing(ours, theirs)[1] if place is None else place
    rows = (row for row in TABLE if row.fits(kind, source, ours, theirs, at))
    return next((row.reason for row in rows), "")
