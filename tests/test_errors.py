"""Each error is of the field's usual class, tells where, with which values, and the way out."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from jxkernel import errors
from jxkernel.errors import (
    ArgumentTypeError,
    AxisError,
    ByteOrderError,
    CarryTypeError,
    CheckError,
    ClosedOverTracerError,
    ClusterError,
    ComplexOrderError,
    ConcretizationTypeError,
    DeletedArrayError,
    DesyncError,
    ImmutableArrayError,
    IncompatibleDevicesError,
    InconclusiveDimensionOperation,
    JAXIndexError,
    JaxprTypeError,
    JAXTypeError,
    JXError,
    KernelError,
    KeyReuseError,
    KeyTypeError,
    LeakError,
    NoMeshError,
    NonConcreteBooleanIndexError,
    NondiffTracerError,
    NonFiniteError,
    NonHashableStaticArgumentError,
    RankError,
    RefError,
    ReverseModeError,
    ShapeError,
    ShapeMismatchError,
    ShardingTypeError,
    TraceLimitError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TypePromotionError,
    UnboundAxisError,
    UndefinedRuleError,
    UnexpectedTracerError,
)

TRACER = "f32[8] traced by jit of f"

# (error, built-in class that users catch, words of the message)
EXAMPLES: list[tuple[JXError, type[Exception], list[str]]] = [
    (
        UnboundAxisError("i", ("j",)),
        NameError,
        ["unbound axis name: 'i'", "the names bound here are 'j'", "vmap"],
    ),
    (
        IncompatibleDevicesError((1, "f32[3]", "CPU device 0"), (None, "", "GPU device 0"), ["x"]),
        ValueError,
        ["incompatible devices", "argument 1 of type f32[3]", "the call is for GPU", "device_put"],
    ),
    (JAXTypeError("it is traced"), TypeError, ["it is traced"]),
    (JAXIndexError("it is traced"), IndexError, ["it is traced"]),
    (
        ConcretizationTypeError(TRACER, "float(x)"),
        TypeError,
        ["float(x) needs a concrete value", TRACER, "jnp.where", "--static"],
    ),
    (
        TracerBoolConversionError(TRACER, "if x > 0"),
        ConcretizationTypeError,
        ["if x > 0 needs", TRACER, "jnp.where", "lax.cond", "~ for not"],
    ),
    (
        TracerArrayConversionError(TRACER, "np.sin"),
        TypeError,
        ["np.sin asked for the data of", TRACER, "jxkernel.numpy"],
    ),
    (
        TracerIntegerConversionError(TRACER, "range(n)"),
        TypeError,
        ["range(n) needs a Python integer", TRACER, "fori_loop", "static_argnames"],
    ),
    (
        NonConcreteBooleanIndexError("bool[8] traced by jit of f"),
        IndexError,
        ["indexing with bool[8]", "jnp.where(mask, x, 0)", "size=n"],
    ),
    (
        UnexpectedTracerError(TRACER, "f", "the global variable log"),
        TypeError,
        [TRACER, "made while f was traced", "kept by the global variable log", "debug.print"],
    ),
    (ByteOrderError(">f4"), TypeError, [">f4", "newbyteorder"]),
    (ClusterError("rank 2 is gone"), RuntimeError, ["rank 2 is gone"]),
    (DesyncError("ranks 0 and 1 differ"), ClusterError, ["ranks 0 and 1 differ"]),
    (RankError("ZeroDivisionError on rank 1"), ClusterError, ["ZeroDivisionError on rank 1"]),
    (
        ClosedOverTracerError("custom_vjp", "f"),
        UnexpectedTracerError,
        ["the custom_vjp function f", "closes over", "an argument of its own", "stop_gradient"],
    ),
    (
        LeakError("f", [("f32[2]", "the list log"), ("i32[]", "a closure of g")]),
        RuntimeError,
        ["2 traced values are", "trace of f", "f32[2], held by the list log", "i32[]"],
    ),
    (
        JaxprTypeError("variable a is bound twice", "a:f32[] = sin b"),
        TypeError,
        ["ill-formed jaxpr: variable a is bound twice", "a:f32[] = sin b"],
    ),
    (
        UndefinedRuleError("while", "transpose", "the number of steps is not known in advance"),
        NotImplementedError,
        ["'while' has no transpose rule: the number of steps"],
    ),
    (
        UndefinedRuleError("my_op", "jvp"),
        NotImplementedError,
        ["'my_op' has no jvp rule", "@my_op_p.def_jvp"],
    ),
    (
        ArgumentTypeError("f", "params['name']", "the string 'relu'"),
        TypeError,
        ["f was given the string 'relu' as params['name']", "pass params['name'] as a static"],
    ),
    (ShapeError("iota got shape (-1,): sizes are not negative"), ValueError, ["iota got shape"]),
    (
        ShapeMismatchError("dot_general", [(2, 3), (4, 5)], "the contracted sizes are 3 and 4"),
        TypeError,
        ["dot_general got shapes (2, 3) and (4, 5)", "contracted sizes are 3 and 4"],
    ),
    (
        ShapeMismatchError("qr", [(2,)], "a is of shape (..., m, n)"),
        ValueError,
        ["qr got shape (2,), which does not fit: a is of shape (..., m, n)"],
    ),
    (ComplexOrderError("clip", "complex64"), ValueError, ["clip does not accept dtype complex64"]),
    (
        KeyTypeError("add", "key<fry>[3], f32[3]"),
        ValueError,
        ["add got key<fry>[3], f32[3]: keys are no numbers", "random.key_data(keys)"],
    ),
    (
        ShardingTypeError(
            "add", "f32[8@x], f32[8@y]", "which divide axis 0 differently, @x and @y"
        ),
        TypeError,
        ["add got f32[8@x], f32[8@y], which divide axis 0 differently"],
    ),
    (
        NoMeshError("reshard out_shardings", "P('x',)"),
        ValueError,
        ["reshard out_shardings", "P('x',) refers to no mesh", "set_mesh", "NamedSharding(mesh, P"],
    ),
    (
        CarryTypeError("scan", "carry[0]", "i32[]", "f32[]"),
        TypeError,
        ["body of scan", "carry[0] goes in as i32[] and comes out as f32[]"],
    ),
    (KernelError("the grid has the size 2.5."), ValueError, ["the grid has the size"]),
    (
        RefError("a reference of type Ref{f32[3]} was used after it was frozen or freed."),
        ValueError,
        ["after it was frozen"],
    ),
    (
        ReverseModeError("while_loop"),
        ValueError,
        ["does not work through while_loop", "lax.scan", "custom_vjp"],
    ),
    (
        ImmutableArrayError("x", "0, :", "y", "add"),
        TypeError,
        ["cannot be changed in place", "x = x.at[0, :].add(y)"],
    ),
    (
        AxisError("in_axes", "2 is out of range for an argument of rank 1"),
        ValueError,
        ["in_axes: 2 is out of range"],
    ),
    (
        NonHashableStaticArgumentError("f", "sizes", "list"),
        ValueError,
        ["given a list as the static argument sizes", "a tuple instead of a list"],
    ),
    (
        NonHashableStaticArgumentError("f", "config", "Config"),
        ValueError,
        ["static argument config", "give Config __hash__ and __eq__"],
    ),
    (
        TypePromotionError(["float8_e4m3", "float16"], "strict"),
        ValueError,
        ["float8_e4m3 and float16", "strict mode", "astype('float16')"],
    ),
    (
        InconclusiveDimensionOperation("n == m"),
        TypeError,
        ["n == m cannot be decided"],
    ),
    (
        KeyReuseError("key<fry>[]", "cell 3, line 1", "cell 4, line 2"),
        TypeError,
        ["key<fry>[] has been used", "First use: cell 3", "Second use: cell 4", "random.split"],
    ),
    (
        NondiffTracerError("scaled", "factor"),
        TypeError,
        ["scaled got a traced value as factor", "leave factor out of nondiff_argnums"],
    ),
    (
        DeletedArrayError("f32[8]", "argument x of step"),
        RuntimeError,
        ["f32[8] was donated to argument x of step", "use the result"],
    ),
    (DeletedArrayError("f32[8]"), RuntimeError, ["f32[8] has been deleted"]),
    (
        NonFiniteError("nan", "b:f32[] = log a"),
        FloatingPointError,
        ["nan came out of: b:f32[] = log a"],
    ),
    (CheckError("x is negative"), ValueError, ["x is negative"]),
    (
        TraceLimitError("f", 1, 3, ["x: f32[1] → f32[2]", "x: f32[2] → f32[3]"]),
        AssertionError,
        ["f was traced 3 times; at most 1 allowed", "x: f32[2] → f32[3]"],
    ),
]
IDS = [type(error).__name__ for error, _, _ in EXAMPLES]


def test_examples_cover_every_class_and_all_is_exact() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, JXError)
    }
    assert set(errors.__all__) == {*classes, "JaxRuntimeError"}
    assert {type(error).__name__ for error, _, _ in EXAMPLES} | {"JXError"} == classes


def test_docstring_draws_the_whole_tree_with_the_built_in_bases() -> None:
    assert errors.__doc__ is not None
    drawn = re.findall(r"[├└]── (\w+)(?: \((\w+)\))?", errors.__doc__)
    own = {name for name, _ in drawn} | {"JXError"}
    assert own | {"JaxRuntimeError"} == set(errors.__all__)
    for name, builtin in drawn:
        bases = {base.__name__ for base in getattr(errors, name).__mro__}
        assert not builtin or builtin in bases


@pytest.mark.parametrize(("error", "base", "words"), EXAMPLES, ids=IDS)
def test_error_has_its_usual_class_and_says_what_happened(
    error: JXError, base: type[Exception], words: list[str]
) -> None:
    with pytest.raises(base) as caught:
        raise error
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert isinstance(error, JXError)


@pytest.mark.parametrize(("error", "base", "words"), EXAMPLES, ids=IDS)
def test_error_survives_pickling_and_copying(
    error: JXError, base: type[Exception], words: list[str]
) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_notes_survive_pickling() -> None:
    error = AxisError("in_axes", "2")
    error.add_note("seen in cell 3")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["seen in cell 3"]


def test_message_underlines_the_expression_and_shows_the_chain() -> None:
    error = TracerBoolConversionError(
        "bool[]",
        "if",
        where="cell 3, line 2",
        code="if y > 0:",
        underline=(3, 8),
        origin=("y = sin(x), line 1", "argument x of f"),
        instead=("y = jnp.where(y > 0, a, b)",),
    )
    _, *rest = str(error).split("\n\n")
    assert rest == [
        "cell 3, line 2:\n    if y > 0:\n       ^^^^^",
        "Where the value comes from:\n    y = sin(x), line 1\n    argument x of f",
        "What to write instead:\n    y = jnp.where(y > 0, a, b)",
    ]


def test_indented_code_is_shown_flush_with_its_underline() -> None:
    error = JXError("what", where="cell 3, line 2", code="        if y:\n", underline=(11, 12))
    assert str(error).endswith("cell 3, line 2:\n    if y:\n       ^")


def test_place_may_be_filled_in_by_a_layer_above_that_knows_more() -> None:
    error = ConcretizationTypeError(TRACER)
    before = str(error)
    error.where, error.code, error.underline = "cell 3, line 1", "int(x)", (4, 4)
    assert before in str(error).replace("cell 3, line 1:\n    int(x)\n        ^\n\n", "")
    assert "    int(x)\n        ^\n" in str(error)


def test_one_suggestion_may_be_a_plain_string() -> None:
    error = JXError("what", instead="write this")
    assert error.instead == ("write this",)
    assert str(error).endswith("What to write instead:\n    write this")


def test_message_without_parts_is_one_sentence() -> None:
    assert str(JXError("it happened")) == "it happened"


def test_message_stays_bounded_whatever_the_values_are() -> None:
    huge = "x" * 1_000_000
    error = ArgumentTypeError("f", "x", huge, details=(huge,), code=huge, origin=(huge, huge))
    assert len(str(error)) < 15_000


def test_single_leak_is_spoken_of_in_the_singular() -> None:
    assert str(LeakError("f", [("f32[]", "a list")])).startswith("1 traced value is still alive")
