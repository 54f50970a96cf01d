"""Advice for Python's own errors, and for the flags' mistakes that show only when a cell runs."""

import pytest
from IPython.core.error import UsageError

from jxkernel.jupyter.errors.advice import (
    advice,
    at_update,
    in_place_of,
    plain_words,
    with_static_name,
)
from tests.jupyter.conftest import Notebook


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (
            AttributeError("'StageTracer' object has no attribute 'backward'"),
            ("a gradient: %%grad",),
        ),
        (AttributeError("'StageTracer' object has no attribute 'meen'"), ("x.mean",)),
        (AttributeError("'StageTracer' object has no attribute 'qqq'"), ()),
        (AttributeError("module 'math' has no attribute 'sine'"), ()),
        (TypeError("unhashable type: 'list'"), ()),
        (KeyError("k"), ()),
    ],
)
def test_advice_is_for_traced_values_alone(error: Exception, found: tuple[str, ...]) -> None:
    given = advice(error)
    assert len(given) == len(found)
    assert all(part in line for part, line in zip(found, given, strict=True))


def test_messages_call_a_tracer_what_it_is() -> None:
    assert plain_words("unhashable type: 'StageTracer'") == "unhashable type: a traced array"
    assert plain_words("got 'Traced<i32*[]>'") == "got a traced value of type i32[]"


def test_flags_in_advice_bear_the_inputs_name() -> None:
    lines = (
        "keep it: %%jit --static NAME",
        "make it static: jit(f, static_argnames=...)",
        "or not",
    )
    assert with_static_name(lines, "k") == (
        "keep it: %%jit --static k",
        "make it static: %%jit --static k",
        "or not",
    )


@pytest.mark.parametrize(
    ("cell", "kind", "message"),
    [
        ("%%jit --vmap x:0,w\nx * w", UsageError, "--vmap: w is a scalar and has no axis 0"),
        ("%%jit --vmap x:1\nx * w", UsageError, "--vmap: axis 1 is out of range for x, an array"),
        ("%%vmap x,short\nx * 2 + short", UsageError, "--vmap: got inconsistent sizes for the"),
        ("%%jit --grad x\nx * w", UsageError, "--grad: the last expression must be a scalar"),
        ("%%grad n\nn * w", UsageError, "--grad n: grad requires real"),
        (
            "%%jit\ny = big * 2",
            OverflowError,
            "the input big: The Python int 1099511627776 does not fit",
        ),
        ("%%jit --static w, x\ny = w", UsageError, "lists are written without spaces: a,b,c"),
        ("%%jit --help\ny = w", UsageError, "%%jit? explains it"),
        ("%%jaxpr\ndef f(a): return a", UsageError, "a cell of definitions computes nothing"),
        ("%jaxpr x +", UsageError, "%jaxpr: invalid syntax: x +"),
        ("%jaxpr jnp.sin", UsageError, "jnp.sin is a function: give its arguments, jnp.sin(x)"),
    ],
)
def test_a_mistake_in_a_flag_or_input_names_it(
    notebook: Notebook, cell: str, kind: type[Exception], message: str
) -> None:
    notebook.run("short = x[:3]; n = 3; big = 2**40")
    ran = notebook.fails(cell, kind)
    assert message in ran.printed
    assert "run_cell_magic" not in ran.printed


def test_errors_that_the_user_raises_are_left_alone(notebook: Notebook) -> None:
    ran = notebook.fails("%%jit\nraise ValueError('mine')", ValueError)
    assert not hasattr(ran.error, "__notes__")


def test_a_leaked_tracer_names_its_function_and_cell(notebook: Notebook) -> None:
    notebook.run("kept = []\n@jx.jit\ndef f(a):\n    kept.append(a * 2)\n    return a")
    notebook.run("y = f(x)")
    printed = notebook.fails("kept[0] + 1", Exception).printed
    assert "Cell In[2], line 4" in printed
    assert "of the function 'f'" in printed


@pytest.mark.parametrize(
    ("code", "update"),
    [
        ("u[50] = 1.0", "u = u.at[50].set(1.0)"),
        ("  u[1:-1, 0] += v", "u = u.at[1:-1, 0].add(v)"),
        ("params['w'][0] *= 2", "params['w'] = params['w'].at[0].multiply(2)"),
        ("self.x[i, :] = f(y)", "self.x = self.x.at[i, :].set(f(y))"),
        ("u.T[0] = 3", "changed = u.T.at[0].set(3)"),
        ("u[0] //= 2", "u = u.at[0].set(u[0] // 2)"),
        ("u[0], u[1] = u[1], u[0]", "u = u.at[0].set(u[1]).at[1].set(u[0])"),
        ("u[0], v[1] = 1, 2", ""),
        ("u[0], u[1] = pair", ""),
        ("for u[0] in range(3): pass", ""),
        ("u = 1", ""),
        ("u[0] = (1,", ""),
    ],
)
def test_an_assignment_to_a_part_is_told_as_the_update_to_write(code: str, update: str) -> None:
    assert at_update(code) == update


