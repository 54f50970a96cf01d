"""``einsum``: sums of products written by the labels of axes.

Operands are contracted in pairs, each by one ``dot_general``, in an order that keeps what is
between small: the cheapest pair first, or the best order of all where there are few operands.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from jxkernel._reprs import counted
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.contractions import paired, totalled
from jxkernel.numpy.creation import user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.matrices import diagonal
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    check_arguments,
    promote_dtypes,
    refuse_out,
    result_dtype,
)
from jxkernel.primitives.arguments import sequence
from jxkernel.primitives.contraction.dot_general import dot_general
from jxkernel.primitives.shape.reshape import squeeze
from jxkernel.primitives.shape.transpose import transpose
from jxkernel.primitives.sharding.constraints import asked_sharding, with_out_sharding

__all__ = ["einsum", "einsum_path"]

Labels = tuple[Any, ...]
Path = tuple[tuple[int, ...], ...]

# ---------------------------------------------------------------- the labels of axes


def _expanded(text: str, rank: int, operand: int) -> Labels:
    """Return the labels of one operand; those of ``...`` are numbers, counted from the last."""
    head, dots, tail = text.partition("...")
    if "." in head or "." in tail or (not (head + tail).isalpha() and head + tail):
        raise ValueError(f"einsum got subscripts {text!r}: they are letters and one ellipsis (...)")
    hidden = rank - len(head) - len(tail)
    if hidden < 0 or (hidden and not dots):
        raise ValueError(
            f"einsum got subscripts {text!r} for operand {operand}, which has rank {rank}"
        )
    return (*head, *range(-hidden, 0), *tail)


def _parse_subscripts(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand's axes, and of the result's: ``"ij,jk->ik"`` read.

    Args:
      subscripts: as NumPy writes them; without ``->`` the result has the labels that occur once,
        in alphabetical order, after those of the ellipses.
      ranks: the operands' ranks.

    Raises:
      ValueError: the subscripts do not fit the operands, or the result has a label of none.
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(
            f"einsum got subscripts of {counted(len(terms), 'operand')} for {len(ranks)}"
        )
    labels = [_expanded(t, r, i) for i, (t, r) in enumerate(zip(terms, ranks, strict=True))]
    hidden = sorted({label for term in labels for label in term if isinstance(label, int)})
    if not arrow:
        counts = Counter(label for term in labels for label in term if isinstance(label, str))
        once = sorted(label for label, count in counts.items() if count == 1)
        return labels, (*hidden, *once)
    if "..." in output:
        result = _expanded(output, len(output) - 3 + len(hidden), -1)
    else:
        result = _expanded(output, len(output), -1)
    known = {label for term in labels for label in term}
    if len(set(result)) != len(result) or not set(result) <= known:
        raise ValueError(
            f"einsum got the result {output!r}: each of its labels must stand in an "
            "operand, and in the result once"
        )
    return labels, result


def _from_lists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return subscripts as text, and the operands, of arguments in NumPy's list form.

    Args:
      arguments: operand, list of numbers, operand, list, ..., and perhaps the result's list.
    """
    operands = list(arguments[:-1:2] if len(arguments) % 2 else arguments[::2])
    lists = list(arguments[1::2])
    output = arguments[-1] if len(arguments) % 2 else None
    text = ",".join(map(_letters, lists))
    return (text if output is None else f"{text}->{_letters(output)}"), operands


def _letters(numbers: Sequence[Any]) -> str:
    return "".join("..." if n is Ellipsis else _letter(int(n)) for n in numbers)


def _letter(number: int) -> str:
    """Return the letter of a number; past the alphabet, letters of other scripts."""
    if number < 26:
        return chr(ord("A") + number)
    return chr(ord("a") + number - 26) if number < 52 else chr(0x4E00 + number)


# ---------------------------------------------------------------- the order of contractions


def _sizes(shapes: Sequence[tuple[int, ...]], labels: Sequence[Labels]) -> dict[Any, int]:
    """Return the size of each label.

    Raises:
      ValueError: two axes of one label differ in size, and neither is 1.
    """
    sizes: dict[Any, int] = {}
    for shape, term in zip(shapes, labels, strict=True):
        for size, label in zip(shape, term, strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, size) and known != size:
                raise ValueError(
                    f"einsum got sizes {known} and {size} for the label {label!r}, in operands of "
                    f"shapes {' and '.join(map(str, shapes))}"
                )
            sizes[label] = size if known == 1 else known
    return sizes


def _product_labels(
    first: Labels, second: Labels, rest: Sequence[Labels], output: Labels
) -> Labels:
    """Return the labels that a product of two operands still needs."""
    needed = {label for term in (*rest, output) for label in term}
    return tuple(label for label in dict.fromkeys((*first, *second)) if label in needed)


