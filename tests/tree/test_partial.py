"""Partial functions whose arguments are leaves."""

import functools
from typing import Any

from jxkernel import tree
from jxkernel.tree import Partial


def add(*args: Any, **kwargs: Any) -> Any:
    return sum(args) + sum(kwargs.values())


def test_partial_calls_its_function() -> None:
    assert Partial(add, 1, x=2)(3, y=4) == 10


def test_arguments_are_leaves_and_the_function_is_structure() -> None:
    partial = Partial(add, 1, (2, 3), k=4)
    assert tree.leaves(partial) == [1, 2, 3, 4]
    assert tree.structure(partial) == tree.structure(Partial(add, 5, (6, 7), k=8))
    assert tree.structure(partial) != tree.structure(Partial(max, 5, (6, 7), k=8))
    paths = [tree.keystr(path) for path, _ in tree.leaves_with_path(Partial(add, 1, k=4))]
    assert paths == [".args[0]", ".keywords['k']"]


def test_mapping_gives_a_partial() -> None:
    doubled = tree.map(lambda x: 2 * x, Partial(add, 1, k=4))
    assert isinstance(doubled, Partial)
    assert doubled(0) == 10


def test_partial_function_inside_stays_whole() -> None:
    inner = functools.partial(add, 100)
    partial = Partial(inner, 1)
    assert tree.leaves(partial) == [1]
    assert partial(2) == 103
    assert tree.structure(partial) == tree.structure(Partial(inner, 9))
    assert tree.structure(partial) != tree.structure(Partial(functools.partial(add, 100), 1))
    nested = Partial(Partial(add, 1), 2)
    assert (tree.leaves(nested), nested(3)) == ([2], 6)
    assert "Partial" in repr(nested)
