"""Marks say what is traced, static, constant or an effect; chains lead back to the argument."""

from __future__ import annotations

import functools
import random
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.events import ConstantCaptured, TraceTimeEffect, listen
from jxkernel.lax import add, mul, neg
from jxkernel.observe.marks import LETTERS, FunctionMap, NameFact, Provenance
from jxkernel.observe.names import describe
from jxkernel.observe.provenance import provenance, watch

ONES = np.ones(4, np.float32)
TABLE = np.arange(4, dtype=np.float32)
SCALE = 3
LOG: list[Any] = []


def affine(x: Any, weight: Any) -> Any:
    """Is traced as part of its callers."""
    return add(mul(x, weight), x)


def model(x: Any, params: Any, *, rounds: int = 2) -> Any:
    """Has one of each: arguments, statics, constants, effects, loops, helpers."""
    size = x.shape[0]
    hidden = mul(x, x)
    for step in range(rounds):
        hidden = affine(
            hidden,
            params["w"],
        )
        last = step
    LOG.append(size + last)
    shifted = add(hidden, TABLE)
    return mul(shifted, float(SCALE))


def see(function: Any, *args: Any, **kwargs: Any) -> Provenance:
    """The provenance of one trace."""
    return provenance(function)(*args, **kwargs)


def fact(seen: Provenance, name: str) -> NameFact:
    """The only fact of a name."""
    (found,) = seen.find(name)
    return found


class Scaled:
    """Its attribute has the name of a global."""

    SCALE = np.float32(2)

    def __call__(self, x: Any) -> Any:
        return mul(x, self.SCALE)


def test_an_attribute_is_no_global_of_its_name() -> None:
    scaled = Scaled()
    seen = see(lambda x: scaled(x), ONES)
    assert not seen.find("SCALE")


def map_of(seen: Provenance, name: str) -> FunctionMap:
    """The map of the function of a name."""
    (found,) = [function for function in seen.functions if function.name == name]
    return found


def line_of(function: Any, text: str) -> int:
    """The line in this file where a text stands in a function."""
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    start = function.__code__.co_firstlineno
    return next(n for n in range(start, len(lines) + 1) if text in lines[n - 1])


@pytest.fixture
def seen() -> Provenance:
    return see(model, ONES, {"w": ONES})


@pytest.mark.parametrize(
    ("name", "kind", "detail"),
    [
        ("params", "traced", "{'w': f32[4]}"),
        ("rounds", "static", "2"),
        ("size", "static", "4"),
        ("hidden", "traced", "f32[4]"),
        ("step", "static", "1"),
        ("shifted", "traced", "f32[4]"),
        ("TABLE", "constant", "f32[4]"),
        ("SCALE", "static", "3"),
        ("weight", "traced", "f32[4]"),
    ],
)
def test_each_name_has_its_kind_and_type_or_value(
    seen: Provenance, name: str, kind: str, detail: str
) -> None:
    found = fact(seen, name)
    assert (found.kind, found.detail) == (kind, detail)


def test_functions_and_modules_are_not_marked(seen: Provenance) -> None:
    for name in ("affine", "add", "mul", "float", "range"):
        assert seen.find(name) == ()
    assert [function.name for function in seen.functions] == ["model", "affine"]


def test_constant_has_its_size_and_others_have_none(seen: Provenance) -> None:
    assert fact(seen, "TABLE").bytes == 16
    assert fact(seen, "shifted").bytes == 0


def test_fact_knows_its_line_and_arguments_know_that_they_are(seen: Provenance) -> None:
    shifted = fact(seen, "shifted")
    assert shifted.line == line_of(model, "shifted = ")
    assert shifted.code == "shifted = add(hidden, TABLE)"
    assert not shifted.is_argument
    assert fact(seen, "params").is_argument
    assert fact(seen, "params").line == 0


def test_chain_leads_through_names_to_the_nearest_argument(seen: Provenance) -> None:
    chain = fact(seen, "shifted").chain
    assert [(link.name, link.detail) for link in chain] == [
        ("hidden", "f32[4]"),
        ("params['w']", "f32[4]"),
    ]
    assert chain[0].line == line_of(model, "hidden = affine")
    assert chain[0].code == "hidden = affine("
    assert chain[-1].line == 0
    assert fact(seen, "shifted").depends_on == ("x", "params['w']")


