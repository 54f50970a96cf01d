"""Subscripts of ``einsum``: from ``"ij,jk->ik"`` or lists of numbers to labels of axes."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

__all__ = ["parse_subscripts"]

Labels = tuple[Any, ...]


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


def parse_subscripts(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand's axes, and of the result's.

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
        raise ValueError(f"einsum got subscripts of {len(terms)} operands for {len(ranks)}")
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
            f"einsum got the result {output!r}: each of its labels is one of the operands', once"
        )
    return labels, result


def from_lists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
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
