"""`%timeit`, `%time` and `%prun` on asynchronous work, and on everything else as before."""

import ast
import inspect
import re
import time
from dataclasses import dataclass, field
from statistics import median

import pytest
from IPython.core.magics import ExecutionMagics

from jxkernel.jupyter.timing.array_use import uses_arrays
from jxkernel.jupyter.timing.rewriting import KeepResults
from jxkernel.jupyter.timing.timer import Measurement, StockTimer, SyncTimer
from tests.jupyter.conftest import Notebook
from tests.jupyter.sleeping import FINISHED, sleep

STOCK = re.compile(
    r"^[\d.]+ [mµμnu]?s (?:±|\+-) [\d.]+ [mµμnu]?s per loop "
    r"\(mean (?:±|\+-) std\. dev\. of \d+ runs?, [\d,]+ loops? each\)\n$"
)
OURS = re.compile(
    r"^dispatch [\d.]+ [mµn]?s · pipelined [\d.]+ [mµn]?s · latency [\d.]+ [mµn]?s per loop"
    r"(?: \(compile [\d.]+ [mµn]?s, once\))?(?:; pipelined is above latency: .*)?$"
)


def test_timeit_of_arrays_adds_one_line(notebook: Notebook) -> None:
    printed = notebook.run("%timeit -n 5 -r 2 jnp.sin(x)").printed
    stock, ours = [line for line in printed.splitlines() if "slowest" not in line]
    assert STOCK.match(f"{stock}\n")
    assert OURS.match(ours)


def test_pipelined_above_latency_is_explained() -> None:
    usual = Measurement(dispatch_ns=1e3, pipelined_ns=2e3, latency_ns=3e3)
    crowded = Measurement(dispatch_ns=1e3, pipelined_ns=9e3, latency_ns=3e3)
    assert "above latency" not in usual.line()
    assert "pipelined is above latency: calls that are made at once share cores" in crowded.line()


def test_compile_time_is_told_apart_and_kept_out_of_the_figures(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: jnp.sin(a) + 1)")
    result = notebook.run("%timeit -o -q -n 5 -r 2 f(x)").value
    assert result.build_time > 10 * max(result.timings)
    assert notebook.run("%timeit -o -q -n 5 -r 2 f(x)").value.build_time == 0
    assert "(compile " in notebook.run("%timeit -n 2 -r 2 f(x[:3])").printed


def test_timeit_result_has_ipythons_fields_and_ours(notebook: Notebook) -> None:
    result = notebook.run("%timeit -o -q -n 4 -r 3 jnp.sin(x)").value
    assert type(result).__name__ == "TimeitResult"
    assert (result.loops, result.repeat, len(result.all_runs)) == (4, 3, 3)
    assert 0 < result.dispatch <= result.latency
    assert result.best <= result.pipelined <= result.worst


@pytest.mark.parametrize(
    "statement", ["y = f(x)", "f(x)", "f(x); f(x)", "for _ in range(2): y = f(x)", "[f(x), 3]"]
)
def test_every_form_of_statement_waits(notebook: Notebook, statement: str) -> None:
    notebook.run("f = jx.jit(lambda a: a * 2)")
    assert "latency" in notebook.run(f"%timeit -n 2 -r 2 {statement}").printed


def test_cell_form_with_setup(notebook: Notebook) -> None:
    printed = notebook.run("%%timeit -n 2 -r 2 v = x * 2\ny = v + 1\ny.sum()").printed
    assert "latency" in printed
    assert "v" not in notebook.names


def test_flags_of_the_original_work(notebook: Notebook) -> None:
    assert notebook.run("%timeit -q -n 2 -r 2 jnp.sin(x)").printed == ""
    cpu_time = notebook.run("%timeit -c -n 2 -r 2 jnp.sin(x)").printed
    assert "processor time, which does not pass" in cpu_time
    if "-v <V>" in (inspect.getdoc(ExecutionMagics.timeit) or ""):  # newer IPythons
        notebook.run("%timeit -q -v kept -n 2 -r 2 jnp.sin(x)")
        assert notebook.names["kept"].latency > 0
    assert "2 runs, 3 loops each" in notebook.run("%timeit -n3 -r2 -p5 jnp.sin(x)").printed


