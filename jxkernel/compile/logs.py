"""What is logged: the option ``logging_level``, and traces and compilations with their times.

Traces and compilations are warnings under the option ``log_compiles``, and debug messages
otherwise.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from jxkernel.config import State, config, log_compiles, one_of

__all__ = ["logged"]

_LOGGER = logging.getLogger("jxkernel")
_FORMAT = "%(levelname)s:%(asctime)s:%(name)s: %(message)s"
_HANDLERS: list[logging.Handler] = []

logging_level = State(
    "jax_logging_level",
    "NOTSET",
    one_of(None, "NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "The least level of what is written to stderr; NOTSET or None: as `logging` is set up.",
)
config.include(logging_level)


def _log_at_level() -> None:
    """Have the logger write to stderr from the option's level on, or no longer."""
    level = logging_level.value
    while _HANDLERS:
        _LOGGER.removeHandler(_HANDLERS.pop())
    _LOGGER.setLevel(level or "NOTSET")
    if level not in (None, "NOTSET"):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        _HANDLERS.append(handler)
        _LOGGER.addHandler(handler)


config.after_update[logging_level.option] = _log_at_level
if logging_level.value != logging_level.default:
    _log_at_level()


@contextmanager
def logged(what: str, *parts: object) -> Generator[None]:
    """Log how long the work inside the block took, where someone asked for that.

    Args:
      what: the work, a format of ``logging`` with a place for each part.
      *parts: what it is about.
    """
    level = logging.WARNING if log_compiles.value else logging.DEBUG
    if not _LOGGER.isEnabledFor(level):
        yield
        return
    started = time.perf_counter()
    yield
    _LOGGER.log(level, f"{what} in %.3f s", *parts, time.perf_counter() - started)
