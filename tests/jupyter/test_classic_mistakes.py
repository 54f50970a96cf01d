"""The classic mistakes: the right error on the right expression, and a rewrite that works."""

import itertools
from dataclasses import dataclass

import pytest

from jxkernel import errors
from tests.jupyter.conftest import SETUP, Notebook


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
        "b[0]",
        "b = b.at[i].set(value)",
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
        "jnp.zeros(k)",
        "%%jit --static k",
        "r = jnp.zeros(k)",
        "--static k",
    ),
    Mistake(
        "r = x.reshape(k, 4)",
        errors.JXError,
        "x.reshape(k, 4)",
        "%%jit --static k",
        "r = x.reshape(k, 4)",
        "--static k",
    ),
    Mistake(
        "r = jnp.arange(k)",
        errors.JXError,
        "jnp.arange(k)",
        "%%jit --static k",
        "r = jnp.arange(k)",
        "--static k",
    ),
    Mistake(
        "r = x[:k]",
        IndexError,
        "x[:k]",
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
        "x + 'a'",
        "compute with arrays and numbers only",
        "r = x + 1",
    ),
    Mistake(
        "r = x @ jnp.ones(3)",
        TypeError,
        "x @ jnp.ones(3)",
        "the sizes 8 and 3 are to be equal",
        "r = x @ jnp.ones(8)",
    ),
    Mistake(
        "r = x + jnp.ones(3)",
        (TypeError, ValueError),
        "x + jnp.ones(3)",
        "sizes are equal, or one of them is 1",
        "r = x + jnp.ones(8)",
    ),
    Mistake(
        "r = jnp.concatenate(x, 1)",
        ValueError,
        "jnp.concatenate(x, 1)",
        "jnp.concatenate([a, b], axis)",
        "r = jnp.concatenate([x, x])",
    ),
    Mistake(
        "r = {w: 1}",
        TypeError,
        "{w: 1}",
        "a traced value is no key",
        "r = {'w': 1}",
    ),
    Mistake(
        "r = hash(x)",
        TypeError,
        "hash(x)",
        "a traced value is no key",
        "r = hash('x')",
    ),
    Mistake(
        "r = len(w)",
        TypeError,
        "len(w)",
        "x.size",
        "r = len(x)",
    ),
    Mistake(
        "for v in w:\n    pass",
        TypeError,
        "w",
        "jnp.atleast_1d(x)",
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
        TypeError,
        "{w:.3f}",
        "jx.debug.print",
        "r = 'text'",
    ),
    Mistake(
        "r = jnp.nonzero(x > 3)",
        CONCRETE,
        "jnp.nonzero(x > 3)",
        "size=n",
        "r = jnp.nonzero(x > 3, size=4)",
    ),
    Mistake(
        "r = jnp.where(x > 3)[0]",
        CONCRETE,
        "jnp.where(x > 3)",
        "size=n",
        "r = jnp.where(x > 3, size=4)[0]",
    ),
    Mistake(
        "r = jnp.unique(x)",
        CONCRETE,
        "jnp.unique(x)",
        "size=n",
        "r = jnp.unique(x, size=8)",
    ),
    Mistake(
        "r = jnp.repeat(x, k)",
        CONCRETE,
        "jnp.repeat(x, k)",
        "give the length",
        "r = jnp.repeat(x, k)",
        "--static k",
    ),
    Mistake(
        "r = jnp.linspace(0.0, 1.0, k)",
        INTEGER,
        "jnp.linspace(0.0, 1.0, k)",
        "%%jit --static k",
        "r = jnp.linspace(0.0, 1.0, k)",
        "--static k",
    ),
    Mistake(
        "r = x.numpy()",
        AttributeError,
        "x.numpy",
        "np.asarray(x) after the cell has run",
        "r = x",
    ),
    Mistake(
        "x.append(3.0)",
        AttributeError,
        "x.append",
        "jnp.append(x, value)",
        "x = jnp.append(x, 3.0)",
    ),
    Mistake(
        "r = x.astpye('int32')",
        AttributeError,
        "x.astpye",
        "x.astype",
        "r = x.astype('int32')",
    ),
    Mistake(
        "x.at[0] = 3.0",
        TypeError,
        "x.at[0]",
        "x = x.at[i].set(value)",
        "x = x.at[0].set(3.0)",
    ),
    Mistake(
        "r = x.at[0].set()",
        TypeError,
        "x.at[0].set()",
        "x.at[i].set(value)",
        "r = x.at[0].set(1.0)",
    ),
    Mistake(
        "del x[0]",
        TypeError,
        "x[0]",
        "jnp.delete(x, index)",
        "x = jnp.delete(x, 0)",
    ),
    Mistake(
        "r = x['a']",
        TypeError,
        "x['a']",
        "keep a dict of arrays",
        "r = {'a': x}['a']",
    ),
    Mistake(
        "r = x(0)",
        TypeError,
        "x(0)",
        "to index an array: x[i]",
        "r = x[0]",
    ),
    Mistake(
        "r = {'a': 1}[w]",
        TypeError,
        "{'a': 1}[w]",
        "jnp.asarray(values)[i]",
        "r = jnp.asarray([1, 2, 3])[w.astype(int) if hasattr(w, 'astype') else 0]",
    ),
    Mistake(
        "r = x.reshape(3, 3)",
        errors.JXError,
        "x.reshape(3, 3)",
        "shape (8,) and 8 elements",
        "r = x.reshape(2, 4)",
    ),
    Mistake(
        "r = jnp.stack([x, x[:3]])",
        ValueError,
        "jnp.stack([x, x[:3]])",
        "jnp.concatenate([a, b])",
        "r = jnp.concatenate([x, x[:3]])",
    ),
    Mistake(
        "r = jx.grad(lambda a: a * 2)(x)",
        TypeError,
        "jx.grad(lambda a: a * 2)(x)",
        "reduce it with .sum() or .mean()",
        "r = jx.grad(lambda a: (a * 2).sum())(x)",
    ),
    Mistake(
        "r = jx.grad(lambda a: a * 2)(k)",
        TypeError,
        "jx.grad(lambda a: a * 2)(k)",
        "x.astype(float)",
        "r = jx.grad(lambda a: a * 2)(1.0 * k)",
    ),
    Mistake(
        "r = jx.vmap(lambda a, b: a + b)(x, x[:3])",
        errors.AxisError,
        "jx.vmap(lambda a, b: a + b)(x, x[:3])",
        "args[0] has 8, args[1] has 3",
        "r = jx.vmap(lambda a, b: a + b, in_axes=(0, None))(x, x[:3])",
    ),
    Mistake(
        "r = lax.scan(lambda c, a: c + a, 0.0, x)",
        TypeError,
        "lax.scan(lambda c, a: c + a, 0.0, x)",
        "return (carry, None)",
        "r = lax.scan(lambda c, a: (c + a, None), 0.0, x)",
    ),
    Mistake(
        "r = lax.scan(lambda c, a: (c.astype('int32'), a), 0.0, x)",
        errors.CarryTypeError,
        "lax.scan(lambda c, a: (c.astype('int32'), a), 0.0, x)",
        "x.astype('float32')",
        "r = lax.scan(lambda c, a: (c.astype('float32'), a), 0.0, x)",
    ),
    Mistake(
        "r = lax.cond(w > 1, lambda: 1.0, lambda: (1.0, 2.0))",
        TypeError,
        "lax.cond(w > 1, lambda: 1.0, lambda: (1.0, 2.0))",
        "results have one structure",
        "r = lax.cond(w > 1, lambda: (1.0, 1.0), lambda: (1.0, 2.0))",
    ),
    Mistake(
        "r = lax.cond(x > 1, lambda: 1.0, lambda: 2.0)",
        TypeError,
        "lax.cond(x > 1, lambda: 1.0, lambda: 2.0)",
        "jnp.where",
        "r = jnp.where(x > 1, 1.0, 2.0)",
    ),
    Mistake(
        "r = lax.while_loop(lambda v: v, lambda v: v + 1, w)",
        TypeError,
        "lax.while_loop(lambda v: v, lambda v: v + 1, w)",
        "to return a boolean scalar",
        "r = lax.while_loop(lambda v: v < 9, lambda v: v + 1, w)",
    ),
    Mistake(
        "r = jx.random.normal(0, (3,))",
        TypeError,
        "jx.random.normal(0, (3,))",
        "key = jx.random.key(0)",
        "r = jx.random.normal(jx.random.key(0), (3,))",
    ),
    Mistake(
        "r = jnp.sin([1.0, 2.0])",
        TypeError,
        "jnp.sin([1.0, 2.0])",
        "write jnp.asarray(...) around it",
        "r = jnp.sin(jnp.asarray([1.0, 2.0]))",
    ),
    Mistake(
        "r = lax.add(x, k)",
        TypeError,
        "lax.add(x, k)",
        "convert with x.astype(...)",
        "r = jnp.add(x, k)",
    ),
    Mistake(
        "r = lax.psum(x, 'i')",
        errors.UnboundAxisError,
        "lax.psum(x, 'i')",
        "mapped by vmap, pmap or shard_map with the axis 'i'",
        "r = jx.vmap(lambda v: lax.psum(v, 'i'), axis_name='i')(x)",
    ),
    Mistake(
        "log.append(w)",
        errors.LeakError,
        "log.append(w)",
        "store it in a later cell",
        "last = w + 0",
    ),
    Mistake(
        "model.weight = x * 2",
        errors.LeakError,
        "model.weight",
        "jxkernel.tree_util.register_dataclass",
        "weight = x * 2",
    ),
]