def test_no_sync_is_the_original(notebook: Notebook) -> None:
    printed = notebook.run("%timeit --no-sync -n 50 -r 2 jnp.sin(x)").printed
    assert STOCK.match(printed.splitlines(keepends=True)[-1])
    assert "of which" not in notebook.run("%time --no-sync jx.jit(jnp.cos)(x)").printed


@pytest.mark.parametrize("flags", ["-n 7 -r 3", "-n 1 -r 1", "-r 2"])
def test_other_code_runs_as_often_and_prints_the_same(notebook: Notebook, flags: str) -> None:
    count = "count.append(1)" if "-n" in flags else "count.append(1); pause(0.05)"
    notebook.run("from time import sleep as pause\ncount = []")
    printed = notebook.run(f"%timeit {flags} {count}").printed
    assert STOCK.match(printed.splitlines(keepends=True)[-1])
    assert "latency" not in printed
    ours = len(notebook.names["count"])
    notebook.run("count.clear()\n%unload_ext jxkernel")
    notebook.run(f"%timeit {flags} {count}")
    assert len(notebook.names["count"]) == ours


def test_time_waits_and_tells_compilation_apart(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: jnp.sin(a) + 1)")
    ran = notebook.run("%time f(x)")
    assert re.search(r"Wall time: .*\nof which: traced .*, compiled .*, once", ran.printed)
    assert float(ran.value[0]) == 1.0
    assert "of which" not in notebook.run("%time f(x)").printed
    notebook.run("%%time\ny = f(x)\nz = y + 1")
    assert notebook.names["z"].is_ready()
    assert not any(name.startswith("__jx") for name in notebook.names)


def test_prun_waits(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: a * 2); f(x)")
    notebook.run("%prun -q -T /dev/null y = f(x)")
    assert notebook.names["y"].is_ready()
    notebook.run("%%prun -q\nu = f(x)\nv = f(u)")
    assert notebook.names["v"].is_ready()


def test_errors_leave_no_transformer_behind(notebook: Notebook) -> None:
    for cell in ("%timeit 1/0", "%time 1/0", "%timeit jnp.sin(missing)", "%timeit x +"):
        notebook.attempt(cell)
        assert notebook.shell.ast_transformers == []
    assert not any(name.startswith("__jx") for name in notebook.names)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x + 1", True),
        ("f(1)", True),
        ("g()", True),
        ("method()", True),
        ("params['w']", True),
        ("plain(3)", False),
        ("np.ones(3)", False),
        ("sum(range(9))", False),
        ("missing(x2)", False),
    ],
)
def test_involvement_is_judged_by_what_names_lead_to(
    notebook: Notebook, code: str, expected: bool
) -> None:
    notebook.run(
        "f = jx.jit(lambda a: a)\n"
        "def g(): return h()\n"
        "def h(): return jnp.ones(3)\n"
        "class C:\n    def run(self): return jnp.ones(3)\n"
        "method = C().run\n"
        "params = {'w': [x]}\n"
        "def plain(a): return a + 1"
    )
    assert uses_arrays(ast.parse(code), notebook.names) is expected


def test_a_timer_without_a_measurement_is_ipythons_own() -> None:
    timer = SyncTimer(timer=iter(range(100)).__next__)
    timer.inner = lambda it, clock: -(clock() - clock())
    assert timer.timeit(3) == 1
    assert issubclass(SyncTimer, StockTimer)


def test_results_are_bound_for_the_clock() -> None:
    tree = KeepResults().visit(ast.parse("f(x)\ny = g(x)\nfor i in z:\n    h(i)\na.b = 3"))
    assert ast.unparse(tree) == (
        "__jx_result_0__ = f(x)\ny = g(x)\nfor i in z:\n    __jx_result_1__ = h(i)\n"
        "__jx_result_2__ = a.b = 3"
    )


LENGTHS = (0.2, 0.2, 0.4, 0.8, 1.6, 3.2)
LOOPS = 2


