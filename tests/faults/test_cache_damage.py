"""Damage to the disk cache by chance, by killed writers and by full disks; and to exports."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import export
from jxkernel.compile import disk_cache, disk_cache_summary
from jxkernel.config import config
from jxkernel.lax import add, sin

pytestmark = pytest.mark.slow

X = np.arange(3, dtype=np.float32)
FLIPS = 300
CUTS = 60
WRITERS = 30


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    chosen = tmp_path / "executables"
    before = config.values
    config.update("jax_compilation_cache_dir", str(chosen))
    disk_cache._use.clear()
    yield chosen
    disk_cache._use.clear()
    for option, value in before.items():
        config.update(option, value)


def compiled() -> Any:
    """Return what a program gives that is compiled anew, or loaded."""
    return np.asarray(jx.jit(lambda x: add(sin(x), x)).lower(X).compile()(X))


def flipped(data: bytes, random: Random) -> bytes:
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("count", "damage"),
    [
        (FLIPS, flipped),
        (CUTS, lambda data, random: data[: random.randrange(len(data))]),
        (CUTS, lambda data, random: data + random.randbytes(random.randint(1, 99))),
    ],
    ids=["a bit flipped", "cut off", "grown"],
)
def test_damaged_entries_are_never_run(folder: Path, count: int, damage: Any) -> None:
    random = Random(count)
    expected = compiled()
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    for _ in range(count):
        path.write_bytes(damage(whole, random))
        np.testing.assert_array_equal(compiled(), expected)
        assert [one.name for one in folder.iterdir()] == [path.name]
    assert disk_cache_summary().hits == 0
    np.testing.assert_array_equal(compiled(), expected)
    assert disk_cache_summary().hits == 1


WRITER = """
import os, sys, numpy as np, jxkernel as jx
from jxkernel.lax import add, mul, sin
x = np.arange(3, dtype=np.float32)
print("begun", flush=True)
for n in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
    y = np.asarray(jx.jit(lambda x: add(sin(x), mul(x, np.float32(n))))(x))
    assert np.allclose(y, np.sin(x) + x * n), (n, y)
print("done", flush=True)
"""


def writer(folder: Path, first: int, count: int, before: str = "", **more: Any) -> Any:
    environment = {**os.environ, "JXKERNEL_COMPILATION_CACHE_DIR": str(folder)}
    command = [sys.executable, "-W", "ignore", "-c", before + WRITER, str(first), str(count)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


@pytest.mark.skipif(os.name == "nt", reason="processes are killed by signals of POSIX")
def test_what_killed_writers_leave_is_whole_or_not_taken(folder: Path) -> None:
    random = Random(1)
    for _ in range(WRITERS):
        process = writer(folder, random.randrange(40), 200)
        assert process.stdout.readline() == "begun\n"
        # Killed at a random moment of its work: after so many entries are there.
        wanted = random.randint(0, 4) + sum(1 for _ in folder.glob("*")) * (random.random() < 0.5)
        while process.poll() is None and sum(1 for _ in folder.glob("*")) < wanted:
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
    after = writer(folder, 0, 60)
    out, err = after.communicate()
    assert (after.returncode, out) == (0, "begun\ndone\n"), err


@pytest.mark.skipif(os.name == "nt", reason="limits of files are of POSIX")
@pytest.mark.parametrize("limit", [0, 1, 100, 4096, 10_000, 20_000])
def test_a_disk_that_is_full_costs_no_result(folder: Path, limit: int) -> None:
    full = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    )
    process = writer(folder, 0, 6, full)
    out, err = process.communicate()
    assert (process.returncode, out) == (0, "begun\ndone\n"), err
    after = writer(folder, 0, 6)
    out, err = after.communicate()
    assert (after.returncode, out) == (0, "begun\ndone\n"), err


def test_exports_with_a_bit_flipped_are_refused() -> None:
    random = Random(5)
    exported = export.export(jx.jit(lambda x: jx.numpy.sin(x) * x))(X)
    whole = bytes(exported.serialize())
    said: Counter[str] = Counter()
    for _ in range(1000):
        with pytest.raises(ValueError, match="export") as refused:
            export.deserialize(flipped(whole, random))
        said[str(refused.value)[:40]] += 1
    assert said.total() == 1000
    np.testing.assert_allclose(export.deserialize(whole).call(X), np.sin(X) * X, rtol=1e-6)
