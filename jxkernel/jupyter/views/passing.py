"""A text that a kernel shows for a while, and that leaves nothing to see in a saved notebook."""

from __future__ import annotations

import secrets

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.getipython import get_ipython
from IPython.display import publish_display_data

__all__ = ["PassingOutput"]

# Front ends cannot take one output of a cell away. Empty HTML takes no room in them; an output
# without data is warned of when a notebook is exported.
_NOTHING = {"text/html": "", "text/plain": ""}

# Who gathers outputs tells by this which are no results.
_METADATA = {"jxkernel": {"passing": True}}


class PassingOutput:
    """An output that is shown anew in its place, and in the end has no content.

    Where outputs are captured, such as under ``%%capture``, nothing is shown.
    """

    def __init__(self) -> None:
        self._identity = ""

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        is_update = bool(self._identity)
        self._identity = self._identity or secrets.token_hex(8)
        self._publish({"text/plain": text}, is_update=is_update)

    def clear(self) -> None:
        """Take the text away; nothing is done where none is shown."""
        if self._identity:
            self._publish(_NOTHING, is_update=True)
            self._identity = ""

    def _publish(self, data: dict[str, str], *, is_update: bool) -> None:
        shell = get_ipython()
        if shell is None or isinstance(shell.display_pub, CapturingDisplayPublisher):
            return
        transient = {"display_id": self._identity}
        publish_display_data(data, _METADATA, transient=transient, update=is_update)