@dataclass
class Clock:
    """When each loop began and had returned, read by the timed code itself."""

    begun: list[float] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)

    def begin(self) -> None:
        self.begun.append(time.perf_counter())

    def end(self) -> None:
        self.returned.append(time.perf_counter())

    def expected(self, work_per_loop: int) -> dict[str, float]:
        """The three figures, by what the loops and the device's work themselves saw."""
        existed = [
            max(FINISHED[work_per_loop * (loop + 1) - 1], returned)
            for loop, returned in enumerate(self.returned)
        ]
        # A loop to warm up, the run that IPython asked for, and runs of one loop each.
        singles = range(1 + LOOPS, len(self.begun))
        return {
            "dispatch": median(self.returned[loop] - self.begun[loop] for loop in singles),
            "pipelined": (existed[LOOPS] - self.begun[1]) / LOOPS,
            "latency": median(existed[loop] - self.begun[loop] for loop in singles),
        }


@pytest.mark.parametrize(
    ("statement", "dispatch", "pipelined", "latency"),
    [
        # A program that calls the host runs at once where its input exists already ...
        ("g(x)", 1, 1, 1),
        # ... and asynchronously where its input is still being computed.
        ("y = g(f(y))", 0, 1, 1),
        ("y = g(f(y)); y = g(f(y))", 0, 2, 2),
        # Work of the host that overlaps the device's counts once ...
        ("y = g(f(y)); pause()", 0.5, 1, 1),
        # ... and results are found where no name of the timed code holds them.
        ("model.step()", 0, 1, 1),
    ],
)
def test_figures_agree_with_device_work_of_known_length(
    notebook: Notebook, statement: str, dispatch: float, pipelined: float, latency: float
) -> None:
    notebook.names["sleep"] = sleep
    notebook.run(
        "f = jx.jit(lambda a: (a @ a) * 1e-3)\n"
        "x = jnp.ones((500, 500))\n"
        "class Model:\n"
        "    state = x\n"
        "    def step(self): self.state = g(f(self.state))\n"
        "model = Model()"
    )
    # The least that the figures can be is known; what they are is compared with the clock that
    # the work itself read. A busy machine may come between the two for some tenths of a second,
    # which are a smaller part of longer work.
    for length in LENGTHS:
        FINISHED.clear()
        clock = notebook.names["clock"] = Clock()
        notebook.run(
            f"g = jx.jit(lambda a: sleep(a, {length}))\n"
            f"pause = lambda: __import__('time').sleep({length / 2})"
        )
        cell = f"%%timeit -o -q -n {LOOPS} -r 1 y = x\nclock.begin(); {statement}; clock.end()"
        result = notebook.run(cell).value
        expected = clock.expected(max(statement.count("g("), 1))
        found = {name: getattr(result, name) for name in expected}
        undisturbed = dispatch or found["dispatch"] < 0.5 * length
        if undisturbed and found == pytest.approx(expected, rel=0.05):
            break
    assert found == pytest.approx(expected, rel=0.05)
    least = {"dispatch": dispatch, "pipelined": pipelined, "latency": latency}
    assert all(found[name] >= 0.99 * times * length for name, times in least.items())
    assert dispatch or found["dispatch"] < 0.5 * length
    assert result.average == pytest.approx(result.pipelined)


def test_a_profile_shows_the_users_work(notebook: Notebook) -> None:
    notebook.run(
        "def slow(n):\n    return sum(i * i for i in range(n))\n"
        "@jx.jit\ndef step(v):\n    return jnp.sin(v) + slow(1000)\n"
        "def train():\n    for n in range(1, 4):\n        step(jnp.ones(n))\n    return slow(10)"
    )
    stats = notebook.run("%prun -r -q train()").value
    rows = {
        name: (calls, own, whole) for (_, _, name), (_, calls, own, whole, _) in stats.stats.items()
    }
    inside = "<jxkernel: tracing, compiling, dispatching>"
    waiting = "<jxkernel: waiting for devices>"
    assert {"train", "step", "slow", inside, waiting} <= set(rows)
    assert "finish" not in rows
    assert rows["slow"][0] == 4
    assert rows[inside][1] > 0
    assert not {"cache_miss", "trace_call", "compile_lowered", "bind"} & set(rows)
    times = [own for _, _, own, _, _ in stats.stats.values()]
    assert sum(times) == pytest.approx(stats.total_tt, rel=0.02)
    notebook.run("jx.clear_caches()")
    every = notebook.run("%prun -r -q --no-sync train()").value
    assert len(every.stats) > 3 * len(stats.stats)
    assert inside not in {name for _, _, name in every.stats}
