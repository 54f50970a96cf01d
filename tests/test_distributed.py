"""Two processes run one program: real processes, on loopback."""

import os
import socket
import subprocess
import sys

import pytest

import jxkernel as jx
from jxkernel import distributed

PROGRAM = """
import sys
import numpy as np
import jxkernel as jx
from jxkernel import lax
address, rank = sys.argv[1], int(sys.argv[2])
jx.config.update("jax_num_cpu_devices", 2)
jx.distributed.initialize(address, 2, rank)
assert jx.distributed.is_initialized()
assert (jx.process_index(), jx.process_count()) == (rank, 2)
assert (jx.device_count(), jx.local_device_count()) == (4, 2)
mesh = jx.make_mesh((4,), ("x",))
assert mesh.is_multi_process and len(mesh.local_devices) == 2
rows = jx.NamedSharding(mesh, jx.P("x"))
local = np.arange(4.0, dtype=np.float32) + 4 * rank
x = jx.make_array_from_process_local_data(rows, local)
assert x.shape == (8,) and not x.is_fully_addressable
total = jx.shard_map(
    lambda x: lax.psum(x.sum(), "x"), mesh=mesh, in_specs=jx.P("x"), out_specs=jx.P()
)(x)
assert float(total) == 28.0
doubled = jx.jit(lambda x: x * 2 + x.sum())(x)
for shard in doubled.addressable_shards:
    np.testing.assert_allclose(shard.data, np.arange(8.0)[shard.index] * 2 + 28)
assert [shard.data is None for shard in doubled.global_shards].count(True) == 2
try:
    np.asarray(doubled)
except RuntimeError as error:
    assert "other processes" in str(error)
assert repr(doubled) == str(doubled) == "Array(shape=(8,), dtype=float32)"
whole = jx.NamedSharding(mesh, jx.P())
for gathered in (jx.device_put(doubled, whole), jx.reshard(doubled, whole)):
    np.testing.assert_allclose(gathered, np.arange(8.0) * 2 + 28)
again = jx.device_put(jx.device_put({"x": doubled}, whole)["x"], rows)
assert again.sharding == rows and again.addressable_shards[0].data.shape == (2,)
gradient = jx.shard_map(
    lambda w, v: jx.grad(lambda w: (w * v).sum())(w),
    mesh=mesh, in_specs=(jx.P(), jx.P("x")), out_specs=jx.P(),
)(np.float32(2), x)
assert float(gradient) == 28.0
try:
    jx.device_put(x, jx.local_devices()[0])
except RuntimeError as error:
    assert "other processes" in str(error)
from jxkernel.experimental import multihost_utils as many
assert many.process_allgather({"rank": rank})["rank"].tolist() == [0, 1]
assert many.process_allgather(np.arange(2) + rank, tiled=True).tolist() == [0, 1, 1, 2]
np.testing.assert_allclose(many.process_allgather(x), np.arange(8.0))
assert many.broadcast_one_to_all(np.int32(rank)).tolist() == 0
assert many.broadcast_one_to_all(np.int32(rank), is_source=rank == 1).tolist() == 1
many.sync_global_devices("here")
for said in ("They differ.", "They differ", ""):
    try:
        many.assert_equal(np.int32(rank), said)
        assert rank == 0
    except AssertionError as error:
        assert str(error).startswith("They differ. Process 1 has" if said else "Process 1 has")
try:
    many.sync_global_devices("there" if rank else "here")
    assert rank == 0
except AssertionError as error:
    assert str(error) == "Process 1 is at 'there', process 0 at 'here'."
from jxkernel import events
seen = []
with events.listen(seen.append):
    many.process_allgather(np.arange(2) + rank, tiled=True)
    many.process_allgather(x)
    many.sync_global_devices("here")
assert not [one for one in seen if isinstance(one, events.Traced)], "each was traced before"
wide = many.host_local_array_to_global_array(local, mesh, jx.P("x"))
assert wide.shape == (8,) and wide.sharding == rows
back = many.global_array_to_host_local_array(wide, mesh, jx.P("x"))
np.testing.assert_allclose(back, local)
with many.live_devices(jx.devices()) as alive:
    assert len(alive) == 4
print("ok", rank)
jx.distributed.shutdown()
"""


def test_two_processes_sum_over_all_their_devices():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "JXKERNEL_COMPILATION_CACHE_DIR": ""}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, f"localhost:{port}", str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=300) for rank in ranks]
    for number, (rank, (out, errors)) in enumerate(zip(ranks, outputs, strict=True)):
        assert rank.returncode == 0, errors
        assert f"ok {number}" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "needs coordinator_address"),
        (("localhost", 2, 0), "host:port"),
        (("localhost:1234", 2, 2), "from 0 to 1, got 2"),
    ],
)
def test_wrong_arguments_are_refused(args, message):
    with pytest.raises(ValueError, match=message):
        distributed.initialize(*args)


@pytest.mark.parametrize(
    ("host", "reason"),
    [("127.0.0.1", "in use"), ("192.0.2.1", "assign"), ("nowhere.invalid", "")],
)
def test_process_0_says_where_it_cannot_listen(host, reason):
    # In a process of its own: XLA would end it.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"{host}:{taken.getsockname()[1]}"
        source = f"import jxkernel as jx\njx.distributed.initialize('{address}', 2, 0)"
        ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    *_, said = ran.stderr.splitlines()
    assert f"{address} cannot be listened on: " in said
    assert reason in said


def test_process_0_listens_at_the_address_that_it_was_given_alone():
    source = """
import ipaddress, socket, sys
import psutil
import jxkernel as jx
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
jx.distributed.initialize(f"127.0.0.1:{port}", 1, 0, local_device_ids=[0])
jx.devices()
listens = [one.laddr for one in psutil.Process().net_connections() if one.status == "LISTEN"]
assert port in [one.port for one in listens]
for one in listens:
    place = ipaddress.ip_address(one.ip)
    assert (getattr(place, "ipv4_mapped", None) or place).is_loopback, one
jx.distributed.shutdown()
"""
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_what_a_launcher_does_not_say_is_asked_for(monkeypatch):
    for name, value in {"RANK": "1", "SIZE": "2"}.items():
        monkeypatch.setenv(f"OMPI_COMM_WORLD_{name}", value)
    with pytest.raises(ValueError, match="coordinator_address is not given, and Open MPI does"):
        distributed.initialize()


def test_joining_comes_before_devices():
    jx.devices()
    with pytest.raises(RuntimeError, match="before any device is used"):
        distributed.initialize("localhost:1234", 2, 0)
    assert not distributed.is_initialized()
    distributed.shutdown()
