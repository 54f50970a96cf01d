"""Silent mistakes become visible: stale globals, dropped updates, keys used twice."""

import ast

import pytest

import jxkernel.random
from jxkernel.jupyter.code.lints import is_worth_a_look, lint
from tests.jupyter.conftest import Notebook


@pytest.mark.parametrize(
    ("before", "change", "told"),
    [
        ("k = 2.0", "k = 3.0", "k, which was 2.0 and is 3.0 now"),
        ("k = jnp.ones(8)", "k = 2 * k", "k, which"),
        ("k = np.ones(8, 'f')", "k[0] = 5", "k, which"),
        ("def k2(a): return a\nk = 1.0", "def k2(a): return a + 1", "k2, which has changed since"),
    ],
)
def test_a_global_changed_after_the_trace_is_warned_about_once(
    notebook: Notebook, before: str, change: str, told: str
) -> None:
    notebook.run(f"def k2(a): return a\n{before}")
    notebook.run("@jx.jit\ndef f(a):\n    return k2(a) * k")
    assert "warning" not in notebook.run("f(x)").printed
    notebook.run(change)
    assert "warning" not in notebook.run("y = x + 1").printed
    printed = notebook.run("y = f(x)").printed
    assert f"warning: f was traced with {told}" in printed
    assert "Pass k" in printed
    assert "warning" not in notebook.run("y = f(x)").printed


def test_a_function_that_is_traced_anew_is_not_stale(notebook: Notebook) -> None:
    notebook.run("k = 2.0\n@jx.jit\ndef f(a):\n    return a * k")
    notebook.run("f(x)")
    notebook.run("k = 3.0; f.clear_cache()")
    notebook.run("f(x)")
    assert "warning" not in notebook.run("y = f(x)").printed
    notebook.run("k = 4.0")
    notebook.run("@jx.jit\ndef f(a):\n    return a * k")
    assert "warning" not in notebook.run("f(x)").printed


def test_a_second_trace_does_not_hide_that_the_first_is_stale(notebook: Notebook) -> None:
    notebook.run("k = 2.0\n@jx.jit\ndef f(a):\n    return a * k")
    notebook.run("f(x)")
    notebook.run("k = 3.0")
    notebook.run("f(x[:3])")
    notebook.run("k = 5.0")
    assert "was 2.0 and is 5.0 now" in notebook.run("f(x)").printed


# (cells before, the cell that warns, what is said)
STALE = [
    pytest.param(
        [
            "k = 2.0\n@jx.jit\ndef f(a):\n    return a * k",
            "def run(): return f(x)",
            "run()",
            "k = 3.0",
        ],
        "run()",
        "f was traced with k, which was 2.0 and is 3.0 now",
        id="called by another function",
    ),
    pytest.param(
        [
            "k = 2.0\nclass Model:\n    @jx.jit\n    def step(a):\n        return a * k",
            "Model.step(x)",
            "k = 3.0",
        ],
        "Model.step(x)",
        "step was traced with k, which was 2.0 and is 3.0 now; compiled calls of step keep what "
        "they were traced with. Pass k as an argument, or run its clear_cache().",
        id="in a class",
    ),
    pytest.param(
        ["k = 2.0\nfs = {'a': jx.jit(lambda a: a * k)}", "fs['a'](x)", "k = 3.0"],
        "fs['a'](x)",
        "fs was traced with k, which was 2.0",
        id="in a container",
    ),
    pytest.param(
        [
            "def make(k):\n    @jx.jit\n    def f(a):\n        return a * k['v']\n    return f",
            "cfg = {'v': 2.0}; g = make(cfg)",
            "g(x)",
            "cfg['v'] = 3.0",
        ],
        "g(x)",
        "g was traced with k, which was {'v': 2.0} and is {'v': 3.0} now",
        id="closed over and changed in place",
    ),
    pytest.param(
        [
            "class Model:\n    def __init__(self): self.k = 2.0\n"
            "    def step(self, a): return a * self.k",
            "m = Model(); step = jx.jit(m.step)",
            "step(x)",
            "m.k = 3.0",
        ],
        "step(x)",
        "step was traced with self.k, which was 2.0 and is 3.0 now",
        id="attribute of a method's object",
    ),
    pytest.param(
        [
            "class Options:\n    k = 2.0\no = Options()",
            "@functools.partial(jx.jit, static_argnames='o')\ndef f(a, o): return a * o.k",
            "f(x, o)",
            "o.k = 3.0",
        ],
        "f(x, o)",
        "f was traced with the static argument o, which has changed since; compiled",
        id="static argument",
    ),
    pytest.param(
        ["k = 2.0\n@jx.jit\ndef f(a):\n    return a * k", "f(x)"],
        "k = 3.0\nf(x)",
        "f was traced with k, which was 2.0 and is 3.0 now",
        id="changed and called in one cell",
    ),
    pytest.param(
        ["k = 2.0\n@jx.jit\ndef f(a):\n    return a * k"],
        "f(x)\nk = 3.0\nf(x)",
        "f was traced with k, which was 2.0 and is 3.0 now",
        id="traced, changed and called in one cell",
    ),
]


