"""Sharding rules: which axes of an operation's operands and results are divided together.

A *factor* is a name for axes that are divided as one.  Shardy's rule for an operation of the user's
own says the factors of each axis, and which of them must be whole, are summed over, or exchanged
(https://openxla.org/shardy/sharding_representation).
"""

import re
from collections.abc import Sequence
from math import prod
from typing import Any

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "parse_rule"]

BATCHING = "…"
"""Stands first in a mapping for leading axes, of any number, that pass through."""

_NAME = re.compile(r"[A-Za-z]\w*")
_TOKEN = re.compile(r"\.\.\.|\w+|\S")

Shape = tuple[int, ...]


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"a factor is named by letters, digits and _, a letter first, got {name!r}"
        )
    return name


class CompoundFactor(tuple[str, ...]):
    """Two or more factors that one axis is made of, the major one first.

    >>> from jxkernel.experimental.custom_partitioning import CompoundFactor
    >>> CompoundFactor("b", "c")
    ('b', 'c')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> "CompoundFactor":
        """Make it of the names of factors.

        Raises:
          ValueError: there are less than two, or one is no name.
        """
        if len(factors) < 2:
            raise ValueError(f"a CompoundFactor has at least two factors, got {factors}")
        return super().__new__(cls, map(_checked_name, factors))


class ArrayMapping(tuple[str | CompoundFactor, ...]):
    """The factors of the axes of an operand or result; ``BATCHING`` may stand first.

    >>> from jxkernel.experimental.custom_partitioning import ArrayMapping, CompoundFactor
    >>> ArrayMapping(CompoundFactor("b", "c"), "d")
    (('b', 'c'), 'd')
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: str | CompoundFactor) -> "ArrayMapping":
        """Make it of a factor for each axis.

        Raises:
          ValueError: one is no name and no ``CompoundFactor``.
        """
        start = 1 if dim_mappings[:1] == (BATCHING,) else 0
        for factor in dim_mappings[start:]:
            if not isinstance(factor, CompoundFactor):
                _checked_name(factor)
        return super().__new__(cls, dim_mappings)

    def whole(self) -> list[str]:
        """Return the factors that are an axis by themselves."""
        return [factor for factor in self if isinstance(factor, str) and factor != BATCHING]

    def parts(self) -> list[str]:
        """Return the factors of axes that are made of several."""
        return [name for factor in self if isinstance(factor, CompoundFactor) for name in factor]


class SdyShardingRule:
    """How an operation of the user's own is divided: factors of its operands and results.

    Attributes:
      operand_mappings: an ``ArrayMapping`` for each operand.
      result_mappings: the same for the results.
      special: the factors of each kind: ``reduction`` (the result is a sum over what is divided),
        ``need_replication`` (it must be whole), ``permutation`` (devices exchange along it).  All
        others pass through.
      factor_sizes: the sizes of factors that are no axis by themselves.

    Raises:
      ValueError: a factor is not used, is of two kinds, or has a size where an axis says it, or
        none where no axis does.

    >>> from jxkernel.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
    >>> ins, outs = (ArrayMapping("i", "j"),), (ArrayMapping("i"),)
    >>> rule = SdyShardingRule(ins, outs, reduction_factors=("j",))
    >>> rule.attribute([(4, 8)], [(4,)])
    '#sdy.op_sharding_rule<([i, j])->([i]) {i=4, j=8} reduction={j}, custom>'
    """

    __slots__ = ("factor_sizes", "operand_mappings", "result_mappings", "special")

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = operand_mappings
        self.result_mappings = result_mappings
        self.special = {
            "reduction": reduction_factors,
            "need_replication": need_replication_factors,
            "permutation": permutation_factors,
        }
        self.factor_sizes = factor_sizes
        self._check()

    def _check(self) -> None:
        mappings = (*self.operand_mappings, *self.result_mappings)
        whole = {name for mapping in mappings for name in mapping.whole()}
        parts = {name for mapping in mappings for name in mapping.parts()}
        for name in self.factor_sizes:
            if name not in whole | parts:
                raise ValueError(f"the factor {name} has a size, and the rule does not use it")
            if name in whole:
                raise ValueError(f"the factor {name} is an axis by itself: leave its size out")
        for name in sorted(parts - whole - set(self.factor_sizes)):
            raise ValueError(f"the factor {name} is no axis by itself: say its size, {name}=...")
        given = [name for names in self.special.values() for name in names]
        for name in given:
            if name not in whole | parts:
                raise ValueError(f"the factor {name} is of a kind, and the rule does not use it")
            if given.count(name) > 1:
                raise ValueError(f"the factor {name} is named twice among the kinds of factors")

    def __repr__(self) -> str:
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings})"

    def attribute(self, operands: Sequence[Shape], results: Sequence[Shape]) -> str:
        """Return the rule for operands and results of given shapes, as MLIR's text.

        Raises:
          ValueError: their numbers, ranks or sizes do not fit.
        """
        sizes = dict(self.factor_sizes)
        places: list[list[tuple[str, ...]]] = []
        for shapes, mappings, kind in (
            (operands, self.operand_mappings, "operand"),
            (results, self.result_mappings, "result"),
        ):
            if len(shapes) != len(mappings):
                raise ValueError(
                    f"the sharding rule is for {len(mappings)} {kind}s, and there are {len(shapes)}"
                )
            places += [
                _spelt_out(mapping, shape, f"{kind} {index}")
                for index, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True))
            ]
        shapes = [*operands, *results]
        _measure(places, shapes, sizes)
        _compare(places, shapes, sizes)
        order = dict.fromkeys([name for axes in places for factors in axes for name in factors])
        symbols = {name: _symbol(index) for index, name in enumerate(order)}
        written = [
            f"[{', '.join([''.join([symbols[n] for n in factors]) for factors in axes])}]"
            for axes in places
        ]
        count = len(operands)
        text = f"({', '.join(written[:count])})->({', '.join(written[count:])})"
        text += f" {{{', '.join([f'{symbols[name]}={sizes[name]}' for name in order])}}}"
        for kind, names in self.special.items():
            if names:
                text += f" {kind}={{{', '.join(sorted([symbols[name] for name in names]))}}}"
        return f"#sdy.op_sharding_rule<{text}, custom>"


