"""The public surface: exactly what was recorded, every name there and documented."""

import importlib
import inspect
from types import ModuleType

import pytest

from tools import public_surface
from tools.checkout import public_modules


def test_surface_is_the_recorded_one() -> None:
    recorded = set(public_surface.SNAPSHOT.read_text().split())
    today = set(public_surface.surface())
    assert (today - recorded, recorded - today) == (set(), set()), "intended? `make surface`"


@pytest.mark.parametrize("name", public_modules())
def test_all_lists_existing_names_once(name: str) -> None:
    module = importlib.import_module(name)
    assert len(module.__all__) == len(set(module.__all__))
    assert [entry for entry in module.__all__ if not hasattr(module, entry)] == []


def ours(thing: object) -> bool:
    """Whether ``thing`` is a module, class or callable that jxkernel defines."""
    if isinstance(thing, ModuleType):
        return thing.__name__.startswith("jxkernel")
    return callable(thing) and str(getattr(thing, "__module__", "")).startswith("jxkernel")


def documented(thing: object) -> bool:
    """Whether ``thing`` has a docstring of its own that opens with one full sentence."""
    own = vars(thing) if isinstance(thing, type) else {"__doc__": thing.__doc__}
    first_line = (own.get("__doc__") or "").strip().partition("\n")[0]
    return first_line.endswith((".", "?", ":"))


@pytest.mark.parametrize("name", public_modules())
def test_public_names_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    named = {entry: getattr(module, entry) for entry in module.__all__}
    assert [entry for entry, thing in named.items() if ours(thing) and not documented(thing)] == []


def test_ours_are_modules_classes_and_functions_of_jxkernel() -> None:
    assert ours(importlib.import_module("jxkernel.errors"))
    assert not ours(pytest)
    assert not ours(inspect.getdoc)
    assert not ours(3)


class _Documented:
    """A sentence."""


class _Inheriting(_Documented):
    pass


def test_documented_asks_for_a_docstring_of_its_own() -> None:
    assert documented(_Documented)
    assert documented(inspect.getdoc)
    assert not documented(_Inheriting)
    assert not documented(lambda: None)
