"""What launchers say, in the environment, of the processes that they start.

Each launcher is a function from the environment to what it says, or None where it did not start
this process.  Nothing is asked over the network.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping

from jxkernel.records import record

__all__ = ["METHODS", "Found", "detect"]

Environment = Mapping[str, str]

_FIRST_PORT, _PORTS = 61440, 4096


@record()
class Found:
    """What a launcher says; None where it does not.

    Attributes:
      launcher: its name.
      address: where process 0 listens, ``host:port``.
      size: the number of processes.
      rank: the number of this one.
      local_rank: the number of this one among those on its machine.
    """

    launcher: str
    address: str | None = None
    size: int | None = None
    rank: int | None = None
    local_rank: int | None = None


def _number(environment: Environment, name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isdigit() else None


def _port(job: str) -> int:
    """Return a port for a job, the same in all its processes."""
    digits = re.sub(r"\D", "", job)
    return _FIRST_PORT + int(digits or 0) % _PORTS


def first_host(hosts: str) -> str:
    """Return the first of a list of hosts as Slurm writes it, ``node[003-007,9],other``."""
    head, bracket, rest = hosts.partition("[")
    if not bracket or "," in head:
        return head.partition(",")[0]
    numbers, _, tail = rest.partition("]")
    return head + re.split("[-,]", numbers)[0] + tail.partition(",")[0]


def _slurm(environment: Environment) -> Found | None:
    job = environment.get("SLURM_JOB_ID")
    if job is None or "SLURM_PROCID" not in environment:
        return None
    hosts = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST")
    return Found(
        "Slurm",
        f"{first_host(hosts)}:{_port(job)}" if hosts else None,
        _number(environment, "SLURM_NTASKS"),
        _number(environment, "SLURM_PROCID"),
        _number(environment, "SLURM_LOCALID"),
    )


def _open_mpi(environment: Environment) -> Found | None:
    if "OMPI_COMM_WORLD_RANK" not in environment:
        return None
    # "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"; from version 5 on it is not said.
    said = environment.get("OMPI_MCA_orte_hnp_uri", "")
    job, _, addresses = said.partition(";")
    host = re.match(r"tcp6?://\[?([^,\]]+?)(?:[,\]]|:\d+$)", addresses)
    return Found(
        "Open MPI",
        f"{_in_brackets(host.group(1))}:{_port(job.partition('.')[0])}" if host else None,
        _number(environment, "OMPI_COMM_WORLD_SIZE"),
        _number(environment, "OMPI_COMM_WORLD_RANK"),
        _number(environment, "OMPI_COMM_WORLD_LOCAL_RANK"),
    )


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _kubernetes(environment: Environment) -> Found | None:
    rank = _number(environment, "JOB_COMPLETION_INDEX")
    if rank is None or "KUBERNETES_SERVICE_HOST" not in environment:
        return None
    # The pods of an indexed job are called JOB-INDEX, and a headless service gives them names.
    pod, _, domain = socket.getfqdn().partition(".")
    stem, dash, number = pod.rpartition("-")
    is_named = bool(dash and domain) and number == str(rank)
    address = f"{stem}-0.{domain}:{_FIRST_PORT}" if is_named else None
    return Found("Kubernetes", address, None, rank, None)


METHODS: dict[str, Callable[[Environment], Found | None]] = {
    "slurm": _slurm,
    "ompi": _open_mpi,
    "k8s": _kubernetes,
}
"""How each launcher is recognised, by the name that ``cluster_detection_method`` takes."""


def detect(environment: Environment, method: str | None = None) -> Found | None:
    """Return what the launcher of this process says, or None where none is recognised.

    Args:
      environment: the process's variables.
      method: the launcher to ask, a key of ``METHODS``; ``deactivate`` asks none, None asks all.

    Raises:
      ValueError: there is no such method.
    """
    if method == "deactivate":
        return None
    if method is not None and method not in METHODS:
        raise ValueError(
            f"cluster_detection_method must be one of {', '.join(METHODS)} or deactivate, got "
            f"{method!r}"
        )
    asked = METHODS.values() if method is None else [METHODS[method]]
    return next((found for found in (ask(environment) for ask in asked) if found), None)