def underlined(printed: str) -> list[str]:
    """What a message underlines: the expressions above its lines of carets."""
    lines = printed.splitlines()
    return [
        code[len(carets) - len(carets.lstrip()) : len(carets)]
        for code, carets in itertools.pairwise(lines)
        if carets.strip() and set(carets.strip()) == {"^"}
    ]


@pytest.fixture
def notebook(lasting_notebook: Notebook) -> Notebook:
    lasting_notebook.run(f"{SETUP}\n%xmode Context")
    return lasting_notebook


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.cell.splitlines()[-1])
def test_mistake(notebook: Notebook, mistake: Mistake) -> None:
    notebook.run("k = 2; log = ['start']\nclass Model:\n    pass\nmodel = Model()")
    ran = notebook.fails(f"%%jit\n{mistake.cell}", mistake.error)
    assert mistake.says
    assert mistake.says in ran.printed
    assert underlined(ran.printed)[-1] == mistake.underlined
    for inner in ("jxkernel/", "run_cell_magic", "ipython-input", "StageTracer"):
        assert inner not in ran.printed
    notebook.run(f"%%jit {mistake.flags}\n{mistake.rewrite}")


def test_there_are_many_rows() -> None:
    assert len({mistake.cell for mistake in MISTAKES}) >= 70


@pytest.mark.parametrize("mistake", MISTAKES[::9], ids=lambda one: one.cell.splitlines()[-1])
def test_a_mistake_with_every_frame(notebook: Notebook, mistake: Mistake) -> None:
    notebook.run("k = 2\n%xmode Verbose")
    ran = notebook.fails(f"%%jit\n{mistake.cell}", mistake.error)
    assert mistake.says in ran.printed
    assert "run_cell_magic" in ran.printed