def test_chain_of_an_argument_is_itself_and_of_a_static_is_empty(seen: Provenance) -> None:
    assert [link.name for link in fact(seen, "params").chain] == ["params['w']"]
    assert fact(seen, "size").chain == fact(seen, "TABLE").chain == ()


def test_value_made_of_constants_alone_depends_on_no_argument() -> None:
    def f(x: Any) -> Any:
        table = neg(TABLE)
        return add(x, table)

    found = fact(see(f, ONES), "table")
    assert (found.kind, found.depends_on, found.chain) == ("traced", (), ())
    assert "depends on no argument" in see(f, ONES).why("table")


def test_why_tells_each_kind_in_words(seen: Provenance) -> None:
    shifted = line_of(model, "shifted = ")
    hidden = line_of(model, "hidden = affine")
    assert seen.why("shifted").splitlines() == [
        "shifted in model: traced, f32[4]",
        f"  shifted = add(hidden, TABLE)    (line {shifted})",
        f"  ← hidden: f32[4]    hidden = affine(    (line {hidden})",
        "  ← params['w']: f32[4], argument",
        "  depends on the arguments x, params['w']",
    ]
    assert seen.why("size").startswith("size in model: static, 4\n")
    assert seen.why("TABLE").startswith("TABLE in model: constant, f32[4], 16 B, baked in")
    assert "x in model: traced, f32[4], an argument" in seen.why("x")
    known = "nothing: not a name of the traced functions (model, affine); there are "
    assert seen.why("nothing").startswith(known)


def test_helper_argument_without_a_name_outside_is_called_its_argument() -> None:
    def f(x: Any) -> Any:
        return affine(neg(x), x)

    found = fact(see(f, ONES), "weight")
    assert [link.name for link in found.chain] == ["x"]

    def g(x: Any) -> Any:
        return outer(neg(x))

    def outer(inner: Any) -> Any:
        deep = neg(inner)
        return deep

    (link, argument) = fact(see(g, ONES), "deep").chain
    assert (link.name, link.code) == ("inner", "argument of outer")
    assert (argument.name, argument.line) == ("x", 0)


def test_marks_stand_where_the_names_stand(seen: Provenance) -> None:
    found = map_of(seen, "model")
    line = line_of(model, "shifted = ")
    marks = [
        (mark.column, mark.end_column, mark.kind, mark.code, mark.detail)
        for mark in found.marks
        if mark.line == line
    ]
    assert marks == [
        (4, 11, "traced", "shifted", "f32[4]"),
        (14, 32, "traced", "add(hidden, TABLE)", "f32[4]"),
        (18, 24, "traced", "hidden", "f32[4]"),
        (26, 31, "constant", "TABLE", "f32[4]"),
    ]


def test_marks_come_in_the_order_of_the_text(seen: Provenance) -> None:
    places = [(mark.line, mark.column) for mark in map_of(seen, "model").marks]
    assert places == sorted(places)
    assert len(places) > 20


def test_name_is_marked_by_what_it_held_on_that_line() -> None:
    def f(x: Any) -> Any:
        value = 2
        value = mul(x, float(value))
        value = "done"
        return value

    first = line_of(f, "value = 2")
    marks = [
        (mark.line - first, mark.kind, mark.detail)
        for mark in map_of(see(lambda x: (f(x), x)[1], ONES), "f").marks
        if mark.code == "value"
    ]
    assert marks == [
        (0, "static", "2"),
        (1, "traced", "f32[4]"),
        (1, "static", "2"),
        (2, "static", "'done'"),
        (3, "static", "'done'"),
    ]


def test_name_that_was_never_reached_is_not_marked() -> None:
    def f(x: Any) -> Any:
        if SCALE == 0:
            never = x
            return never
        return neg(x)

    found = map_of(see(f, ONES), "f")
    assert "never" not in {mark.code for mark in found.marks}


