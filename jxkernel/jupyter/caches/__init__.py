"""The caches: what is remembered, here and on disk."""

from __future__ import annotations

from jxkernel.jupyter.caches.answer import cache
from jxkernel.jupyter.caches.requests import CachesAnswer, caches, clear_caches
from jxkernel.jupyter.feature import Feature, Request, Subcommand

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "cache": Subcommand(
            cache,
            "[clear [memory|disk]]  programs kept in memory and on disk; clear deletes them",
            ("clear",),
        ),
    },
    requests={
        "caches": Request(caches, CachesAnswer),
        "clear_caches": Request(clear_caches, CachesAnswer),
    },
)
