"""Why some everyday operations take longer here than under the fastest of the other libraries."""

__all__ = ["reason_of"]

CALL = "a call of a jitted function takes 5 µs before anything is computed, one of NumPy's 0.5"
SMALL = 1_000

_REASONS = {
    "formulas that give more correct digits than XLA's own (numerics.md)": (
        "tan cbrt arctan2 power sin cos arcsin arccos sinh log1p erfinv remainder gammaln digamma"
    ),
    "XLA's own formula in float32; NumPy has one written for the processor's vectors": (
        "exp tanh arctan arcsinh log hypot logaddexp erf"
    ),
    "XLA calls a function of the C library, or a long series, for each element": "ndtri",
    "sorted digit by digit, or by comparisons, one element after the other; NumPy has a vectorised "
    "network": "sort argsort partition argpartition median nanmedian",
    "a place is chosen with each element; NumPy has a loop written for the processor's vectors": (
        "argmax argmin"
    ),
    "the number of each element is written to the next free place, one after the other": "nonzero",
    "XLA copies element by element, on one core": (
        "concatenate stack tile repeat roll flip pad tril take_along_axis transposed"
    ),
    "XLA adds to an array one element after the other": ("zeros.at segment_sum bincount histogram"),
    "a table is looked up by halving, one gather for each step": "searchsorted interp",
    "small matrices are multiplied or factorised one at a time": "batched",
    "rows are exchanged one by one, in a loop of as many turns": "solve",
    "a step of a loop costs more than what it computes": "recurrence scan",
}

_BY_WORD = {word: reason for reason, words in _REASONS.items() for word in words.split()}
_OTHER = "memory or threads of XLA; beside other work on the machine the ratio moves by half"


def reason_of(name: str, size: int) -> str:
    """Return why an operation may be slow at a size.

    Args:
      name: its name in the table.
      size: about how many elements it has.
    """
    if size <= SMALL:
        return CALL
    words = name.replace("`", " ").replace("(", " ").replace("[", " ").replace(",", " ").split()
    return next((reason for word, reason in _BY_WORD.items() if word in words), _OTHER)
