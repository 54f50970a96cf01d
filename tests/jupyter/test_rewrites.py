"""Advice from the user's own code: it is run as it stands, and gives what was meant."""

import ast
import textwrap
from typing import Any

import numpy as np
import pytest

from jxkernel.errors import UnexpectedTracerError
from tests.jupyter.conftest import Notebook
from tests.jupyter.test_classic_mistakes import underlined

# The cell, the rewrite, and what stands in its place when it is run.
CHOICES = [
    ("if w > 0: r = w\nelse: r = -w", "r = jnp.where(w > 0, w, -w)", "{}"),
    ("r = 1.0\nif w > 0:\n    r += w", "r = jnp.where(w > 0, r + w, r)", "r = 1.0\n{}"),
    ("r = w if w > 5 else 0", "jnp.where(w > 5, w, 0)", "r = {}"),
    ("r = m if m > 5 else 0", "jnp.where(m > 5, m, 0)", "r = {}"),
    ("r = w > 1 and w < 3", "(w > 1) & (w < 3)", "r = {}"),
    (
        "if w > 3: r = w\nelif w > 1: r = -w\nelse: r = w * 0",
        "r = jnp.where(w > 3, w, jnp.where(w > 1, -w, w * 0))",
        "{}",
    ),
    (
        "def f(x):\n    if x > 0:\n        return x\n    else:\n        return 0.0\nr = f(w)",
        "return jnp.where(x > 0, x, 0.0)",
        "def f(x):\n    {}\nr = f(w)",
    ),
]


def rewritten(printed: str) -> str:
    """The first line of advice."""
    return printed.partition("What to write instead:\n")[2].splitlines()[0].strip()


# The cell, whose underlined part is put in place of by what is told.
REPLACED = [
    ("r = max(w, 1.0)", "jnp.maximum(w, 1.0)"),
    ("r = min(x)", "jnp.min(x)"),
    ("r = any(x > 3)", "jnp.any(x > 3)"),
    ("r = all(x > 3)", "jnp.all(x > 3)"),
    ("r = sorted(-x)", "jnp.sort(-x)"),
    ("r = bool(w)", "w != 0"),
    ("r = float(x[1]) * 2", "x[1]"),
    ("r = int(w * 1.7) + 1", "(w * 1.7).astype(int)"),
    ("r = w.item() / 3", "w"),
    ("r = x.tolist()", "x"),
    ("import math\nr = math.hypot(w, 3.0)", "jnp.hypot(w, 3.0)"),
    ("r = np.array([w, w + 1])", "jnp.array([w, w + 1])"),
    ("r = np.linalg.norm(x)", "jnp.linalg.norm(x)"),
    ("r = [1, 2, 3][k]", "jnp.asarray([1, 2, 3])[k]"),
    ("r = row[k]", "jnp.asarray(row)[k]"),
    ("r = w in [1.0, 2.0]", "jnp.any(w == jnp.asarray([1.0, 2.0]))"),
    ("r = w not in row", "~jnp.any(w == jnp.asarray(row))"),
]
# The loop, of which the whole is put in place of by what is told.
LOOPS = [
    "while w < 100:\n    w = w * 3\n",
    "n = 0\nwhile w > 0.5:\n    w, n = w / 2, n + 1\n",
    "for i in range(k):\n    w = w + i\n",
    "total = 0.0\nfor i in range(1, k):\n    total += x[i]\n    w = w * total\n",
    "def f(a, n):\n    for _ in range(n):\n        a = a * 2\n    return a\nw = f(w, k)\n",
]
NOT_LOOPED = [
    "while w < 9:\n    w = w * 2\n    if w.ndim: break",
    "while w < 9 and w > 1:\n    w = w * 2",
    "for i in range(k):\n    last = w * i\nw = last",
]
NOT_REPLACED = [
    "import math\nr = math.log(w, 10)",
    "r = sorted(x, reverse=True)",
    "r = x[:int(w)]",
    "r = jnp.zeros((int(w), 3))",
    "r = jnp.zeros(shape=2 * int(w))",
    "r = [1, 2] * int(w)",
    "r = any(v > 3 for v in x)",
    "r = max(x, key=abs)",
    "r = np.sum([w, w])",
    "r = np.full(2, fill_value=w)",
    "r = ['a', 'b', 'c'][k:]",
    "def float(a): return bool(a)\nr = float(w)",
]


