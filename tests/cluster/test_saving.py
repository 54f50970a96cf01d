"""Saves of a group's variables: whole or not at all, and plain to read."""

import json

import numpy as np
import pytest

from jxkernel.cluster import saving
from jxkernel.errors import ClusterError

VALUES = """
import ml_dtypes
whole = jx.NamedSharding(mesh, jx.P())
state = {"x": x, "w": jx.device_put(np.arange(3.0), whole), "step": (3, [None, "a"])}
local, key = jnp.full(2, rank, jnp.bfloat16), jx.random.key(rank)
host = np.array([rank + 0.5, np.nan])
texts = np.array(["a", "bc"])
opaque = object()
"""


def test_variables_come_back_as_they_were(pair, spmd, tmp_path):
    spmd(VALUES)
    shown = pair.run(f"%jx cluster save {tmp_path} state local key host texts").value.text
    assert shown == f"{tmp_path}/save-1"
    spmd("state = local = key = host = None")
    pair.run(f"%jx cluster load {tmp_path}")
    ran = spmd(
        "print(state['x'].sharding == x.sharding, state['w'].sharding == whole, state['step'])\n"
        "print(local.dtype, texts)\n"
        "print(local, host, jx.random.key_data(key))\n"
        "float((state['x'] - x).sum()), float(state['w'].sum())"
    )
    assert ran.printed == (
        "True True (3, [None, 'a'])\nbfloat16 ['a' 'bc']\n"
        "[rank 0] [0 0] [0.5 nan] [0 0]\n[rank 1] [1 1] [1.5 nan] [0 1]\n"
    )
    assert ran.shown == [{"text/plain": "(0.0, 3.0)"}]


def test_what_cannot_be_saved_is_told(pair, spmd, tmp_path):
    spmd(VALUES)
    shown = pair.run(f"%jx cluster save {tmp_path}").value.text
    reasons = dict(line.split(": ")[:0:-1] for line in shown.splitlines()[1:])
    assert "opaque" in reasons["an object is no array, number, text, dict, list or tuple"]
    assert "mesh" in reasons["a mesh is no array, number, text, dict, list or tuple"]
    assert "rows, whole" in reasons["a sharding is no array, number, text, dict, list or tuple"]
    assert "opaque cannot be saved" in pair.attempt(f"%jx cluster save {tmp_path} opaque").printed
    ran = pair.attempt(f"%jx cluster save {tmp_path} absent")
    assert "absent cannot be saved: it is not defined on all ranks" in ran.printed
    assert "x" in json.loads((tmp_path / "save-1" / "rank-0.json").read_text())["variables"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%jx cluster save", "%jx cluster save FOLDER [NAMES]"),
        ("%jx cluster load", "%jx cluster load FOLDER [NAMES]"),
        ("%jx cluster load /absent", "There is no save in /absent"),
        ("%jx cluster save /proc/absent x", "Rank 0 cannot write to /proc/absent: No such file"),
        ("%jx cluster save /proc/absent x", "save to a folder that all ranks can write to"),
    ],
)
def test_folders_that_do_not_serve_are_told(pair, line, message):
    printed = pair.attempt(line).printed
    assert message in printed
    assert "saving.py" not in printed


def test_a_save_counts_when_all_ranks_have_written(tmp_path):
    saving.save_part(str(tmp_path), "one", 0, {"x": np.arange(3)})
    with pytest.raises(ClusterError, match="There is no save"):
        saving.load_variables(str(tmp_path), 0, 2, None)
    with pytest.raises(ClusterError, match=r"parts of ranks \[1\] are not in"):
        saving.commit(str(tmp_path), "one", 2)
    assert list(tmp_path.iterdir()) == []


def test_the_two_latest_saves_are_kept(tmp_path):
    for number in range(4):
        saving.save_part(str(tmp_path), str(number), 0, {"x": number})
        assert saving.commit(str(tmp_path), str(number), 1) == f"save-{number + 1}"
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["latest", "save-3", "save-4"]
    assert saving.load_variables(str(tmp_path), 0, 1, ["x"]) == {"x": 3}
    with pytest.raises(ClusterError, match="y is not in the save, which has x"):
        saving.load_variables(str(tmp_path), 0, 1, ["y"])
    with pytest.raises(ClusterError, match="saved by 1 ranks, and this cluster has 2"):
        saving.load_variables(str(tmp_path), 0, 2, None)