def _greedy_path(terms: list[Labels], output: Labels, sizes: dict[Any, int]) -> Path:
    """Return an order in which each step makes the result that grows least."""
    terms = list(terms)
    path: list[tuple[int, ...]] = []
    while len(terms) > 1:
        best: tuple[float, float, tuple[int, int]] | None = None
        for i, j in combinations(range(len(terms)), 2):
            rest = [term for k, term in enumerate(terms) if k not in (i, j)]
            made = _product_labels(terms[i], terms[j], rest, output)
            growth = _size(made, sizes) - _size(terms[i], sizes) - _size(terms[j], sizes)
            cost = _size(tuple({*terms[i], *terms[j]}), sizes)
            if best is None or (growth, cost, (i, j)) < best:
                best = (growth, cost, (i, j))
        assert best is not None, "there are at least two terms"
        i, j = best[2]
        rest = [term for k, term in enumerate(terms) if k not in (i, j)]
        terms = [*rest, _product_labels(terms[i], terms[j], rest, output)]
        path.append((i, j))
    return tuple(path)


def _size(labels: Labels, sizes: dict[Any, int]) -> int:
    return prod(sizes[label] for label in labels)


_EXHAUSTIVE = 5
"""Up to how many operands all orders are compared."""


def _best_path(terms: list[Labels], output: Labels, sizes: dict[Any, int]) -> Path:
    """Return the order of least multiplications."""

    def search(terms: tuple[Labels, ...]) -> tuple[int, Path]:
        if len(terms) == 1:
            return 0, ()
        best: tuple[int, Path] | None = None
        for i, j in combinations(range(len(terms)), 2):
            rest = tuple(term for k, term in enumerate(terms) if k not in (i, j))
            cost = _size(tuple({*terms[i], *terms[j]}), sizes)
            later, path = search((*rest, _product_labels(terms[i], terms[j], rest, output)))
            if best is None or (cost + later, ((i, j), *path)) < best:
                best = (cost + later, ((i, j), *path))
        assert best is not None, "there are at least two terms"
        return best

    return search(tuple(terms))[1]


def _path(optimize: Any, terms: list[Labels], output: Labels, sizes: dict[Any, int]) -> Path:
    """Return the order of contraction that the user chose.

    Raises:
      ValueError: there is no such choice.
    """
    if not isinstance(optimize, (str, bool)):
        steps = [step for step in optimize if not isinstance(step, str)]
        return tuple(tuple(step) for step in steps)
    if optimize in (True, "auto", "optimal", "dp", "branch-all", "branch-2", "auto-hq"):
        many = len(terms) > _EXHAUSTIVE
        return (_greedy_path if many else _best_path)(terms, output, sizes)
    if optimize in ("greedy", "eager", "opportunistic"):
        return _greedy_path(terms, output, sizes)
    if optimize is False:
        return _in_order(len(terms))
    raise ValueError(f"einsum got optimize={optimize!r}: it is 'optimal', 'greedy', True or False")


def _in_order(count: int) -> Path:
    """Return the order from left to right: results go to the end of the list."""
    return ((0, 1), *((0, count - 2 - k) for k in range(count - 2))) if count > 1 else ()


# ---------------------------------------------------------------- einsum


