"""The notebook half in a real kernel: what a front end receives."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.jupyter.kernels import Kernel, running_kernel

CELL = "%%jit\nh = jnp.sin(x) * w\nh.sum()"


@pytest.fixture(scope="module")
def shared_kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        yield kernel


@pytest.fixture
def kernel(shared_kernel: Kernel) -> Kernel:
    shared_kernel.ok("%reset -f\n%reload_ext jxkernel")
    shared_kernel.ok("import numpy as np, jxkernel as jx, jxkernel.numpy as jnp")
    shared_kernel.ok("from jxkernel.compile.keys import history\nhistory.clear()")
    shared_kernel.ok("jx.clear_caches()\nx = jnp.arange(8.0)\nw = 2.0")
    return shared_kernel


def test_a_cell_sends_one_bundle_and_its_result(kernel: Kernel) -> None:
    reply = kernel.ok(CELL, "one")
    [bundle] = reply.displays
    assert bundle.keys() == {"text/plain", "text/html", "application/vnd.jxkernel.jit+json"}
    assert bundle["text/plain"].endswith("miss: first run")
    assert bundle["application/vnd.jxkernel.jit+json"]["hit"] is False
    assert "text/plain" in reply.result
    assert kernel.ok(CELL, "one").displays[0]["text/plain"].endswith("hit")


def test_a_bundle_survives_the_notebook_file(kernel: Kernel) -> None:
    [bundle] = kernel.ok("%%jit --show jaxpr,source\ny = jnp.sin(x) + w", "one").displays
    assert json.loads(json.dumps(bundle)) == bundle


def test_a_benchmark_is_shown_with_its_figures(kernel: Kernel) -> None:
    shown = kernel.ok("jx.benchmark(jx.jit(lambda a: a + 1), x)").result
    assert shown.keys() == {"text/plain", "text/html", "application/vnd.jxkernel.benchmark+json"}
    assert shown["application/vnd.jxkernel.benchmark+json"]["flops"] == 8
    assert shown["text/plain"].startswith("<lambda> on cpu:0: ")


def test_timing_waits_in_a_kernel(kernel: Kernel) -> None:
    printed = kernel.ok("%timeit -n 3 -r 2 jnp.sin(x)").streams
    assert re.search(r"dispatch .* · pipelined .* · latency .* per loop", printed)
    assert "of which: traced" in kernel.ok("%%time\ny = jx.jit(lambda a: a * 3)(x)\ny").streams


def test_an_edited_cell_is_known_by_its_id(kernel: Kernel) -> None:
    kernel.ok(CELL, "one")
    edited = kernel.ok(CELL.replace("sin", "cos"), "one")
    assert edited.displays[0]["text/plain"].endswith("miss: edited: line 2")
    other = kernel.ok(CELL.replace("sin", "tan"), "two")
    assert other.displays[0]["text/plain"].endswith("miss: first run")


def test_an_error_is_a_short_traceback_in_the_cell(kernel: Kernel) -> None:
    reply = kernel.run("%%jit\ny = 0\nif x.sum() > 0:\n    y = 1", "one")
    assert reply.status == "error"
    assert reply.error["ename"] == "TracerBoolConversionError"
    text = reply.traceback
    assert re.search(r"Cell In\[\d+\], line 3\n", text)
    assert "----> 3 if x.sum() > 0:" in text
    assert "run_cell_magic" not in text
    assert "ipykernel_" not in text
    assert "jxkernel/" not in text
    assert re.search(r"    if x\.sum\(\) > 0:\n       \^{11}", text)


def test_usage_and_syntax_errors_fail_the_cell(kernel: Kernel) -> None:
    reply = kernel.run("%%jit --nope\ny = x")
    assert reply.status == "error"
    assert "unknown argument '--nope'" in (reply.streams + str(reply.error))
    reply = kernel.run("%%jit\ny = (x")
    assert reply.status == "error"
    assert "'(' was never closed" in reply.traceback
    assert kernel.value("'y' in globals()") == "False"


def test_the_source_is_found_and_the_debugger_stops_in_the_cell(kernel: Kernel) -> None:
    kernel.ok("%%jit\ndef f(a):\n    return a + w")
    assert kernel.value("__import__('inspect').getsource(f)") == "'def f(a):\\n    return a + w\\n'"
    kernel.run("%%jit\nlocal = x + 1\nlocal.nothing")
    reply = kernel.ok(
        "import sys\nframe = sys.last_value.__traceback__\nwhile frame.tb_next:\n"
        "    frame = frame.tb_next\nprint(frame.tb_lineno, frame.tb_frame.f_locals['local'])"
    )
    assert reply.streams == "3 Traced<f32[8]>\n"


def test_flags_complete(kernel: Kernel) -> None:
    kernel.client.complete("%%jit --max", 11)
    reply = kernel.client.get_shell_msg(timeout=60)
    while reply["msg_type"] != "complete_reply":
        reply = kernel.client.get_shell_msg(timeout=60)
    assert "--max-traces" in reply["content"]["matches"]


def test_inspection_explains_the_magic(kernel: Kernel) -> None:
    reply = kernel.ok("%%jit?")
    text = str(reply.content["payload"])
    assert "Trace this cell, compile it with XLA and run it." in text
    assert "--max-traces" in text


def test_timeit_in_a_kernel(kernel: Kernel) -> None:
    reply = kernel.ok("%timeit -n 3 -r 2 jnp.sin(x)")
    assert "dispatch" in reply.streams
    assert "latency" in reply.streams


def test_asynchronous_cells_and_threads_work_beside_it(kernel: Kernel) -> None:
    kernel.ok("import asyncio\nawait asyncio.sleep(0)\ny = jnp.sin(x)")
    kernel.ok(
        "import threading\nresults = []\n"
        "def work():\n    results.append(jx.jit(lambda a: a * 2)(x))\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]"
    )
    assert kernel.value("len(results)") == "4"
    kernel.ok("%%jit\nz = x + 1")


def test_silent_requests_and_expressions_leave_no_cell(kernel: Kernel) -> None:
    kernel.run("y = jnp.sin(x)", silent=True, store_history=False)
    assert kernel.run(CELL, store_history=False).status == "ok"


def test_the_ledger_and_the_map_in_a_kernel(kernel: Kernel) -> None:
    kernel.ok(CELL, "one")
    kernel.ok("x = x[:3]")
    kernel.ok(CELL, "one")
    ledger = kernel.ok("%jx ledger").result
    rows = ledger["application/vnd.jxkernel.ledger+json"]["rows"]
    assert [row["why"] for row in rows if row["fun"].startswith("cell_")][
        -1
    ] == "x: f32[8] → f32[3]"
    assert "traced, f32[3]" in kernel.ok("%jx why h").result["text/plain"]


def test_a_bar_is_one_output_that_is_updated(kernel: Kernel) -> None:
    reply = kernel.ok(
        "from jxkernel import lax\n"
        "y = jx.progress(lax.fori_loop, label='<b>fit')(0, 30, lambda i, c: c + i, 0)\nint(y)"
    )
    assert reply.result["text/plain"] == "435"
    [bundle] = reply.displays
    assert "&lt;b&gt;fit" in bundle["text/html"]
    assert bundle["application/vnd.jxkernel.progress+json"]["total"] == 30
    assert reply.streams == ""


def test_the_values_of_a_bar_are_drawn_in_its_output(kernel: Kernel) -> None:
    reply = kernel.ok(
        "from jxkernel import lax\n"
        "show = lambda c: {'<i>loss': 1 / c, 'bad': jnp.log(5 - c)}\n"
        "y = jx.progress(lax.fori_loop, values=show)(0, 30, lambda i, c: c + 1, 1.0)\n"
        "jx.effects_barrier()\nfloat(y)"
    )
    assert reply.result["text/plain"] == "31.0"
    assert len(reply.displays) == 1
    bundle = reply.updates[-1]
    assert "· <i>loss 0.03226 · bad nan" in bundle["text/plain"]
    assert "&lt;i&gt;loss: between 0.03226 and 0.5" in bundle["text/html"]
    assert bundle["text/html"].count("<svg") == 2
    assert "nan" not in "".join(re.findall(r' d="([^"]*)"', bundle["text/html"]))
    [loss, bad] = bundle["application/vnd.jxkernel.progress+json"]["values"]
    assert loss["latest"] == pytest.approx(1 / 31)
    assert bad["latest"] is None


def test_restarting_the_kernel_starts_anew() -> None:
    with running_kernel() as kernel:
        kernel.ok(CELL, "one")
        kernel.client.stop_channels()
        kernel.manager.restart_kernel(now=True)
        kernel.connect()
        assert kernel.run(CELL, "one").status == "error"
        kernel.ok("%load_ext jxkernel\nimport jxkernel.numpy as jnp\nx = jnp.arange(8.0)\nw = 2.0")
        assert kernel.ok(CELL, "one").displays[0]["text/plain"].endswith("miss: first run")


def test_an_interrupt_returns_the_prompt_and_keeps_everything() -> None:
    with running_kernel() as kernel:
        kernel.ok("y = 'kept'")
        request = kernel.send("%%jit\nprint('tracing', flush=True)\nwhile True:\n    pass\ny = x")
        while True:
            message = kernel.client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "stream" and "tracing" in message["content"]["text"]:
                break
        kernel.manager.interrupt_kernel()
        reply = kernel.receive(request)
        assert reply.error["ename"] == "KeyboardInterrupt"
        assert kernel.value("y") == "'kept'"
        assert kernel.ok("%%jit\ny = x + 1").displays[0]["text/plain"].startswith("jit  1 eqn")
