"""The beginning and the end of a cluster."""

import os
import signal
import subprocess
import sys

import pytest

from jxkernel.jupyter import load_ipython_extension, unload_ipython_extension
from jxkernel.jupyter.cluster.engines import Engines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%jx cluster", "there is no cluster yet: start one with %jx cluster 2"),
        ("%jx cluster 0", "there is at least one engine, got 0"),
        ("%jx cluster -1", "there is at least one engine, got -1"),
        (
            "%jx cluster 2 --hosts a",
            "%jx cluster N [--profile NAME] [--host ADDRESS] [--tls FOLDER]",
        ),
        ("%jx cluster 2 --tls nowhere", "nowhere/cert.pem, which the service needs for TLS"),
        ("%%jit --on cluster\nx + 1", "there is no cluster yet"),
        ("%%jit --on moon\nx + 1", "--on: invalid choice: 'moon'"),
        ("%%spmd\n1", "there is no cluster yet"),
    ],
)
def test_without_a_cluster_the_way_to_one_is_told(notebook, line, message):
    assert message in notebook.attempt(line).printed


def test_without_ipyparallel_its_installation_is_told(notebook, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipyparallel", None)
    assert "%pip install jxkernel[cluster]" in notebook.attempt("%jx cluster 2").printed


@pytest.mark.slow
def test_an_engine_of_another_version_is_told_and_ended(notebook, monkeypatch):
    pytest.importorskip("ipyparallel")
    monkeypatch.setattr("jxkernel.jupyter.cluster.controller.version_text", "0.0.1")
    started = []

    class Watched(Engines):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self.apply(0, os.getpid).get(60))

    monkeypatch.setattr("jxkernel.jupyter.cluster.controller.Engines", Watched)
    printed = notebook.attempt("%jx cluster 1").printed
    assert "this notebook runs jxkernel" in printed
    assert "jaxlib 0.0.1" in printed
    assert "there is no cluster yet" in notebook.attempt("%jx cluster").printed
    assert len(started) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


@pytest.mark.slow
def test_engines_end_with_the_extension(plain_notebook):
    pytest.importorskip("ipyparallel")
    load_ipython_extension(plain_notebook.shell)
    rows = plain_notebook.run("%jx cluster 1").value.data["rows"]
    unload_ipython_extension(plain_notebook.shell)
    with pytest.raises(ProcessLookupError):
        os.kill(int(rows[0][2]), 0)


STARTS = """
import os, time
from jxkernel.jupyter.cluster.engines import Engines
engines = Engines(1)
print(engines._cluster.controller.pid, engines.apply(0, os.getpid).get(60), flush=True)
time.sleep(300)
"""


@pytest.mark.slow
def test_engines_end_with_a_notebook_that_is_killed():
    pytest.importorskip("ipyparallel")
    psutil = pytest.importorskip("psutil")
    command = [sys.executable, "-c", STARTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starts:
        assert starts.stdout is not None
        started = [psutil.Process(int(pid)) for pid in starts.stdout.readline().split()]
        assert len(started) == 2
        starts.send_signal(signal.SIGKILL)
    ended, left = psutil.wait_procs(started, timeout=120)
    for process in left:
        process.kill()
    assert not left
    assert len(ended) == 2
