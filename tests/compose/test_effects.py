"""Effects in random nests of calls, branches and loops: each once, and ordered ones in order.

A program is a list of statements; an interpreter in Python says what it does.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import jxkernel as jx
from jxkernel import lax
from jxkernel.experimental import io_callback

Statement = tuple[Any, ...]


def _nests(kinds: Sequence[str]) -> st.SearchStrategy[list[Statement]]:
    show = st.tuples(st.just("show"), st.integers(0, 9))

    def deeper(block: Any) -> Any:
        forms = {
            "jit": st.tuples(st.just("jit"), block),
            "cond": st.tuples(st.just("cond"), st.integers(0, 2), block, block, block),
            "if": st.tuples(st.just("if"), block, block),
            "scan": st.tuples(st.just("scan"), st.integers(0, 3), st.integers(1, 2), block),
            "while": st.tuples(st.just("while"), st.integers(0, 2), block),
            "asking": st.tuples(st.just("asking"), st.integers(0, 2), block),
            "checkpoint": st.tuples(st.just("checkpoint"), block),
            "custom": st.tuples(st.just("custom"), block),
        }
        return st.lists(st.one_of(show, *[forms[kind] for kind in kinds]), min_size=1, max_size=3)

    return st.recursive(st.lists(show, min_size=1, max_size=2), deeper, max_leaves=6)


EVERY = ("jit", "cond", "if", "scan", "while", "asking", "checkpoint", "custom")
REVERSIBLE = ("jit", "cond", "if", "scan", "checkpoint")


def run_statement(statement: Statement, x: Any, show: Callable[[int, Any], None]) -> Any:
    """Run a statement on the state, with jxkernel."""
    kind, *rest = statement
    blocks = [partial(run_block, b, show) for b in rest if isinstance(b, list)]
    if kind == "show":
        show(rest[0], x)
        # Exact in any arithmetic, with a residual for derivatives to keep.
        return x + 1 + 0 * jx.numpy.sin(x)
    if kind == "jit":
        return jx.jit(blocks[0])(x)
    if kind == "cond":
        return lax.switch(rest[0] + (0 * x).astype(np.int32), blocks, x)
    if kind == "if":
        return lax.cond(x > 3, blocks[0], blocks[1], x)
    if kind == "scan":
        length, unroll, _ = rest
        turn = lambda c, _: (blocks[0](c), None)  # noqa: E731
        return lax.scan(turn, x, None, length=length, unroll=unroll)[0]
    if kind in ("while", "asking"):

        def going(state: Any) -> Any:
            if kind == "asking":
                show(77, state[1])
            return state[0] < rest[0]

        return lax.while_loop(going, lambda s: (s[0] + 1, blocks[0](s[1])), (0, x))[1]
    if kind == "checkpoint":
        return jx.checkpoint(blocks[0])(x)
    call = jx.custom_jvp(blocks[0])
    call.defjvp(lambda primals, tangents: (blocks[0](*primals), tangents[0]))
    return call(x)


def run_block(block: Sequence[Statement], show: Callable[[int, Any], None], x: Any) -> Any:
    """Run statements in order."""
    for statement in block:
        x = run_statement(statement, x, show)
    return x


def expected_of(block: Sequence[Statement], x: float, out: list[tuple[int, float]]) -> float:
    """Run statements in Python, noting what they show."""
    for kind, *rest in block:
        inner = [b for b in rest if isinstance(b, list)]
        if kind == "show":
            out.append((rest[0], x))
            x = x + 1
        elif kind == "cond":
            x = expected_of(inner[rest[0]], x, out)
        elif kind == "if":
            x = expected_of(inner[0] if x > 3 else inner[1], x, out)
        elif kind in ("scan", "while", "asking"):
            for _ in range(rest[0]):
                if kind == "asking":
                    out.append((77, x))
                x = expected_of(inner[0], x, out)
            if kind == "asking":
                out.append((77, x))
        else:
            x = expected_of(inner[0], x, out)
    return x


def shown_by(
    block: Sequence[Statement], way: Callable[[Callable[[Any], Any]], Any], *, ordered: bool
) -> list[tuple[int, float]]:
    """Return what a program shows when it is run in some way."""
    shown: list[tuple[int, float]] = []

    def note(k: Any, x: Any) -> None:
        shown.append((int(k), float(x)))

    def show(k: int, x: Any) -> None:
        io_callback(note, None, k, lax.stop_gradient(x), ordered=ordered)

    way(lambda x: run_block(block, show, x))
    jx.effects_barrier()
    return shown


START = np.float32(0.5)
WAYS: dict[str, tuple[Sequence[str], Callable[[Callable[[Any], Any]], Any]]] = {
    "eager": (EVERY, lambda f: f(START)),
    "jit": (EVERY, lambda f: jx.jit(f)(START)),
    "jvp": (EVERY, lambda f: jx.jvp(jx.jit(f), (START,), (START,))),
    "linearize": (EVERY, lambda f: jx.linearize(jx.jit(f), START)[1](START)),
    "grad": (REVERSIBLE, lambda f: jx.grad(f)(START)),
    "jit of grad of jit": (REVERSIBLE, lambda f: jx.jit(jx.grad(jx.jit(f)))(START)),
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=8, phases=[Phase.generate])
@given(data=st.data())
def test_ordered_effects_of_random_nests_happen_in_order(way, data):
    kinds, run = WAYS[way]
    block = data.draw(_nests(kinds))
    expected: list[tuple[int, float]] = []
    expected_of(block, float(START), expected)
    assert shown_by(block, run, ordered=True) == expected


@settings(max_examples=8, phases=[Phase.generate])
@given(block=_nests(EVERY))
def test_unordered_effects_of_random_nests_happen_once_each(block):
    expected: list[tuple[int, float]] = []
    expected_of(block, float(START), expected)
    shown = shown_by(block, lambda f: jx.jit(f)(START), ordered=False)
    assert Counter(shown) == Counter(expected)


def test_order_holds_from_program_to_program_eager_and_compiled():
    shown: list[int] = []

    def note(k: Any, x: Any) -> None:
        shown.append(int(k))

    def show(k: Any, x: Any) -> None:
        io_callback(note, None, k, x, ordered=True)

    slow = jx.jit(lambda x: lax.fori_loop(0, 6, lambda i, y: y @ x, x)[0, 0])
    big = np.ones((400, 400), np.float32)
    compiled = jx.jit(show)
    for turn in range(5):
        # The first program waits for its argument; the second could run at once.
        compiled(3 * turn, slow(big))
        compiled(3 * turn + 1, 0.0)
        show(3 * turn + 2, 0.0)
    jx.effects_barrier()
    assert shown == list(range(15))