@pytest.mark.parametrize(("cells", "last", "told"), STALE)
def test_what_was_baked_in_and_changed_is_told_when_it_is_called(
    notebook: Notebook, cells: list[str], last: str, told: str
) -> None:
    notebook.run("import functools")
    for cell in cells:
        assert "warning" not in notebook.run(cell).printed, cell
    printed = notebook.run(last).printed
    assert f"warning: {told}" in printed
    assert printed.count("warning") == 1
    assert "warning" not in notebook.run(last).printed


@pytest.mark.parametrize(
    "cells",
    [
        ["f(x)", "f(x)\nk = 3.0"],
        ["f(x)", "k = 3.0", "y = x + 1"],
        ["f(x)", "k = 2.0", "f(x)"],
        ["f(x)", "k = 3.0\nf.clear_cache()", "f(x)"],
        ["f(x)", "k = 3.0", "%%jit\ny = x * k"],
    ],
)
def test_what_is_not_stale_or_not_called_is_not_told(notebook: Notebook, cells: list[str]) -> None:
    notebook.run("k = 2.0\n@jx.jit\ndef f(a):\n    return a * k")
    for cell in cells:
        assert "warning" not in notebook.run(cell).printed, cell


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x.at[0].set(1)\ny = 1", ["line 1: x.at[0].set(1) gives a changed copy"]),
        ("x = x.at[0].set(1)\ny = x", []),
        ("y = 1\nx.at[0].add(1)", []),
        ("def f(x):\n    x.at[0].add(1)\n    return x\ny = 1", ["line 2: x.at[0].add(1) gives"]),
        ("for i in z:\n    s.p.at[i].mul(2)\ny = 1", ["s.p stays as it is: write s.p ="]),
        ("a = random.normal(key)\nb = random.normal(key)", ["line 2: the random key key was used"]),
        ("a = jx.random.normal(k)\nb = jx.random.uniform(k, (3,))", ["the random key k was"]),
        ("k, s = random.split(k)\na = random.normal(s)\nk, s = random.split(k)", []),
        ("a = random.normal(k)\nk = random.key(1)\nb = random.normal(k)", []),
        ("if q:\n    a = random.normal(k)\nelse:\n    a = random.uniform(k)", []),
        ("if q:\n    a = random.normal(k)\nb = random.uniform(k)", ["line 3: the random key k"]),
        ("for i in z:\n    a = random.normal(k)", ["line 2: the random key k was used in line 2"]),
        ("for i in z:\n    a = random.normal(random.fold_in(k, i))", []),
        ("for i in z:\n    k, s = random.split(k)\n    a = random.normal(s)", []),
        ("a = other.normal(k)\nb = other.normal(k)", []),
        ("def f(k):\n    return random.normal(k) + random.normal(k)", ["line 2: the random key k"]),
    ],
)
def test_mistakes_in_the_text_of_a_cell(code: str, found: list[str]) -> None:
    namespace = {"random": jxkernel.random, "jx": jxkernel}
    assert is_worth_a_look(code) or not found
    sentences = lint(ast.parse(code), namespace)
    assert len(sentences) == len(found)
    for sentence, part in zip(sentences, found, strict=True):
        assert part in sentence


