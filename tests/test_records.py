"""Records behave as frozen, slotted dataclasses do."""

import copy
import dataclasses
import inspect
import pickle
import weakref
from typing import Any

import pytest

from jxkernel.records import record


@record()
class Point:
    """A point."""

    x: int
    y: int = 0
    tags: tuple[str, ...] = ()

    def norm(self) -> int:
        return abs(self.x) + abs(self.y)


@record(kw_only=True)
class Base:
    span: int
    error: str | None = None


@record(kw_only=True)
class Derived(Base):
    fun: str


@record(frozen=False, weakref_slot=True)
class Open:
    x: int


@record(eq=False)
class Only:
    x: int


def test_fields_are_given_by_position_or_name_with_defaults() -> None:
    point = Point(1, y=2)
    assert (point.x, point.y, point.tags, point.norm()) == (1, 2, (), 3)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"Point\(\) lacks the arguments x"),
        ((1,), {"z": 3}, r"Point\(\) has no fields named z"),
        ((1,), {"x": 3}, "each given once"),
        ((1, 2, (), 5), {}, "takes 3 positional arguments"),
    ],
)
def test_wrong_arguments_are_named(
    args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*args, **kwargs)


def test_keyword_only_fields_refuse_positions_and_are_inherited() -> None:
    derived = Derived(span=1, fun="f")
    assert (derived.span, derived.error, derived.fun) == (1, None, "f")
    assert isinstance(derived, Base)
    with pytest.raises(TypeError, match="0 positional"):
        Derived(1, "f")  # type: ignore[misc]  # what is tested
    with pytest.raises(TypeError, match="fun"):
        Derived(span=1)  # type: ignore[call-arg]  # what is tested


def test_frozen_records_refuse_assignment_and_have_no_dict() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to 'x'"):
        point.x = 2  # type: ignore[misc]  # what is tested
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        del point.x
    assert not hasattr(point, "__dict__")


def test_equality_and_hash_are_by_fields_and_class() -> None:
    assert Derived(span=1, fun="f") == Derived(span=1, fun="f")
    assert hash(Derived(span=1, fun="f")) == hash(Derived(span=1, fun="f"))
    assert Point(1) != Point(2)
    assert Base(span=1) != Derived(span=1, fun="f")
    assert Point(1) != (1, 0, ())


def test_equality_may_be_identity() -> None:
    only = Only(1)
    assert only != Only(1)
    assert len({only, Only(1)}) == 2


def test_open_records_are_assignable_comparable_and_unhashable() -> None:
    made = Open(1)
    made.x = 2
    assert made == Open(2)
    assert weakref.ref(made)() is made
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_repr_shows_fields_by_name() -> None:
    assert repr(Point(1, 2)) == "Point(x=1, y=2, tags=())"


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
@pytest.mark.parametrize("value", [Point(1, 2, ("a",)), Derived(span=1, fun="f"), Open(3)])
def test_copies_and_pickles_are_equal(duplicate: Any, value: Any) -> None:
    made = duplicate(value)
    assert made == value
    assert made is not value


def test_dataclass_functions_work() -> None:
    point = Point(1, 2, ("a",))
    assert dataclasses.is_dataclass(Point)
    assert [f.name for f in dataclasses.fields(Point)] == ["x", "y", "tags"]
    assert dataclasses.replace(point, y=5) == Point(1, 5, ("a",))
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "tags": ("a",)}


def test_signature_tells_the_fields() -> None:
    assert str(inspect.signature(Derived)) == "(*, span: int, error: str | None = None, fun: str)"
    assert list(inspect.signature(Point).parameters) == ["x", "y", "tags"]
    assert Point.__doc__ == "A point."


def test_match_statements_take_records_apart() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_record_checks_itself_once_it_is_made() -> None:
    @record()
    class Positive:
        """A number that is."""

        value: int

        def __post_init__(self) -> None:
            if self.value <= 0:
                raise ValueError(f"{self.value} is not positive")

    assert Positive(3).value == 3
    with pytest.raises(ValueError, match="-3 is not positive"):
        Positive(-3)


def test_a_repr_of_its_own_stays() -> None:
    @record()
    class Named:
        name: str

        def __repr__(self) -> str:
            return f"the {self.name}"

    assert repr(Named("first")) == "the first"
