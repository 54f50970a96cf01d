"""A missed call is compared with all earlier ones, and the cheapest difference is named."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2, int4, uint4

from jxkernel.compile.keys import (
    CallSignature,
    LeafSignature,
    SignatureHistory,
    closest,
    describe_leaf,
    diff,
    explain_miss,
    miss_text,
)
from jxkernel.core.avals import ShapedArray
from jxkernel.events.vocabulary import ReasonKind

X = LeafSignature("x", (8,), "float32")
Y = LeafSignature("y", (), "float32")
BASE = CallSignature(
    fun="f",
    function_id=1,
    code_location="In[3]:1",
    structure="(*, *)",
    leaves=(X, Y),
    static=(("n", "3"), ("mode", "'fast'")),
    context=(("jax_enable_x64", "False"),),
    constants=(("table", "f32[4]#1"),),
)


def with_x(**changes: object) -> CallSignature:
    return replace(BASE, leaves=(replace(X, **changes), Y))  # type: ignore[arg-type]  # one table


# (new signature, kind, sentence, words of the fix)
SINGLE_DIFFERENCES = [
    (with_x(shape=(16,)), "shape", "x: f32[8] → f32[16]", "pad x along axis 0"),
    (with_x(shape=(8, 1)), "shape", "x: f32[8] → f32[8,1]", "same number of dimensions"),
    (with_x(shape=()), "shape", "x: f32[8] → f32[]", "same number of dimensions"),
    (with_x(shape=(0,)), "shape", "x: f32[8] → f32[0]", "pad x along axis 0"),
    (with_x(dtype="int32"), "dtype", "x: f32[8] → i32[8]", "x.astype('float32')"),
    (
        with_x(dtype="int32", kind="python scalar", weak_type=True),
        "dtype",
        "x: f32[8] → i32*[8]",
        "jnp.asarray(x, 'float32')",
    ),
    (with_x(weak_type=True), "weak_type", "x: f32[8] → f32*[8]", "x.astype('float32')"),
    (
        with_x(weak_type=True, kind="python scalar"),
        "weak_type",
        "x: f32[8] → f32*[8]",
        "jnp.asarray(x, 'float32')",
    ),
    (
        with_x(sharding="NamedSharding(data)"),
        "sharding",
        "x: default device (uncommitted) → NamedSharding(data) (uncommitted)",
        "jax.device_put",
    ),
    (
        with_x(committed=True),
        "sharding",
        "x: default device (uncommitted) → default device (committed)",
        "jax.device_put",
    ),
    (
        replace(BASE, static=(("n", "4"), ("mode", "'fast'"))),
        "static_value",
        "n: 3 → 4",
        "make n a traced argument",
    ),
    (
        replace(BASE, static=(("n", "3"),)),
        "static_value",
        "mode: 'fast' → nothing",
        "make mode a traced argument",
    ),
    (
        replace(BASE, context=(("jax_enable_x64", "True"),)),
        "context",
        "jax_enable_x64: False → True",
        "set jax_enable_x64 once",
    ),
    (
        replace(BASE, constants=(("table", "f32[4]#2"),)),
        "constant_changed",
        "table: f32[4]#1 → f32[4]#2",
        "pass table as an argument",
    ),
    (
        replace(BASE, context=(*BASE.context, ("keep_unused", "True"))),
        "context",
        "keep_unused: nothing → True",
        "jit the function once, with one keep_unused",
    ),
    (
        replace(BASE, static=(("n", "g()"), BASE.static[1]), static_kinds=(("n", "function"),)),
        "static_value",
        "n: 3 → g()",
        "define it once, outside the loop",
    ),
    (
        replace(BASE, static=(("n", "<C>"), BASE.static[1]), static_kinds=(("n", "identity"),)),
        "static_value",
        "n: 3 → <C>",
        "give its class __eq__ and __hash__",
    ),
    (
        replace(BASE, static=(("n", "'a'"), BASE.static[1]), static_kinds=(("n", "value"),)),
        "static_value",
        "n: 3 → 'a'",
        "has a program of its own: keep to a few",
    ),
    (replace(BASE, donated=(0,)), "donated", "donated arguments: none → x", "donate_argnums"),
    (replace(BASE, donated=(5,)), "donated", "donated arguments: none → leaf 5", "once"),
    (
        replace(BASE, keyword_names=("y",)),
        "kwargs_form",
        "arguments by keyword: none → y",
        "by keyword",
    ),
    (
        replace(BASE, function_id=2),
        "new_function_object",
        "f is a new function object, made again at In[3]:1",
        "call jit once",
    ),
    (
        replace(BASE, function_id=2, code_location="In[5]:2"),
        "new_function_object",
        "f is a new function object, defined anew: In[3]:1 → In[5]:2",
        "call jit once",
    ),
    (
        replace(BASE, structure="(*, [*])"),
        "tree_structure",
        "the arguments' structure: (*, *) → (*, [*])",
        "same containers",
    ),
    (
        replace(BASE, structure="(*, *, *)", leaves=(X, Y, replace(Y, path="z"))),
        "tree_structure",
        "the arguments' structure: without z → with z",
        "same containers",
    ),
    (
        replace(BASE, structure="(*,)", leaves=(X,)),
        "tree_structure",
        "the arguments' structure: with y → without y",
        "same containers",
    ),
    (
        replace(BASE, leaves=(X, replace(Y, path="p['b']"))),
        "tree_structure",
        "the arguments' structure: with y → with p['b']",
        "same containers",
    ),
    (
        replace(BASE, structure="(*, [*])", containers=(("p", "list"), ("p[0]", "tuple"))),
        "tree_structure",
        "the arguments' structure: (*, *) → (*, [*])",
        "same containers",
    ),
]


@pytest.mark.parametrize(("new", "kind", "sentence", "fix"), SINGLE_DIFFERENCES)
def test_single_difference_is_named_with_its_fix(
    new: CallSignature, kind: str, sentence: str, fix: str
) -> None:
    (reason,) = diff(new, BASE)
    assert reason.kind == kind
    assert reason.sentence() == sentence
    assert fix in reason.fix
    assert "\n" not in reason.fix


def test_table_covers_every_kind_of_difference() -> None:
    told = {kind for _, kind, _, _ in SINGLE_DIFFERENCES}
    assert told | {"first_call", "evicted"} == set(get_args(ReasonKind))


def test_container_of_another_kind_is_named_by_its_path() -> None:
    before = replace(BASE, structure="([*],)", containers=(("p", "list"), ("p[0]", "dict")))
    after = replace(BASE, structure="((*,),)", containers=(("p", "tuple"), ("p[0]", "dict")))
    (reason,) = diff(after, before)
    assert (reason.kind, reason.sentence()) == ("tree_structure", "p: list → tuple")
    assert reason.fix == "pass p as one kind always"


def test_miss_of_a_trace_is_not_told_by_what_only_executables_depend_on() -> None:
    new = replace(with_x(shape=(9,), committed=True), donated=(0,))
    kinds = {cache: [one.kind for one in diff(new, BASE, cache)] for cache in ("trace", "memory")}
    assert kinds == {"trace": ["shape"], "memory": ["donated", "sharding", "shape"]}
    history = SignatureHistory()
    history.record(BASE, "trace")
    (reason,) = history.record(replace(BASE, donated=(0,)), "trace")
    assert reason.kind == "evicted"


def test_history_tells_functions_of_one_name_in_different_places_apart() -> None:
    history = SignatureHistory()
    history.record(replace(BASE, qualified="train.<locals>.f"))
    (other,) = history.record(replace(BASE, function_id=2, qualified="test.<locals>.f"))
    assert other.kind == "first_call"


def test_miss_is_logged_with_reasons_and_fixes() -> None:
    text = miss_text("f", "trace", "a.py:3", diff(with_x(shape=(16,)), BASE))
    assert text.splitlines() == [
        "f is traced for a.py:3:",
        "  shape: x: f32[8] → f32[16]",
        "    fix: pad x along axis 0 to a few fixed sizes",
    ]


def test_equal_signatures_do_not_differ() -> None:
    assert diff(BASE, replace(BASE)) == ()


def test_kind_of_a_leaf_alone_is_no_difference() -> None:
    assert diff(with_x(kind="numpy"), BASE) == ()


def test_number_before_array_now_is_told_to_become_an_array() -> None:
    (reason,) = diff(BASE, with_x(weak_type=True, kind="python scalar"))
    assert reason.fix == "x was a Python number before: pass jnp.asarray(number, 'float32') always"


def test_several_axes_are_named() -> None:
    matrix = replace(BASE, leaves=(LeafSignature("m", (2, 3, 4), "int8"),), structure="(*,)")
    other = replace(BASE, leaves=(LeafSignature("m", (2, 5, 6), "int8"),), structure="(*,)")
    (reason,) = diff(matrix, other)
    assert reason.fix == "pad m along axes 1, 2 to a few fixed sizes"


def test_several_differences_come_cheapest_fix_first() -> None:
    new = replace(
        with_x(shape=(9,), weak_type=True, committed=True),
        function_id=2,
        static=(("n", "4"), ("mode", "'fast'")),
        donated=(1,),
    )
    assert [reason.kind for reason in diff(new, BASE)] == [
        "weak_type",
        "donated",
        "static_value",
        "new_function_object",
        "sharding",
        "shape",
    ]


def test_keyword_form_and_leaf_change_are_both_told() -> None:
    new = replace(with_x(shape=(9,)), keyword_names=("x",))
    assert [reason.kind for reason in diff(new, BASE)] == ["kwargs_form", "shape"]


def test_leaves_are_matched_by_path_not_by_position() -> None:
    swapped = replace(BASE, leaves=(Y, X), structure="{'y': *, 'x': *}")
    assert [reason.kind for reason in diff(swapped, BASE)] == ["tree_structure"]


def test_closest_compares_with_all_earlier_and_picks_the_smallest_difference() -> None:
    earlier = [
        with_x(shape=(4, 4)),
        with_x(weak_type=True),
        replace(with_x(shape=(1,)), function_id=9),
    ]
    found = closest(BASE, earlier)
    assert found is not None
    index, reasons = found
    assert index == 1
    assert [reason.kind for reason in reasons] == ["weak_type"]


def test_closest_prefers_the_latest_among_equals() -> None:
    found = closest(BASE, [with_x(shape=(4,)), with_x(shape=(5,))])
    assert found is not None
    assert found[0] == 1
    assert found[1][0].before == "f32[5]"


def test_closest_of_nothing_is_none() -> None:
    assert closest(BASE, []) is None


def test_first_call_and_evicted_entry_are_told() -> None:
    (first,) = explain_miss(BASE, [])
    assert (first.kind, first.sentence()) == ("first_call", "first call of f")
    (evicted,) = explain_miss(BASE, [with_x(shape=(4,)), BASE])
    assert evicted.kind == "evicted"
    assert "evicted" in evicted.sentence()


@pytest.mark.parametrize(
    ("leaf", "text"),
    [
        (LeafSignature("x", (), "bool"), "bool[]"),
        (LeafSignature("x", (2, 3), "bfloat16"), "bf16[2,3]"),
        (LeafSignature("x", (0,), "uint8"), "u8[0]"),
        (LeafSignature("x", (), "int64", weak_type=True), "i64*[]"),
        (LeafSignature("x", (1,), "complex128"), "c128[1]"),
        (LeafSignature("x", (1,), "float16"), "f16[1]"),
        (LeafSignature("x", (1,), "float0"), "float0[1]"),
        (LeafSignature("x", (), "key<fry>"), "key<fry>[]"),
        (LeafSignature("x", (1,), "float8_e4m3fn"), "f8_e4m3fn[1]"),
    ],
)
def test_leaf_types_are_written_short(leaf: LeafSignature, text: str) -> None:
    assert describe_leaf(leaf) == text


@pytest.mark.parametrize("weak_type", [False, True])
@pytest.mark.parametrize(
    "dtype",
    [
        *(np.dtype(code) for code in "?bhilBHILefdFD"),
        *(np.dtype(kind) for kind in (bfloat16, float8_e4m3fn, float8_e5m2, int4, uint4)),
    ],
)
def test_leaf_types_are_written_as_avals_print(dtype: np.dtype[Any], weak_type: bool) -> None:
    leaf = LeafSignature("x", (2, 0), dtype.name, weak_type)
    assert describe_leaf(leaf) == ShapedArray((2, 0), dtype, weak_type).short(weak=True)


def test_signatures_are_hashable_and_equal_by_content() -> None:
    assert hash(BASE) == hash(replace(BASE))
    assert len({BASE, replace(BASE), with_x(shape=(9,))}) == 2


def test_history_compares_with_every_call_recorded_before() -> None:
    history = SignatureHistory()
    kinds = [
        history.record(signature)[0].kind
        for signature in (
            BASE,
            with_x(shape=(9,)),
            with_x(weak_type=True),
            BASE,
            replace(BASE, fun="g"),
        )
    ]
    assert kinds == ["first_call", "shape", "weak_type", "evicted", "first_call"]


def test_history_knows_a_function_defined_again_in_the_same_file() -> None:
    history = SignatureHistory()
    history.record(replace(BASE, code_location="model.py:10"))
    (reason,) = history.record(replace(BASE, function_id=2, code_location="model.py:12"))
    assert reason.sentence().endswith("model.py:10 → model.py:12")
    (other,) = history.record(replace(BASE, function_id=3, code_location="other.py:10"))
    assert other.kind == "first_call"


@pytest.mark.parametrize(
    ("fun", "before", "after", "kind"),
    [
        ("f", "<ipython-input-3-abc>:1", "<ipython-input-4-def>:1", "new_function_object"),
        ("f", "/tmp/ipykernel_7/1.py:1", "/tmp/ipykernel_7/2.py:1", "new_function_object"),
        ("f", "In[3]:1", "<stdin>:1", "new_function_object"),
        ("<lambda>", "In[3]:1", "In[4]:1", "first_call"),
        ("<lambda>", "In[3]:1", "In[3]:1", "new_function_object"),
    ],
)
def test_history_joins_what_was_typed_under_one_name(
    fun: str, before: str, after: str, kind: str
) -> None:
    history = SignatureHistory()
    history.record(replace(BASE, fun=fun, code_location=before))
    (reason,) = history.record(replace(BASE, fun=fun, function_id=2, code_location=after))
    assert reason.kind == kind


def test_history_is_bounded_per_function_and_in_functions() -> None:
    history = SignatureHistory(per_function=2, functions=2)
    for size in (1, 2, 3):
        history.record(with_x(shape=(size,)))
    assert history.record(with_x(shape=(1,)))[0].kind == "shape"
    for name in ("g", "h"):
        history.record(replace(BASE, fun=name))
    assert history.record(BASE)[0].kind == "first_call"
    assert history.record(replace(BASE, fun="h"))[0].kind == "evicted"


def test_cleared_history_makes_every_call_a_first_call() -> None:
    history = SignatureHistory()
    history.record(BASE)
    history.clear()
    assert history.record(BASE)[0].kind == "first_call"


def test_history_records_each_call_of_several_threads_once() -> None:
    history = SignatureHistory(per_function=1000)
    barrier = threading.Barrier(4)
    kinds: list[str] = []

    def work(start: int) -> None:
        barrier.wait()
        kinds.extend(history.record(with_x(shape=(start + step,)))[0].kind for step in range(20))

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kinds) == ["first_call"] + ["shape"] * 79