@pytest.mark.parametrize(
    ("code", "is_worth"),
    [
        ("x = x.at[0].set(1)\nkey, s = random.split(key)\na = random.normal(s)", False),
        ("key = random.key(0)\nk, s = random.split(key)\na = random.normal(s, (3,))", False),
        ("def f(x):\n    return lax.scan(body, 0.0, x)", False),
        ("z = list(map(f, [1]))", False),
        ("k = 1; x.at[0].set(1)\ny = 1", True),
        ("f(a=1).at[0].set(1)\ny = 1", True),
        ("x[a == b].at[0].set(1)\ny = 1", True),
        ("if a == b: x.at[0].set(1)\ny = 1", True),
        ("y = lax.map(f, x)", True),
    ],
)
def test_only_cells_that_may_hold_a_mistake_are_parsed(code: str, is_worth: bool) -> None:
    assert is_worth_a_look(code) == is_worth


def test_mistakes_are_shown_with_the_cell_that_is_traced(notebook: Notebook) -> None:
    cell = "%%jit\nx.at[0].set(5.0)\ny = x + 1"
    shown = notebook.run(cell).shown[0]["text/plain"]
    assert "warning: line 2: x.at[0].set(5.0) gives a changed copy, which is dropped" in shown
    assert "warning" not in notebook.run(cell).shown[0]["text/plain"]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (
            "def body(c, a):\n    print('turn', c)\n    return c, a\nz = jx.lax.scan(body, 0.0, x)",
            "line 4: print('turn', c) runs while scan traces body, not in each turn; to print in "
            "each turn: jx.debug.print('turn {}', c)",
        ),
        (
            "if True:\n    z = jx.lax.fori_loop(0, 3, lambda i, c: (print(i), c)[1], 0.0)",
            "line 2: print(i) runs while fori_loop traces its body",
        ),
        ("z = jx.lax.while_loop(lambda c: c < 3, body_fun=loud, init_val=0)", "traces loud"),
        ("z = jx.lax.map(loud, x)", "line 1: print(v) runs while map traces loud"),
        ("z = list(map(loud, [1]))", ""),
        ("z = jx.tree.map(loud, x)", ""),
        ("def later():\n    return jx.lax.map(loud, x)", ""),
        ("z = jx.jit(lambda x: jx.lax.map(lambda v: v, x))(x)", ""),
    ],
)
def test_what_a_body_prints_is_told_where_a_loop_runs_outside_jit(
    notebook: Notebook, cell: str, told: str
) -> None:
    notebook.run("def loud(v):\n    print(v)\n    return v + 1")
    printed = notebook.run(cell).printed
    assert told in printed
    assert ("warning" in printed) == bool(told)


@pytest.mark.parametrize("magic", ["", "%%jit\n"])
def test_a_dropped_copy_of_a_method_is_told(notebook: Notebook, magic: str) -> None:
    ran = notebook.run(f"{magic}x.sort()\nwords = [2, 1]; words.sort()\ny = x.reshape(4, 2)")
    told = ran.printed + "".join(one["text/plain"] for one in ran.shown)
    assert (
        "x.sort() gives a changed copy, which is dropped; x stays as it is: write x = x.sort()"
        in (told)
    )
    assert "words.sort() gives" not in told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("open('/dev/null').close()", "open runs once, while tracing"),
        ("import logging; logging.debug('%s', x)", "debug logs once, while tracing"),
        ("%time y = x + 1", "magics and shell commands run once, while tracing"),
        ("!true", "magics and shell commands run once, while tracing"),
    ],
)
def test_what_a_traced_cell_does_once_is_told(notebook: Notebook, line: str, told: str) -> None:
    shown = notebook.run(f"%%jit\n{line}\nz = x * 2").shown[0]["text/plain"]
    assert "warning: line 2: " in shown
    assert told in shown
    assert "get_ipython" not in shown


