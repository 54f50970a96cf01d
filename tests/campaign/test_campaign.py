"""The campaign's tools, and a slice of it against answers that are on record."""

import warnings

import numpy as np
import pytest

from jxkernel import config
from tests.campaign import accepted, findings, reference, stored
from tests.campaign.answers import Answer, Leaf
from tests.campaign.compare import difference, differing, unclean
from tests.campaign.generate import WAYS, generate
from tests.campaign.meant import makers, meant
from tests.campaign.pair import nudged
from tests.campaign.processes import DIED, Worker
from tests.campaign.shrink import shrunk
from tests.campaign.worker import run
from tests.compose.vocabulary import names

NAMES = names("jxkernel")
PARTS = 10


@pytest.fixture(autouse=True)
def _quiet():
    wide = config.enable_x64.value
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
    config.update("jax_enable_x64", wide)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(PARTS))
def test_programs_give_what_is_on_record(part):
    differing = []
    for source, theirs in stored.rows()[part::PARTS]:
        ours = run(NAMES, source)
        kind = difference(ours, theirs) or unclean(ours)
        if kind:
            differing.append(f"{kind}:\n{source}\n# {ours}\n")
    assert not differing, "\n".join(differing)


def unlike_numpy(seed, count):
    """Return the programs that NumPy gives another result."""
    sources = [reference.generate(f"{seed}:{n}") for n in range(count)]
    found = [(source, reference.unlike(source, run(NAMES, source))) for source in sources]
    return [f"{source}\n# {kind}\n" for source, kind in found if kind]


def test_programs_give_what_numpy_gives():
    found = unlike_numpy("few", 200)
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_programs_give_what_numpy_gives(seed):
    found = unlike_numpy(seed, 1000)
    assert not found, "\n".join(found)


def told_wrongly(seed, count):
    """Return the calls whose errors show something from the inside."""
    sources = [generate(f"{seed}:{n}", "call") for n in range(count)]
    worker = Worker("jxkernel")
    try:
        worker.send(sources)
        answers = list(worker.answers(sources))
    finally:
        worker.stop()
    assert sum(bool(answer.error) for answer in answers) > count / 3
    pairs = zip(sources, answers, strict=True)
    return [f"{unclean(a)}:\n{s}\n# {a.message}\n" for s, a in pairs if unclean(a)]


def test_errors_of_wrong_calls_are_told_in_words_that_users_know():
    found = told_wrongly("few", 200)
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_errors_of_many_wrong_calls_are_told_in_words_that_users_know(seed):
    found = told_wrongly(seed, 2500)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("way", WAYS)
def test_a_program_follows_from_its_seed(way):
    assert generate("1:2", way) == generate("1:2", way) != generate("1:3", way)


def test_programs_shrink_to_the_line_that_matters():
    source = """
x = jnp.array([1.0, 2.0], 'float32')
def f(x):
    v1 = jnp.sin(x)
    def g(u):
        return jnp.sort(jnp.cos(u), axis=0) + 1
    v2 = jax.jit(g)(v1)
    return jnp.exp(v2)
result = jax.jit(f)(x)"""
    small = shrunk(source, lambda tried: ["jnp.sort(" in text for text in tried])
    assert "jnp.sort()" in small
    assert "exp" not in small
    assert len(small) < len(source) / 2


def leaf(value, dtype="float32", weak=False):
    x = np.asarray(value, dtype)
    return Answer((Leaf("", "array", dtype, x.shape, weak, x.tobytes()),))


RAISED = Answer(error=("TypeError", "Exception"), message="add got 3")


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (leaf(1.0), leaf(1.0 + 1e-6), ""),
        (leaf(np.nan), leaf(np.nan), ""),
        (leaf(1.0), leaf(1.5), "value"),
        (leaf(1, "int32"), leaf(2, "int32"), "value"),
        (leaf([1.0]), leaf(1.0), "shape"),
        (leaf(1.0), leaf(1.0, "float64"), "dtype"),
        (leaf(1.0), leaf(1.0, weak=True), "weak"),
        (leaf(1.0), RAISED, "accepted"),
        (RAISED, leaf(1.0), "refused"),
        (RAISED, RAISED, ""),
        (leaf(1.0), Answer(), "structure"),
        (Answer(error=("SystemError",)), RAISED, "internal SystemError"),
    ],
)
def test_answers_are_compared_in_every_aspect(ours, theirs, expected):
    assert difference(ours, theirs) == expected