def _without_repeats(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """Take the diagonal over axes of one label, until each label occurs once."""
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        one, other = np.shape(x)[first], np.shape(x)[second]
        if one != other:
            raise ValueError(
                f"einsum got sizes {one} and {other} for the label {label!r} of one operand"
            )
        aval = argument_aval("einsum", x)
        x = cast(diagonal(x, 0, first, second), aval.dtype, aval.weak_type)
        labels = (*(n for i, n in enumerate(labels) if i not in (first, second)), label)
    return x, labels


def _without_ones(x: Any, labels: Labels, sizes: dict[Any, int]) -> tuple[Any, Labels]:
    """Drop axes of size 1 that other operands repeat."""
    ones = tuple(
        axis
        for axis, (size, label) in enumerate(zip(np.shape(x), labels, strict=True))
        if size == 1 and sizes[label] != 1
    )
    if not ones:
        return x, labels
    return squeeze(x, ones), tuple(n for i, n in enumerate(labels) if i not in ones)


@fused(
    static=("subscripts", "optimize", "precision", "preferred_element_type", "multiply"),
    name="einsum",
)
def _einsum(
    operands: Sequence[Any],
    subscripts: str,
    optimize: Any,
    precision: Any,
    preferred_element_type: Any,
    multiply: Callable[..., Any] = dot_general,
) -> Any:
    arrays = promote_dtypes("einsum", *operands)
    if len(arrays) == 1 and preferred_element_type is not None:
        arrays = [cast(arrays[0], preferred_element_type)]
    labels, output = _parse_subscripts(subscripts, [np.ndim(x) for x in arrays])
    pairs = [_without_repeats(x, term) for x, term in zip(arrays, labels, strict=True)]
    sizes = _sizes([np.shape(x) for x, _ in pairs], [term for _, term in pairs])
    pairs = [_without_ones(x, term, sizes) for x, term in pairs]
    for step in _path(optimize, [term for _, term in pairs], output, sizes):
        chosen = [pairs[i] for i in step]
        pairs = [pair for i, pair in enumerate(pairs) if i not in step]
        how = (precision, preferred_element_type, multiply)
        pairs.append(_contracted(chosen, pairs, output, how))
    (result, term) = pairs[0]
    return _arranged(result, term, output)


def _contracted(
    chosen: list[tuple[Any, Labels]],
    rest: list[tuple[Any, Labels]],
    output: Labels,
    how: tuple[Any, ...],
) -> tuple[Any, Labels]:
    """Contract some operands, two at a time, to what the rest still needs."""
    (x, first), *others = chosen
    for place, (y, second) in enumerate(others):
        later = [term for _, term in (*others[place + 1 :], *rest)]
        made = _product_labels(first, second, later, output) if later else output
        x = paired(x, first, y, second, made, *how)
        first = made
    return x, first


def _arranged(x: Any, labels: Labels, output: Labels) -> Any:
    """Sum over the labels that the result has not, and put the others in its order."""
    summed = tuple(i for i, label in enumerate(labels) if label not in output)
    if summed:
        x = totalled(x, summed)
    kept = [label for label in labels if label in output]
    return transpose(x, tuple(kept.index(label) for label in output))


def _arguments(subscripts: Any, operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if isinstance(subscripts, str):
        return subscripts, list(operands)
    return _from_lists((subscripts, *operands))


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
    _dot_general: Callable[..., Any] = dot_general,
) -> Any:
    """Return a sum of products of arrays over axes that share labels.

    Args:
      subscripts: the labels of each operand's axes, ``->`` and those of the result, such as
        ``"ij,jk->ik"``; or NumPy's form with lists of numbers.
      *operands: the arrays.
      out: must be None.
      optimize: the order of contraction: ``"optimal"`` or ``"greedy"``, True or ``"auto"`` for
        the one that suits the number of operands, False for left to right, or a path.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.
      _dot_general: what contracts two operands, with the arguments of ``lax.dot_general``; it is
        told the dtype of the result.

    Raises:
      ValueError: the subscripts do not fit the operands, or sizes differ.

    Linear in each operand.

    >>> import jxkernel.numpy as jnp
    >>> jnp.einsum("ii->i", jnp.eye(2))
    Array([1., 1.], dtype=float32)
    """
    refuse_out("einsum", out)
    text, arrays = _arguments(subscripts, operands)
    check_arguments("einsum", *arrays)
    if not isinstance(optimize, (str, bool)):
        optimize = sequence("einsum", "optimize", optimize, "steps, which are tuples of places")
        optimize = tuple(step if isinstance(step, str) else tuple(step) for step in optimize)
    preferred = user_dtype(preferred_element_type, "einsum")
    how = (text, optimize, precision, preferred)
    if _dot_general is not dot_general:
        preferred = preferred or result_dtype("einsum", arrays)[0]
        how = (text, optimize, precision, preferred, _dot_general)
        return _einsum.__wrapped__(arrays, *how)
    if out_sharding is not None:
        sharding = asked_sharding("einsum", out_sharding, arrays)
        return with_out_sharding(_einsum_of, arrays, sharding, *how)
    return _einsum(arrays, *how)


def _einsum_of(*given: Any) -> Any:
    """Return an einsum of arrays that come before how to do it."""
    return _einsum(list(given[:-4]), *given[-4:])


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[tuple[int, ...]], str]:
    """Return the order in which ``einsum`` contracts, and a sentence that describes it.

    Arguments and errors are those of ``einsum``.

    >>> path, description = jnp.einsum_path("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((3, 4)))
    >>> path
    [(0, 1)]
    """
    text, arrays = _arguments(subscripts, operands)
    shapes = [argument_aval("einsum_path", array, i).shape for i, array in enumerate(arrays)]
    labels, output = _parse_subscripts(text, [len(shape) for shape in shapes])
    sizes = _sizes(shapes, labels)
    path = _path(optimize, labels, output, sizes)
    described = f"einsum {text}: " + ", then ".join(map(str, path))
    return [*path] or [(0,)], described
