"""Interrupts: the prompt comes back at once, during compilation and during execution."""

import _thread
import os
import queue
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from jxkernel import events
from jxkernel.config import compile_runner
from jxkernel.jupyter.session import interrupts
from jxkernel.jupyter.session.interrupts import run_interruptibly
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import Kernel, running_kernel

SLOW_COMPILE = """
def long(x):
    for i in range({count}):
        x = jnp.sin(x) @ jnp.cos(x) * {factor} + i
    return x
compiled = jx.jit(long)
square = jnp.ones((16, 16))
kept = jnp.arange(3.0)
"""


# No program is one that an earlier run has left in the disk cache.
NEVER_SEEN = 1 + time.time() % 1


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        kernel.ok(f"import faulthandler, signal; stacks = open({stacks_of(kernel)!r}, 'w')")
        kernel.ok("faulthandler.register(signal.SIGUSR1, file=stacks)")
        kernel.ok("from jxkernel import lax\nfrom jxkernel.jupyter.session import interrupts")
        kernel.ok("interrupts._SILENT_SECONDS = 0.2; kept = jnp.arange(3.0)")
        yield kernel


def interrupted(kernel: Kernel, request: str, message: str) -> str:
    """Interrupts a request once it has printed a message; returns the error's name."""
    seen = ""
    while message not in seen:
        try:
            sent = kernel.client.get_iopub_msg(timeout=120)
        except queue.Empty:
            raise AssertionError(f"silent after {seen!r}:\n{where_it_is(kernel)}") from None
        content = sent["content"]
        if sent["parent_header"].get("msg_id") == request:
            shown = content.get("data", {}).get("text/plain", "")
            seen += content.get("text", "") + shown + "".join(content.get("traceback", []))
            assert content.get("execution_state") != "idle", f"ended after {seen!r}"
    kernel.manager.interrupt_kernel()
    return kernel.receive(request).error["ename"]


def where_it_is(kernel: Kernel) -> str:
    """The stacks of a kernel that does not answer."""
    os.kill(kernel.manager.provisioner.pid, signal.SIGUSR1)
    time.sleep(1.0)
    return Path(stacks_of(kernel)).read_text()


def stacks_of(kernel: Kernel) -> str:
    """The file that a kernel writes its stacks to when it is asked."""
    return f"{kernel.manager.connection_file}.stacks"


def test_a_long_compilation_can_be_left_and_shows_that_it_goes_on(kernel: Kernel) -> None:
    kernel.ok(SLOW_COMPILE.format(count=60, factor=NEVER_SEEN))
    request = kernel.send("y = compiled(square)")
    assert interrupted(kernel, request, "compiling long · 300 eqns · ") == "KeyboardInterrupt"
    assert kernel.value("'y' in globals()") == "False"
    assert kernel.value("kept.tolist()") == "[0.0, 1.0, 2.0]"
    assert kernel.ok("%%jit\nz = kept + 1").displays[0]["text/plain"].startswith("jit  1 eqn")


NOTING = """
import threading
from jxkernel.jupyter.views.passing import PassingOutput
published, publish = threading.Event(), PassingOutput._publish
def noting(output, data, *, is_update):
    publish(output, data, is_update=is_update)
    published.set()
PassingOutput._publish = noting
"""
"""Publish as before, and note that a line was published: the work that it tells of may end."""


def test_progress_leaves_nothing_to_see_in_a_saved_notebook(kernel: Kernel) -> None:
    kernel.ok(NOTING)
    request = kernel.send("print('a')\ninterrupts.run_interruptibly(published.wait)\nprint('b')")
    told, saved = kernel.saved(request)
    kernel.ok("PassingOutput._publish = publish")
    assert any("s · interrupt to stop waiting" in one for one in told)
    streams = [one for one in saved if one.output_type == "stream"]
    assert [(one.name, one.text) for one in streams] == [("stdout", "a\n"), ("stdout", "b\n")]
    rest = [one for one in saved if one.output_type != "stream"]
    assert [set(one.data.values()) for one in rest] == [{""}]


def test_captured_output_has_no_progress(kernel: Kernel) -> None:
    kernel.ok(NOTING)
    kernel.ok("%%capture kept_back\ninterrupts.run_interruptibly(published.wait)\nprint('b')")
    kernel.ok("PassingOutput._publish = publish")
    parts = "kept_back.outputs, kept_back.stderr, kept_back.stdout"
    assert kernel.value(f"({parts})") == r"([], '', 'b\n')"


def test_results_and_errors_come_through() -> None:
    assert run_interruptibly(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0)


def test_the_work_is_not_done_in_the_main_thread() -> None:
    assert run_interruptibly(threading.current_thread) is not threading.main_thread()


def test_other_threads_do_their_work_themselves() -> None:
    seen: list[threading.Thread] = []
    thread = threading.Thread(
        target=lambda: seen.append(run_interruptibly(threading.current_thread))
    )
    thread.start()
    thread.join()
    assert seen == [thread]