def test_functions_and_classes_of_a_traced_cell_have_their_own_names(notebook: Notebook) -> None:
    cell = "%%jit\ndef f(a):\n    return a\nclass C:\n    pass\ny = f(x)"
    notebook.run(f"{cell}\nnames = f.__qualname__ + C.__qualname__")
    assert notebook.names["names"] == "fC"


TWICE = "key = jx.random.key(0)\na = jx.random.normal(key)\nb = jx.random.normal(key)\n"


@pytest.mark.parametrize("magic", ["", "%%time\n", "%%capture\n"])
def test_mistakes_of_any_cell_are_told_with_what_to_write(notebook: Notebook, magic: str) -> None:
    shown = notebook.run(f"{magic}x.at[0].set(5.0)\n{TWICE}").printed
    line = 2 if magic else 1
    assert (
        f"warning: line {line}: x.at[0].set(5.0) gives a changed copy, which is dropped; "
        "x stays as it is: write x = x.at[0].set(5.0)\n"
    ) in shown
    assert (
        f"warning: line {line + 3}: the random key key was used in line {line + 2} already and "
        "gives the same bits again: key, subkey = jx.random.split(key), and use subkey\n"
    ) in shown
    notebook.run("from jxkernel import random")
    shown = notebook.run("for n in range(3): random.bits(key)\nNone").printed
    assert "key, subkey = random.split(key)" in shown


@pytest.mark.parametrize(
    "cell",
    [
        "x.at[0].set(5.0)",
        "x = x.at[0].set(5.0); y = x",
        f"%%script cat\n{TWICE}",
        f"text = {TWICE!r}",
        "a = jx.random.normal(jx.random.key(0)); b = jx.random.normal(jx.random.key(0))",
    ],
)
def test_what_is_no_mistake_of_a_cell_is_not_told(notebook: Notebook, cell: str) -> None:
    assert "warning" not in notebook.run(cell).printed


def test_of_many_mistakes_of_a_cell_some_are_told_and_lessons_tell_them_once(
    notebook: Notebook,
) -> None:
    cell = "x.at[0].set(5.0)\n" * 5 + "None"
    printed = notebook.run(cell).printed
    assert printed.count("gives a changed copy") == 3
    assert "warning: 2 more lines like these" in printed
    notebook.run("%jx teach on")
    printed = notebook.run(cell).printed
    assert "warning" not in printed
    assert "lesson: " in printed


def test_a_long_unrolled_loop_is_told_with_the_loop_to_write(notebook: Notebook) -> None:
    ran = notebook.run("%%jit\nfor _ in range(200):\n    x = jnp.sin(x)")
    text, html = ran.shown[0]["text/plain"], ran.shown[0]["text/html"]
    assert "warning: line 2: tracing unrolled 200 rounds into 200 equations; instead:\n" in text
    assert "    x = lax.fori_loop(0, 200, body, x)" in text
    assert ">def body(_, x):\n" in html
    rewrite = text[text.index("    def body") : text.index("body, x)") + 8]
    lines = "\n".join(line.removeprefix("    ") for line in rewrite.splitlines())
    assert "warning" not in notebook.run(f"%%jit\n{lines}").shown[0]["text/plain"]
    shown = notebook.run("%jx map").value
    assert "unrolled" not in shown.text


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("s = 'sum: ' + str(x.sum())", "s"),
        ("s = {'told': f'{x.sum()}'}", "s"),
        ("f'{x.sum()}'", "the result"),
    ],
)
def test_a_text_made_of_a_traced_value_is_told(notebook: Notebook, body: str, name: str) -> None:
    for _ in range(2):  # it is as wrong at a hit
        ran = notebook.run(f"%%jit\n{body}")
        assert f"warning: {name} holds a text made of a traced value" in ran.shown[0]["text/plain"]
    assert "warning" not in notebook.run("%%jit\ns = f'{x.shape}'").shown[0]["text/plain"]