def _spelt_out(mapping: ArrayMapping, shape: Shape, what: str) -> list[tuple[str, ...]]:
    """Return the factors of each axis; leading axes that pass through are factors too."""
    axes: list[tuple[str, ...]] = [
        factor if isinstance(factor, CompoundFactor) else (factor,) for factor in mapping
    ]
    if mapping[:1] == (BATCHING,):
        leading = len(shape) - len(axes) + 1
        axes = [*[(f"{BATCHING}{index}",) for index in range(leading)], *axes[1:]]
    if len(axes) != len(shape):
        raise ValueError(
            f"the sharding rule has {len(mapping)} axes for {what}, which has {len(shape)}"
        )
    return axes


def _measure(
    places: Sequence[Sequence[tuple[str, ...]]], shapes: Sequence[Shape], sizes: dict[str, int]
) -> None:
    """Find the sizes of the factors that are axes by themselves."""
    for axes, shape in zip(places, shapes, strict=True):
        for factors, size in zip(axes, shape, strict=True):
            if len(factors) == 1:
                sizes.setdefault(factors[0], size)


def _compare(
    places: Sequence[Sequence[tuple[str, ...]]], shapes: Sequence[Shape], sizes: dict[str, int]
) -> None:
    for axes, shape in zip(places, shapes, strict=True):
        for factors, size in zip(axes, shape, strict=True):
            if prod([sizes[name] for name in factors]) != size:
                found = ", ".join([f"{name} = {sizes[name]}" for name in factors])
                raise ValueError(
                    f"the sharding rule says {found} of an axis of size {size} in {shape}"
                )


def _symbol(index: int) -> str:
    """Return Shardy's name of a factor: i, j ... z, z_1, z_2 ..."""
    letters = "ijklmnopqrstuvwxyz"
    return letters[index] if index < len(letters) else f"z_{index - len(letters) + 1}"


def parse_rule(text: str, **options: Any) -> SdyShardingRule:
    """Return the rule that a text says, like ``"... i j, j k -> ... i k"``.

    Factors of an axis stand between spaces, those of an axis made of several in brackets, operands
    and results between commas.

    Args:
      text: the rule.
      **options: see ``SdyShardingRule``.

    Raises:
      ValueError: the text is no rule.
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"a sharding rule has one -> between operands and results, got {text!r}")
    first, second = [tuple([_mapping(each, text) for each in side.split(",")]) for side in sides]
    return SdyShardingRule(first, second, **options)


def _mapping(text: str, rule: str) -> ArrayMapping:
    found: list[str | CompoundFactor] = []
    within: list[str] | None = None
    for token in _TOKEN.findall(text):
        if token == "(" and within is None:
            within = []
        elif token == ")" and within is not None:
            found.append(CompoundFactor(*within))
            within = None
        elif token in ("(", ")"):
            raise ValueError(
                f"the brackets of a sharding rule come in pairs, side by side: {rule!r}"
            )
        elif token == "..." and within is None and not found:
            found.append(BATCHING)
        elif token == "...":
            raise ValueError(f"... stands first in what a sharding rule says of an array: {rule!r}")
        elif within is None:
            found.append(_checked_name(token))
        else:
            within.append(token)
    if within is not None:
        raise ValueError(f"the brackets of a sharding rule come in pairs, side by side: {rule!r}")
    return ArrayMapping(*found)
