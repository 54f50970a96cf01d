"""What it costs to be watched: the notebook half loaded, against the same without it.

Here the peer is jxkernel itself, in the same process: the extension is loaded and unloaded in
turn, so that a difference of a few percent shows above the machine's noise.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from benchmarks.report import bytes_text, seconds_text

__all__ = ["PAIRS", "Pair", "figures"]

EQUATIONS = 10_000
ROUNDS = 40
CELLS = 300
BATCH_SECONDS = 0.003
FIRST_CALLS = 5
LAYERS = """
from jxkernel.config import enable_compilation_cache
def layer(p, v):
    h = jnp.tanh(v @ p["w"] + p["b"])
    return (h - h.mean()) / (h.std() + 1e-5)
def network(layers, v):
    for p in layers:
        v = layer(p, v)
    return v.sum()
layers = [{"w": jnp.ones((8, 8)), "b": jnp.zeros(8)} for _ in range(40)]
def first_call(*args):
    with enable_compilation_cache(False):
        jx.jit(lambda *args: jx.grad(network)(*args)).lower(*args).compile()
"""


@dataclass(frozen=True)
class Pair:
    """A figure with jxkernel watching, and one without.

    Attributes:
      name: what is measured.
      goal: the ratio to reach, or, where ``absolute``, the first figure.
      measure: returns the two figures.
      show: writes one with its unit.
      absolute: whether the goal is for the first figure itself.
    """

    name: str
    goal: float | None
    measure: Callable[[], tuple[float, float]]
    show: Callable[[float], str] = seconds_text
    absolute: bool = False


def _shell() -> Any:
    """Return a shell as a kernel has one: nothing is printed, no history is kept."""
    config = Config()
    config.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    shell.display_pub = CapturingDisplayPublisher()
    shell.displayhook.write_output_prompt = lambda: None
    shell.displayhook.write_format_data = lambda *_: None
    shell.run_cell("import jxkernel as jx, jxkernel.numpy as jnp\nx = jnp.ones(8)")
    return shell


def _hit_in_turn() -> tuple[float, float]:
    """Return the least time of a jitted hit with the extension loaded, and without."""
    return _in_turn(
        "f = jx.jit(lambda a: a + 1)\nf(x);", lambda names: lambda: names["f"](names["x"])
    )


def _operation_in_turn() -> tuple[float, float]:
    return _in_turn("x + x;", lambda names: lambda: names["x"] + names["x"])


def _in_turn(
    prepare: str, make: Callable[[dict[str, Any]], Callable[[], Any]]
) -> tuple[float, float]:
    shell = _shell()
    shell.run_cell(prepare)
    run = make(shell.user_ns)
    run()
    number = max(int(BATCH_SECONDS / _seconds(run, 100)), 1)
    times: dict[str, list[float]] = {"load": [], "unload": []}
    for _ in range(ROUNDS):
        for which, found in times.items():
            shell.run_line_magic(f"{which}_ext", "jxkernel")
            # A cell passes, so that whatever a cell sets off has been set off.
            shell.run_cell("0;", store_history=True)
            _seconds(run, number)
            found.append(min(_seconds(run, number) for _ in range(3)))
    return min(times["load"]), min(times["unload"])


def _seconds(run: Callable[[], Any], number: int) -> float:
    result = None
    started = perf_counter()
    for _ in range(number):
        result = run()
    result.block_until_ready()
    return (perf_counter() - started) / number


def _cell(shell: Any, source: str) -> float:
    """Return the least processor time of running a cell again and again."""
    times = []
    for _ in range(CELLS):
        started = process_time()
        shell.run_cell(source, store_history=True, cell_id="benchmark")
        times.append(process_time() - started)
        shell.display_pub.outputs.clear()
    return min(times)


def _jit_cell() -> tuple[float, float]:
    """Return what ``%%jit`` adds to a recorded cell that hits, and the plain cell's time."""
    shell = _shell()
    shell.run_line_magic("load_ext", "jxkernel")
    shell.run_cell("f = jx.jit(lambda a: jnp.tanh(a * 2).sum())\nf(x);")
    plain = _cell(shell, "y = f(x).block_until_ready()")
    jitted = _cell(shell, "%%jit\ny = jnp.tanh(x * 2).sum()")
    shell.run_line_magic("unload_ext", "jxkernel")
    return jitted - plain, plain


