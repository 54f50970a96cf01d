"""A group whose service none of its ranks holds: real processes, on loopback."""

import os
import socket
import subprocess
import sys

import pytest

from jxkernel import cluster
from jxkernel.cluster import Service
from jxkernel.errors import ClusterError

PROGRAM = """
import sys
import numpy as np
import jxkernel as jx
rank, address = int(sys.argv[1]), sys.argv[2]
jx.devices()
jx.cluster.join(rank, 2, address)
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


def test_two_processes_join_leave_and_live_on():
    service = Service(2)
    environment = {**os.environ, "JXKERNEL_COMPILATION_CACHE_DIR": ""}
    command = [sys.executable, "-c", PROGRAM]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), service.address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=300) for rank in ranks]
    service.stop()
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    assert [out.splitlines()[-1] for out, _ in outputs] == ["ok 0", "ok 1"]


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
