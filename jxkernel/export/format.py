"""Programs and executables as bytes: a header that says what follows, and a digest of it all.

::

    magic (16 bytes) | digest of the rest (32) | length of the header (8) | header | sections

The header is JSON: versions, names, types, structures, and for each section its length.  A section
is a portable StableHLO artifact, or the bytes of the derivative; of an executable, XLA's own bytes,
or the elements of a constant.  Nothing in it names code, so reading it runs none.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from jxkernel._jaxlib import version_text
from jxkernel._version import __version__
from jxkernel.records import record

__all__ = [
    "EXECUTABLE",
    "PROGRAM",
    "Kind",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "packed",
    "unpacked",
]

minimum_supported_calling_convention_version = 2
"""The oldest version of the header, and of how programs are called, that is read."""

maximum_supported_calling_convention_version = 2
"""The youngest one, which is the one that is written; a reader refuses others."""


@record()
class Kind:
    """What bytes are of.

    Attributes:
      magic: their first 16.
      name: what they are called in messages.
      writer: what writes them.
    """

    magic: bytes
    name: str
    writer: str


PROGRAM = Kind(b"jxkernel.export\n", "exported program", "Exported.serialize()")
EXECUTABLE = Kind(b"jxkernel.execute", "executable", "serialize_executable.serialize(compiled)")

_DIGEST = 32
_LENGTH = struct.Struct("<Q")


def packed(header: Mapping[str, Any], sections: Sequence[bytes], kind: Kind = PROGRAM) -> bytearray:
    """Return the bytes of a header and its sections."""
    made = {
        "format": maximum_supported_calling_convention_version,
        "jxkernel": __version__,
        "jaxlib": version_text,
        **header,
        "sections": [len(section) for section in sections],
    }
    text = json.dumps(made, separators=(",", ":")).encode()
    rest = b"".join((_LENGTH.pack(len(text)), text, *sections))
    return bytearray(b"".join((kind.magic, blake2b(rest, digest_size=_DIGEST).digest(), rest)))


def unpacked(blob: bytes | bytearray, kind: Kind = PROGRAM) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the sections.

    Raises:
      ValueError: these are not the bytes of such a thing, they are damaged, or they are of a format
        that is not read.
    """
    blob = bytes(blob)
    if not blob.startswith(kind.magic):
        raise ValueError(f"not an {kind.name} of jxkernel: such bytes come from {kind.writer}")
    start = len(kind.magic) + _DIGEST
    rest = blob[start:]
    if blake2b(rest, digest_size=_DIGEST).digest() != blob[len(kind.magic) : start]:
        raise ValueError(
            f"the {kind.name} is damaged: {len(blob)} bytes whose digest is not the one "
            "written. Serialize or copy it again."
        )
    (length,) = _LENGTH.unpack_from(rest)
    header = json.loads(rest[_LENGTH.size : _LENGTH.size + length])
    oldest = minimum_supported_calling_convention_version
    youngest = maximum_supported_calling_convention_version
    if not oldest <= header["format"] <= youngest:
        again = f"write it again with {kind.writer}"
        advice = again if header["format"] < oldest else "upgrade jxkernel here"
        raise ValueError(
            f"the {kind.name} has format {header['format']}, written by jxkernel "
            f"{header['jxkernel']} on jaxlib {header['jaxlib']}; this is jxkernel {__version__}, "
            f"which reads formats {oldest} to {youngest}: {advice}"
        )
    sections: list[bytes] = []
    at = _LENGTH.size + length
    for size in header["sections"]:
        sections.append(rest[at : at + size])
        at += size
    return header, sections