def test_names_across_lines_of_one_statement() -> None:
    def f(x: Any, y: Any) -> Any:
        both = (
            x,
            [
                y
            ],
        )  # fmt: skip
        return add(
            both[0],
            both[1][0],
        )

    found = map_of(see(f, ONES, np.float32(2)), "f")
    names = [(mark.code, mark.detail) for mark in found.marks if mark.is_name]
    pair = "(f32[4], [f32[]])"
    assert names == [
        *[("x", "f32[4]"), ("y", "f32[]")],
        *[("both", pair), ("x", "f32[4]"), ("y", "f32[]")],
        *[("both", pair), ("both", pair)],
    ]


def test_list_filled_while_tracing_is_seen_as_it_ended() -> None:
    def f(x: Any) -> Any:
        outs: list[Any] = []
        outs.append(neg(x))
        return outs[0]

    found = fact(see(f, ONES), "outs")
    assert (found.kind, found.detail) == ("traced", "[f32[4]]")
    assert found.line == line_of(f, "outs: list")


def test_closed_over_array_is_a_constant_and_an_unused_one_is_static() -> None:
    inside, unused = TABLE + 1, TABLE + 2

    def f(x: Any) -> Any:
        size = len(unused)
        return mul(add(x, inside), float(size))

    seen = see(f, ONES)
    assert fact(seen, "inside").kind == "constant"
    assert (fact(seen, "unused").kind, fact(seen, "unused").bytes) == ("static", 0)


def test_array_of_64_bits_is_the_constant_that_it_became() -> None:
    table = np.linspace(0.0, 1.0, 4)

    def f(x: Any) -> Any:
        return add(x, table)

    found = fact(see(f, ONES), "table")
    assert (found.kind, found.bytes) == ("constant", 32)


def test_names_that_an_inner_function_binds_are_seen_among_many() -> None:
    names = "\n".join(f"    v{n} = {n}" for n in range(40))
    source = (
        "def outer(x):\n" + names + "\n    def change():\n        nonlocal v3\n"
        "        v3 = x\n    change()\n    return v3\n"
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, "<many names>", "exec"), namespace)
    found = see(namespace["outer"], ONES).find("v3")
    assert [one.kind for one in found] == ["traced", "traced"]
    assert fact(see(namespace["outer"], ONES), "v39").detail == "39"


def test_device_array_is_a_constant_by_identity() -> None:
    weights = jx.device_put(ONES)

    def f(x: Any) -> Any:
        return add(x, weights)

    assert fact(see(f, ONES), "weights").bytes == 16


def test_effects_are_told_with_what_to_write(seen: Provenance) -> None:
    (effect,) = map_of(seen, "model").effects
    assert effect.kind == "effect"
    assert effect.code == "LOG.append(size + last)"
    assert effect.line == line_of(model, "LOG.append")
    assert "lives outside the function" in effect.detail
    assert "return the value" in effect.detail
    assert effect in map_of(seen, "model").marks


def test_effect_on_a_line_that_did_not_run_is_not_told() -> None:
    def f(x: Any, *, loud: bool) -> Any:
        if loud:
            LOG.append(x.shape)
        seed = random.random()
        return mul(x, seed)

    quiet = map_of(see(lambda x: f(x, loud=False), ONES), "f")
    assert [effect.code for effect in quiet.effects] == ["random.random()"]
    loud = map_of(see(lambda x: f(x, loud=True), ONES), "f")
    assert [effect.code for effect in loud.effects] == ["LOG.append(x.shape)", "random.random()"]


def test_unrolled_loops_are_counted(seen: Provenance) -> None:
    (loop,) = map_of(seen, "model").loops
    assert (loop.times, loop.equations) == (2, 4)
    assert loop.code == "for step in range(rounds):"
    assert loop.line == line_of(model, "for step")
    assert loop.instead.startswith("lax.fori_loop(0, 2, body, carry)")


def test_loops_without_equations_or_with_one_round_are_not_told() -> None:
    def f(x: Any) -> Any:
        total = 0
        for size in range(5):
            total += size
        for _ in range(1):
            x = mul(x, float(total))
        return x

    assert map_of(see(f, ONES), "f").loops == ()


