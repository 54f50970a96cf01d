"""The beginning and the end of a cluster."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from jxkernel.jupyter import load_ipython_extension, unload_ipython_extension
from jxkernel.jupyter.cluster.engines import Engines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%jx cluster", "there is no cluster yet: %jx cluster 2 starts one"),
        ("%jx cluster 0", "a cluster has at least one engine, got 0"),
        ("%jx cluster -1", "a cluster has at least one engine, got -1"),
        (
            "%jx cluster 2 --hosts a",
            "%jx cluster N [--profile NAME] [--host ADDRESS] [--tls FOLDER]",
        ),
        ("%jx cluster 2 --tls nowhere", "nowhere/cert.pem, which the service needs for TLS"),
        ("%jx cluster 2 --host 192.0.2.1", "192.0.2.1 is no address of this machine"),
        ("%jx cluster silence 3", "there is no cluster yet"),
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


def test_a_profile_that_is_not_there_is_told_and_not_made(notebook, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    (tmp_path / "profile_slurm").mkdir()
    printed = notebook.attempt("%jx cluster 2 --profile slrum").printed
    assert f"there is no profile 'slrum' in {tmp_path}, which has slurm; ipython profile" in printed
    assert [one.name for one in tmp_path.iterdir()] == ["profile_slurm"]


def profile_of(folder, port):
    """Make a profile whose controller has its first port on this machine given."""
    profile = folder / "profile_fixed"
    profile.mkdir()
    (profile / "ipcontroller_config.py").write_text(
        f"c = get_config()\nc.IPController.ip = '127.0.0.1'\nc.IPController.ports = [{port}]\n"
    )


def test_a_controller_whose_ports_are_taken_says_so_and_none_is_left(
    notebook, monkeypatch, tmp_path
):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    before = set(psutil.Process().children(recursive=True))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        profile_of(tmp_path, port)
        printed = notebook.attempt("%jx cluster 1 --profile fixed").printed
    assert "1 engines did not start" in printed
    assert f"Address already in use (addr='tcp://127.0.0.1:{port}')" in printed
    assert "there is no cluster yet" in notebook.attempt("%jx cluster").printed
    after = set(psutil.Process().children(recursive=True)) - before
    _, left = psutil.wait_procs(after, timeout=120)
    assert not left


@pytest.mark.slow
def test_a_profile_says_how_engines_are_started(notebook, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    profile_of(tmp_path, port)
    notebook.run("%jx cluster 1 --profile fixed")
    with socket.create_connection(("127.0.0.1", port), timeout=60):
        ran = notebook.attempt("%%spmd\nimport jxkernel as jx\njx.device_count()")
    assert ran.shown == [{"text/plain": "1"}], ran.printed
    notebook.run("%jx cluster stop")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)


@pytest.mark.slow
def test_an_engine_of_another_version_is_told_and_ended(notebook, monkeypatch):
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
