"""`%timeit`, `%time` and `%prun`: flags, corners and failures, side by side with IPython's own."""

import _thread
import ast
import linecache
import re
import sys
import time
from pathlib import Path

import pytest

from jxkernel.jupyter import unload_ipython_extension
from jxkernel.jupyter.timing.magic import _split
from jxkernel.jupyter.timing.rewriting import WaitAtEnd, Waiter, with_waits
from jxkernel.runtime import settle
from tests.jupyter.conftest import Notebook
from tests.jupyter.sleeping import sleep

ASYNCHRONOUS = """
f = jx.jit(lambda a: (a @ a) * 1e-3)
g = jx.jit(lambda a: sleep(a, 0.05))
m = jnp.ones((400, 400))
"""


def general(printed: str) -> str:
    """What was printed, without times, addresses and numbers of cells."""
    printed = re.sub(r"The slowest run took .*\n", "", printed)
    printed = re.sub(r"[\d.]+(?:e[+-]?\d+)? [mµμnu]?s\b", "T", printed)
    printed = re.sub(r" +\d+\.\d{3}\b", " T", printed)
    if "Ordered by" in printed:  # a profile, whose rows stand in the order of their times
        printed = "\n".join(sorted(printed.splitlines()))
    printed = re.sub(r"0x[0-9a-f]+|(?<=Out\[)\d+|(?<=In\[)\d+", "#", printed)
    # Which frames a traceback shows differs, the error does not.
    return re.sub(r"^(?:-{20}|Traceback).*", "", printed, flags=re.DOTALL | re.MULTILINE)


PLAIN_CELLS = r"""
%timeit
%timeit -n 3
%timeit -n3 -r2 -q count.append(1)
%timeit -qn3 -r2 count.append(1)
%timeit -r 0 -n 2 count.append(1)
%timeit -n 2 -r 2 -o count.append(1)
%timeit -n 2 -r 2 -ov kept count.append(1)
%timeit -n 2 -r 2 -p 6 count.append(1)
%timeit -n 2 -r 2 -t count.append(1)
%timeit -n 2 -r 2 -c count.append(1)
%timeit -n 2 -r 2 -- count.append(1)
%timeit -n 2 -r 2 'a --no-sync b'.split()
%timeit -n 2 -r 2 1/0
%timeit -n abc 1
%timeit -z 3
%timeit 3 +
%timeit return 3
%%timeit -n 2 -r 2 v = 3
%%timeit -n 2 -r 2 unknown\ncount.append(1)
%%timeit -n 2 -r 2 v = []\n\nv.append(1); count.append(v)
%%timeit -n 2 -r 2\n%time count.append(1)
%time
%time count.append(1)
%time y = len(count)
%time 1/0
%time --no-raise-error 1/0
%time 3 +
%time raise KeyboardInterrupt
%%time
%%time\n# nothing
%%time 3\n4
%%time\ny = 3\n'last'
%%time\n%time 1 + 1\n%timeit -n 2 -r 2 count.append(1)
%prun
%prun -q len(count)
%prun -r -q len(count)
%prun -q -l 5 -s cumulative len( count,   )
%prun -q -l 0.5 -l len -T {folder}/text -D {folder}/data len(count)
%prun -q 1/0
%prun -q 3 +
%prun -q raise SystemExit
%prun -z 3
%%prun -q z = 3\ny = z
"""


def test_other_code_gives_ipythons_own_text_value_and_error(
    notebook: Notebook, tmp_path: Path
) -> None:
    cells = PLAIN_CELLS.strip().replace("{folder}", str(tmp_path)).split("\n")

    def run_all() -> dict[str, object]:
        notebook.run("count = []")
        seen = {}
        for cell in cells:
            ran = notebook.attempt(cell.replace("\\n", "\n"))
            counted = len(notebook.names["count"])
            value, error = type(ran.value).__name__, repr(ran.error)
            seen[cell] = (general(ran.printed), value, error, counted)
        return seen

    ours = run_all()
    unload_ipython_extension(notebook.shell)
    assert run_all() == ours


