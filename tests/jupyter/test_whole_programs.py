"""Whole programs, part by part, for the lab extension."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import jxkernel as jx
from jxkernel.jupyter.programs import requests
from jxkernel.jupyter.programs.requests import Programs
from jxkernel.jupyter.programs.view import outline_data
from jxkernel.observe import outline
from jxkernel.observe.outlined_programs import clear_outlines


def plain(data: Any) -> Any:
    return json.loads(json.dumps(data))


def rows(columns: Any) -> list[dict[str, Any]]:
    """Equations by columns, as the outline of a whole program has them."""
    return [
        {
            "number": columns["first"] + place,
            **{
                name: columns[name][place]
                for name in ("depth", "named", "text", "primitive", "line", "flops", "bytes")
            },
            **{name: columns[name][place].split() for name in ("operands", "results")},
            "file": columns["files"][columns["file"][place]],
        }
        for place in range(len(columns["text"]))
    ]


def long_program(x: float) -> object:
    for number in range(30):
        x = jx.numpy.sin(x) * number
    return x


def test_a_program_comes_in_parts_that_make_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_PART", 25)
    closed = jx.make_jaxpr(long_program)(1.0)
    token = outline(closed, title="long", limit=10).token
    programs = Programs()
    part = programs.part(token, 0)
    assert not part["is_last"]
    [begun] = part["programs"]
    assert (begun["first"], begun["end"], begun["tail"]) == (1, 61, "")
    equations = rows(part["equations"])
    assert len(equations) == 25
    while not part["is_last"]:
        part = programs.part(token, len(equations))
        equations = equations + rows(part["equations"])
    [whole] = part["programs"]
    assert (whole["first"], whole["end"], whole["left_out"]) == (1, 61, 0)
    assert whole == {**begun, "tail": whole["tail"], "results": [equations[-1]["results"][0]]}
    assert [one["number"] for one in equations] == list(range(1, 61))


class _Counted(list[Any]):
    """A list that counts how many of its items were looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.looked_at += 1
            yield item


def test_the_first_part_looks_at_no_more_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_PART", 10)
    closed = jx.make_jaxpr(long_program)(1.0)
    token = outline(closed, limit=5).token
    closed.jaxpr.eqns = counted = _Counted(closed.jaxpr.eqns)
    assert len(Programs().part(token, 0)["equations"]["text"]) == 10
    # The equation after a run of one place tells that the run has ended.
    assert counted.looked_at <= 12


def test_parts_are_the_outline_and_may_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def halves(x: float) -> object:
        return jx.lax.cond(x > 0, jx.numpy.sin, lambda one: jx.numpy.cos(one) * 2, x)

    monkeypatch.setattr(requests, "_PART", 2)
    closed = jx.make_jaxpr(jx.jit(halves))(1.0)
    whole = plain(outline_data(outline(closed)))
    token = outline(closed, limit=1).token
    programs, others = Programs(), Programs()
    told: dict[tuple[int, str], object] = {}
    equations: list[object] = []
    is_last = False
    while not is_last:
        others.part(token, 0)
        part = plain(programs.part(token, len(equations)))
        assert part == plain(others.part(token, len(equations)))
        equations += rows(part["equations"])
        told |= {(one["equation"], one["label"]): one for one in part["programs"]}
        is_last = part["is_last"]
    assert equations == whole["equations"]
    assert list(told.values()) == whole["programs"]


def test_a_program_that_is_gone_is_told_so() -> None:
    closed = jx.make_jaxpr(long_program)(1.0)
    token = outline(closed, limit=10).token
    clear_outlines()
    with pytest.raises(LookupError, match="no longer in the kernel: run its cell again"):
        Programs().part(token, 0)
    with pytest.raises(LookupError, match="no longer in the kernel"):
        Programs().part("of another process", 0)
