"""The public surface of jxkernel as text: one line for each name in each public ``__all__``.

``make surface`` runs this file, which writes ``public_surface.txt`` and the page of the field's
names (``api_coverage.py``); the difference then shows, in review, what a change adds to or takes
from users.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tools import api_coverage
from tools.checkout import public_modules

SNAPSHOT = Path(__file__).with_suffix(".txt")


def modules() -> Iterator[ModuleType]:
    """Import and yield the public modules."""
    return map(importlib.import_module, public_modules())


def surface() -> list[str]:
    """Return every public name, with the module that users import it from."""
    return sorted(f"{module.__name__}.{name}" for module in modules() for name in module.__all__)


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join(surface()) + "\n")
    api_coverage.write()