@pytest.mark.parametrize(
    "cell",
    [
        "%timeit -n 2 -r 0 double(x)",
        "%timeit -n 2 -r 2 double(x, x)",
        "%timeit -n 2 -r 2 double(x",
        "%%timeit -n 2 -r 2 unknown\ndouble(x)",
        "%time double(x, x)",
        "%%time double(x)\n3",
        "%prun -q double(x, x)",
        "%prun -q double(x",
    ],
)
def test_failing_code_with_arrays_raises_what_it_did(notebook: Notebook, cell: str) -> None:
    notebook.run("double = jx.jit(lambda a: a * 2)")
    ours = notebook.attempt(cell)
    assert not notebook.shell.ast_transformers
    unload_ipython_extension(notebook.shell)
    theirs = notebook.attempt(cell)
    # Older IPythons print what `%time` raises and go on.
    assert "Error" in theirs.printed
    assert repr(ours.error) == repr(theirs.error)


FAILING = {
    "%timeit -n1 -r1 1 + unknown": ("1 + unknown", "    ^^^^^^^"),
    "%timeit -n1 -r1 m + m[1:]": ("m + m[1:]", "^^^^^^^^^"),
    "%%timeit -n1 -r1 z = 3\nq = z\n\nq + unknown": ("q + unknown", "    ^^^^^^^"),
    "%%timeit -n1 -r1 z = unknown\nq = z": ("z = unknown", "    ^^^^^^^"),
    "%%timeit -n1 -r1\n\nif True:\n    q = m + m[1:]": ("q = m + m[1:]", "    ^^^^^^^^^"),
    "%time unknown": ("unknown", "^^^^^^^"),
    "%%time\na = 3\nb = m @ m[1:]\na": ("b = m @ m[1:]", "    ^^^^^^^^^"),
}
"""Timed code that fails, the line that is shown, and what is underlined in it."""


@pytest.mark.parametrize(("cell", "shown"), FAILING.items(), ids=FAILING)
def test_an_error_of_timed_code_is_shown_in_that_code(
    notebook: Notebook, cell: str, shown: tuple[str, str]
) -> None:
    notebook.run("m = jnp.ones((3, 3))")
    ran = notebook.attempt(cell)
    assert f"the timed code:\n    {shown[0]}\n    {shown[1]}\n" in ran.printed
    assert "Could not get source" not in ran.printed
    assert "magic-timeit" not in ran.printed
    if "m[1:]" in cell:
        assert "In it m is f32[3,3]" in ran.printed


@pytest.mark.parametrize("cell", ["%prun -q {}", "%%prun -q\na = 3\n{}\na"])
@pytest.mark.parametrize("line", ["m @ m[1:]", "1 + unknown"])
def test_an_error_of_profiled_code_names_its_line(notebook: Notebook, cell: str, line: str) -> None:
    notebook.run("m = jnp.ones((3, 3))")
    ran = notebook.attempt(cell.format(line))
    assert f"the profiled code:\n    {line}" in ran.printed
    assert "cProfile" not in ran.printed


def test_the_text_of_timed_code_is_forgotten_after_it(notebook: Notebook) -> None:
    notebook.attempt("%timeit -n1 -r1 unknown")
    notebook.attempt("%time unknown")
    assert not [file for file in linecache.cache if file.startswith(("<magic", "<timed"))]


def test_no_syntax_error_of_timed_code_shows_what_runs_the_magic(notebook: Notebook) -> None:
    printed = notebook.attempt("%timeit 3 +").printed
    assert "SyntaxError" in printed
    assert "magic.py" not in printed
    assert "interactiveshell" not in printed


@pytest.mark.parametrize(
    ("line", "valued", "flags", "statement", "sync"),
    [
        ("f(x)", "nrpv", "", "f(x)", True),
        ("--no-sync f(x)", "nrpv", "", "f(x)", False),
        ("-n 5 --no-sync -r2  f(x)", "nrpv", "-n 5 -r2 ", "f(x)", False),
        ("-qn5 -o -v kept f(x)  +  1", "nrpv", "-qn5 -o -v kept ", "f(x)  +  1", True),
        ("-qon 5 f(x)", "nrpv", "-qon 5 ", "f(x)", True),
        ("-- --no-sync", "nrpv", "-- ", "--no-sync", True),
        ("f(x) --no-sync", "nrpv", "", "f(x) --no-sync", True),
        ('-T "a file" -l 3 f(x)', "DlsT", '-T "a file" -l 3 ', "f(x)", True),
        ("--no-raise-error --no-sync f(x)", "", "--no-raise-error ", "f(x)", False),
        ("-x", "", "", "-x", True),
        ("--x", "", "", "--x", True),
        ("", "nrpv", "", "", True),
        ("-n 5", "nrpv", "-n 5 ", "", True),
        ("--no-sync", "", "", "", False),
    ],
)
def test_lines_are_taken_apart(
    line: str, valued: str, flags: str, statement: str, sync: bool
) -> None:
    words = _split(line, valued)
    if words.flags != "--x ":
        assert (words.flags, words.statement, words.sync) == (flags, statement, sync)
    assert words.line.split() == line.replace("--no-sync", "", not sync).split()


