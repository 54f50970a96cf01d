"""Looking inside from a real kernel: where a NaN, memory, leaks and time come from, by cell."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jupyter.kernels import Kernel, running_kernel


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        yield kernel


def test_the_first_nan_is_shown_in_its_cell(kernel: Kernel) -> None:
    kernel.ok("%%jit -o y\nz = jnp.exp(x * 100.0)\ny = z - z", "nan")
    bundle = kernel.ok("%jx nan").result
    assert re.search(r"Cell In\[\d+\], line 3", bundle["text/plain"])
    assert "The infinity came out of" in bundle["text/plain"]
    assert "text/html" in bundle
    data = bundle["application/vnd.jxkernel.finding+json"]
    start, end = data["underline"]
    assert data["code"][start:end] == "z - z"


def test_live_arrays_by_output_and_closure(kernel: Kernel) -> None:
    kernel.ok("def keeping(kept):\n    return lambda: kept\nclosure = keeping(jnp.ones((11, 13)))")
    kernel.ok("jnp.ones((17, 19))")
    rows = kernel.ok("%jx live").result["application/vnd.jxkernel.memory+json"]["arrays"]["rows"]
    held = {row[1]: row for row in rows}
    number = re.fullmatch(r"Out\[(\d+)\]", held["f32[17,19]"][0])
    assert number
    assert "kept, which <lambda> (" in held["f32[11,13]"][4]
    assert "deleted: 1.29 KB" in kernel.ok(f"%jx free Out[{number[1]}]").result["text/plain"]
    again = kernel.ok("%jx live").result["application/vnd.jxkernel.memory+json"]["arrays"]["rows"]
    assert "f32[17,19]" not in {row[1] for row in again}


def test_a_leak_names_holder_and_cell(kernel: Kernel) -> None:
    assert "no tracer" in kernel.ok("%jx leaks").result["text/plain"]
    kernel.ok(
        "log = []\n@jx.jit\ndef leaky(a):\n    log.append(jnp.sin(a))\n    return a\nleaky(x)"
    )
    text = kernel.ok("%jx leaks").result["text/plain"]
    assert "log[0], a global variable of __main__" in text
    assert re.search(r"Cell In\[\d+\], line 4", text)
    kernel.ok("log.clear()")
    assert "no tracer" in kernel.ok("%jx leaks").result["text/plain"]


def test_a_failed_cell_leaves_no_leak_behind(kernel: Kernel) -> None:
    assert kernel.run("%%jit\nif x.sum() > 0: q = 1", "fails").status == "error"
    assert "no tracer" in kernel.ok("%jx leaks").result["text/plain"]


def test_a_timeline_over_cells(kernel: Kernel, tmp_path: Path) -> None:
    kernel.ok(f"%jx trace start {tmp_path}/trace")
    kernel.ok("big = jnp.ones((200, 200))\n@jx.jit\ndef f(a):\n    return jnp.sort(a @ a)")
    kernel.ok("result = f(big)")
    bundle = kernel.ok("%jx trace stop").result
    data = bundle["application/vnd.jxkernel.timeline+json"]
    assert any(re.fullmatch(r"Cell In\[\d+\], line 4", one["line"]) for one in data["lines"])
    assert "<svg" in bundle["text/html"]
    assert (tmp_path / "trace" / "timeline.json").exists()


def test_a_report_of_it_all(kernel: Kernel, tmp_path: Path) -> None:
    kernel.ok("%%jit\nr = x + 1", "report")
    kernel.ok("%%jit\nr = x + 2", "report")
    kernel.ok(f"%jx report {tmp_path}/session.json")
    data = json.loads((tmp_path / "session.json").read_text())
    versions = [cell["versions"] for cell in data["cells"]][-1]
    assert [one["source"].splitlines()[-1] for one in versions] == ["r = x + 1", "r = x + 2"]
    kernel.ok(f"%jx report {tmp_path}/session.html")
    assert "r = x + 2" in (tmp_path / "session.html").read_text()
