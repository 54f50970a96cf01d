"""Whole programs, part by part, for the lab extension."""

import pytest

import jxkernel as jx
from jxkernel.jupyter import wholes
from jxkernel.jupyter.wholes import Programs
from jxkernel.observe import outline
from jxkernel.observe.programs import clear_outlines


def long_program(x: float) -> object:
    for number in range(30):
        x = jx.numpy.sin(x) * number
    return x


def test_a_program_comes_in_parts_that_make_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wholes, "_PART", 25)
    closed = jx.make_jaxpr(long_program)(1.0)
    token = outline(closed, title="long", limit=10).token
    programs = Programs()
    first = programs.part(token, 0)
    assert first["program"] is not None
    assert (first["program"]["title"], first["program"]["count"]) == ("long", 60)
    assert first["program"]["equations"] == []
    [whole] = first["program"]["programs"]
    assert (whole["first"], whole["end"], whole["left_out"]) == (1, 61, 0)
    equations = first["equations"]
    while len(equations) < 60:
        part = programs.part(token, len(equations))
        assert part["program"] is None
        equations = equations + part["equations"]
    assert [one["number"] for one in equations] == list(range(1, 61))


def test_a_program_that_is_listed_whole_has_no_token() -> None:
    assert outline(jx.make_jaxpr(long_program)(1.0)).token == ""


def test_a_program_that_is_gone_is_told_so() -> None:
    closed = jx.make_jaxpr(long_program)(1.0)
    token = outline(closed, limit=10).token
    clear_outlines()
    with pytest.raises(LookupError, match="no longer in the kernel: run its cell again"):
        Programs().part(token, 0)
    with pytest.raises(LookupError, match="no longer in the kernel"):
        Programs().part("of another process", 0)
