"""Symbolic dimensions: their arithmetic, what can be decided of them, and what is refused."""

import itertools
from typing import Any

import pytest

from jxkernel.core.dimensions import Dimension, SymbolicScope, bounds, greater, lesser, sizes
from jxkernel.errors import InconclusiveDimensionOperation
from jxkernel.export import symbolic_shape

A, B = symbolic_shape("a, b")
assert isinstance(A, Dimension)
assert isinstance(B, Dimension)
C, D = symbolic_shape("c, d", constraints=["c >= 4", "c <= 10", "d <= c", "mod(c, 2) == 0"])

EXPRESSIONS = {
    "2*b + 1": 1 + B * 2,
    "a*b + a": A * (B + 1),
    "-b + 1": 1 - B,
    "b^2": B * B,
    "3*a^2*b": 3 * A**2 * B,
    "floordiv(b, 2)": B // 2,
    "mod(b, 2)": B % 2,
    "a + floordiv(b, 4)": (4 * A + B) // 4,
    "mod(a + b, 3)": (A + B) % 3,
    "floordiv(7, b)": 7 // B,
    "2*a + 1": (2 * A * B + B) // B,
    "max(a, b)": greater(A, B),
    "min(b, 3)": lesser(B, 3),
    "2*b - max(a, b)": B + B - greater(A, B),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_prints_itself_and_is_read_again(text):
    assert str(EXPRESSIONS[text]) == text
    again = symbolic_shape(text, scope=A.scope)[0]
    assert again == EXPRESSIONS[text]
    assert hash(again) == hash(EXPRESSIONS[text])


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_has_the_value_that_python_computes(text):
    functions = {"floordiv": lambda x, y: x // y, "mod": lambda x, y: x % y, "max": max, "min": min}
    for a, b in itertools.product((1, 2, 5), (1, 3, 4)):
        want = eval(text.replace("^", "**"), {**functions, "a": a, "b": b})
        assert EXPRESSIONS[text].evaluate({"a": a, "b": b}) == want
        low, high = bounds(EXPRESSIONS[text])
        assert low <= want <= high


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (B - B, 0),
        (B * 0, 0),
        ((2 * B) // 2, B),
        ((2 * B) % 2, 0),
        ((2 * B + 3) % 2, 1),
        ((2 * B + 3) // 2, B + 1),
        ((A * B) // B, A),
        (B // B, 1),
        (divmod(6 * A + 2, 3), (2 * A, 2)),
        (greater(B, 1), B),
        (lesser(B, A + B), B),
        (C % 2, 0),
        (lesser(C, 10), C),
    ],
)
def test_what_simplifies_is_simple(found, want):
    assert found == want
    assert type(found) is type(want)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (B >= 1, True),
        (B > 0, True),
        (B < 1, False),
        (B <= 0, False),
        (B + 1 > B, True),
        (A + B >= 2, True),
        (A * B >= 1, True),
        (B >= A + B, False),
        (B == 3, False),
        (B != B + 1, True),
        (B == 1 * B, True),
        (bool(B), True),
        (C >= 4, True),
        (C > 10, False),
        (D <= C, True),
        (C - D >= 0, True),
        (D - 1 < C, True),
        (D <= 10, True),
    ],
)
def test_what_holds_for_all_values_is_decided(found, want):
    assert found is want


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (lambda: B > 2, "b > 2"),
        (lambda: B <= 2, "b <= 2"),
        (lambda: B >= A, "b >= a"),
        (lambda: C < 5, "c < 5"),
        (lambda: max(B, 3), "b < 3"),
        (lambda: int(B), r"int\(b\)"),
        (lambda: list(range(B)), r"int\(b\)"),
        (lambda: bool(B - 1), r"bool\(b - 1\)"),
        (lambda: [1, 2][B], r"int\(b\)"),
    ],
)
def test_what_depends_is_refused_with_a_way_out(question, asked):
    with pytest.raises(InconclusiveDimensionOperation, match=asked) as caught:
        question()
    assert "What to write instead" in str(caught.value)


def test_scopes_do_not_mix():
    with pytest.raises(ValueError, match="belong to different scopes"):
        A + C
    assert symbolic_shape("b")[0] != B


def test_a_promise_that_never_holds_is_refused():
    scope = SymbolicScope()
    (n,) = symbolic_shape("n", scope=scope)
    with pytest.raises(ValueError, match="never holds"):
        scope.promise(n - n, ">=", 1)
    with pytest.raises(ValueError, match="one symbol on its left"):
        scope.promise(2 * n + 1, "==", 3)


def test_integers_stay_integers_and_symbols_symbols():
    found: Any = sizes((3, B, 2 * B))
    assert found == (3, B, 2 * B)
    assert sizes([1, 2]) == (1, 2)
    with pytest.raises(TypeError):
        sizes((3.0, B))


def test_division_by_zero_is_refused():
    with pytest.raises(ZeroDivisionError, match="b divided by 0"):
        B // 0
