"""Many processes that run one program: joining them from any launcher, and what keeps them right.

Purpose: form a group of processes around a coordination service that none of them holds, find out
what a launcher (Slurm, Open MPI, Kubernetes) says of this process, and leave.

Place in the pipeline: above ``api`` and ``runtime``; ``distributed`` and ``jupyter.cluster`` are
built on it.

Must not know: notebooks, engines, or how processes are started.
"""

from jxkernel.cluster.communication import LINKS, Collective, Link, communication
from jxkernel.cluster.credentials import Credentials
from jxkernel.cluster.group import join, leave
from jxkernel.cluster.guard import Guard, guard
from jxkernel.cluster.launchers import METHODS, Found, detect
from jxkernel.cluster.service import Service

__all__ = [
    "LINKS",
    "METHODS",
    "Collective",
    "Credentials",
    "Found",
    "Guard",
    "Link",
    "Service",
    "communication",
    "detect",
    "guard",
    "join",
    "leave",
]
