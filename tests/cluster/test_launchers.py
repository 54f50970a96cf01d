"""What launchers say of the processes that they start."""

import pytest

from jxkernel import cluster
from jxkernel.cluster import Found

SLURM = {
    "SLURM_JOB_ID": "4099",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NODELIST": "node[003-004,9],other1",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_MCA_orte_hnp_uri": "4100.0;tcp://10.96.0.1,10.148.0.1:34911",
}
KUBERNETES = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "3"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        (SLURM, Found("Slurm", "node003:61443", 4, 2, 1)),
        ({**SLURM, "SLURM_STEP_NODELIST": "one,two"}, Found("Slurm", "one:61443", 4, 2, 1)),
        ({**SLURM, "SLURM_STEP_NODELIST": "n1"}, Found("Slurm", "n1:61443", 4, 2, 1)),
        ({**SLURM, "SLURM_STEP_NODELIST": "a,b[1-2]"}, Found("Slurm", "a:61443", 4, 2, 1)),
        ({**SLURM, "SLURM_STEP_NODELIST": "r[1,3]-x"}, Found("Slurm", "r1-x:61443", 4, 2, 1)),
        ({"SLURM_JOB_ID": "7"}, None),
        (OPEN_MPI, Found("Open MPI", "10.96.0.1:61444", 8, 3, 0)),
        (
            {**OPEN_MPI, "OMPI_MCA_orte_hnp_uri": "4100.0;tcp://10.96.0.1:34911"},
            Found("Open MPI", "10.96.0.1:61444", 8, 3, 0),
        ),
        (
            {**OPEN_MPI, "OMPI_MCA_orte_hnp_uri": "4100.0;tcp6://[fe80::1,fe80::2]:34911"},
            Found("Open MPI", "[fe80::1]:61444", 8, 3, 0),
        ),
        ({**OPEN_MPI, "OMPI_MCA_orte_hnp_uri": ""}, Found("Open MPI", None, 8, 3, 0)),
        ({}, None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, None),
    ],
)
def test_launchers_are_recognised(environment, found):
    assert cluster.detect(environment) == found


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("train-3.jobs.default.svc.cluster.local", "train-0.jobs.default.svc.cluster.local:61440"),
        ("train-3", None),
        ("elsewhere.example", None),
    ],
)
def test_pods_of_an_indexed_job_find_the_first(monkeypatch, name, address):
    monkeypatch.setattr("socket.getfqdn", lambda: name)
    assert cluster.detect(KUBERNETES) == Found("Kubernetes", address, None, 3)


def test_only_the_named_launcher_is_asked():
    both = {**SLURM, **OPEN_MPI}
    assert cluster.detect(both, "ompi").launcher == "Open MPI"
    assert cluster.detect(both, "deactivate") is None
    with pytest.raises(ValueError, match="one of slurm, ompi, k8s or deactivate, got 'mpi'"):
        cluster.detect(both, "mpi")