# (cells before, the cell that traces, what is told)
EFFECTS = [
    pytest.param(
        [],
        "@jx.jit\ndef f(a):\n    print('a is', a)\n    return a\nf(x)",
        ["line 3: print('a is', a): print runs once", "jx.debug.print('a is {}', a)"],
        id="print",
    ),
    pytest.param(
        ["log = []\n@jx.jit\ndef f(a):\n    log.append(a.shape)\n    return a"],
        "f(x)",
        ["In[2], line 4: log.append(a.shape): log lives outside the function"],
        id="list, defined in another cell",
    ),
    pytest.param(
        ["n = 0\n@jx.jit\ndef f(a):\n    global n\n    n += 1\n    return a"],
        "f(x)",
        ["In[2], line 5: n: the global name n is assigned to once", "return n and assign it"],
        id="global",
    ),
    pytest.param(
        [
            "def make():\n    seen = {}\n    @jx.jit\n    def f(a):\n        seen['n'] = 1\n"
            "        return a\n    return f"
        ],
        "make()(x)",
        ["In[2], line 5: seen['n']: seen lives outside"],
        id="closure",
    ),
    pytest.param(
        [
            "class Model:\n    def __init__(self):\n        self.calls = 0\n"
            "    def step(self, a):\n        self.calls += 1\n        return a\n"
            "model = Model()\nstep = jx.jit(model.step)"
        ],
        "step(x)",
        ["In[2], line 5: self.calls: self lives outside the function"],
        id="attribute of self",
    ),
    pytest.param(
        ["o = jx.tree_util.Partial(max)\n@jx.jit\ndef f(a):\n    o.rate = 3\n    return a"],
        "f(x)",
        ["In[2], line 4: o.rate: o lives outside"],
        id="attribute",
    ),
    pytest.param(
        [],
        "@jx.jit\ndef f(p):\n    p['w'] = p['w'] * 2\nf({'w': x})",
        ["line 3: p['w']: this changes the traced copy of the argument p"],
        id="argument",
    ),
    pytest.param(
        ["import logging"],
        "@jx.jit\ndef f(a):\n    logging.error('a %s', a.sum())\n    return a\nf(x)",
        ["line 3: logging.error", "callback(lambda a: logging.error('a %s', a.sum()), a)"],
        id="logging",
    ),
    pytest.param(
        ["import logging\nlogger = logging.getLogger('mine')"],
        "@jx.jit\ndef f(a):\n    logger.info('start')\n    return a\nf(x)",
        [
            "line 3: logger.info('start'): info logs once",
            "jx.debug.callback(lambda: logger.info('start'))",
        ],
        id="logger",
    ),
    pytest.param(
        ["import time"],
        "@jx.jit\ndef f(a):\n    time.sleep(0)\n    return a\nf(x)",
        [
            "line 3: time.sleep(0): this waits once, while tracing, and not in compiled calls",
            "to wait while the compiled function runs: jx.debug.callback(lambda: time.sleep(0))",
        ],
        id="sleep",
    ),
    pytest.param(
        [],
        "f = jx.jit(lambda a: a + np.random.normal())\nf(x)",
        ["line 1: np.random.normal(): this is evaluated once", "use jx.random with a key"],
        id="random",
    ),
    pytest.param(
        [],
        "%%time\n@jx.jit\ndef f(a):\n    print(a)\n    return a\nb = f(x)",
        ["line 4: print(a): print"],
        id="timed",
    ),
    pytest.param(
        ["import jxkernel as jax\ndel jx"],
        "@jax.jit\ndef f(a):\n    print(a)\n    return a\nf(x)",
        ["line 3: print(a)", "jax.debug.print('{}', a)"],
        id="another name",
    ),
]


@pytest.mark.parametrize(("cells", "last", "told"), EFFECTS)
def test_a_side_effect_of_a_jitted_function_is_told_once_a_cell(
    notebook: Notebook, cells: list[str], last: str, told: list[str]
) -> None:
    for cell in cells:
        assert "warning" not in notebook.run(cell).printed
    printed = notebook.run(last).printed
    assert f"warning: {told[0]}" in printed
    assert printed.count("warning") == 1
    for one in told:
        assert one in printed
    if last.endswith("f(x)"):  # it is compiled
        assert "warning" not in notebook.run("f(x)").printed