def test_digits_are_those_that_p_asks_for(notebook: Notebook) -> None:
    # The mean of seven whole numbers of nanoseconds seldom has few digits, of three hardly ever.
    printed = notebook.run("%timeit -n 7 -r 2 -p 7 jnp.sin(x)").printed
    figures = re.findall(r"(?:dispatch|pipelined|latency) ([\d.]+) ", printed)
    assert len(figures) == 3
    assert any(len(figure.replace(".", "")) > 3 for figure in figures)


def test_one_run_of_one_loop_warms_up_and_runs_until_there_is_enough(notebook: Notebook) -> None:
    notebook.names.update(sleep=sleep, count=[])
    notebook.run(ASYNCHRONOUS + "slow = jx.jit(lambda a: sleep(a, 0.3))")
    result = notebook.run("%timeit -o -q -n 1 -r 1 count.append(1); slow(f(m))").value
    assert len(notebook.names["count"]) == 2
    assert [result.latency, result.pipelined] == pytest.approx([result.average] * 2)


def test_code_that_is_compiled_in_its_loops_is_told(notebook: Notebook) -> None:
    printed = notebook.run("%timeit -n 2 -r 2 jx.jit(lambda a: a + 1)(x)").printed
    assert re.search(r"once; built again \d+ times in these loops, .*: see %jx ledger\)", printed)
    assert "again" not in notebook.run("%timeit -n 2 -r 2 jx.jit(jnp.sin)(x)").printed


