"""Stages: every line of StableHLO and HLO knows the user's line that it came from."""

import re
from typing import Any

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.observe import stages
from jxkernel.observe.stages import StageLine, optimized_lines, stablehlo_lines


def model(x: Any) -> Any:
    h = jnp.tanh(x)
    total = lax.fori_loop(0, 3, lambda _, c: c * h, h)
    return jnp.dot(total, x)


FIRST = model.__code__.co_firstlineno


def test_each_stage_leads_to_the_same_source_lines() -> None:
    found = stages(jx.jit(model).trace(jnp.ones(4)), function=model)
    assert [one.line - FIRST for one in found.program.source] == [1, 2, 3]
    for lines, name in ((found.stablehlo, "stablehlo.tanh"), (found.optimized, " tanh(")):
        assert {one.file for one in lines if one.line} == {__file__}
        assert [one.line - FIRST for one in lines if name in one.text] == [1]
        assert {one.line - FIRST for one in lines if one.line} == {1, 2, 3}
    assert not any(re.search(r"loc\(|metadata=", one.text) for one in found.stablehlo)
    assert not any("metadata=" in one.text for one in found.optimized)


def test_the_entry_computation_comes_first() -> None:
    found = stages(jx.jit(model).trace(jnp.ones(4)))
    heads = [one.text for one in found.optimized if one.text.startswith(("%", "ENTRY"))]
    assert heads[0].startswith("ENTRY")
    assert len(heads) > 1


def test_the_text_has_all_four() -> None:
    shown = str(stages(jx.jit(model).trace(jnp.ones(4))))
    heads = re.findall(r"^-- (.*)$", shown, re.M)
    assert heads == ["source", "jaxpr", "StableHLO", "optimized HLO"]


def test_locations_are_followed_through_their_aliases() -> None:
    text = (
        '  %0 = f() : x loc(#loc3)\n  %1 = g() loc("a.py":7:1)\n  %2 = h() loc(unknown)\n'
        '#loc1 = loc("b c.py":5:18)\n#loc2 = loc(callsite(#loc1 at #loc))\n'
        '#loc3 = loc("name"(#loc2))\n'
    )
    assert list(stablehlo_lines(text)) == [
        StageLine("  %0 = f() : x", "b c.py", 5),
        StageLine("  %1 = g()", "a.py", 7),
        StageLine("  %2 = h()"),
    ]


def test_places_of_older_modules_stand_in_the_line() -> None:
    metadata = 'metadata={op_name="x{y}" source_file="a.py" source_line=3}'
    text = f"ENTRY %m {{\n  %a = f32[] add(b), {metadata}\n}}"
    assert list(optimized_lines(text)) == [
        StageLine("ENTRY %m {"),
        StageLine("  %a = f32[] add(b)", "a.py", 3),
        StageLine("}"),
    ]


def test_a_long_module_is_cut_and_counted() -> None:
    def long(x: Any) -> Any:
        for _ in range(300):
            x = jnp.sin(x)
        return x

    found = stages(jx.jit(long).trace(1.0))
    assert len(found.stablehlo) == 250
    assert found.left_out >= 50