@pytest.mark.parametrize(
    "cell",
    [
        "@jx.jit\ndef f(a):\n    out = []\n    out.append(a)\n    return out\nf(x)",
        "@jx.jit\ndef f(a):\n    jx.debug.print('{}', a)\n    return a\nf(x)",
        "@jx.jit\ndef f(a):\n    out = []\n    def add(b):\n        out.append(b)\n    add(a)\n"
        "    return out\nf(x)",
        "@jx.jit\ndef f(a):\n    n = 0\n    def add():\n        nonlocal n\n        n += 1\n"
        "    add()\n    return a + n\nf(x)",
        "cache = {}\n@jx.jit\ndef f(a):\n    if a.shape not in cache:\n"
        "        cache[a.shape] = np.ones(a.shape)\n    return a + cache[a.shape]\nf(x)",
        "@jx.jit\ndef f(p):\n    p['w'] = p['w'] * 2\n    return p\nf({'w': x})",
        "@jx.jit\ndef f(p):\n    for _ in range(2):\n        q = p['w'] * 2\n        p['w'] = q\n"
        "    return q\nf({'w': x})",
        "def fill(p):\n    p['b'] = 1.0\n@jx.jit\ndef f(a):\n    p = {}\n    fill(p)\n"
        "    return a + p['b']\nf(x)",
        "class Optimizer:\n    def update(self, g):\n        return 2 * g\no = Optimizer()\n"
        "@jx.jit\ndef f(a):\n    return o.update(a)\nf(x)",
        "class Optimizer:\n    def update(self, g):\n        return 2 * g\n"
        "f = jx.jit(lambda o, a: o.update(a), static_argnums=0)\nf(Optimizer(), x)",
        "f = jx.jit(lambda i: x.at[i].add(1.0))\nf(0)",
        "class Layer:\n    def __init__(self, w):\n        self.w = w\n    def __call__(self, a):\n"
        "        self.last = a * self.w\n        return self.last\n"
        "@jx.jit\ndef f(a):\n    return Layer(a)(a)\nf(x)",
        "total = jx.new_ref(x)\n@jx.jit\ndef f(a):\n    total[...] += a\n    return a\nf(x)",
        "def f(a):\n    print(a)\n    return a\njx.grad(lambda a: f(a).sum())(x)",
        "import functools\n@functools.lru_cache\ndef table(n):\n    return np.arange(n)\n"
        "@jx.jit\ndef f(a):\n    return a + table(a.size)\nf(x)",
    ],
)
def test_what_is_no_side_effect_is_not_told(notebook: Notebook, cell: str) -> None:
    assert "warning" not in notebook.run(cell).printed


def test_a_failed_cell_is_not_told_of_what_it_would_have_written_back(notebook: Notebook) -> None:
    notebook.run("params = {'w': x}")
    cell = "%%jit\nparams['w'] = params['w'] * 2\nraise ValueError"
    assert "warning" not in notebook.fails(cell, ValueError).printed


def test_of_many_side_effects_some_are_told_and_lessons_tell_them(notebook: Notebook) -> None:
    lines = "    print(a)\n" * 4
    notebook.run(f"@jx.jit\ndef f(a):\n{lines}    return a")
    printed = notebook.run("f(x)").printed
    assert printed.count("print runs once") == 3
    assert "warning: 1 more line like these" in printed
    notebook.run("%jx teach on")
    printed = notebook.run("f(x[:2])").printed
    assert "warning" not in printed
    assert "lesson: " in printed


def test_an_effect_is_told_once_with_the_cell_of_its_line(notebook: Notebook) -> None:
    notebook.run("def noted(a):\n    print(a)\n    return a\nimport jxkernel as jax; del jx")
    ran = notebook.run("%%jit\nprint('tracing')\ny = noted(x)")
    text = ran.shown[0]["text/plain"]
    assert "warning: line 2: print('tracing'): print runs once" in text
    assert "warning: In[2], line 2: print(a): print runs once" in text
    assert "jax.debug.print('{}', a)" in text
    assert "warning" not in ran.printed
