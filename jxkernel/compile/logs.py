"""Logging of traces and compilations with their times: the option ``log_compiles``."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from jxkernel.config import log_compiles

__all__ = ["logged"]

_LOGGER = logging.getLogger("jxkernel")


@contextmanager
def logged(what: str, *parts: object) -> Generator[None]:
    """Log how long the work inside the block took, if the option says so.

    Args:
      what: the work, a format of ``logging`` with a place for each part.
      *parts: what it is about.
    """
    if not log_compiles.value:
        yield
        return
    started = time.perf_counter()
    yield
    _LOGGER.warning(f"{what} in %.3f s", *parts, time.perf_counter() - started)
