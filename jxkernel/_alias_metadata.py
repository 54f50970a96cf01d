"""What ``importlib.metadata`` tells of an alias.

Imported, by name, when somebody asks: ``importlib.metadata`` takes longer to import than most of
jxkernel.
"""

from importlib.metadata import Distribution
from typing import Any

__all__ = ["AliasDistribution"]


class AliasDistribution(Distribution):
    """An alias as an installed distribution: its name and the version of the interface."""

    def __init__(self, name: str, version: str) -> None:
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        """Return the text of a metadata file."""
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        """Return where a file would be."""
        return path