def test_a_progress_line_is_written_and_taken_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interrupts, "_SILENT_SECONDS", 0.0)
    started = threading.Event()

    def work() -> None:
        # Ends once the line has been written.
        started.set()
        while not written():
            time.sleep(0.001)

    def written() -> bool:
        return "waiting for results · 0 s" in seen

    seen = ""
    original = interrupts._LineOnStderr.show

    def note(line: interrupts._LineOnStderr, text: str) -> None:
        nonlocal seen
        seen += text
        original(line, text)

    monkeypatch.setattr(interrupts._LineOnStderr, "show", note)
    run_interruptibly(work)
    assert started.is_set()
    assert capsys.readouterr().err.endswith(" \r")


def test_a_compilation_behind_an_interrupted_one_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, seen = threading.Event(), ""

    def note(line: interrupts._LineOnStderr, text: str) -> None:
        nonlocal seen
        seen += text

    def compiling(fun: str, work: Callable[[], object]) -> None:
        with events.span(events.Compiled, fun=fun, function_id=0, platform="cpu"):
            run_interruptibly(work)

    def left() -> None:
        _thread.interrupt_main()
        ended.wait()

    def told(text: str) -> Callable[[], None]:
        def work() -> None:
            while text not in seen:
                time.sleep(0.001)

        return work

    monkeypatch.setattr(interrupts, "_SILENT_SECONDS", 0.0)
    monkeypatch.setattr(interrupts, "_REPORT_SECONDS", 0.0)
    monkeypatch.setattr(interrupts._LineOnStderr, "show", note)
    try:
        with events.listen(lambda event: None):
            with pytest.raises(KeyboardInterrupt):
                compiling("long", left)
            compiling("small", told("compiling small · behind long, interrupted and still compi"))
            compiling("long", told("compiling long · 0 s"))
            ended.set()
            compiling("later", told("compiling later · 0 s"))
    finally:
        ended.set()


def test_an_interrupt_that_the_collector_drops_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", interrupts.interrupting_again(sys.unraisablehook))

    class Subject:
        pass

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    subjects = [Subject()]
    watched = weakref.ref(subjects[0], interrupt)

    def drop() -> None:
        subjects.clear()
        assert watched() is None
        for _ in range(10_000):
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        drop()


def test_other_exceptions_that_the_collector_drops_are_reported() -> None:
    seen: list[object] = []
    hook = interrupts.interrupting_again(seen.append)
    unraisable = SimpleNamespace(exc_type=ZeroDivisionError)
    hook(unraisable)
    assert seen == [unraisable]


def test_the_compiler_is_given_back(plain_notebook: Notebook) -> None:
    before = compile_runner.value
    plain_notebook.run("%load_ext jxkernel")
    assert compile_runner.value is run_interruptibly
    plain_notebook.run("%unload_ext jxkernel")
    assert compile_runner.value is before


# Turns of a loop that nothing ends but the kernel's own end. What is left behind takes every core,
# and what is dispatched later waits for it: the tests that leave it are the last of the file.
ENDLESS = 2**31 - 1

READINGS = (
    *("print(y)", "y", "float(y[0, 0])", "y.tolist()"),
    *("y.block_until_ready()", "jx.block_until_ready([y])", "jx.device_get({'y': y})"),
    # What reads a buffer by itself can be made to wait from Python 3.12 on (PEP 688).
    *(("np.asarray(y)", "np.sum(y)") if sys.version_info >= (3, 12) else ()),
)


def test_a_long_trace_says_how_far_it_is(kernel: Kernel) -> None:
    request = kernel.send(
        "@jx.jit\ndef endless(x):\n    while True:\n        x = jnp.sin(x)\nendless(kept)"
    )
    assert interrupted(kernel, request, " eqns · ") == "KeyboardInterrupt"
    assert kernel.value("kept.tolist()") == "[0.0, 1.0, 2.0]"


def test_a_wait_for_a_value_can_be_left_wherever_it_is_read(kernel: Kernel) -> None:
    kernel.ok(
        "kept = jnp.arange(3.0)\nbody = lambda i, a: (a @ a) * 1e-3\n"
        "loop = jx.jit(lambda a, n: lax.fori_loop(0, n, body, a))\n"
        "loop(jnp.ones((600, 600)), 1).block_until_ready()\n"
        f"y = loop(jnp.ones((600, 600)), {ENDLESS})"
    )
    for reading in READINGS:
        request = kernel.send(reading)
        assert interrupted(kernel, request, "waiting for results · ") == "KeyboardInterrupt"
    assert kernel.value("y.is_ready()") == "False"
    assert kernel.value("kept.tolist()") == "[0.0, 1.0, 2.0]"


def test_a_long_execution_can_be_left(kernel: Kernel) -> None:
    body = "lambda i, a: (a @ a) * 1e-3"
    request = kernel.send(
        "%%jit\nprint('tracing', flush=True)\n"
        f"result = lax.fori_loop(0, {ENDLESS}, {body}, jnp.ones((600, 600)))"
    )
    assert interrupted(kernel, request, "waiting for results · ") == "KeyboardInterrupt"
    assert kernel.value("'result' in globals()") == "False"
    assert kernel.value("kept.tolist()") == "[0.0, 1.0, 2.0]"