@pytest.fixture
def cells(notebook: Notebook) -> Notebook:
    notebook.run("%xmode Context\nm = jnp.ones((3, 3))\nk = 2\nrow = [1, 2, 3]")
    return notebook


def test_choices_are_rewritten_from_the_users_own_code(cells: Notebook) -> None:
    for cell, rewrite, place in CHOICES:
        told = rewritten(cells.fails(f"%%jit\n{cell}", TypeError).printed)
        assert told == rewrite
        cells.run(f"%%jit\n{place.format(told)}")
        if "m >" not in cell:
            meant: dict[str, float] = {"w": 2.0}
            exec(cell, meant)
            assert float(cells.names["r"]) == meant["r"]


@pytest.mark.parametrize(("cell", "rewrite"), REPLACED)
def test_calls_and_indices_are_rewritten_and_give_what_was_meant(
    cells: Notebook, cell: str, rewrite: str
) -> None:
    printed = cells.fails(f"%%jit\n{cell}", TypeError).printed
    told = rewritten(printed)
    assert told == rewrite
    meant: dict[str, Any] = {"w": np.float32(2.0), "x": np.arange(8.0), "k": 2, "np": np}
    exec(cell, meant | {"row": [1, 2, 3]}, meant)
    cells.run(f"%%jit\n{cell.replace(underlined(printed)[-1], told)}")
    np.testing.assert_allclose(cells.names["r"], meant["r"], rtol=1e-6)


@pytest.mark.parametrize("cell", LOOPS)
def test_loops_are_rewritten_and_give_what_was_meant(cells: Notebook, cell: str) -> None:
    cells.run("k = 4; w = 2.0")
    printed = cells.fails(f"%%jit\n{cell}", TypeError).printed
    told = printed.partition("What to write instead:\n")[2].partition("\n    or make")[0]
    told = told.partition("\n    for a size")[0]
    (loop,) = [one for one in ast.walk(ast.parse(cell)) if isinstance(one, ast.For | ast.While)]
    lines, at = cell.splitlines(), slice(loop.lineno - 1, loop.end_lineno)
    lines[at] = textwrap.indent(textwrap.dedent(told), " " * loop.col_offset).splitlines()
    meant: dict[str, Any] = {"w": 2.0, "x": np.arange(8.0), "k": 4}
    exec(cell, meant)
    cells.run("%%jit\n" + "\n".join(lines))
    np.testing.assert_allclose(cells.names["w"], meant["w"], rtol=1e-6)


@pytest.mark.parametrize("cell", NOT_LOOPED)
def test_a_loop_without_such_a_form_is_told_as_an_idea(cells: Notebook, cell: str) -> None:
    printed = cells.fails(f"%%jit\n{cell}", TypeError).printed
    assert "def body(" not in printed


@pytest.mark.parametrize("cell", NOT_REPLACED)
def test_what_would_mean_something_else_is_not_rewritten(cells: Notebook, cell: str) -> None:
    told = cells.fails(f"%%jit\n{cell}", Exception).printed.partition("instead:\n")[2]
    assert "(w" not in told
    assert "(x" not in told


@pytest.mark.parametrize(
    "cell",
    [
        "if w > 0: r = 'a'\nelse: r = 'b'",
        "if w > 0: r = w\nelif w > 1: s = w\nelse: r = -w",
        "match k:\n    case 1: r = w\n    case _: r = -w",
        "if w > 0: r = w\nelse: s = w",
        "if w > 0:\n    r = w\n    s = w",
        "def f(x):\n    if x > 9: return x\n    return f(x + 1)\nr = f(w)",
        "def f(x):\n    if x > 9: return\n    return x\nr = f(w)",
    ],
)
def test_what_cannot_be_derived_is_told_as_an_idea(cells: Notebook, cell: str) -> None:
    printed = cells.fails(f"%%jit\n{cell}", TypeError).printed
    assert "choose between values with jnp.where" in printed
    assert "combine conditions" not in printed
    assert "condition, a, b" not in printed


