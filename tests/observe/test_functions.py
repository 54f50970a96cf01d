"""The list of functions that jit has traced."""

from functools import partial
from pathlib import Path

import jxkernel as jx
from jxkernel.observe import Recorder, functions, ledger


def tripled(x: float) -> float:
    return x * 3


class Scaling:
    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: float) -> float:
        return x * self.by


def test_functions_are_listed_with_their_place_and_what_they_cost() -> None:
    with Recorder() as recorder:
        traced = jx.jit(tripled)
        traced(1.0)
        traced(1)
    [found] = [one for one in functions(ledger(recorder)) if one.name == "tripled"]
    assert Path(found.file) == Path(__file__)
    assert found.line == tripled.__code__.co_firstlineno
    assert (found.kept, found.builds, found.avoidable) == (2, 2, 1)
    assert found.cost_ns > 0
    assert found.latest
    assert traced(2) == 6


def test_objects_and_partials_are_placed_where_their_code_is() -> None:
    kept = [jx.jit(Scaling(2.0)), jx.jit(partial(tripled))]
    for one in kept:
        one(1.0)
    places = {one.line for one in functions() if Path(one.file) == Path(__file__)}
    lines = {Scaling.__call__.__code__.co_firstlineno, tripled.__code__.co_firstlineno}
    assert lines <= places
