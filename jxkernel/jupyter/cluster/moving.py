"""``%jx cluster push``, ``pull`` and ``diff``: variables between the notebook and the ranks."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
from IPython.core.error import UsageError

from jxkernel import tree
from jxkernel.cluster.exchange import dtype_name, packed, unpacked
from jxkernel.jupyter.cluster.controller import Cluster
from jxkernel.jupyter.cluster.folding import ranks_named
from jxkernel.jupyter.cluster.rows import grouped
from jxkernel.tree import physical

__all__ = ["differing", "first_difference", "known_on_a_rank", "load", "pull", "push", "save"]

_ABSENT = "absent"


def push(found: Cluster, variables: dict[str, Any], names: Sequence[str]) -> None:
    """Set variables on all ranks to the notebook's values.

    Raises:
      UsageError: a name is unknown, or a value cannot be pickled.
    """
    values = {name: _known(variables, name) for name in names}
    for name, value in values.items():
        try:
            packed(value)
        except Exception as error:  # pickling raises what the value's class likes
            raise UsageError(
                f"%jx cluster push: {name} cannot be pickled: {error}. Define it in a %%spmd cell"
            ) from None
    skeleton, arrays = packed(values)
    layout = [(one.shape, dtype_name(one.dtype)) for one in arrays]
    ranks = range(found.size)
    found.run(
        "receive", {rank: (skeleton, layout, arrays if rank == 0 else None, 0) for rank in ranks}
    )


def pull(found: Cluster, name: str, *, rank: int | None = None, gather: bool = False) -> Any:
    """Return a variable of the ranks.

    Args:
      found: the cluster.
      name: the variable.
      rank: whose value; where not given all must have the same.
      gather: whether a divided array is made whole.

    Raises:
      UsageError: a rank does not have it, the values differ, or it cannot be sent.
    """
    told = differing(found, [name])
    absent = [ranks for ranks, said in told[name] if said == _ABSENT]
    if absent and (rank is None or rank in absent[0]):
        raise UsageError(f"%jx cluster pull: {name} is not defined on {ranks_named(absent[0])}")
    if rank is None and len(told[name]) > 1:
        said = "; ".join(f"{ranks_named(ranks)}: {what}" for ranks, what in told[name])
        raise UsageError(
            f"%jx cluster pull: {name} differs between ranks ({said}); choose one with --rank N"
        )
    asked = rank or 0
    ranks = range(found.size) if gather else [asked]
    result = found.run("fetch", {one: (name, one == asked, gather) for one in ranks})[asked]
    if isinstance(result, str):
        advice = "; make it whole with --gather" if "divided" in result else ""
        raise UsageError(f"%jx cluster pull: {name} {result}{advice}")
    try:
        return unpacked(*result)
    except Exception as error:  # what it refers to may not be defined here
        raise UsageError(
            f"%jx cluster pull: {name} cannot be made here: {error}. Define its function or class "
            "in the notebook too"
        ) from None


def differing(
    found: Cluster, names: Sequence[str] | None
) -> dict[str, list[tuple[list[int], str]]]:
    """Return, by name, what each group of ranks holds that has the same."""
    by_rank = found.run("digests", dict.fromkeys(range(found.size), (names,)))
    every = names or sorted({name for told in by_rank.values() for name in told})
    return {
        name: grouped({rank: told.get(name, _ABSENT) for rank, told in by_rank.items()})
        for name in every
    }


def known_on_a_rank(found: Cluster, names: Sequence[str]) -> dict[str, list[tuple[list[int], str]]]:
    """Return what ``differing`` does, of variables that some rank has.

    Raises:
      UsageError: no rank has one of them.
    """
    told = differing(found, names)
    for name, groups in told.items():
        if [said for _, said in groups] == [_ABSENT]:
            raise UsageError(f"%jx cluster diff: {name} is not defined on any rank")
    return told


def first_difference(found: Cluster, name: str, one: int, other: int) -> str:
    """Return where the arrays of two ranks differ first, in words; empty where not known."""
    try:
        pair = [pull(found, name, rank=rank) for rank in (one, other)]
    except UsageError:
        return ""
    leaves = [
        [(tree.keystr(path), np.asarray(x)) for path, x in physical.leaves_with_path(value)]
        for value in pair
    ]
    for (path, before), (other_path, after) in zip(*leaves, strict=False):
        if (path, before.shape, before.dtype) != (other_path, after.shape, after.dtype):
            return ""
        places = np.argwhere(before != after)
        if len(places):
            place = tuple(int(axis) for axis in places[0])
            index = f"[{', '.join(map(str, place))}]" if place else ""
            count = f"{len(places):,} of {before.size:,}"
            return f"{name}{path}{index}: {before[place]} and {after[place]}; {count} differ"
    return ""


def save(found: Cluster, folder: str, names: Sequence[str] | None) -> tuple[str, dict[str, str]]:
    """Save variables of the ranks, and return the save's name, and which were left out, and why.

    Args:
      found: the cluster.
      folder: where; all ranks share it.
      names: the variables; None for all that can be saved.

    Raises:
      UsageError: one that is named cannot be saved.
      ClusterError: the ranks do not share the folder.
    """
    every = range(found.size)
    refused: dict[str, str] = {}
    for told in found.run("savable", dict.fromkeys(every, (names,))).values():
        refused |= told
    if names is not None and refused:
        name, why = next(iter(refused.items()))
        raise UsageError(f"%jx cluster save: {name} cannot be saved: {why}")
    token = uuid.uuid4().hex[:12]
    found.run("save", {rank: (folder, token, rank, names, tuple(refused)) for rank in every})
    return found.run("commit", {0: (folder, token, found.size)})[0], refused


def load(found: Cluster, folder: str, names: Sequence[str] | None) -> list[str]:
    """Set variables of the ranks to those of the latest save; return their names.

    Raises:
      ClusterError: there is no save, of another number of ranks, or without one of the names.
    """
    every = range(found.size)
    given = {rank: (folder, rank, found.size, names) for rank in every}
    return found.run("load", given)[0]


def _known(variables: dict[str, Any], name: str) -> Any:
    if name not in variables:
        raise UsageError(f"%jx cluster push: there is no variable {name!r}")
    return variables[name]
