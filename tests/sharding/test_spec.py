"""Partition specs: entries, equality, and what they print."""

import pickle

import pytest

from jxkernel.sharding import AbstractMesh, AxisType, NamedSharding, UnreducedKind
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


PUT_OFF = {
    "P('x', unreduced={'y'}, unreduced_kind=sum)": P("x", unreduced={"y"}),
    "P(unreduced={'y', 'z'}, unreduced_kind=max)": P(
        unreduced={"z", "y"}, unreduced_kind=UnreducedKind.max
    ),
    "P('x', None, reduced={'y'})": P("x", None, reduced={"y"}),
    "P(UNCONSTRAINED, unreduced={'y'}, reduced={'z'}, unreduced_kind=sum)": P(
        P.UNCONSTRAINED, unreduced=frozenset({"y"}), reduced={"z"}
    ),
}


@pytest.mark.parametrize(("text", "spec"), PUT_OFF.items(), ids=str)
def test_sums_that_are_put_off_are_part_of_a_spec(text, spec):
    assert repr(spec) == text
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert {spec: 1}[again] == 1
    assert spec != P(*spec.partitions)
    assert len(spec) == len(spec.partitions)


def test_specs_that_put_off_sums_are_compared_by_all_their_parts():
    spec = P("x", unreduced={"y"})
    assert (spec.unreduced, spec.reduced) == (frozenset({"y"}), frozenset())
    assert spec.unreduced_kind is UnreducedKind.sum
    assert spec != P("x", unreduced={"y"}, unreduced_kind=UnreducedKind.max)
    assert spec != P("x", reduced={"y"})
    assert P("x", unreduced=set(), reduced=frozenset()) == P("x")
    assert (P("x").unreduced, P("x").reduced, P("x").unreduced_kind) == (set(), set(), None)


def test_specs_that_put_off_sums_are_joined_and_updated_whole():
    spec = P("x", unreduced={"y"})
    assert spec + P("z", unreduced={"w"}) == P("x", "z", unreduced={"y", "w"})
    assert P("x", reduced={"y"}) + P("z") == P("x", "z", reduced={"y"})
    assert spec.update(partitions=("z",)) == P("z", unreduced={"y"})
    assert spec.update(reduced={"z"}) == P("x", unreduced={"y"}, reduced={"z"})
    assert spec.update(unreduced=set(), unreduced_kind=None) == P("x")
    for wrong in (lambda: spec + P("z"), lambda: P("x") + spec):
        with pytest.raises(TypeError, match="one puts off what the other does not"):
            wrong()
    for lossy in (lambda: [*spec], lambda: spec[0], lambda: spec + ("z",), lambda: ("z",) + spec):  # noqa: RUF005
        with pytest.raises(ValueError, match=r"would be lost: take spec\.partitions"):
            lossy()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"unreduced": {"x"}}, ValueError, "'x' both in unreduced and in an entry"),
        ({"unreduced": {"y"}, "reduced": {"y"}}, ValueError, "both in reduced and in unreduced"),
        ({"unreduced": "y"}, TypeError, "set of mesh axes as unreduced, got 'y'"),
        ({"reduced": {None}}, ValueError, "None in reduced"),
        ({"unreduced_kind": UnreducedKind.max}, ValueError, "and no unreduced axes: leave it out"),
        ({"unreduced": {"y"}, "unreduced_kind": "max"}, TypeError, "an UnreducedKind as"),
    ],
)
def test_a_spec_puts_off_sums_over_other_axes(given, error, message):
    with pytest.raises(error, match=message):
        P("x", **given)


def test_shardings_put_off_sums_over_explicit_axes():
    mesh = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    assert not NamedSharding(mesh, P(unreduced={"x"})).is_fully_replicated
    assert NamedSharding(mesh, P(reduced={"x"})).is_fully_replicated
    assert NamedSharding(mesh, P("y", unreduced={"x"})).shard_shape((4,)) == (2,)
    with pytest.raises(NotImplementedError, match=r"puts off a min.*out_sharding=P\('y',\)"):
        NamedSharding(mesh, P("y", unreduced={"x"}, unreduced_kind=UnreducedKind.min))
    with pytest.raises(ValueError, match="over 'y', which is of type Auto in"):
        NamedSharding(mesh, P(reduced={"y"}))
    with pytest.raises(ValueError, match="over 'z', which is no axis of"):
        NamedSharding(mesh, P("x", unreduced={"z"}))


@pytest.mark.parametrize(
    ("entry", "names"),
    [(None, ()), ("x", ("x",)), (("x", "y"), ("x", "y")), (P.UNCONSTRAINED, ())],
)
def test_axes_of_an_entry(entry, names):
    assert axes_of(entry) == names


def test_a_spec_is_updated_by_parts():
    assert P("x", None).update(partitions=("y",)) == P("y")
    assert P("x").update(unreduced=frozenset()) == P("x")