def _plain_cell() -> tuple[float, float]:
    """Return what being watched adds to a cell that calls a jitted function, and its time."""
    shell = _shell()
    shell.run_cell("f = jx.jit(lambda a: a + 1)\nf(x);")
    without = _cell(shell, "y = f(x)")
    shell.run_line_magic("load_ext", "jxkernel")
    loaded = _cell(shell, "y = f(x)")
    shell.run_line_magic("unload_ext", "jxkernel")
    return loaded - without, without


def _first_call() -> tuple[float, float]:
    """Return the processor time of tracing and compiling 40 layers with their gradient."""
    shell = _shell()
    shell.run_cell(LAYERS)
    run, args = shell.user_ns["first_call"], (shell.user_ns["layers"], shell.user_ns["x"])
    found: dict[str, list[float]] = {"load": [], "unload": []}
    for _ in range(FIRST_CALLS):
        for which, times in found.items():
            shell.run_line_magic(f"{which}_ext", "jxkernel")
            started = process_time()
            run(*args)
            times.append(process_time() - started)
    return min(found["load"]), min(found["unload"])


def _marked_loop() -> tuple[float, float]:
    """Return the processor time of a cell with a loop of jitted calls, loaded and not."""
    shell = _shell()
    shell.run_cell("f = jx.jit(lambda a: a + 1)\nf(x);")
    loop = "y = x\nfor _ in range(20_000):\n    y = f(y)\ny.block_until_ready();"
    times: dict[str, list[float]] = {"load": [], "unload": []}
    for _ in range(ROUNDS):
        for which, found in times.items():
            shell.run_line_magic(f"{which}_ext", "jxkernel")
            started = process_time()
            shell.run_cell(loop, store_history=True, cell_id="benchmark")
            found.append(process_time() - started)
    return min(times["load"]), min(times["unload"])


def _long_program(shell: Any) -> Any:
    shell.run_cell(
        f"def long(a):\n    for _ in range({EQUATIONS}):\n        a = a + 1.0\n    return a\n"
        "program = jx.make_jaxpr(long)(x)"
    )
    return shell.user_ns["program"]


def _display(shell: Any, value: Any) -> tuple[float, int]:
    """Return how long it takes to make all that is sent of a value, and how many bytes it is."""
    started = perf_counter()
    data, _ = shell.display_formatter.format(value)
    sent = json.dumps(data)
    return perf_counter() - started, len(sent.encode())


def _displays() -> tuple[tuple[float, int], tuple[float, int]]:
    shell = _shell()
    program = _long_program(shell)
    without = min(_display(shell, program) for _ in range(3))
    shell.run_line_magic("load_ext", "jxkernel")
    loaded = min(_display(shell, program) for _ in range(3))
    shell.run_line_magic("unload_ext", "jxkernel")
    return loaded, without


def _display_seconds() -> tuple[float, float]:
    loaded, without = _displays()
    return loaded[0], without[0]


def _display_bytes() -> tuple[float, float]:
    loaded, without = _displays()
    return loaded[1], without[1]


def figures() -> dict[str, dict[str, float]]:
    """Return both figures of every pair."""
    found = {}
    for pair in PAIRS:
        watched, without = pair.measure()
        found[pair.name] = {"watched": watched, "without": without}
    return found


PAIRS = (
    Pair("jitted call, loaded and idle", 1.03, _hit_in_turn),
    Pair("`x + x`, loaded and idle", 1.03, _operation_in_turn),
    Pair("a cell with 20,000 jitted calls", 1.03, _marked_loop),
    Pair("first call of 40 layers with their gradient", 1.1, _first_call),
    Pair("what watching adds to a cell with a jitted call", 1e-3, _plain_cell, absolute=True),
    Pair("what `%%jit` adds to a cell that hits", 1e-3, _jit_cell, absolute=True),
    Pair(f"display of {EQUATIONS:,} equations", 0.5, _display_seconds, absolute=True),
    Pair("bytes of that display", 300e3, _display_bytes, bytes_text, absolute=True),
)


if __name__ == "__main__":
    print(json.dumps(figures()))