def test_advice_names_modules_as_they_were_imported(plain_notebook: Notebook) -> None:
    plain_notebook.run("%load_ext jxkernel\nimport jxkernel.numpy as np_, jxkernel as jk\nw = 2.0")
    assert rewritten(
        plain_notebook.fails("%%jit\nr = w if w > 5 else 0", TypeError).printed
    ).startswith("np_.where(")
    printed = plain_notebook.fails("%%jit\nwhile w > 0: w = w - 1", TypeError).printed
    assert "w = jk.lax.while_loop(condition, body, w)" in printed


@pytest.mark.parametrize("cell", ["r = m.item()", "if m > 0: r = m", "r = bool((m > 0).any())"])
def test_an_array_is_not_told_to_be_static(cells: Notebook, cell: str) -> None:
    assert "static" not in cells.fails(f"%%jit\n{cell}", TypeError).printed


def test_a_type_is_told_without_the_mark_of_weak_ones(cells: Notebook) -> None:
    printed = cells.fails("%%jit\nr = int(k)", TypeError).printed
    assert "and k, a traced value of type i32[], has none" in printed


def test_an_error_is_told_once(cells: Notebook) -> None:
    printed = cells.fails("r = jnp.concatenate([x, m])", (TypeError, ValueError)).printed
    assert printed.count("Traceback (most recent call last)") == 1


def test_a_deleted_array_is_told_with_what_took_it_over(cells: Notebook) -> None:
    cells.run(
        "import functools\n@functools.partial(jx.jit, donate_argnums=0)\n"
        "def step(state):\n    return state * 2\nq = jnp.ones(7)\n_ = step(q)"
    )
    printed = cells.fails("q + 1", RuntimeError).printed
    assert "step takes over the memory of its argument state" in printed


@pytest.mark.parametrize("cell", ["x + 'a'", "x.foo", "{x: 1}", "x < None", "x()"])
def test_errors_of_pythons_name_no_internal_class(cells: Notebook, cell: str) -> None:
    printed = cells.fails(cell, (TypeError, AttributeError)).printed
    assert "ArrayImpl" not in printed
    assert "'Array'" in printed


def test_an_interrupt_is_told_in_one_sentence(cells: Notebook) -> None:
    cells.run(
        "import _thread, threading\nended = threading.Event()\n"
        "from jxkernel.jupyter.session.interrupts import run_interruptibly\n"
        "def work():\n    _thread.interrupt_main()\n    ended.wait()"
    )
    ran = cells.attempt("run_interruptibly(work)")
    cells.names["ended"].set()
    assert "KeyboardInterrupt: you no longer wait; what was begun" in ran.printed
    assert "threading.py" not in ran.printed


# The cell, whose underlined part is put in place of by what is told, and the result's shape.
FITTING = [
    ("r = h + b3", "h + b3[:, None]", (3, 4)),
    ("r = b3 < h * 2", "b3[:, None] < h * 2", (3, 4)),
    ("r = jnp.multiply(jnp.ones((2, 3, 4)), b3)", "jnp.ones((2, 3, 4)), b3[:, None])", (2, 3, 4)),
    ("r = np.ones((3, 4)) - b3", "np.ones((3, 4)) - b3[:, None]", (3, 4)),
    ("r = v @ params['w']", "v @ params['w'].T", (7, 3)),
    ("r = jnp.dot(h, b3)", "jnp.dot(b3, h)", (4,)),
    ("r = h @ v", "v @ h", (7, 2), "h = jnp.ones((4, 2)); v = jnp.ones((7, 4))"),
    ("r = jnp.concatenate([h, jnp.ones(4)])", "jnp.concatenate([h, jnp.ones(4)[None]])", (4, 4)),
    ("r = jnp.concatenate([h, h[:, :2]])", "jnp.concatenate([h, h[:, :2]], axis=1)", (3, 6)),
]
# The cell, and a part of the sentence.
UNFITTING = [
    (
        "r = jnp.ones((2, 4)) + jnp.ones(5)",
        "make the sizes 4 and 5 equal where the arrays are made",
    ),
    ("r = jnp.ones((3, 3, 4)) + b3", "make the sizes 3 and 4 equal"),
    ("r = jnp.where(h > 0, h, b3)", "make the sizes 3 and 4 equal"),
    ("r = h @ h", "give two matrices one size where they are summed"),
    ("r = jnp.concatenate([h, h[:2, :2]])", "give all arrays the same sizes but for one axis"),
    ("r = h.reshape(5, -1)", "give sizes whose product is 12"),
    ("r = jnp.einsum('ij,jk->ik', h, h)", "one letter stands for one size"),
    ("r = h.at[0].set(b3)", "only axes of size 1 are repeated"),
    ("r = jnp.tensordot(h, h, 1)", "print(x.shape) before this line"),
]
SHAPES = "h = jnp.ones((3, 4)); b3 = jnp.ones(3); v = jnp.ones((7, 4)); params = {'w': h}"


