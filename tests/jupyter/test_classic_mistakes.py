"""The classic mistakes: the right error on the right expression, and a rewrite that works."""

from dataclasses import dataclass

import pytest

from jxkernel import errors
from tests.jupyter.conftest import Notebook


@dataclass(frozen=True)
class Mistake:
    """A cell that fails, and what to write instead.

    Attributes:
      cell: the cell's body.
      error: the class of the error, or several.
      underlined: the expression that the message underlines; empty where it has none.
      says: a part of the message, the advice above all.
      rewrite: a body that does what was meant.
      flags: flags of the rewritten cell.
    """

    cell: str
    error: type[BaseException] | tuple[type[BaseException], ...]
    underlined: str
    says: str
    rewrite: str
    flags: str = ""


BOOL = errors.TracerBoolConversionError
CONCRETE = errors.ConcretizationTypeError
ARRAY = errors.TracerArrayConversionError
INTEGER = errors.TracerIntegerConversionError
MASK = errors.NonConcreteBooleanIndexError
IMMUTABLE = errors.ImmutableArrayError

MISTAKES = [
    Mistake(
        "r = 1.0 if w > 0 else 2.0",
        BOOL,
        "w > 0",
        "jnp.where",
        "r = jnp.where(w > 0, 1.0, 2.0)",
    ),
    Mistake(
        "if w > 0:\n    r = w\nelse:\n    r = -w",
        BOOL,
        "w > 0",
        "lax.cond",
        "r = lax.cond(w > 0, lambda: w, lambda: -w)",
    ),
    Mistake(
        "while w < 10:\n    w = w * 2",
        BOOL,
        "w < 10",
        "lax.while_loop",
        "w = lax.while_loop(lambda v: v < 10, lambda v: v * 2, w)",
    ),
    Mistake(
        "r = w > 1 and w < 3",
        BOOL,
        "w > 1 and w < 3",
        "& for and",
        "r = (w > 1) & (w < 3)",
    ),
    Mistake(
        "r = w > 1 or w < 3",
        BOOL,
        "w > 1 or w < 3",
        "| for or",
        "r = (w > 1) | (w < 3)",
    ),
    Mistake(
        "r = not w > 1",
        BOOL,
        "not w > 1",
        "~ for not",
        "r = ~(w > 1)",
    ),
    Mistake(
        "r = 1 < w < 3",
        BOOL,
        "1 < w < 3",
        "& for and",
        "r = (1 < w) & (w < 3)",
    ),
    Mistake(
        "assert w > 0",
        BOOL,
        "w > 0",
        "jnp.where",
        "r = jnp.where(w > 0, w, jnp.nan)",
    ),
    Mistake(
        "r = max(w, 1.0)",
        BOOL,
        "max(w, 1.0)",
        "jnp.where",
        "r = jnp.maximum(w, 1.0)",
    ),
    Mistake(
        "r = sorted([w, 1.0])",
        BOOL,
        "sorted([w, 1.0])",
        "jnp.where",
        "r = jnp.sort(jnp.stack([w, 1.0]))",
    ),
    Mistake(
        "r = [v for v in x if v > 2]",
        BOOL,
        "v > 2",
        "jnp.where",
        "r = jnp.where(x > 2, x, 0)",
    ),
    Mistake(
        "r = bool(w)",
        BOOL,
        "bool(w)",
        "jnp.where",
        "r = w != 0",
    ),
    Mistake(
        "r = any(x > 3)",
        BOOL,
        "any(x > 3)",
        "jnp.where",
        "r = jnp.any(x > 3)",
    ),
    Mistake(
        "r = w in [1.0, 2.0]",
        BOOL,
        "w in [1.0, 2.0]",
        "| for or",
        "r = jnp.any(w == jnp.asarray([1.0, 2.0]))",
    ),
    Mistake(
        "r = int(w) + 1",
        CONCRETE,
        "int(w)",
        "has none while it is traced",
        "r = w.astype('int32') + 1 if hasattr(w, 'astype') else w",
    ),
    Mistake(
        "r = float(x[0])",
        CONCRETE,
        "float(x[0])",
        "jnp.where",
        "r = x[0]",
    ),
    Mistake(
        "r = complex(w)",
        CONCRETE,
        "complex(w)",
        "jnp.where",
        "r = lax.complex(w, 0.0 * w)",
    ),
    Mistake(
        "r = x.tolist()",
        CONCRETE,
        "x.tolist()",
        "static",
        "r = x",
    ),
    Mistake(
        "r = w.item()",
        CONCRETE,
        "w.item()",
        "static",
        "r = w",
    ),
    Mistake(
        "import math\nr = math.sin(w)",
        CONCRETE,
        "math.sin(w)",
        "jnp",
        "r = jnp.sin(w)",
    ),
    Mistake(
        "r = np.sin(x)",
        ARRAY,
        "np.sin(x)",
        "jnp",
        "r = jnp.sin(x)",
    ),
    Mistake(
        "r = np.asarray(x)",
        ARRAY,
        "np.asarray(x)",
        "jnp",
        "r = jnp.asarray(x)",
    ),
    Mistake(
        "r = np.array([w, w])",
        ARRAY,
        "np.array([w, w])",
        "jnp",
        "r = jnp.array([w, w])",
    ),
    Mistake(
        "r = np.dot(x, x)",
        ARRAY,
        "np.dot(x, x)",
        "jnp",
        "r = jnp.dot(x, x)",
    ),
    Mistake(
        "r = np.linalg.norm(x)",
        ARRAY,
        "np.linalg.norm(x)",
        "jnp",
        "r = jnp.sqrt(jnp.sum(x * x))",
    ),
    Mistake(
        "b = np.zeros(8)\nb[0] = w",
        ValueError,
        "",
        "",
        "b = jnp.zeros(8).at[0].set(w)",
    ),
    Mistake(
        "for i in range(k):\n    w = w * 2",
        INTEGER,
        "range(k)",
        "lax.fori_loop",
        "w = lax.fori_loop(0, k, lambda i, v: v * 2, w)",
    ),
    Mistake(
        "r = [1, 2, 3][k]",
        INTEGER,
        "[1, 2, 3][k]",
        "jnp.asarray(values)[i]",
        "r = jnp.asarray([1, 2, 3])[k]",
    ),
    Mistake(
        "r = np.arange(8)[k]",
        ARRAY,
        "np.arange(8)[k]",
        "jnp",
        "r = jnp.asarray(np.arange(8))[k]",
    ),
    Mistake(
        "r = 'ab' * k",
        INTEGER,
        "'ab' * k",
        "static",
        "r = 'ab' * k",
        "--static k",
    ),
    Mistake(
        "r = jnp.zeros(k)",
        errors.JXError,
        "",
        "static",
        "r = jnp.zeros(k)",
        "--static k",
    ),
    Mistake(
        "r = x.reshape(k, 4)",
        errors.JXError,
        "",
        "",
        "r = x.reshape(k, 4)",
        "--static k",
    ),
    Mistake(
        "r = jnp.arange(k)",
        errors.JXError,
        "",
        "static",
        "r = jnp.arange(k)",
        "--static k",
    ),
    Mistake(
        "r = x[:k]",
        IndexError,
        "",
        "lax.dynamic_slice",
        "r = x[:k]",
        "--static k",
    ),
    Mistake(
        "r = x[x > 3]",
        MASK,
        "x[x > 3]",
        "jnp.where(mask, x, 0)",
        "r = jnp.where(x > 3, x, 0)",
    ),
    Mistake(
        "x[0] = w",
        IMMUTABLE,
        "x[0]",
        "x = x.at[",
        "x = x.at[0].set(w)",
    ),
    Mistake(
        "x[2:4] += w",
        IMMUTABLE,
        "x[2:4]",
        ".at[",
        "x = x.at[2:4].add(w)",
    ),
    Mistake(
        "r = x + 'a'",
        TypeError,
        "",
        "",
        "r = x + 1",
    ),
    Mistake(
        "r = x @ jnp.ones(3)",
        TypeError,
        "",
        "",
        "r = x @ jnp.ones(8)",
    ),
    Mistake(
        "r = x + jnp.ones(3)",
        (TypeError, ValueError),
        "",
        "",
        "r = x + jnp.ones(8)",
    ),
    Mistake(
        "r = jnp.concatenate(x, 1)",
        Exception,
        "",
        "",
        "r = jnp.concatenate([x, x])",
    ),
    Mistake(
        "r = {w: 1}",
        TypeError,
        "",
        "",
        "r = {'w': 1}",
    ),
    Mistake(
        "r = hash(x)",
        TypeError,
        "",
        "",
        "r = hash('x')",
    ),
    Mistake(
        "r = len(w)",
        TypeError,
        "",
        "",
        "r = len(x)",
    ),
    Mistake(
        "for v in w:\n    pass",
        TypeError,
        "",
        "",
        "for v in x:\n    pass",
    ),
    Mistake(
        "r = np.float32(w)",
        ARRAY,
        "np.float32(w)",
        "jnp",
        "r = jnp.float32(w)",
    ),
    Mistake(
        "r = f'{w:.3f}'",
        Exception,
        "",
        "",
        "r = 'text'",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.cell.splitlines()[-1])
def test_mistake(notebook: Notebook, mistake: Mistake) -> None:
    notebook.run("k = 2")
    ran = notebook.fails(f"%%jit\n{mistake.cell}", mistake.error)
    assert mistake.says in ran.printed
    assert "jxkernel/" not in ran.printed
    if mistake.underlined:
        assert isinstance(ran.error, errors.JXError)
        assert ran.error.underline is not None
        start, end = ran.error.underline
        assert ran.error.code[start:end] == mistake.underlined
    notebook.run(f"%%jit {mistake.flags}\n{mistake.rewrite}")