def test_nested_and_while_loops_count_all_their_rounds() -> None:
    def f(x: Any) -> Any:
        left = 3
        while left:
            for _ in range(2):
                # a comment between the header and the body
                x = neg(x)
            left -= 1
        return x

    outer, inner = map_of(see(f, ONES), "f").loops
    assert (outer.times, outer.equations) == (3, 6)
    assert outer.instead.startswith("lax.while_loop")
    assert (inner.times, inner.equations) == (6, 6)


def test_helper_called_often_shows_its_latest_call(seen: Provenance) -> None:
    assert map_of(seen, "affine").calls == 2
    assert "affine" in str(seen)
    assert "traced 2 times, the latest shown" in str(seen)


def test_text_map_lists_names_effects_and_loops_with_letters(seen: Provenance) -> None:
    lines = str(seen).splitlines()
    assert lines[0] == f"model ({__file__}:{model.__code__.co_firstlineno})"
    assert "  T x: f32[4]" in lines
    assert "  S rounds: 2" in lines
    assert "  C TABLE: f32[4], 16 B" in lines
    assert any(line.startswith("  ! line") and "LOG.append(size + last)" in line for line in lines)
    assert any("was unrolled 2 times into 4 equations" in line for line in lines)
    assert LETTERS == {"traced": "T", "static": "S", "constant": "C", "effect": "!"}


@pytest.mark.parametrize(
    "transform",
    [jx.grad, jx.value_and_grad, jx.jit, jx.vmap, lambda f: jx.jit(jx.grad(jx.jit(f)))],
)
def test_names_are_seen_through_transforms(transform: Any) -> None:
    def f(x: Any) -> Any:
        square = mul(x, x)
        return neg(square)

    argument = ONES if transform is jx.vmap else np.float32(2)
    found = fact(see(transform(f), argument), "square")
    assert (found.kind, found.detail, found.depends_on) == ("traced", "f32[]", ("x",))


def test_chain_crosses_the_boundary_of_an_inner_jit() -> None:
    @jx.jit
    def inner(a: Any, b: Any) -> Any:
        product = mul(a, b)
        return neg(product)

    def f(x: Any, y: Any) -> Any:
        doubled = add(y, y)
        result = inner(x, doubled)
        return neg(result)

    seen = see(f, ONES, ONES)
    assert fact(seen, "product").depends_on == ("x", "y")
    assert fact(seen, "result").depends_on == ("x", "y")
    assert [link.name for link in fact(seen, "b").chain][-1] == "y"


def test_jitted_function_brings_its_static_arguments() -> None:
    @functools.partial(jx.jit, static_argnames="power")
    def f(x: Any, power: int) -> Any:
        for _ in range(power):
            x = mul(x, x)
        return x

    seen = see(f, ONES, 3)
    assert (fact(seen, "power").kind, fact(seen, "power").detail) == ("static", "3")
    assert fact(see(f, ONES, power=2), "power").detail == "2"


def test_static_arguments_of_a_plain_function_are_named_as_for_jit() -> None:
    def f(x: Any, power: int) -> Any:
        return mul(x, float(power))

    by_number = provenance(f, static_argnums=1)(ONES, 3)
    by_name = provenance(f, static_argnames="power")(ONES, power=3)
    assert fact(by_number, "power").kind == fact(by_name, "power").kind == "static"


def test_provenance_traces_anew_what_was_traced_before() -> None:
    @jx.jit
    def f(x: Any) -> Any:
        return neg(x)

    f(ONES)
    for _ in range(2):
        assert fact(see(f, ONES), "x").depends_on == ("x",)


@pytest.mark.parametrize(
    "function",
    [functools.partial(affine, weight=ONES), SimpleNamespace(affine=affine).affine],
    ids=["partial", "attribute"],
)
def test_any_callable_has_its_provenance(function: Any) -> None:
    arguments = (ONES,) if isinstance(function, functools.partial) else (ONES, ONES)
    assert fact(see(function, *arguments), "x").kind == "traced"


def test_call_that_hits_its_cache_shows_nothing() -> None:
    @jx.jit
    def f(x: Any) -> Any:
        return neg(x)

    f(ONES)
    with watch() as watching:
        f(ONES)
    seen = watching.provenance()
    assert seen.functions == ()
    assert str(seen).startswith("nothing was traced")
    assert seen.why("x") == "x: not a name of a traced function: nothing ran"


