"""Where the libraries differ on purpose: one table, each row with its reason."""

import re
from dataclasses import dataclass

from tests.campaign.answers import Answer


@dataclass(frozen=True)
class Meant:
    """A difference that is meant.

    Attributes:
      kind: in what the libraries differ, as an expression.
      reason: why.
      program: what the program's source holds, as an expression.
      ours: what our error says, as an expression.
      theirs: what theirs says, as an expression.
    """

    kind: str
    reason: str
    program: str = ""
    ours: str = ""
    theirs: str = ""

    def fits(self, kind: str, source: str, ours: Answer, theirs: Answer) -> bool:
        """Say whether a difference is this one."""
        texts = (source, ours.message, theirs.message)
        wanted = (self.program, self.ours, self.theirs)
        pairs = zip(wanted, texts, strict=True)
        return bool(re.fullmatch(self.kind, kind)) and all(re.search(w, t) for w, t in pairs)


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
)


def meant(kind: str, source: str, ours: Answer, theirs: Answer) -> str:
    """Return the reason why a difference is meant, empty where it is none of the table's."""
    rows = (row for row in TABLE if row.fits(kind, source, ours, theirs))
    return next((row.reason for row in rows), "")