SEVERAL = """
def f(x):
    v1 = jnp.sin(x)
    def g2(u3):
        return jnp.gcd(u3, 2)
    v4 = g2(x)
    v5 = jnp.cos(v1)
    return (v1, v4, v5)
g = f
result = [g(*a) for a in [(1,)]]"""


def several(*leaves, weak=False):
    """Return an answer with leaves at the places of a program's statements."""
    made = (Leaf(f"[0][{n}]", "array", "int32", (), weak, x) for n, x in enumerate(leaves))
    return Answer(tuple(made))


def test_what_made_a_leaf_are_the_statements_since_the_one_before():
    assert makers(SEVERAL, "[0][0]") == "v1 = jnp.sin(x)"
    assert makers(SEVERAL, "[0][1]").endswith("return jnp.gcd(u3, 2)\nv4 = g2(x)")
    assert makers(SEVERAL, "[0][2]") == "v5 = jnp.cos(v1)"
    assert makers("result = jnp.sin(1)", "") == "result = jnp.sin(1)"


def test_a_difference_is_meant_only_where_the_statement_that_it_comes_from_is():
    zero, weak = several(*[b"\0" * 4] * 3), several(*[b"\0" * 4] * 3, weak=True)
    assert differing(zero, weak) == ("weak", 0)
    assert not meant("weak", SEVERAL, zero, weak)
    later = Answer((zero.leaves[0], *weak.leaves[1:]))
    assert meant("weak", SEVERAL, zero, later)
    assert not meant("weak", SEVERAL, later, zero)


def test_what_a_rounding_moves_says_nothing_nor_does_what_follows():
    ours, theirs, moved = (several(*data) for data in ([X, X, X], [X, Y, Y], [X, Z, Y]))
    assert differing(ours, theirs) == ("value", 1)
    assert differing(ours, theirs, moved) == ("", -1)
    assert differing(ours, theirs, several(X, Y, Z)) == ("value", 1)
    program = "x = 1\ndef f(x):\n    v1 = jnp.sin(x)\n    return (v1,)\nresult = f(x)"
    assert nudged(program).count("v1 = nudged(v1)") == nudged(program).count("x = nudged(x)") == 1


X, Y, Z = (bytes([n, 0, 0, 0]) for n in range(3))


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([1.0, 2.0], [1.0, np.nan], True),
        ([1.0, 2.0], [1.5, np.nan], False),
        ([np.nan, 2.0], [1.0, 2.0], False),
    ],
)
def test_a_value_that_the_other_library_lacks_is_told_from_another_value(ours, theirs, expected):
    program = "result = jax.scipy.special.poch(x, y)"
    assert bool(meant("value", program, leaf(ours), leaf(theirs))) == expected


@pytest.mark.parametrize(
    ("message", "frames", "expected"),
    [
        ("add got shapes (3,) and (2,)", (), ""),
        ("jaxlib._jax.Array is no number", (), "says jaxlib"),
        ("add got shapes", ("/site/jxkernel/api/jit.py",), "shows jxkernel/api/jit.py"),
        ("add got shapes", ("/site/other/api.py",), ""),
    ],
)
def test_messages_show_nothing_from_the_inside(message, frames, expected):
    assert unclean(Answer((), ("TypeError",), message, frames)) == expected


def test_a_process_that_dies_is_told_and_another_takes_its_place():
    sources = ["result = 1", "import os; os._exit(3)", "result = jnp.ones(2)"]
    worker = Worker("jxkernel")
    try:
        worker.send(sources)
        answers = list(worker.answers(sources))
    finally:
        worker.stop()
    assert [answer.error for answer in answers] == [(), (DIED,), ()]
    assert answers[2].leaves[0].shape == (2,)


def test_findings_have_states_and_meant_ones_reasons():
    rows = findings.load()
    assert {row.state for row in rows} <= set(findings.STATES)
    assert [row.seed for row in rows if row.state in ("meant", "mended") and not row.note] == []
    assert [row.seed for row in rows if row.state == "accepted" and not accepted.reason(row)] == []
