"""The version, as text and as numbers.  A façade."""

from jxkernel._version import __version__

__all__ = ["__version__", "__version_info__"]

__version_info__: tuple[int, ...] = tuple(
    int(part) for part in __version__.split(".") if part.isdigit()
)
