"""Reading programs out of a profile: the wire format, and what is damaged."""

from __future__ import annotations

import pytest

from jxkernel.hlo.messages import fields_of
from jxkernel.observe.xspace import (
    Operation,
    ProfiledPrograms,
    Program,
    Spot,
    program_in,
)


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | bytes | str) -> bytes:
    """One field as protocol buffers write it."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def instruction(name: str, opcode: str, told: str = "", frame: int = 0, calls: int = 0) -> bytes:
    metadata = field(7, field(2, told) + field(15, frame))
    return field(2, field(1, name) + field(2, opcode) + metadata + field(38, varint(calls)))


INDEX = (
    field(1, "a.py")
    + field(3, field(1, 1) + field(3, 300))
    + field(3, field(1, 1) + field(3, 7))
    + field(4, field(1, 1))
    + field(4, field(1, 2))
)
MODULE = (
    field(1, "jit_f")
    + field(3, field(1, "fused") + instruction("sin.1", "sine", "sin", 2) + field(5, 9))
    + field(
        3,
        field(1, "main")
        + instruction("fusion", "fusion", "add", 1, calls=9)
        + instruction("copy", "copy")
        + field(5, 1),
    )
    + field(17, INDEX)
)


def space(module: bytes, name: str = "jit_f(300)") -> bytes:
    metadata = field(2, name) + field(5, field(1, 1) + field(6, field(1, module)))
    plane = field(2, "/host:metadata") + field(4, field(1, 5) + field(2, metadata))
    return field(1, field(2, "/host:CPU")) + field(1, plane)


def test_operations_have_the_lines_of_what_was_fused() -> None:
    programs = ProfiledPrograms(space(MODULE))
    program = programs.find("jit_f", 300, {"fusion"})
    assert program is not None
    assert programs.find("jit_g", 300, {"fusion"}) is None
    assert program.name == "jit_f"
    assert program.operations["fusion"] == Operation("add", (1, 2))
    assert program.places("fusion") == ("a.py:300", "a.py:7")
    assert program.places("copy") == ()


def test_of_programs_of_one_name_the_number_tells_and_else_the_operations() -> None:
    other = field(1, "jit_f") + field(3, field(1, "main") + instruction("sort", "sort"))
    programs = ProfiledPrograms(space(MODULE) + space(other, "jit_f(301)"))
    for number, operation in ((300, "fusion"), (301, "sort"), (999, "sort"), (300, "sort")):
        found = programs.find("jit_f", number, {operation})
        assert found is not None
        assert operation in found.operations


@pytest.mark.parametrize("cut", [1, 5, 20, 60, len(space(MODULE)) - 1])
def test_what_is_cut_short_gives_no_program(cut: int) -> None:
    assert ProfiledPrograms(space(MODULE)[:cut]).find("jit_f", 300, ()) is None


def test_what_cannot_be_read_is_left_out() -> None:
    assert ProfiledPrograms(space(b"\xff\xff\xff")).find("jit_f", 300, ()) is None
    assert ProfiledPrograms(b"").find("jit_f", 300, ()) is None
    with pytest.raises(ValueError, match="unknown wire type 3"):
        list(fields_of(memoryview(b"\x0b")))


def test_fixed_and_long_values_are_passed_over() -> None:
    message = b"\x09" + bytes(8) + b"\x15" + bytes(4) + field(3, 2**40)
    assert [(number, type(value)) for number, value in fields_of(memoryview(message))] == [
        (1, memoryview),
        (2, memoryview),
        (3, int),
    ]


def test_lines_from_the_disk_cache_are_those_of_this_process() -> None:
    cached = program_in(MODULE)
    moved = Program("jit_f", cached.operations, {1: Spot("b.py", 310), 2: Spot("b.py", 17)})
    assert cached.relocated(moved).places("fusion") == ("b.py:310", "b.py:17")
    assert cached.relocated(cached) == cached
    other = Program("jit_f", {}, {1: Spot("c.py", 1)})
    assert cached.relocated(other).places("fusion") == ("a.py:300", "a.py:7")
