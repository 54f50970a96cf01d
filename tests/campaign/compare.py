"""What it means that two libraries gave the same."""

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tests.campaign.answers import Answer, Leaf
from tests.tolerances import tolerance, widened

FACTOR = 100.0
"""How many tolerances apart values may be: programs compute with what they computed."""

UNCLEAN = re.compile(
    r"(Stage|Jvp|Batch|Partial)Tracer|Tracer object|jaxlib|_jax\.|mlir|stablehlo|nanobind"
    r"|ArrayImpl|of type _(?!_main__)|'_\w+' object|<class '[\w.]*\._"
    r"|std::|absl::|xla::|INVALID_ARGUMENT|INTERNAL:|UNIMPLEMENTED|incompatible function arguments"
    r"|unhashable type: 'ShapedArray|has no attribute '_|_p\b got"
    r"|PyTreeDef\(|sub-dtype|np\.(inexact|integer|floating)"
)
"""Names from the inside and text from below, which no message may hold."""

INTERNAL = (
    "AssertionError",
    "SystemError",
    "UnboundLocalError",
    "RecursionError",
    "TooLong",
    "ProcessDied",
)
"""Classes of errors that say that the library, not its user, is wrong."""


def array(leaf: Leaf) -> Any:
    """Return the elements of a leaf that has some."""
    assert leaf.data is not None
    return np.frombuffer(leaf.data, dtype_of(leaf)).reshape(leaf.shape)


def dtype_of(leaf: Leaf) -> np.dtype[Any]:
    """Return the dtype of a leaf that is an array, or the type of one."""
    return np.dtype(getattr(ml_dtypes, leaf.dtype, leaf.dtype))


def _close(ours: Any, theirs: Any, factor: float) -> bool:
    allowed = factor * tolerance(ours.dtype)
    if not allowed:
        return np.array_equal(ours, theirs)
    ours, theirs = widened(ours), widened(theirs)
    if np.iscomplexobj(ours):
        # There is one complex infinity, however its parts are signed, as C's annex G has it.
        both = np.isinf(ours) & np.isinf(theirs)
        ours, theirs = ours[~both], theirs[~both]
    with np.errstate(all="ignore"):
        return np.allclose(ours, theirs, allowed, allowed, equal_nan=True)


def _leaf(ours: Leaf, theirs: Leaf) -> str:
    if theirs.sort in ("ndarray", "str", "int", "float", "bool"):
        return "" if ours.shape == theirs.shape or ours.sort != theirs.sort else "shape"
    if ours.sort != theirs.sort:
        arrays = {"array", "shape", "key", "float0"} & {ours.sort, theirs.sort}
        return f"{ours.sort} for {theirs.sort}" if arrays else ""
    for aspect in ("shape", "dtype", "weak"):
        if getattr(ours, aspect) != getattr(theirs, aspect):
            # Booleans are never weak (decision 26).
            return "" if ours.dtype == "bool" and aspect == "weak" else aspect
    if ours.data is None or theirs.data is None:
        return ""
    return "" if _close(array(ours), array(theirs), FACTOR) else "value"


def difference(ours: Answer, theirs: Answer, nudged: Answer | None = None) -> str:
    """Return in what two answers differ: one word, empty where they agree.

    Args:
      ours: what this library gave.
      theirs: what the other one gave.
      nudged: what it gives where all is moved by a rounding; a value which that changes as much as
        the answers differ says nothing, nor does what is computed after it.
    """
    return differing(ours, theirs, nudged)[0]


def differing(ours: Answer, theirs: Answer, nudged: Answer | None = None) -> tuple[str, int]:
    """Return in what two answers differ, and the first leaf that does: -1 where it is no leaf."""
    if ours.error or theirs.error:
        return _of_errors(ours, theirs), -1
    if len(ours.leaves) != len(theirs.leaves):
        return "structure", -1
    pairs = list(zip(ours.leaves, theirs.leaves, strict=True))
    if any(a.path != b.path for a, b in pairs):
        return "structure", -1
    found = [_leaf(a, b) for a, b in pairs]
    if nudged is not None and len(nudged.leaves) == len(found):
        moved = [_leaf(a, b) for a, b in zip(nudged.leaves, theirs.leaves, strict=True)]
        found = _said(ours.leaves, found, moved)
    return next(((kind, n) for n, kind in enumerate(found) if kind), ("", -1))


def _said(leaves: Sequence[Leaf], found: Sequence[str], moved: Sequence[str]) -> list[str]:
    """Return the differences without values that a rounding moves, and what follows from them."""
    shaky: set[str] = set()
    said = []
    for leaf, kind, move in zip(leaves, found, moved, strict=True):
        call = leaf.path.rpartition("[")[0]
        if kind == move == "value":
            shaky.add(call)
        said.append("" if kind == "value" and call in shaky else kind)
    return said


def elements(ours: Leaf, theirs: Leaf) -> tuple[Any, Any]:
    """Return the elements of two leaves that differ in value, and only there."""
    a, b = array(ours), array(theirs)
    pairs = zip(a.reshape(-1, 1), b.reshape(-1, 1), strict=True)
    apart = [not _close(*pair, FACTOR) for pair in pairs]
    return widened(a.ravel()[apart]), widened(b.ravel()[apart])


def _of_errors(ours: Answer, theirs: Answer) -> str:
    if ours.error and ours.error[0] in INTERNAL and ours.error != theirs.error:
        return f"internal {ours.error[0]}"
    if ours.error and theirs.error:
        return ""
    if "ProcessDied" in theirs.error or "TooLong" in theirs.error:
        return ""
    return "refused" if ours.error else "accepted"


def unclean(answer: Answer) -> str:
    """Return what is wrong with an error as its reader sees it: empty where nothing is."""
    if not answer.error:
        return ""
    if answer.error[0] in INTERNAL:
        return f"internal {answer.error[0]}"
    found = UNCLEAN.search(answer.message)
    if found:
        return f"says {found[0]}"
    shown = [frame for frame in answer.frames if "/jxkernel/" in frame]
    return f"shows jxkernel/{shown[0].split('/jxkernel/')[-1]}" if shown else ""
