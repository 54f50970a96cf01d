"""A group whose service none of its ranks holds: real processes, on loopback."""

import os
import shutil
import socket
import ssl
import subprocess
import sys

import pytest

from jxkernel import cluster
from jxkernel._jaxlib import has_mutual_tls
from jxkernel.cluster import Service
from jxkernel.errors import ClusterError

PROGRAM = """
import sys
import numpy as np
import jxkernel as jx
rank, address = int(sys.argv[1]), sys.argv[2]
jx.devices()
files = jx.cluster.Credentials.of_folder(sys.argv[3]) if sys.argv[3:] else None
jx.cluster.join(rank, 2, address, credentials=files)
assert (jx.process_index(), jx.process_count()) == (rank, 2)
try:
    jx.cluster.join(rank, 2, address)
except jx.errors.ClusterError as error:
    assert f"is rank {rank} of 2" in str(error)
rows = jx.NamedSharding(jx.make_mesh((2,), ("x",)), jx.P("x"))
x = jx.make_array_from_process_local_data(rows, np.full(1, rank + 1.0))
assert float(jx.jit(lambda x: x.sum())(x)) == 3.0
jx.cluster.leave()
assert jx.process_count() == 1
print("ok", rank)
"""


def run_two(service, *more):
    """Run the program in two processes that join a service."""
    environment = {**os.environ, "JXKERNEL_COMPILATION_CACHE_DIR": ""}
    command = [sys.executable, "-c", PROGRAM]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), service.address, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=300) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    assert [out.splitlines()[-1] for out, _ in outputs] == ["ok 0", "ok 1"]


def test_two_processes_join_leave_and_live_on():
    service = Service(2)
    run_two(service)
    service.stop()


def signed(folder):
    """Write an authority's certificate, and one for this machine that it has signed."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl, which makes certificates")

    def make(*words):
        subprocess.run([openssl, *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "rsa:2048", "-nodes")
    make("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")
    make("req", *new, "-keyout", "key.pem", "-out", "asked.pem", "-subj", "/CN=rank")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
    make("x509", "-req", "-in", "asked.pem", *by, "-out", "cert.pem")
    return cluster.Credentials.of_folder(str(folder))


def read_as_a_stranger(address, files):
    """Say hello to a service, trusting its authority, without a certificate of one's own."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=files.authority)
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection((host, int(port)), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        secured.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        return secured.recv(1)


@pytest.mark.skipif(not has_mutual_tls, reason="this jaxlib's service knows no TLS")
def test_with_certificates_only_those_join_that_have_one(tmp_path):
    files = signed(tmp_path)
    service = Service(2, credentials=files)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        read_as_a_stranger(service.address, files)
    run_two(service, str(tmp_path))
    service.stop()


def test_certificates_that_are_not_there_are_told(tmp_path, monkeypatch):
    files = cluster.Credentials.of_folder(str(tmp_path))
    monkeypatch.setattr("jxkernel.cluster.credentials.has_mutual_tls", True)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*cert\.pem"):
        Service(1, credentials=files)
    monkeypatch.setattr("jxkernel.cluster.credentials.has_mutual_tls", False)
    with pytest.raises(ClusterError, match="knows no TLS"):
        cluster.join(0, 1, "localhost:1", credentials=files)


@pytest.mark.parametrize(("rank", "n"), [(0, 0), (2, 2), (-1, 2)])
def test_a_rank_that_cannot_be_is_refused(rank, n):
    with pytest.raises(ValueError, match=f"got rank {rank} of {n}"):
        cluster.join(rank, n, "localhost:1")


@pytest.mark.parametrize("address", ["localhost", ":80", "localhost:http"])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(ValueError, match="must be 'host:port'"):
        cluster.join(0, 1, address)


def test_nobody_at_the_address_is_an_error():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"No coordination service answers at {address}"):
            cluster.join(0, 1, address, timeout=0)


def test_a_service_wants_a_port_that_is_free():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"{port} cannot be listened on.*another port"):
            Service(1, port=port)
    with pytest.raises(ValueError, match="at least one rank, got 0"):
        Service(0)
    with pytest.raises(OSError, match=r"192\.0\.2\.1 is no address of this machine"):
        Service(1, "192.0.2.1")


def test_a_port_can_be_had_again_once_its_service_has_ended():
    service = Service(1)
    port = int(service.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)):
        service.stop()
    Service(1, port=port).stop()
