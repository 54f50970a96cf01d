"""Outputs of ranks side by side: the same rows however fast each rank is and is looked at."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jxkernel.jupyter.cluster.outputs import Output, Outputs
from jxkernel.jupyter.cluster.rows import Given, Rows, folded, grouped


def printed(*texts, calls=0):
    return tuple(Output("stdout", calls, text) for text in texts)


def taken(rows):
    """The rows that are whole, each piece with its ranks."""
    return [[(ranks, one.text) for ranks, one in folded(row)] for row in rows.whole()]


def test_groups_stand_in_the_order_of_their_ranks_whichever_answered_first():
    assert grouped({2: "a", 1: "b", 0: "a"}) == [([0, 2], "a"), ([1], "b")]
    assert grouped({1: [], 0: {}}) == [([0], {}), ([1], [])]


def test_a_row_waits_for_the_ranks_that_may_still_add_to_it():
    rows = Rows(range(2))
    rows.take(0, Given(outputs=printed("a\n", "b\n")))
    assert taken(rows) == []
    assert rows.waiting() == {0: "a\nb"}
    rows.take(1, Given(outputs=printed("a\n")))
    assert taken(rows) == [[([0, 1], "a\n")]]
    rows.take(1, Given(calls=1, orders=(7,)))
    assert taken(rows) == [[([0], "b\n")]], "rank 1 went on to a call without it"
    assert rows.waiting() == {}


def test_what_one_rank_prints_after_a_call_is_shown_when_others_have_gone_on():
    rows = Rows(range(2))
    rows.take(0, Given(calls=1, orders=(7,), outputs=printed("loss\n", calls=1)))
    rows.take(1, Given(calls=2, orders=(7, 8)))
    assert taken(rows) == [[([0], "loss\n")]]


def test_nothing_is_shown_that_followed_calls_in_another_order():
    rows = Rows(range(2))
    rows.take(0, Given(calls=1, orders=(7,), outputs=printed("wrong\n", calls=1)))
    rows.take(1, Given(calls=0))
    assert not rows.differ
    assert taken(rows) == []
    assert rows.waiting() == {}
    rows.take(1, Given(is_done=True, calls=1, orders=(8,)))
    rows.end()
    assert rows.differ
    assert taken(rows) == []


@pytest.mark.parametrize("is_lost", [True, False])
def test_others_go_on_showing_what_they_did_when_one_has_failed(is_lost):
    rows = Rows(range(3))
    rows.take(2, Given(calls=1, orders=(7,), outputs=printed("last\n", calls=1)))
    if is_lost:
        rows.drop(2)
    else:
        rows.take(2, Given(is_done=True, has_failed=True, calls=1))
    for rank in (0, 1):
        rows.take(rank, Given(calls=2, orders=(7, 8), outputs=printed("on\n", calls=2)))
    assert taken(rows) == [[([2], "last\n")], [([0, 1], "on\n")]]


def test_changes_of_a_display_wait_for_no_other_rank_but_for_its_calls():
    rows = Rows(range(2))
    change = Output("update", 1, data={"text/plain": "1"}, identity="a")
    rows.take(0, Given(calls=1, orders=(7,), outputs=(change,)))
    assert list(rows.whole()) == []
    rows.take(1, Given(calls=1, orders=(7,)))
    assert list(rows.whole()) == [{0: change}]


@st.composite
def runs(draw):
    """What three ranks do, as pieces at their places, and how they are looked at."""
    ends = 4
    ranks = [
        sorted(
            draw(st.lists(st.tuples(st.integers(0, ends), st.sampled_from("ab")), max_size=6)),
            key=lambda piece: piece[0],
        )
        for _ in range(3)
    ]
    looks = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30))
    return ends, ranks, looks


def told(rows):
    return [[(ranks, one.calls, one.text) for ranks, one in folded(row)] for row in rows.whole()]


@settings(max_examples=200, deadline=None)
@given(runs())
def test_rows_are_the_same_however_ranks_are_looked_at(run):
    ends, ranks, looks = run
    orders = tuple(range(10, 10 + ends))
    at_once = Rows(range(3))
    for rank, pieces in enumerate(ranks):
        outputs = tuple(Output("stdout", place, text) for place, text in pieces)
        at_once.take(rank, Given(is_done=True, calls=ends, orders=orders, outputs=outputs))
    expected = told(at_once)

    in_steps, found = Rows(range(3)), []
    left = [list(pieces) for pieces in ranks]
    calls = [0, 0, 0]
    for rank, count in looks:
        pieces, left[rank] = left[rank][:count], left[rank][count:]
        # It is somewhere between the last that it gave and the next.
        before = calls[rank]
        calls[rank] = left[rank][0][0] if left[rank] else ends
        outputs = tuple(Output("stdout", place, text) for place, text in pieces)
        new = orders[before : calls[rank]]
        in_steps.take(rank, Given(calls=calls[rank], orders=new, outputs=outputs))
        found += told(in_steps)
    for rank in range(3):
        outputs = tuple(Output("stdout", place, text) for place, text in left[rank])
        new = orders[calls[rank] :]
        in_steps.take(rank, Given(is_done=True, calls=ends, orders=new, outputs=outputs))
        found += told(in_steps)
    assert found == expected


@pytest.mark.parametrize(
    ("writes", "texts", "line"),
    [
        (["a", "\n", "b"], ["a\n"], "b"),
        (["a\nb\n"], ["a\nb\n"], ""),
        (["a\nb", "c"], [], "bc"),
        (["\r 1%", "\r 50%", "\r100%"], [], "100%"),
        (["\r 1%", "\r100%", "\n"], ["100%\n"], ""),
        (["a\r\n", "long\rab", "\n"], ["a\n", "abng\n"], ""),
    ],
)
def test_a_line_is_given_when_it_ends(writes, texts, line):
    outputs = Outputs()
    for text in writes:
        outputs.write("stdout", text)
    assert [one.text for one in outputs.take()] == texts
    assert outputs.line == line
    outputs.end()
    assert len(outputs.take()) == bool(line)


def test_a_line_ends_before_another_stream_and_before_a_display():
    outputs = Outputs()
    outputs.write("stdout", "a")
    outputs.write("stderr", "b")
    outputs.put("display", data={"text/plain": "1"})
    assert [one.kind for one in outputs.take()] == ["stdout", "stderr", "display"]
