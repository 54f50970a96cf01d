"""Both libraries at once: what they answer to the same programs, and where they differ."""

import ast
from collections.abc import Sequence
from typing import Self

from tests.campaign.answers import Answer
from tests.campaign.compare import array, difference, differing, unclean
from tests.campaign.findings import Finding
from tests.campaign.meant import meant
from tests.campaign.processes import Worker
from tests.campaign.shrink import SECONDS, shrunk

ASPECTS = ("value", "dtype", "shape", "weak", "structure")

MEANINGLESS = (("NameError",), ("UnboundLocalError",), ("SyntaxError",))
"""Errors of programs that were cut in the wrong place."""


def shown(answer: Answer) -> str:
    """Return an answer as a line."""
    if answer.error:
        return f"{answer.error[0]}: {answer.message[:300]}"
    leaves = [
        f"{leaf.path} {leaf.dtype}{list(leaf.shape)}{' weak' * leaf.weak}"
        + (f" {array(leaf).tolist()}" if leaf.data is not None else "")
        for leaf in answer.leaves
    ]
    return "; ".join(leaf.strip() for leaf in leaves)[:300]


def nudged(source: str) -> str:
    """Return a program whose function moves its arguments, and what it computes, by a rounding."""
    tree = ast.parse(source)
    for function in (f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "f"):
        names = [argument.arg for argument in function.args.args]
        body = [_moved(name) for name in names]
        for statement in function.body:
            body.append(statement)
            if isinstance(statement, ast.Assign):
                body.append(_moved(ast.unparse(statement.targets[0])))
        function.body = body
    return ast.unparse(tree)


def _moved(name: str) -> ast.stmt:
    return ast.parse(f"{name} = nudged({name})").body[0]


class Pair:
    """A worker of each library.

    Args:
      peer: the interpreter of the environment that has ``jax``.
    """

    def __init__(self, peer: str) -> None:
        self._ours, self._theirs = Worker("jxkernel"), Worker("jax", peer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.stop()
        self._theirs.stop()

    def ours(self, sources: Sequence[str]) -> list[Answer]:
        """Return the answers of this library alone."""
        self._ours.send(sources)
        return list(self._ours.answers(sources))

    def answers(self, sources: Sequence[str]) -> list[tuple[Answer, Answer]]:
        """Return both answers to each program."""
        self._ours.send(sources)
        self._theirs.send(sources)
        ours = self._ours.answers(sources)
        theirs = self._theirs.answers(sources)
        return list(zip(list(ours), list(theirs), strict=True))

    def differences(self, sources: Sequence[str]) -> list[str]:
        """Return in what the answers to each program differ that must not."""
        found = []
        for source, (ours, theirs) in zip(sources, self.answers(sources), strict=True):
            if theirs.error[:1] in MEANINGLESS:
                found.append("")
                continue
            kind, place = self.differing(source, ours, theirs)
            if kind and meant(kind, source, ours, theirs, place):
                kind = ""
            found.append(kind or unclean(ours))
        return found

    def differing(self, source: str, ours: Answer, theirs: Answer) -> tuple[str, int]:
        """Return in what two answers differ, no rounding on the way, and the first such leaf."""
        kind, place = differing(ours, theirs)
        if kind == "value":
            kind, place = differing(ours, theirs, self._theirs.ask(nudged(source)))
        return kind, place

    def steady(self, source: str, theirs: Answer) -> bool:
        """Say whether roundings on the way change nothing that could be told."""
        return not difference(self._theirs.ask(nudged(source)), theirs)

    def small(self, source: str, kind: str) -> str:
        """Return a program as small as it can be made while the libraries differ likewise."""
        wanted = self.finding("", source, kind)

        def holds(tried: Sequence[str]) -> list[bool]:
            kinds = self.differences(tried)
            return [
                found == kind and (kind in ASPECTS or self.finding("", text, kind).alike(wanted))
                for text, found in zip(tried, kinds, strict=True)
            ]

        # What is refused there alone is many, and told by what is said.
        return shrunk(source, holds, 5.0 if kind == "accepted" else SECONDS)

    def finding(self, seed: str, source: str, kind: str) -> Finding:
        """Return a program on which the libraries differ as a finding."""
        ours, theirs = self.answers([source])[0]
        return Finding(seed, kind, source, shown(ours), shown(theirs))
