"""Partition specs: entries, equality, and what they print."""

import pickle

import pytest

from jxkernel.sharding import PartitionSpec as P
from jxkernel.sharding.spec import axes_of


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P(), "P()"),
        (P("x"), "P('x',)"),
        (P("x", None), "P('x', None)"),
        (P(("x", "y"), None), "P(('x', 'y'), None)"),
        (P(("x",), ()), "P('x', None)"),
        (P(P.UNCONSTRAINED), "P(UNCONSTRAINED,)"),
    ],
)
def test_spec_prints_its_entries(spec, text):
    assert repr(spec) == text


def test_spec_is_a_sequence_compared_by_its_entries():
    spec = P("x", None, "y")
    assert list(spec) == ["x", None, "y"]
    assert (len(spec), spec[2], spec[:1], spec.index("y"), spec.count(None)) == (
        3,
        "y",
        ("x",),
        2,
        1,
    )
    assert spec == P("x", None, "y")
    assert hash(spec) == hash(P("x", None, "y"))
    assert P("x") != P("x", None)
    assert P("x") != ("x",)
    assert P("x") + P("y") == P("x", "y")
    assert ("x",) + P("y") == P("x", "y")  # noqa: RUF005
    assert pickle.loads(pickle.dumps(P(("x", "y"), P.UNCONSTRAINED))) == P(
        ("x", "y"), P.UNCONSTRAINED
    )


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"unreduced": {"y"}}, NotImplementedError, r"unreduced=\{'y'\}.*out_sharding=P\('x'\)"),
        ({"reduced": {"y"}}, NotImplementedError, r"reduced=\{'y'\}.*shard_map.*psum"),
        ({"unreduced": {"x"}}, ValueError, "'x' both in unreduced and in an entry"),
        ({"unreduced": {"y"}, "reduced": {"y"}}, ValueError, "both in reduced and in unreduced"),
        ({"unreduced": "y"}, TypeError, "set of mesh axes as unreduced, got 'y'"),
        ({"reduced": {None}}, ValueError, "None in reduced"),
    ],
)
def test_sums_that_are_put_off_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        P("x", **given)
    assert P("x", unreduced=set(), reduced=frozenset()) == P("x")
    assert (P("x").unreduced, P("x").reduced) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("entry", "names"),
    [(None, ()), ("x", ("x",)), (("x", "y"), ("x", "y")), (P.UNCONSTRAINED, ())],
)
def test_axes_of_an_entry(entry, names):
    assert axes_of(entry) == names


def test_a_spec_is_updated_by_parts():
    assert P("x", None).update(partitions=("y",)) == P("y")
    assert P("x").update(unreduced=frozenset()) == P("x")
