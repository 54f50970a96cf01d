"""Sharding rules: what texts say, and what of them reaches the compiler."""

import pytest

from jxkernel.sharding.rules import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    parse_rule,
)


@pytest.mark.parametrize(
    ("text", "options", "shapes", "written"),
    [
        (
            "i j, j k -> i k",
            {"reduction_factors": ("j",), "need_replication_factors": ("k",)},
            ([(8, 4), (4, 6)], [(8, 6)]),
            "([i, j], [j, k])->([i, k]) {i=8, j=4, k=6} reduction={j} need_replication={k}",
        ),
        (
            "a b->a  b",
            {"permutation_factors": ("b",)},
            ([(2, 3)], [(2, 3)]),
            "([i, j])->([i, j]) {i=2, j=3} permutation={j}",
        ),
        (
            "... i -> ... i, ... i",
            {},
            ([(8, 2, 4)], [(8, 2, 4)] * 2),
            "([i, j, k])->([i, j, k], [i, j, k]) {i=8, j=2, k=4}",
        ),
        (
            "(a b) c -> a b c",
            {},
            ([(8, 4)], [(4, 2, 4)]),
            "([ij, k])->([i, j, k]) {i=4, j=2, k=4}",
        ),
        ("(a b) -> (b a)", {"a": 2, "b": 4}, ([(8,)], [(8,)]), "([ij])->([ji]) {i=2, j=4}"),
        ("i, -> i", {}, ([(3,), ()], [(3,)]), "([i], [])->([i]) {i=3}"),
        ("i i -> i", {}, ([(3, 3)], [(3,)]), "([i, i])->([i]) {i=3}"),
    ],
)
def test_texts_become_rules_of_the_compiler(text, options, shapes, written):
    assert parse_rule(text, **options).attribute(*shapes) == (
        f"#sdy.op_sharding_rule<{written}, custom>"
    )


def test_many_factors_have_numbers():
    names = [f"f{number}" for number in range(20)]
    text = parse_rule(f"{' '.join(names)} -> ").attribute([(1,) * 20], [()])
    assert "y, z, z_1, z_2]" in text


def test_rules_may_be_built():
    mapping = ArrayMapping(BATCHING, CompoundFactor("b", "c"), "d")
    assert mapping == (BATCHING, ("b", "c"), "d")
    rule = SdyShardingRule((mapping,), (ArrayMapping(BATCHING, "b", "c", "d"),))
    assert repr(rule) == "SdyShardingRule((('…', ('b', 'c'), 'd'),), (('…', 'b', 'c', 'd'),))"
    assert "([i, jk, l])->([i, j, k, l])" in rule.attribute([(5, 6, 4)], [(5, 2, 3, 4)])


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("i j", {}, "one -> between operands and results"),
        ("i -> i -> i", {}, "one -> between"),
        ("1 j -> 1 j", {}, "a letter first, got '1'"),
        ("… i -> … i", {}, "a letter first, got '…'"),
        ("i (j) -> i", {}, "at least two factors"),
        ("i ((j k)) -> i", {}, "come in pairs, side by side"),
        ("i (j k -> i", {}, "come in pairs"),
        ("i j) -> i", {}, "come in pairs"),
        ("i ... -> i", {}, "... stands first"),
        ("(i ...) -> i", {}, "... stands first"),
        ("i j -> j i", {"z": 3}, "z has a size, and the rule does not use it"),
        ("i j -> j i", {"i": 3}, "i is an axis by itself"),
        ("(i j) k -> (j i) k", {}, "i is no axis by itself: say its size"),
        ("i -> i", {"reduction_factors": ("z",)}, "z is of a kind, and the rule does not use it"),
        (
            "i -> i",
            {"reduction_factors": ("i",), "need_replication_factors": ("i",)},
            "i is named twice",
        ),
    ],
)
def test_texts_that_are_no_rules_are_refused(text, options, said):
    with pytest.raises(ValueError, match=said):
        parse_rule(text, **options)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ArrayMapping(3), "a letter first, got 3"),
        (lambda: ArrayMapping("i", BATCHING), "a letter first"),
        (lambda: CompoundFactor("a"), "at least two factors"),
        (lambda: CompoundFactor("a", "2"), "a letter first, got '2'"),
    ],
)
def test_mappings_have_names(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (([(2, 3)] * 3, [(2,)]), "for 2 operands, and there are 3"),
        (([(2, 3, 4), (3, 5)], [(2, 5)]), "has 2 axes for operand 0, which has 3"),
        (([(2, 3), (3, 5)], [(2, 5)] * 2), "for 1 results, and there are 2"),
        (([(2, 3), (4, 5)], [(2, 5)]), r"says j = 3 of an axis of size 4 in \(4, 5\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, said):
    with pytest.raises(ValueError, match=said):
        parse_rule("i j, j k -> i k").attribute(*shapes)
