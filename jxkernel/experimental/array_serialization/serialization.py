"""Managers of checkpoints of earlier years, whose work orbax does by itself today."""

from typing import Any, NoReturn

__all__ = [
    "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase",
    "get_tensorstore_spec",
]


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} writes arrays by a manager that is not here: orbax.checkpoint saves and restores "
        "them, and numpy.save one array"
    )


class GlobalAsyncCheckpointManagerBase:
    """A manager of checkpoints, for packages that derive theirs from it."""


class GlobalAsyncCheckpointManager(GlobalAsyncCheckpointManagerBase):
    """A manager of checkpoints; making one is refused.

    Raises:
      NotImplementedError: an instance is made.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("GlobalAsyncCheckpointManager")


def get_tensorstore_spec(*_: Any, **__: Any) -> NoReturn:
    """Refuse: no array is written so."""
    _refuse("get_tensorstore_spec")