@pytest.mark.parametrize(
    ("code", "instead"),
    [
        ("min(*x)", "jnp.minimum compares two values"),
        ("sorted([x, 1.0])", "jnp.sort sorts an array"),
        ("np.abs(x)", "jnp.abs in place of np.abs"),
        ("math.log(x)", "jnp.log in place of math.log"),
        ("jx.grad(math.log)(2.0)", "jnp.log in place of math.log"),
        ("math.gamma(x)", ""),
        ("np.linalg.norm(x)", "jnp.linalg.norm in place of np.linalg.norm"),
        ("while x > 0:", "lax.while_loop"),
        ("range(n)", "lax.fori_loop"),
        ("np.no_such(x)", ""),
        ("mine(x)", ""),
        ("x > 0", ""),
    ],
)
def test_calls_that_need_a_value_are_told_their_traced_form(code: str, instead: str) -> None:
    assert instead in in_place_of(code)
    assert bool(in_place_of(code)) == bool(instead)


def test_errors_tell_the_rewrite_of_the_users_own_line(notebook: Notebook) -> None:
    notebook.run("u = jnp.zeros(4)")
    assert "    u = u.at[2].add(x[0])" in notebook.attempt("%%jit\nu[2] += x[0]").printed
    assert "    u = u.at[2].set(1.0)" in notebook.attempt("u[2] = 1.0").printed
    printed = notebook.attempt("%%jit\nbest = max(x[0], 1.0)").printed
    assert "instead:\n    jnp.maximum(x[0], 1.0)" in printed
    printed = notebook.attempt("%%jit\nlargest = np.abs(x).max()").printed
    assert "instead:\n    jnp.abs(x)" in printed


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("x.astpye('int32')", "x.astype"),
        ("x.append(w)", "x = jnp.append(x, w)"),
        ("(x * 2).detach()", "lax.stop_gradient(x * 2)"),
        ("x.unsqueeze(0)", "jnp.expand_dims(x, 0)"),
        ("params[0].meen()", "params[0].mean"),
        ("x[:count]", "if it takes few values: %%jit --static count"),
        ("x.at[1:3] = w + 1", "x = x.at[1:3].set(w + 1)"),
        ("x(2)", "x[2]"),
    ],
)
def test_errors_of_pythons_are_told_in_the_users_own_words(
    notebook: Notebook, cell: str, told: str
) -> None:
    notebook.run("count = 3; params = [x]\nfrom jxkernel import lax")
    printed = notebook.fails(f"%%jit\n{cell}", Exception).printed
    assert told in printed.partition("What to write instead:\n")[2]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("jx.device_put(x, jx.devices()[1])", "jx.devices()[0], or %jx virtual 2 before"),
        ("await jnp.sin(x)", "leave await out"),
        ("f = jx.jit(lambda p, q: p + q, donate_argnums=0)\nf(x, x)", "f(x, x.copy())"),
        ("range(x[2])", "range(int(x[2]))"),
        (
            "import functools\n@functools.lru_cache\ndef g(a):\n    return a\n"
            "jx.jit(lambda a: g(a))(x)",
            "g keeps its results by its arguments: call g.__wrapped__ here",
        ),
        (
            "import collections\nPair = collections.namedtuple('Pair', 'a b')\np = Pair(x, x)\n"
            "p['a']",
            "    p.a\n",
        ),
        (
            "import collections\nPair = collections.namedtuple('Pair', 'a b')\np = Pair(x, x)\n"
            "p.a *= 2",
            "p = p._replace(a=p.a * 2)",
        ),
        (
            "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass S:\n    w: object\n"
            "s = S(x)\ns.w = x * 2",
            "s = dataclasses.replace(s, w=x * 2)",
        ),
        ("[1, 2, 3][x[0]]", "[1, 2, 3][int(x[0])]"),
        ("{x: 1}", "a Python number, which .item() makes"),
        ("np.add(x, 1, out=x)", "x = jnp.add(x, 1)"),
        ("x.mean() > 0 & x.sum() < 1", "(x.mean() > 0) & (x.sum() < 1)"),
        ("params = {'w': x}\nparams -= 0.1 * params", "a - 0.1 * b, params, params)"),
        ("day = np.array(['a', 'b'])\njnp.asarray(day)", "np.unique(day, return_inverse=True)[1]"),
        ("x[w * 2:w * 2 + 3]", "make the index whole"),
        ("jnp.stack(x, x)", "jnp.stack([x, x])"),
        ("params = {'w': x}\nparams['v']", "the keys of params are 'w'"),
        ("jx.config.update('jax_enable_x46', True)", "jx.config.update('jax_enable_x64', True)"),
        (
            "class DataFrame:\n    pass\nprices = DataFrame()\njnp.sum(prices)",
            "jnp.asarray(prices.to_numpy())",
        ),
        (
            "class Tensor:\n    pass\nweights = Tensor()\njnp.sin(weights)",
            "jnp.asarray(weights.detach().numpy())",
        ),
        (
            "f = jx.custom_jvp(lambda a: a)\nf.defjvp(lambda a, t: (a[0], t))\njx.grad(f)(1.0)",
            "begin it with (x,), (t,) = primals, tangents",
        ),
    ],
)
def test_cells_without_jit_are_advised_too(notebook: Notebook, cell: str, told: str) -> None:
    printed = notebook.fails(cell, Exception).printed
    assert told in printed.partition("What to write instead:\n")[2]