def test_call_that_traces_inside_jit_is_seen() -> None:
    @jx.jit
    def f(x: Any) -> Any:
        return neg(x)

    with watch() as watching:
        f(ONES)
    assert fact(watching.provenance(), "x").detail == "f32[4]"


def test_eager_code_around_a_trace_is_not_watched() -> None:
    def f(x: Any) -> Any:
        return neg(x)

    def outside() -> None:
        eager = add(ONES, ONES)
        jx.make_jaxpr(f)(eager)

    with watch() as watching:
        outside()
    assert [function.name for function in watching.provenance().functions] == ["f"]


def test_failed_trace_still_tells_what_its_names_were() -> None:
    def f(x: Any) -> Any:
        positive = add(x, x)
        if positive:
            return x
        return neg(x)

    with pytest.raises(TypeError), watch() as watching:
        jx.make_jaxpr(f)(1.0)
    seen = watching.provenance()
    assert fact(seen, "positive").depends_on == ("x",)
    assert not map_of(seen, "f").complete
    assert sys.gettrace() is None


def test_exception_that_the_function_handles_leaves_the_trace_complete() -> None:
    def f(x: Any) -> Any:
        try:
            {}["missing"]
        except KeyError:
            y = neg(x)
        return y

    assert map_of(see(f, ONES), "f").complete


def test_another_trace_function_is_restored() -> None:
    def other(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(other)
    try:
        with watch():
            pass
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)


def test_events_are_emitted_for_effects_and_constants() -> None:
    received: list[Any] = []
    with listen(received.append, kinds=(TraceTimeEffect, ConstantCaptured)):
        see(model, ONES, {"w": ONES})
    effect, constant = received
    assert (effect.fun, effect.effect, effect.file) == (
        "model",
        "LOG.append(size + last)",
        __file__,
    )
    assert effect.line == line_of(model, "LOG.append")
    assert (constant.fun, constant.name) == ("model", "TABLE")
    assert (constant.shape, constant.dtype, constant.bytes) == ((4,), "float32", 16)


class _Rude:
    """Raises at every look."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")


def test_values_that_resist_being_looked_at_break_nothing() -> None:
    mixed = {1: "a", "b": 2}
    words = np.array(["a", "b"])
    many = list(range(100_000))
    holder = SimpleNamespace(x=1)

    def f(x: Any) -> Any:
        rude = _Rude()
        local = (mixed, words, many, holder, rude)
        return neg(x) if local else x

    seen = see(f, ONES)
    assert "RuntimeError when looked at" in fact(seen, "rude").detail
    assert fact(seen, "words").kind == "static"
    assert len(fact(seen, "many").detail) < 300
    assert fact(seen, "holder").detail == "namespace(x=1)"
    assert fact(seen, "mixed").kind == "static"


@dataclass(repr=False)
class _Computing:
    """Computes its own text."""

    held: Any

    def __repr__(self) -> str:
        return f"_Computing({mul(self.held, self.held)})"


def test_looking_adds_nothing_to_the_program_that_is_traced() -> None:
    def f(x: Any) -> Any:
        holder = _Computing(x)
        return neg(holder.held)

    seen = see(f, ONES)
    assert "_Computing object at" in fact(seen, "holder").detail
    with watch():
        program = jx.make_jaxpr(f)(ONES)
    assert [eqn.primitive.name for eqn in program.eqns] == ["neg"]


@pytest.mark.parametrize("value", [len, model, SimpleNamespace, sys, [].append])
def test_what_only_steers_python_is_not_described(value: Any) -> None:
    assert describe(value) is None


def test_source_that_is_gone_leaves_names_without_marks() -> None:
    namespace: dict[str, Any] = {"neg": neg}
    exec(compile("def f(x):\n    y = neg(x)\n    return y\n", "<gone>", "exec"), namespace)
    seen = see(namespace["f"], ONES)
    found = map_of(seen, "f")
    assert (found.marks, found.effects, found.loops) == ((), (), ())
    assert fact(seen, "y").depends_on == ("x",)
    assert seen.why("y").splitlines() == ["y in f: traced, f32[4]", "  ← x: f32[4], argument"]