@pytest.mark.parametrize("magic", ["", "%%jit\n"])
@pytest.mark.parametrize(("cell", "rewrite", "shape", "setup"), [(*one, "")[:4] for one in FITTING])
def test_shapes_that_one_form_fits_are_told_in_that_form(
    cells: Notebook, cell: str, rewrite: str, shape: tuple[int, ...], setup: str, magic: str
) -> None:
    cells.run(f"{SHAPES}\n{setup}")
    printed = cells.fails(magic + cell, TypeError).printed
    told = rewritten(printed)
    assert told.endswith(rewrite)
    cells.run(magic + cell.replace(underlined(printed)[-1], told))
    assert cells.names["r"].shape == shape


@pytest.mark.parametrize("magic", ["", "%%jit\n"])
@pytest.mark.parametrize(("cell", "idea"), UNFITTING)
def test_shapes_that_nothing_fits_are_told_as_an_idea(
    cells: Notebook, cell: str, idea: str, magic: str
) -> None:
    cells.run(SHAPES)
    printed = cells.fails(magic + cell, (TypeError, ValueError)).printed
    assert idea in rewritten(printed)
    assert printed.count("What to write instead") == 1


DONATED = """
step = jx.jit(lambda s, g: s - g, donate_argnums=0)
steps = [jx.jit(lambda s: s * 2, donate_argnums=0)]
train = jx.jit(lambda state: {k: v - 1 for k, v in state.items()}, donate_argnums=0)
def outer(v):
    return step(v, 1.0)
q = jnp.ones(14)
"""


@pytest.mark.parametrize(
    ("cell", "taker", "call"),
    [
        ("step(q, 1.0)\nq + 1", "step takes", "step(q, 1.0) did so in Cell In[4], line 1"),
        ("steps[0](q)\nq + 1", "The lambda in Cell In[3], line 2 takes", "steps[0](q) did so"),
        (
            "m = {'w': q}\nx = train(m)\nm['w'].sum()",
            "train takes",
            "train(m) did so in Cell In[4], line 2",
        ),
        ("for _ in range(2):\n    step(q, 1.0)", "step takes", "step(q, 1.0) did so"),
        ("outer(q)\nq + 1", "step takes", "The first such call is in Cell In[3], line 5."),
    ],
)
def test_a_deleted_array_is_told_with_the_call_that_took_it_over(
    cells: Notebook, cell: str, taker: str, call: str
) -> None:
    cells.run(DONATED.strip())
    # It is C++ that raises in the loop, with jaxlib 0.10 a ValueError.
    printed = cells.fails(cell, (RuntimeError, ValueError)).printed
    assert taker in printed
    assert call in printed
    assert "<lambda>" not in printed.partition("its data is gone")[2]