@pytest.mark.parametrize("cell", ["[1, 2][5]", "{'a': 1}['b']", "counts = {'a': 1}\ncounts['b']"])
def test_errors_that_are_not_about_arrays_stay_as_they_are(notebook: Notebook, cell: str) -> None:
    assert "What to write" not in notebook.fails(cell, LookupError).printed


def test_a_range_over_an_argument_is_told_with_the_arguments_name(notebook: Notebook) -> None:
    notebook.run(
        "@jx.jit\ndef power(x, n):\n    for _ in range(n):\n        x = x * x\n    return x"
    )
    printed = notebook.attempt("power(x, 3)").printed
    body = "def body(_, x):\n        x = x * x\n        return x"
    assert f"instead:\n    {body}\n    x = lax.fori_loop(0, n, body, x)" in printed
    assert "make the argument static: jx.jit(power, static_argnames='n')" in printed
    told = str(notebook.run("%jx explain power").value)
    assert "failed: TracerIntegerConversionError at `for _ in range(n):`" in told
    assert "Where the value comes from" not in told


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("jx.grad(lambda x: jnp.sum(np.log(x) * x))(2.0)", "jnp.log(x)"),
        ("jx.grad(lambda x: x * math.log(x))(2.0)", "jnp.log(x)"),
        ("jx.grad(math.log)(2.0)", "jnp.log in place of math.log"),
        ("jx.jacfwd(lambda x: x * x.item())(2.0)", "apply item() to lax.stop_gradient(x)"),
    ],
)
@pytest.mark.parametrize("magic", ["", "%%jit\n"])
def test_a_derivative_that_would_be_lost_is_underlined_and_rewritten(
    notebook, call, instead, magic
):
    notebook.run(
        "import math\nimport numpy as np\nimport jxkernel as jx\nfrom jxkernel import numpy as jnp"
    )
    printed = notebook.attempt(f"{magic}y = {call}").printed
    assert "its derivative would be lost" in printed
    assert "^^^" in printed
    assert instead in printed


def test_advice_for_a_function_names_no_flag_of_cells(notebook: Notebook) -> None:
    notebook.run("@jx.jit\ndef f(n):\n    if n > 0:\n        return n\n    return 0.0")
    printed = notebook.attempt("f(1.0)").printed
    assert "jit(f, static_argnames='n')\n" in printed
    assert "NAME" not in printed


def test_an_example_of_many_cannot_be_made_static(notebook: Notebook) -> None:
    cell = "y = jx.vmap(lambda a: a if a > 0 else -a)(x)"
    for magic in ("", "%%jit\n"):
        printed = notebook.attempt(magic + cell).printed
        assert "jnp.where(a > 0, a, -a)" in printed
        assert "static" not in printed


