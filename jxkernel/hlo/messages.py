"""Messages: HLO, executables and profiles are protocol buffers, read without a library for them.

Few of their fields are wanted, so the wire format is read directly
(https://protobuf.dev/programming-guides/encoding): a message is a sequence of fields, each a
number, a type, and a varint, fixed or length-delimited value.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["encoded_field", "encoded_number", "fields_of", "numbers_in", "parts_of", "read_number"]

_VARINT, _FIXED_64, _DELIMITED, _FIXED_32 = 0, 1, 2, 5


def fields_of(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and value of each field of a serialized message.

    Raises:
      ValueError: it is not one.
    """
    for number, value, _ in parts_of(message):
        yield number, value


def parts_of(message: memoryview) -> Iterator[tuple[int, int | memoryview, memoryview]]:
    """Yield the number and value of each field of a serialized message, and all of its bytes.

    Raises:
      ValueError: it is not one.
    """
    at, end = 0, len(message)
    while at < end:
        start = at
        key, at = message[at], at + 1
        if key > 0x7F:
            key, at = read_number(message, start)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = read_number(message, at)
            yield number, value, message[start:at]
            continue
        if kind == _DELIMITED:
            length, at = read_number(message, at)
        elif kind in (_FIXED_64, _FIXED_32):
            length = 8 if kind == _FIXED_64 else 4
        else:
            raise ValueError(f"field {number} has the unknown wire type {kind}")
        past = at + length
        if past > end:
            raise ValueError(f"field {number} is cut short")
        yield number, message[at:past], message[start:past]
        at = past


def read_number(message: memoryview, at: int) -> tuple[int, int]:
    """Return the number that is written at a place, and the place after it.

    Raises:
      ValueError: the message ends within it.
    """
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number is cut short")


def numbers_in(message: memoryview, number: int) -> list[int]:
    """Return the integers of a repeated field, which are written one by one or packed.

    Raises:
      ValueError: the message is none.
    """
    found: list[int] = []
    for n, value in fields_of(message):
        if n != number:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = read_number(value, at)
            found.append(one)
    return found


def encoded_number(value: int) -> bytes:
    """Return a number that is not negative as it is written in a message."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def encoded_field(number: int, value: bytes) -> bytes:
    """Return a field of bytes, text or a message as it is written."""
    return encoded_number(number << 3 | _DELIMITED) + encoded_number(len(value)) + value