@pytest.mark.parametrize(
    ("line", "code", "carets"),
    [
        ("%jaxpr nowhere + 2", "nowhere + 2", "^^^^^^^"),
        ("%jx cost nowhere(x)", "nowhere", "^^^^^^^"),
        ("%jx stages jnp.sin(nowhere)", "jnp.sin(nowhere)", "        ^^^^^^^"),
        ("%jx map nowhere", "nowhere", "^^^^^^^"),
    ],
)
def test_an_unknown_name_is_underlined_in_the_expression_alone(
    cells: Notebook, line: str, code: str, carets: str
) -> None:
    printed = cells.fails(line, NameError).printed
    instead = "What to write instead:\n    run the cell that assigns nowhere first"
    assert printed.rstrip().endswith(f"the expression:\n    {code}\n    {carets}\n\n{instead}")
    assert "File <" not in printed


def test_an_error_in_an_expression_names_no_file(cells: Notebook) -> None:
    cells.run(SHAPES)
    for line in ("%jx cost h + v", "%jx stages [1, 2][x]", "%jaxpr x.astpye('int32')"):
        printed = cells.fails(line, Exception).printed
        assert "\nthe expression:\n" in printed
        assert "<expression" not in printed


def test_a_method_with_an_axis_is_an_expression(cells: Notebook) -> None:
    cells.run(SHAPES)
    assert "sends nothing" in str(cells.run("%jx comm h.sum(0)").value)
    assert "h:f32[3,4]" in str(cells.run("%jaxpr h.sum(0)").value)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("range(2, k)", "and k, a traced value of type i32[], has no value"),
        ("[1, 2, 3][k]", "and k, a traced value of type i32[], has no value"),
        ("range(k + 1)", "and k + 1, a traced value of type i32[], has no value"),
        ("np.sin(x[0])", "the data of x[0], a traced value of type f32[], which"),
        ("np.hypot(x, x)", "the data of a traced value of type f32[8], which"),
        ("np.array([k, k])", "the data of a traced value of type i32[], which"),
        ("{x: 1}", "unhashable type: x (a traced f32[8])"),
        ("f'{x.sum():.3f}'", "passed to x.sum() (traced)"),
        ("x.shpae", "x (a traced f32[8]) has no attribute"),
    ],
)
def test_the_traced_value_is_named_by_the_user_s_expression(
    cells: Notebook, line: str, named: str
) -> None:
    ran = cells.attempt(f"%%jit\nr = {line}")
    assert ran.error is not None
    assert named in ran.printed


def test_a_value_of_an_ended_trace_is_told_as_such_where_a_number_is_wanted(
    cells: Notebook,
) -> None:
    cells.run("kept = []\n@jx.jit\ndef keep(v):\n    kept.append(v.max())\n    return v\nkeep(x);")
    for wanted in ("float(kept[0])", "bool(kept[0])", "range(kept[0])", "np.asarray(kept[0])"):
        printed = cells.fails(wanted, UnexpectedTracerError).printed
        assert "made while keep was traced" in printed
        assert "return the value from the traced function" in printed
        assert "leave the conversion out" not in printed


def test_what_numpy_tried_before_is_not_told(cells: Notebook) -> None:
    """``np.clip`` calls the array's own method first, with arguments that it does not take."""
    printed = cells.fails("%%jit\nr = np.clip(x, 0, 1)", TypeError).printed
    assert "fromnumeric" not in printed
    assert "jnp.clip(x, 0, 1)" in printed


def test_an_error_behind_another_has_advice_for_its_line(cells: Notebook) -> None:
    source = (
        "@jx.jit\ndef f(v):\n    try:\n        if v > 0: return v\n"
        "    except Exception as error:\n        raise RuntimeError('bad') from error\nf(1.0)"
    )
    printed = cells.fails(source, RuntimeError).printed
    assert "jit(f, static_argnames='v')" in printed
    assert "NAME" not in printed


def test_a_body_s_choice_without_a_form_leaves_the_loop_without_one(cells: Notebook) -> None:
    source = "%%jit\nwhile w < 9:\n    if w < 4:\n        w = w * 2\n        k = k + 1"
    printed = cells.fails(source, TypeError).printed
    assert "a loop with a traced condition is a lax.while_loop" in printed
    assert "def body" not in printed
