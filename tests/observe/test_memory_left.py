"""How much memory a process may still take, by what its system says."""

import subprocess
import sys
from pathlib import Path

import pytest

from jxkernel.observe.memory_left import memory_left

MACHINE = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:   8000 kB\n"}
SECOND = {"proc/self/cgroup": "0::/user/job\n"}
FIRST = {"proc/self/cgroup": "4:memory:/job\n1:cpu:/\n0::/\n"}
LIMITED = {
    "proc/self/limits": "Limit  Soft  Hard  Units\nMax address space  700000  unlimited  bytes\n",
    "proc/self/status": "Name: python\nVmSize:   100 kB\n",
}
SYSTEMS: dict[str, tuple[dict[str, str], int | None]] = {
    "nothing is told": ({}, None),
    "a machine": (MACHINE, 8000 * 1024),
    "a process with a limit": ({**MACHINE, **LIMITED}, 700000 - 100 * 1024),
    "a group with a limit": (
        {
            **MACHINE,
            **SECOND,
            "sys/fs/cgroup/user/job/memory.max": "5000\n",
            "sys/fs/cgroup/user/job/memory.current": "4000\n",
            "sys/fs/cgroup/user/job/memory.stat": "anon 3500\ninactive_file 500\n",
        },
        1500,
    ),
    "a group above it has one": (
        {
            **SECOND,
            "sys/fs/cgroup/user/job/memory.max": "max\n",
            "sys/fs/cgroup/user/job/memory.current": "4000\n",
            "sys/fs/cgroup/user/memory.max": "6000\n",
            "sys/fs/cgroup/user/memory.current": "5000\n",
        },
        1000,
    ),
    "a container that shows its own group alone": (
        {
            **SECOND,
            "sys/fs/cgroup/memory.max": "6000\n",
            "sys/fs/cgroup/memory.current": "7000\n",
        },
        0,
    ),
    "groups of the first version": (
        {
            **FIRST,
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "5000\n",
            "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "4000\n",
            "sys/fs/cgroup/memory/job/memory.stat": "total_inactive_file 250\n",
        },
        1250,
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_least_of_what_is_left_counts(name: str, tmp_path: Path) -> None:
    files, left = SYSTEMS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert memory_left(tmp_path) == left


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no limits")
def test_a_process_knows_its_own_limit() -> None:
    code = "from jxkernel.observe.memory_left import memory_left\nprint(memory_left())"
    limited = f"ulimit -v {8 * 1024 * 1024}; exec {sys.executable} -c '{code}'"
    run = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=True)
    assert 0 < int(run.stdout) < 8 * 1024**3