@pytest.mark.parametrize(
    "statement",
    [
        "g(f(m))",
        "d['k'] = g(f(m))",
        "model.step()",
        "step()",
        "for _ in range(2): g(f(m))",
        "if True: g(f(m))",
        "a, (b, c) = 1, (g(f(m)), 3)",
        "float(g(f(m))[0, 0])",
        "library.main()",
    ],
)
def test_results_are_found_wherever_they_are_held(
    notebook: Notebook, statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module of the user's own, which is looked into; its function makes what nobody holds.
    (tmp_path / "library.py").write_text("main = None\ndef work(): return main()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "library", raising=False)
    notebook.names["sleep"] = sleep
    notebook.run(
        f"{ASYNCHRONOUS}\n"
        "import library\n"
        "library.main = lambda: g(f(m))\n"
        "class Model:\n    def step(self): self.state = g(f(m))\n"
        "model, d = Model(), {}\n"
        "def step():\n    global state\n    state = g(f(m))"
    )
    result = notebook.run(f"%timeit -o -q -n 1 -r 1 {statement}").value
    assert result.best > 0.05
    assert result.latency > 0.05
    settle()
    started = time.perf_counter()
    notebook.run(f"%time {statement}")
    assert time.perf_counter() - started > 0.05
    sys.modules.pop("library", None)


def test_magics_nest(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: a * 2)")
    printed = notebook.run("%%time\n%time f(x)\n%timeit -n 2 -r 2 f(x)\ny = f(x)\ny.sum()").printed
    assert printed.count("Wall time") == 2
    assert printed.count("dispatch ") == 1
    assert notebook.run("%%timeit -n 1 -r 1\n%timeit -n 1 -r 1 f(x)").printed.count("latency") > 1
    assert not any(name.startswith("__jx") for name in notebook.names)


def test_names_of_a_function_are_seen(notebook: Notebook) -> None:
    printed = notebook.run(
        "def inside():\n"
        "    k, here = x + 1, jx.jit(lambda a: a * 3)\n"
        "    %timeit -n 2 -r 2 here(k)\n"
        "    %time here(k[:2])\n"
        "inside()"
    ).printed
    assert "latency" in printed
    assert "of which: traced" in printed


@pytest.mark.parametrize("name", ["script.py", "script.ipy"])
def test_scripts_that_run_runs(notebook: Notebook, tmp_path: Path, name: str) -> None:
    lines = ["import jxkernel as jx, jxkernel.numpy as jnp", "f = jx.jit(lambda a: a * 2)"]
    if name.endswith("ipy"):
        lines += ["%timeit -n 2 -r 2 f(jnp.ones(3))", "%time f(jnp.ones(4))"]
    else:
        lines += [
            "run = get_ipython().run_line_magic",
            "run('timeit', '-n 2 -r 2 f(jnp.ones(3))')",
            "run('time', 'f(jnp.ones(4))')",
        ]
    script = tmp_path / name
    script.write_text("\n".join(lines))
    printed = notebook.run(f"%run {script}").printed
    assert "latency" in printed
    assert "of which: traced" in printed


@pytest.mark.parametrize(
    "magic", ["%timeit -n 2 -r 2", "%timeit", "%time", "%time y =", "%prun -q", "%prun -q y ="]
)
def test_errors_in_device_work_are_the_callbacks_own(notebook: Notebook, magic: str) -> None:
    notebook.run(
        "def bad(a): raise ValueError('on the host')\n"
        "kind = jx.ShapeDtypeStruct((), jnp.float32)\n"
        "h = jx.jit(lambda a: jx.pure_callback(bad, kind, (a @ a).sum()))\n"
        "m = jnp.ones((300, 300))"
    )
    ran = notebook.attempt(f"{magic} h(m)")
    assert "ValueError: on the host" in ran.printed
    assert ran.error is None or isinstance(ran.error.__cause__, ValueError)
    assert notebook.run("float(m[0, 0])").value == 1.0


@pytest.mark.parametrize("magic", ["%timeit -n 2 -r 2", "%time"])
def test_an_interrupt_leaves_the_wait(notebook: Notebook, magic: str) -> None:
    def interrupt(value: object) -> object:
        _thread.interrupt_main()
        return value

    notebook.names.update(sleep=sleep, interrupt=interrupt)
    notebook.run(
        f"{ASYNCHRONOUS}\n"
        "shape = jx.ShapeDtypeStruct(m.shape, m.dtype)\n"
        "h = jx.jit(lambda a: sleep(jx.pure_callback(interrupt, shape, a), 0.3))"
    )
    assert "KeyboardInterrupt" in notebook.attempt(f"{magic} h(f(m))").printed
    assert not notebook.shell.ast_transformers
    assert float(notebook.run("m[0, 0]").value) == 1.0
    settle()


def test_other_work_under_way_is_not_waited_for_by_code_without_part_in_it(
    notebook: Notebook,
) -> None:
    notebook.names["sleep"] = sleep
    notebook.run(
        f"{ASYNCHRONOUS}\n"
        "big = jnp.ones((1500, 1500))\n"
        "slow = jx.jit(lambda a: sleep(a, 1.0)).lower(big).compile()\n"
        "f(big)"
    )
    # In one cell, since the end of a cell waits for programs that call the host.
    notebook.run(
        "magic = get_ipython().run_line_magic\n"
        "under = slow(f(big))\n"
        "magic('timeit', '-q -n 1 -r 1 3 + 4')\n"
        "magic('time', '3 + 4')\n"
        "before = under.is_ready()\n"
        "magic('timeit', '-q -n 1 -r 1 m + 1')\n"
        "after = under.is_ready()"
    )
    names = notebook.names
    # What is timed with arrays starts when nothing else is under way.
    assert (names["before"], names["after"]) == (False, True)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("f(x)", "w.keep(0, (f(x)))\nw.finish()\n"),
        ("f(x); g(y)\nz = 3", "w.keep(0, (f(x))); w.keep(1, (g(y)))\nz = 3\nw.finish()\n"),
        ("f(x), g(x)", "w.keep(0, (f(x), g(x)))\nw.finish()\n"),
        ("(k := f(x))", "(w.keep(0, (k := f(x))))\nw.finish()\n"),
        ("for i in é(3): f('é',\n  i)", "for i in é(3): w.keep(0, (f('é',\n  i)))\nw.finish()\n"),
        ("def g():\n    f(x)", "def g():\n    f(x)\nw.finish()\n"),
    ],
)
def test_waits_are_written_into_the_text_line_for_line(code: str, expected: str) -> None:
    assert with_waits(code, "w") == expected


def test_a_rewriter_works_once() -> None:
    rewriter = WaitAtEnd("w")
    tree = ast.parse("f(x)\nif y:\n    g(x)\nz")
    assert ast.unparse(rewriter.visit(tree)) == (
        "w.keep(0, f(x))\nif y:\n    w.keep(1, g(x))\nw.finish(z)"
    )
    assert ast.unparse(rewriter.visit(ast.parse("f(x)"))) == "f(x)"
    assert Waiter().finish(3) == 3
