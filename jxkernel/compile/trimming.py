"""Executables without the bodies of their loops, which load in a fraction of the time.

What XLA's CPU client writes of an executable holds its machine code, the list of its steps, where
its buffers lie, and the optimized module.  Loading makes that module again, instruction by
instruction, and searches it for each call of a library.  Most instructions stand in bodies of loop
fusions: of these the machine code is run, and only who reads the program asks for the body.  Here
each such fusion becomes a custom call of the same name, number, shape and operands, so that the
buffers are found where they were.

Field numbers are those of the published ``hlo.proto``, ``xla_data.proto`` and XLA's
``executable.proto``.

This module must not know of files, devices or traced programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from math import prod

from jxkernel.hlo.messages import encoded_field, fields_of, numbers_in, parts_of, read_number

__all__ = ["trimmed"]

_CHEAP_FLOPS = 1000
"""A program of which XLA counts fewer operations runs in the thread that calls it."""

_MODULE = (1, 1, 1)
"""Where the module is: in the executable, in the module with its settings."""

_COMPUTATIONS = 3
_INSTRUCTIONS, _COMPUTATION_ID = 2, 5
_OPCODE, _SHAPE, _FUSION_KIND, _TARGET, _CALLED, _BACKEND = 2, 3, 11, 28, 38, 43
_DIMENSIONS = 3

_OF_FUSIONS = frozenset([_OPCODE, _FUSION_KIND, _CALLED, _BACKEND])
_FUSION, _LOOP = b"fusion", b"kLoop"
_HAS_FUSION = encoded_field(_OPCODE, _FUSION)
"""What stands in a computation that calls a fusion."""
_CALL = encoded_field(_OPCODE, b"custom-call") + encoded_field(_TARGET, b"loop")
_IN_PLACE = (b"dynamic-update-slice", b"scatter")
"""Operations that write into the buffer of an operand, which XLA sees in the body."""
_COUNTED = frozenset(
    [b"add", b"subtract", b"multiply", b"divide", b"maximum", b"minimum", b"dot", b"convolution"]
)
"""Operations of which XLA counts one for each element at least."""


_WORTH = 0.9
"""A payload that is not made smaller than this part of it is left alone."""


class _NothingToTrim(Exception):
    """There is no body to leave out."""


def trimmed(payload: bytes, flops: Callable[[], float]) -> bytes | None:
    """Return what XLA's CPU client wrote of an executable, without bodies of loops.

    It runs as the whole one does, and tells less of the program: its text has custom calls for
    fusions, and its costs leave them out.

    Args:
      payload: the executable as ``serialize`` gives it.
      flops: gives the number of operations that XLA counts in the program.  Where they are many,
        many are kept, for by that XLA decides whether a call waits for its end.

    Returns:
      None where there is little to leave out, or where the payload is written otherwise.
    """
    message = memoryview(payload)
    try:
        length, start = read_number(message, 0)  # of what jaxlib puts before it
        start += length
        shorter = payload[:start] + _trimmed(message[start:], _MODULE, flops)
    except (ValueError, _NothingToTrim):
        return None
    return shorter if len(shorter) <= _WORTH * len(payload) else None


def _trimmed(message: memoryview, path: tuple[int, ...], flops: Callable[[], float]) -> bytes:
    """Return a message with the module at a path trimmed."""
    if not path:
        return _trimmed_module(message, flops)
    parts: list[bytes | memoryview] = []
    for number, value, part in parts_of(message):
        if number == path[0] and isinstance(value, memoryview):
            parts.append(encoded_field(number, _trimmed(value, path[1:], flops)))
        else:
            parts.append(part)
    return b"".join(parts)


def _trimmed_module(module: memoryview, flops: Callable[[], float]) -> bytes:
    parts: list[memoryview | _Computation] = [
        _Computation(value) if number == _COMPUTATIONS and isinstance(value, memoryview) else part
        for number, value, part in parts_of(module)
    ]
    bodies = _bodies([one for one in parts if isinstance(one, _Computation)], flops)
    kept: list[bytes | memoryview] = []
    for one in parts:
        if not isinstance(one, _Computation):
            kept.append(one)
        elif one.number not in bodies:
            kept.append(encoded_field(_COMPUTATIONS, one.calling(bodies)))
    return b"".join(kept)


def _bodies(computations: Sequence[_Computation], flops: Callable[[], float]) -> set[int]:
    """Return the numbers of the bodies that can be left out.

    Raises:
      _NothingToTrim: there are none.
    """
    called = {number for one in computations for number in one.loops.values()}
    bodies = {one.number: one for one in computations if one.number in called and one.is_plain()}
    if bodies and flops() >= _CHEAP_FLOPS:
        kept = (one for one in computations if one.number not in bodies)
        if not any(one.is_long() for one in kept):
            long = next((number for number, body in bodies.items() if body.is_long()), None)
            bodies = {} if long is None else {n: body for n, body in bodies.items() if n != long}
    if not bodies:
        raise _NothingToTrim
    return set(bodies)


class _Computation:
    """A computation of a module: a message of instructions.

    Attributes:
      number: its own.
      loops: for each loop fusion among its instructions, by place, the number of the body.
    """

    def __init__(self, message: memoryview) -> None:
        self._message = message
        self._content = bytes(message)
        self.number = next(iter(numbers_in(message, _COMPUTATION_ID)), -1)
        found = enumerate(map(_body_of_loop, self._instructions()) if self._may_call() else ())
        self.loops = {place: body for place, body in found if body is not None}

    def _may_call(self) -> bool:
        return _HAS_FUSION in self._content

    def _instructions(self) -> Iterator[memoryview]:
        return _messages(self._message, _INSTRUCTIONS)

    def is_plain(self) -> bool:
        """Whether buffers can be laid out without knowing what it does."""
        return not self._may_call() and not any(name in self._content for name in _IN_PLACE)

    def is_long(self) -> bool:
        """Whether XLA counts ``_CHEAP_FLOPS`` operations or more in a run of it."""
        counted = 0
        for instruction in self._instructions():
            if b"".join(_messages(instruction, _OPCODE)) in _COUNTED:
                for shape in _messages(instruction, _SHAPE):
                    counted += prod(numbers_in(shape, _DIMENSIONS))
            if counted >= _CHEAP_FLOPS:
                return True
        return False

    def calling(self, bodies: Set[int]) -> bytes:
        """Return the message with a custom call for each loop of these bodies."""
        if not self.loops:
            return self._content
        parts: list[bytes | memoryview] = []
        place = -1
        for number, value, part in parts_of(self._message):
            place += number == _INSTRUCTIONS
            loop = number == _INSTRUCTIONS and self.loops.get(place) in bodies
            if loop and isinstance(value, memoryview):
                rest = [one for n, _, one in parts_of(value) if n not in _OF_FUSIONS]
                parts.append(encoded_field(number, b"".join((*rest, _CALL))))
            else:
                parts.append(part)
        return b"".join(parts)


def _body_of_loop(instruction: memoryview) -> int | None:
    """Return the number of the body of a loop fusion; None for other instructions."""
    fields = dict(fields_of(instruction))
    called = numbers_in(instruction, _CALLED)
    loop = (fields.get(_OPCODE), fields.get(_FUSION_KIND)) == (_FUSION, _LOOP)
    return called[0] if loop and len(called) == 1 else None


def _messages(message: memoryview, number: int) -> Iterator[memoryview]:
    for n, value in fields_of(message):
        if n == number and isinstance(value, memoryview):
            yield value
