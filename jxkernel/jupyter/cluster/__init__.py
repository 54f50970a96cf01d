"""Many machines from a notebook: engines of ipyparallel that form one group, and cells on them.

Purpose: ``%jx cluster`` starts engines and forms their group; ``%%spmd`` runs a cell on every rank.

Place in the pipeline: a feature of ``jxkernel.jupyter``, on ``jxkernel.cluster``.

Must not know: how engines are started on a machine, or how programs find each other's devices.

The notebook's process holds the coordination service and watches; it is never a rank. An engine
works in a thread beside its main one, so that it answers while a cell runs or waits in C++.
"""

from __future__ import annotations

from jxkernel.jupyter.cluster import requests
from jxkernel.jupyter.cluster.answer import cluster
from jxkernel.jupyter.cluster.comm import comm
from jxkernel.jupyter.feature import Feature, Request, Subcommand

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "cluster": Subcommand(
            cluster,
            "[N|stop|push|pull|diff|save|load|strict|silence|timeline]  engines that form one "
            "group, for %%spmd",
        ),
        "comm": Subcommand(
            comm,
            "[--link NAME] F(ARGS)  collectives by line: bytes, axes, time, specs that avoid them",
        ),
    },
    requests={"cluster": Request(requests.cluster, requests.ClusterAnswer)},
)
