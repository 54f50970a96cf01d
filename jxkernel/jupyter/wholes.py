"""Whole programs for the explorer, of which a notebook keeps the beginning alone.

Purpose: the answer to the request `program`.

Place in the pipeline: over `observe` and `jupyter.display`; `jupyter.requests` answers with it.

Must not know: how requests come or how answers are sent.

A part may be asked for in any thread, in the midst of a cell.
"""

from __future__ import annotations

import threading
from typing import Any

from jxkernel.jupyter.display.jaxprs import outline_data
from jxkernel.jupyter.display.payloads import ProgramPart
from jxkernel.jupyter.display.view import tidied
from jxkernel.observe import Outline
from jxkernel.observe.programs import whole_outline

__all__ = ["Programs"]

_EQUATIONS = 200_000
_PART = 5_000


class Programs:
    """Whole programs, part by part: a message of a hundred thousand equations would stop others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: tuple[str, dict[str, Any]] | None = None

    def part(self, token: str, start: int) -> ProgramPart:
        """Returns a part of the equations of a program; with the first of them all the rest of it.

        Args:
          token: the outline's token.
          start: how many equations were received.

        Raises:
          LookupError: the program is gone.
        """
        with self._lock:
            if self._made is None or self._made[0] != token or start == 0:
                self._made = None
                self._made = (token, dict(_data(whole_outline(token, _EQUATIONS))))
            data = self._made[1]
            equations = data["equations"][start : start + _PART]
            if start + _PART >= len(data["equations"]):
                self._made = None
        rest = {**data, "equations": []} if start == 0 else None
        return {"program": rest, "equations": equations}  # type: ignore[typeddict-item]  # as made


def _data(program: Outline) -> dict[str, Any]:
    return tidied(outline_data(program))