@pytest.mark.parametrize(
    ("definition", "call", "told"),
    [
        ("def g(a, mode): return a", "g(x, 'train')", "jx.jit(g, static_argnames='mode')"),
        (
            "def g(a): return a",
            "g({'name': 'a'})",
            "pass a['name'] as a static argument of its own",
        ),
        (
            "def g(a): return 1\nclass S: w = x",
            "s = S(); s.w = x; g(s)",
            "with jx.tree_util.register_dataclass",
        ),
        ("def g(self): return 1", "g(object())", "as pytrees: jx.tree_util.register"),
        ("def g(n): return x[:int(n)]", "g(3)", "jit(g, static_argnames='n')"),
        ("def g(a, n): return a[:n]", "g(x, 3)", "few values: jx.jit(g, static_argnames='n')"),
        ("def g(n, m): return x[n:m]", "g(1, 3)", "jit(g, static_argnames=['n', 'm'])"),
        ("def g(n): return (lambda: x[n:])()", "g(1)", "jit(g, static_argnames='n')"),
    ],
)
def test_advice_names_the_function_that_is_jitted(
    notebook: Notebook, definition: str, call: str, told: str
) -> None:
    notebook.run(f"@jx.jit\n{definition}")
    assert told in notebook.attempt(call).printed


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("x.fill(0)", "x = jnp.full_like(x, 0)"),
        ("x.append(3)", "x = jnp.append(x, 3)"),
        ("x.astpye('int32')", "x.astype"),
        ("x.numpy()", "np.asarray(x)\n"),
        ("x.cuda()", "jx.device_put moves an array to a device"),
        ("x.shape = (2, 4)", "x = x.reshape((2, 4))"),
        ("x.dtype = 'int32'", "x = x.astype('int32')"),
    ],
)
def test_what_arrays_of_other_libraries_have_is_told(
    notebook: Notebook, cell: str, told: str
) -> None:
    printed = notebook.attempt(cell).printed
    assert f"What to write instead:\n    {told}" in printed
    assert "<lambda>" not in printed
    assert "%%jit" not in printed


def test_a_traced_shape_that_is_assigned_to_is_rewritten(notebook: Notebook) -> None:
    printed = notebook.attempt("%%jit\nx.shape = (2, 4)").printed
    assert "What to write instead:\n    x = x.reshape((2, 4))" in printed
    assert "Tracer" not in printed


def test_an_attribute_of_another_class_is_left_alone(notebook: Notebook) -> None:
    notebook.run("class Array: pass")
    assert "instead" not in notebook.attempt("Array().fill(0)").printed


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("jnp.array([[1, 2], [3]])", "pad the short ones, or keep a list of arrays"),
        ("np.array([[1, 2], [3]]); x", "pad the short ones, or keep a list of arrays"),
        ("x.at[0] + 1", "x[i] reads, x.at[i].set and x.at[i].add give a changed copy"),
    ],
)
def test_rows_and_places_of_updates_are_told_in_a_sentence(
    notebook: Notebook, cell: str, told: str
) -> None:
    for magic in ("", "%%jit\n"):
        printed = notebook.attempt(f"{magic}{cell}").printed
        assert told in printed
        assert "NumPy arrays hold no traced values" not in printed


def test_a_traced_bound_is_told_by_its_type(notebook: Notebook) -> None:
    notebook.run("n = 2")
    printed = notebook.attempt("%%jit\ny = x[:n]").printed
    assert "got a traced value of type i32[]" in printed
    assert "Traced<" not in printed
    assert "few values: %%jit --static n" in printed


def test_an_assignment_without_such_an_update_is_told_as_an_idea(notebook: Notebook) -> None:
    told = "    make a changed copy with .at[ ].set, and give it the name of the array"
    for magic in ("", "%%jit\n"):
        printed = notebook.attempt(f"{magic}x[0], x[1] = list(x[:2])").printed
        assert told in printed
        assert "value" not in printed.partition("instead:")[2]


@pytest.mark.parametrize(
    ("index", "told"), [("1.5", "i // 2 in place of i / 2"), ("'w'", "keep a dict of arrays")]
)
def test_an_index_that_is_none_is_told_by_what_it_is(
    notebook: Notebook, index: str, told: str
) -> None:
    printed = notebook.attempt(f"x[{index}]").printed
    assert [told in printed, printed.count("What to write instead")] == [True, 1]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("lax.scan(lambda c: (c, c), 0.0, x)", "body(carry, x)"),
        ("jx.lax.scan(lambda c: (c, c), 0.0, x)", "body(carry, x)"),
        ("jx.lax.map(lambda a, b: a + b, x)", "several arrays are one tuple"),
        ("own.scan(lambda c: c)", ""),
    ],
)
def test_functions_with_other_arguments_than_they_get_are_told(
    notebook: Notebook, call: str, told: str
) -> None:
    notebook.run("class own:\n    scan = staticmethod(lambda f: f(1, 2))")
    printed = notebook.fails(call, TypeError).printed
    assert told in printed
    assert ("What to write instead" in printed) is bool(told)
