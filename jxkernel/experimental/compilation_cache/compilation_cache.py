"""Where the disk cache is, said by a call in place of the setting."""

from os import fspath

from jxkernel.compile import reset_disk_cache as reset_cache
from jxkernel.config import config

__all__ = ["reset_cache", "set_cache_dir"]


def set_cache_dir(path: str) -> None:
    """Keep compiled programs in a folder: ``config.update("jax_compilation_cache_dir", path)``.

    Who may write to the folder may run code in this process.

    Args:
      path: the folder, made when first written to.

    >>> from jxkernel import config
    >>> from jxkernel.experimental.compilation_cache import compilation_cache as cc
    >>> before = config.jax_compilation_cache_dir
    >>> cc.set_cache_dir("/tmp/programs")
    >>> config.jax_compilation_cache_dir
    '/tmp/programs'
    >>> config.update("jax_compilation_cache_dir", before)
    """
    config.update("jax_compilation_cache_dir", fspath(path))
