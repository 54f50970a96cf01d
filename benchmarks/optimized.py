"""What XLA made of a program, without the names of its parts: two libraries may have the same."""

import json
import re
from hashlib import sha256

__all__ = ["fingerprint"]

_METADATA = re.compile(r", metadata=\{[^}]*\}")
_ARGUMENT = re.compile(r"(?<=[(\s])[\w.-]+: ")
_NAME = re.compile(r"%[\w.-]+")
_SETTINGS = re.compile(r'(?<=backend_config=)\{".*')


def fingerprint(text: str) -> str:
    """Return a text that two programs share if XLA does the same for both.

    Args:
      text: the optimized HLO module, as XLA prints it.
    """
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(("%", "ENTRY")))
    body = _ARGUMENT.sub("", _METADATA.sub("", "\n".join(lines[start:])))
    numbers: dict[str, int] = {}

    def renamed(match: re.Match[str]) -> str:
        return f"%{numbers.setdefault(match[0], len(numbers))}"

    body = _SETTINGS.sub(_in_order, _NAME.sub(renamed, body))
    return sha256(body.encode()).hexdigest()


def _in_order(settings: re.Match[str]) -> str:
    """Return settings, which libraries may write in different orders, in one; and what follows."""
    found, end = json.JSONDecoder().raw_decode(settings[0])
    return json.dumps(found, sort_keys=True) + settings[0][end:]
