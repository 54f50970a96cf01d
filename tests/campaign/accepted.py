"""Why a program runs here that the other library refuses: one table, each row with its reason."""

import re
from dataclasses import dataclass

from tests.campaign.findings import Finding


@dataclass(frozen=True)
class Accepted:
    """What is refused there alone.

    Attributes:
      reason: why it is of use here, or does no harm.
      theirs: what their error says, as an expression.
      program: what the program's source holds, as an expression.
    """

    reason: str
    theirs: str
    program: str = ""

    def fits(self, finding: Finding) -> bool:
        """Say whether a finding is of this kind."""
        texts = ((self.theirs, finding.theirs), (self.program, finding.program))
        return all(re.search(wanted, text) for wanted, text in texts)


TABLE = (
    Accepted(
        "Booleans and integers become floats in functions of floats, as in NumPy and SciPy.",
        r"(logistic|log1p|log|sub|neg|iota|schur|hessenberg|floor) does not accept dtype"
        r"|dtype\('bool'\) not compatible with finfo|must be a float dtype, got bool",
    ),
    Accepted(
        "Booleans are added and multiplied as `or` and `and`.",
        r"(add|mul) does not accept dtype bool|must have a number dtype, got bool",
    ),
    Accepted(
        "A norm is floating for every order (decision 26).",
        r"Python integer -1 out of bounds|linearized function called on tangent",
        r"norm\(",
    ),
    Accepted(
        "Quantiles at several ranks are several, of no elements too.",
        r"Too many indices",
        r"(quantile|percentile)\(",
    ),
    Accepted(
        "Counts have the size that is asked for, of no elements too.",
        r"boolean index did not match|argmax of an empty|cannot reshape array of shape \(0,\)",
        r"unique\(.*size=.*return_counts",
    ),
    Accepted("Signals of different ranks broadcast, as in SciPy.", r"must have the same rank"),
    Accepted(
        "Cases of a selection may be scalars beside any shape.",
        r"select `which` must be scalar|select cases must have the same shapes",
    ),
    Accepted(
        "Of no shapes the common one is (), as in NumPy.",
        r"AssertionError",
        r"broadcast_shapes\(\)",
    ),
    Accepted("Booleans are positions, as in NumPy.", r"Boolean arguments to jax.numpy.ix_"),
    Accepted(
        "Complex numbers are compared in the order of NumPy.",
        r"gt does not accept dtype c|for complex dtype is not implemented",
    ),
    Accepted(
        "16 and 8 bits are computed in float32 where there is no kernel for them.",
        r"RFFT input must be float32|failed to legalize|signbit only supports|lu does not accept",
    ),
    Accepted(
        "4 bits are computed as other integers are.",
        r"no available implicit dtype promotion path|abs does not accept dtype int4|got uint4"
        r"|Invalid integer data type 'V'|non-sub-byte types",
    ),
    Accepted(
        "A derivative by integers is a zero of no type, which functions pass on.",
        r"with a float0 array|Invalid dtype for `swap`|Zero\[float0",
    ),
    Accepted(
        "A number is an array of one element, as in NumPy.",
        r"must be 1D|at least 1-d|unsized|fewer dim",
    ),
    Accepted("A number is a polynomial of degree 0, as in NumPy.", r"tuple index", r"polyadd"),
    Accepted("Polynomials of equal length broadcast, as in NumPy.", r"Incompatible", r"polyadd"),
    Accepted(
        "A number is a shape of one axis, and no shapes are the shape of a number, as in NumPy.",
        r"'int' has no len|AssertionError",
        r"broadcast_shapes\(",
    ),
    Accepted(
        "Arrays without elements have the results of NumPy, and loops over none the type of one.",
        r"zero-size array|out of bounds for axis 0 with size 0|modulo by zero|division by zero"
        r"|non-empty jnp.take|slice_sizes must be|Out of bound slice|Slice size at index"
        r"|axis 0 is out of bounds for array of dimension 0|nonnegative, got \(-1",
    ),
    Accepted(
        "A percentile of a number has no axis to keep, and is what a vector is made of.",
        r"must be a one-dimensional array|the correct number of indices",
        r"percentile\(.*keepdims",
    ),
    Accepted(
        "A new axis and a boolean make axes of size 1, as in NumPy: x[None, True] is (1, 1, n).",
        r"Dimension must be 3 for cross",
        r"None, True",
    ),
    Accepted(
        "A percentile of a number, of all axes, is a number under vmap too.",
        r"transpose permutation isn't a permutation",
        r"percentile\(.*keepdims",
    ),
    Accepted("A condition that is known is known under a trace too.", r"compress"),
    Accepted(
        "Known positions are known under a trace too, where NumPy's arrays take them.",
        r"__array__\(\) was called on traced",
        r"\w\[jnp\.array\(",
    ),
    Accepted(
        "Conditions and functions may be numbers, as in NumPy.",
        r"None is not a valid",
        r"piecewise",
    ),
    Accepted("Elements are read when they are asked for.", r"fromiter\(\) is not implemented"),
    Accepted("A transform of nothing is a sum of nothing.", r"verifier errors", r"fft\."),
    Accepted("Bits are read in another dtype along any axis of a batch.", r"Attempting to convert"),
    Accepted("`result_type` is one function, with a flag.", r"return_weak_type_flag"),
    Accepted("Integers are rounded to tens, as in NumPy.", r"integer np.round not"),
    Accepted("A variance has the dtype that is asked for.", r"numpy.var does not yet"),
    Accepted("A mean that is given broadcasts, as in NumPy.", r"same number of dim", r"mean="),
    Accepted("A product has the dtype that is asked for.", r"must not be narrower"),
    Accepted(
        "Arrays of other shapes are not equal, and tolerances broadcast, as in NumPy.",
        r"incompatible shapes for broadcasting|same number of dimensions",
        r"array_equiv|allclose",
    ),
    Accepted(
        "What an option is makes no difference where it is not needed.",
        r"Non-hashable|overwrite_input=True|inhomogeneous|truth value of an array"
        r"|was passed to the function at path",
        r"fill_value=|assume_unique_indices=|copy=|overwrite_input=",
    ),
    Accepted("A fill value for each axis may be an array of them.", r"fill_value must be a"),
    Accepted("Edges of bins may be a tuple, as in NumPy.", r"histogram_bin_edges requires"),
    Accepted(
        "An exponent that is an array is not looked at, as its elements may be on their way.",
        r"integer_pow\(~int32",
    ),
    Accepted("The Riemann zeta function is that of Hurwitz at 1.", r"Riemann zeta"),
    Accepted("Products with vectors take a precision, as other products do.", r"matvec"),
    Accepted("In lax too, negative axes count from the end.", r"do not allow negative axes"),
    Accepted(
        "A Python number stands beside arrays of any shape, and takes their dtype.",
        r"select cases must have|inconsistent dtypes for operands and init_values",
    ),
    Accepted(
        "Integers are converted for a solver, as for other functions of floats.",
        r"linear_transpose only supports",
    ),
    Accepted(
        "References and functions with rules of their own work inside every transform.",
        r"State effect not supported|Mutating a reference with|No state discharge rule"
        r"|forward-mode autodiff \(jvp\) to a|Batching rule for 'linear_call'"
        r"|rule for 'custom_lin'|Linearization failed",
    ),
    Accepted(
        "A reference that a loop does not change hinders no derivative.",
        r"Reverse-mode differentiation does not work",
        r"boxed",
    ),
    Accepted("Products are scattered at positions that repeat.", r"scatter_mul gradients"),
    Accepted("References are made outside of compiled functions too.", r"rule for 'empty_ref'"),
    Accepted("A reference is made by its type, too: `Ref(x)` is `new_ref(x)`.", r"Ref.__init__"),
    Accepted(
        "With options alone `checkpoint` is a decorator.",
        r"missing 1 required positional argument: 'fun'",
    ),
    Accepted(
        "Records are looked at where they are used.",
        r"iteration over a 0-d|'int' object is not iterable",
        r"DimensionNumbers\(",
    ),
    Accepted("A key has a type like other arrays, which is not weak.", r"no attribute 'weak_type'"),
    Accepted(
        "Refused here too by now: the next run strikes it from the record.",
        r"argument: 'axes'|SimpleNamespace|hankel: r must|not a valid JAX type|masked arrays are"
        r"|argument of ManualAxisType|integer_pow does not accept|Cannot interpret 'key<fry>'",
    ),
    Accepted("Modules are there without being imported.", r"has no attribute 'flatten_util'"),
)


def reason(finding: Finding) -> str:
    """Return why a finding is accepted, empty where no row says so."""
    return next((row.reason for row in TABLE if row.fits(finding)), "")
