"""What holds an object: every way to it, for several objects in one search."""

import sys
from collections import deque
from typing import Any

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.core.holders import holders_of

pytestmark = pytest.mark.usefixtures("all_objects_in_sight")

RECENT: deque[Any] = deque(maxlen=4)
NESTED: dict[str, Any] = {}
HERE = f", a global variable of {__name__}"


class Model:
    """Something with an attribute."""

    def __init__(self, weights: Any) -> None:
        self.weights = weights


def _made(count: int) -> list[Any]:
    return [jnp.ones(size + 1) for size in range(count)]


def test_several_objects_have_their_own_holders() -> None:
    objects = _made(3)
    RECENT.append(objects[0])
    NESTED["params"] = [objects[1], {"again": objects[0]}]
    try:
        first, second, third = holders_of(objects, 8)
        assert set(first.named) == {f"RECENT[0]{HERE}", f"NESTED['params'][1]['again']{HERE}"}
        assert second.named == (f"NESTED['params'][0]{HERE}",)
        assert third.first is None
    finally:
        RECENT.clear()
        NESTED.clear()


def test_among_very_many_objects_each_has_its_holder() -> None:
    objects = [Model(number) for number in range(500)]
    NESTED.update({str(number): [one] for number, one in enumerate(objects)})
    try:
        found = holders_of(objects)
        assert [one.first for one in found] == [
            f"NESTED['{number}'][0]{HERE}" for number in range(500)
        ]
    finally:
        NESTED.clear()


def test_the_number_of_holders_is_bounded() -> None:
    objects = _made(1)
    NESTED.update({str(number): [objects[0]] for number in range(9)})
    try:
        assert len(holders_of(objects, 3)[0].named) == 3
    finally:
        NESTED.clear()


def test_long_keys_and_keys_that_cannot_be_shown_are_cut() -> None:
    class Key:
        def __repr__(self) -> str:
            raise ValueError("no")

    objects = _made(2)
    NESTED["k" * 1_000_000] = [objects[0]]
    NESTED[Key()] = [objects[1]]  # type: ignore[index]  # any key may be met
    try:
        long, hidden = holders_of(objects, 2)
        assert len(long.named[0]) < 200
        assert hidden.named[0].startswith("NESTED[<tests.core.test_holders.test_long_keys")
    finally:
        NESTED.clear()


def test_attributes_and_constants_of_programs() -> None:
    objects = _made(1)
    model = Model(objects[0])

    @jx.jit
    def scaled(x: jx.Array) -> jx.Array:
        return x * model.weights

    vars(model)["again"] = objects[0]  # so that the attributes have a dictionary of their own
    scaled(1.0)
    named = holders_of(objects, 8)[0].named
    assert "a constant of the program of scaled" in named
    assert any(one.startswith("model.weights, which scaled (") for one in named)
    assert not any("['" in one for one in named)


RAN: list[str] = []


class Telling:
    """Tells of all that is asked of it, and of what it holds nothing right."""

    def __getattribute__(self, name: str) -> Any:
        RAN.append(name)
        raise RuntimeError("outside of its context")

    def __repr__(self) -> str:
        RAN.append("repr")
        return "told"


class Computing(Model):
    """Computes when its weights are asked for."""

    @property
    def weights(self) -> Any:
        RAN.append("weights")
        return vars(self)["weights"][0]

    @weights.setter
    def weights(self, given: Any) -> None:
        vars(self)["weights"] = given


class Slotted:
    """Has its attributes in slots, one of them private."""

    __slots__ = ("__hidden", "empty")

    def __init__(self, hidden: Any) -> None:
        self.__hidden = hidden

    def __getattr__(self, name: str) -> Any:
        RAN.append(name)
        raise AttributeError(name)


class TellingDict(dict[Any, Any]):
    """Computes its items."""

    def items(self) -> Any:
        RAN.append("items")
        return super().items()


class TellingList(list[Any]):
    """Computes its elements."""

    def __iter__(self) -> Any:
        RAN.append("iter")
        return super().__iter__()


def test_looking_runs_nothing_of_what_holds_an_object() -> None:
    objects = _made(1)
    (held,) = objects
    proxy = Telling()
    object.__getattribute__(proxy, "__dict__")["held"] = held
    NESTED.update(
        proxy=proxy,
        computing=Computing(held),
        slotted=Slotted(held),
        table=TellingDict(a=held),
        row=TellingList([held]),
    )
    NESTED[Telling()] = held
    NESTED[("a", 1, Telling())] = [held]
    RAN.clear()
    try:
        named = {one.removesuffix(HERE) for one in holders_of(objects, 9)[0].named}
        told = {one for one in named if "Telling" not in one}
        assert told == {
            "NESTED['proxy'].held",
            "NESTED['computing'].weights",
            "NESTED['slotted']._Slotted__hidden",
            "NESTED['table']['a']",
            "NESTED['row'][0]",
        }
        first, second = sorted(named - told)
        assert first.startswith("NESTED[('a', 1, <tests.core.test_holders.Telling object at")
        assert second.startswith("NESTED[<tests.core.test_holders.Telling object at")
        assert RAN == []
    finally:
        NESTED.clear()


def test_what_only_a_traceback_holds_has_no_holder() -> None:
    objects: list[Any] = []

    def failing() -> None:
        kept = jnp.ones(7)
        objects.append(kept)
        raise ValueError(kept.shape)

    try:
        failing()
    except ValueError as error:
        sys.last_value = error
    try:
        (found,) = holders_of(objects)
        assert found.by_traceback
        assert found.first is None
    finally:
        del sys.last_value


def test_objects_of_this_package_are_told_without_their_parts() -> None:
    NESTED["ref"] = [jx.new_ref(jnp.ones(9173))]
    captured = jnp.ones(9174)
    NESTED["compiled"] = jx.jit(lambda a: a + captured).lower(captured).compile()
    try:
        arrays = [one for one in jx.live_arrays() if one.shape in ((9173,), (9174,))]
        told = [name for found in holders_of(arrays, 9) for name in found.named]
        assert {f"NESTED['ref'][0]{HERE}", f"NESTED['compiled']{HERE}"} <= set(told)
        assert not [name for name in told if "._" in name]
    finally:
        NESTED.clear()
