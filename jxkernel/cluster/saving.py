"""Variables of a group on disk: a folder for each save, that is there whole or not at all.

The format is plain.  A save is a folder ``save-N`` with two files for each rank::

    rank-0.json   the variables by name: dicts, lists, tuples, plain values, and of each array its
                  shape, dtype, how it is divided over the mesh, and the parts that lie here
    rank-0.npz    those parts, as bytes, by number

It is written as ``partial-TOKEN`` and renamed when every rank has written; then the file ``latest``
is replaced by one that names it.  The two latest saves are kept.  An array that is whole on all
ranks is written by rank 0 alone.  Nothing is pickled: to load a save runs no code.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jxkernel.cluster.exchange import dtype_name, is_plain_array
from jxkernel.cluster.keeping import Kept, KeptMesh, kept, restored
from jxkernel.errors import ClusterError
from jxkernel.sharding import AxisType

__all__ = ["commit", "load_variables", "savable", "save_part"]

_FORMAT = 1
_KEPT_SAVES = 2
_PLAIN = (bool, int, float, str, type(None))


class _Writer:
    """Turns kept values into JSON, and collects the arrays' parts."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.parts: list[np.ndarray] = []

    def told(self, value: Any) -> Any:
        """Return a value as JSON says it.

        Raises:
          TypeError: it holds something of another kind.
        """
        if type(value) in _PLAIN:
            return {"value": value}
        if type(value) is dict and all(type(key) is str for key in value):
            return {"dict": {key: self.told(one) for key, one in value.items()}}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.told(one) for one in value]}
        if is_plain_array(value):
            return {"numpy": [value.shape, dtype_name(value.dtype), self._number(value)]}
        if isinstance(value, Kept):
            return {"array": self._array(value)}
        raise TypeError(f"{_kind(value)} is no array, number, text, dict, list or tuple")

    def _number(self, array: np.ndarray) -> int:
        self.parts.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return len(self.parts) - 1

    def _array(self, array: Kept) -> dict[str, Any]:
        is_copy = array.over is not None and self._rank > 0 and _is_whole(array)
        parts = () if is_copy else array.parts
        return {
            "shape": array.shape,
            "dtype": dtype_name(array.parts[0][1].dtype),
            "impl": array.impl,
            "over": array.over and _mesh_told(array.over),
            "parts": [[index, self._number(part)] for index, part in parts],
        }


def _kind(value: Any) -> str:
    """Return what a value is that cannot be saved, with its article."""
    if isinstance(value, KeptMesh):
        return "a mesh" if value.spec is None else "a sharding"
    if callable(value) and not isinstance(value, type):
        return "a function"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _is_whole(array: Kept) -> bool:
    return array.parts[0][1].shape == array.shape


def _mesh_told(mesh: KeptMesh) -> dict[str, Any]:
    return {
        "places": mesh.places,
        "shape": mesh.shape,
        "names": mesh.names,
        "types": [kind.name for kind in mesh.types],
        "spec": list(mesh.spec),
    }


def savable(value: Any) -> str:
    """Return why a value cannot be saved; nothing where it can."""
    try:
        _Writer(0).told(kept(value))
    except Exception as error:  # a value may be of any class
        return str(error)
    return ""


def save_part(folder: str, token: str, rank: int, values: Mapping[str, Any]) -> None:
    """Write a rank's part of a save, which does not count before ``commit``.

    Args:
      folder: where saves are.
      token: what tells this save from others, the same on all ranks.
      rank: this rank.
      values: variables by name.

    Raises:
      ClusterError: the folder cannot be written to.
    """
    place = Path(folder) / f"partial-{token}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClusterError(
            f"Rank {rank} cannot write to {folder}: {error.strerror}.",
            instead="save to a folder that all ranks can write to",
        ) from None
    writer = _Writer(rank)
    told = {name: writer.told(kept(value)) for name, value in values.items()}
    with (place / f"rank-{rank}.npz").open("wb") as file:
        parts: dict[str, Any] = {str(number): part for number, part in enumerate(writer.parts)}
        np.savez(file, **parts)
        _settle(file)
    _write(place / f"rank-{rank}.json", {"format": _FORMAT, "variables": told})


def _write(path: Path, data: Any) -> None:
    with path.open("w") as file:
        json.dump(data, file)
        _settle(file)


def _settle(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def commit(folder: str, token: str, size: int) -> str:
    """Have a save count, and return its name; one rank calls it when all have written.

    Raises:
      ClusterError: a rank's part is not there: the ranks do not share the folder.
    """
    place = Path(folder)
    partial = place / f"partial-{token}"
    absent = [rank for rank in range(size) if not (partial / f"rank-{rank}.json").exists()]
    if absent:
        shutil.rmtree(partial, ignore_errors=True)
        raise ClusterError(
            f"The parts of ranks {absent} are not in {folder}.",
            instead="save to a folder that all ranks share",
        )
    numbers = _saves(place)
    name = f"save-{max(numbers, default=0) + 1}"
    partial.rename(place / name)
    _write(place / "latest.new", {"format": _FORMAT, "save": name, "ranks": size})
    os.replace(place / "latest.new", place / "latest")
    for number in sorted(numbers)[: -_KEPT_SAVES + 1]:
        shutil.rmtree(place / f"save-{number}", ignore_errors=True)
    return name


def _saves(place: Path) -> list[int]:
    found = (path.name.removeprefix("save-") for path in place.glob("save-*"))
    return [int(number) for number in found if number.isdigit()]


def load_variables(
    folder: str, rank: int, size: int, names: Sequence[str] | None
) -> dict[str, Any]:
    """Return the variables of the latest save, as this rank had them.

    Args:
      folder: where saves are.
      rank: this rank.
      size: how many ranks there are.
      names: the variables; None for all.

    Raises:
      ClusterError: there is no save, of another number of ranks, or without one of the names.
    """
    latest = Path(folder) / "latest"
    if not latest.exists():
        raise ClusterError(f"There is no save in {folder}.")
    said = json.loads(latest.read_text())
    if said["ranks"] != size:
        raise ClusterError(
            f"{folder} was saved by {said['ranks']} ranks, and this cluster has {size}.",
            instead=f"%jx cluster {said['ranks']} starts one of that size",
        )
    place = latest.parent / said["save"]
    told = [
        json.loads((place / f"rank-{one}.json").read_text())["variables"] for one in range(size)
    ]
    with _Parts(place, size) as parts:
        wanted = told[rank] if names is None else {name: _named(told[rank], name) for name in names}
        read = _Reader(rank, parts)
        values = {
            name: read.value(one, [other.get(name) for other in told])
            for name, one in wanted.items()
        }
    return restored(values)


def _named(told: Mapping[str, Any], name: str) -> Any:
    if name not in told:
        raise ClusterError(f"{name} is not in the save, which has {', '.join(sorted(told))}.")
    return told[name]


class _Parts:
    """The files of arrays of all ranks, each opened when it is first read."""

    def __init__(self, place: Path, size: int) -> None:
        self._place = place
        self._files: list[Any] = [None] * size

    def read(self, rank: int, number: int, dtype: str, shape: Sequence[int]) -> np.ndarray:
        """Return a part that a rank wrote."""
        if self._files[rank] is None:
            self._files[rank] = np.load(self._place / f"rank-{rank}.npz")
        return self._files[rank][str(number)].view(np.dtype(dtype)).reshape(shape)

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            if file is not None:
                file.close()


class _Reader:
    """Makes kept values of what was written.

    Args:
      rank: this rank.
      parts: the arrays' parts.
    """

    def __init__(self, rank: int, parts: _Parts) -> None:
        self._rank = rank
        self._parts = parts

    def value(self, told: Any, others: Sequence[Any]) -> Any:
        """Return a value; ``others`` are what each rank wrote in its place."""
        [(kind, data)] = told.items()
        inner = [other and other.get(kind) for other in others]
        if kind == "value":
            return data
        if kind == "dict":
            return {
                key: self.value(one, [other and other.get(key) for other in inner])
                for key, one in data.items()
            }
        if kind in ("list", "tuple"):
            many = [
                self.value(one, [_at(other, place) for other in inner])
                for place, one in enumerate(data)
            ]
            return many if kind == "list" else tuple(many)
        if kind == "numpy":
            shape, dtype, number = data
            return self._parts.read(self._rank, number, dtype, shape)
        return self._array(data, inner)

    def _array(self, data: Mapping[str, Any], others: Sequence[Any]) -> Kept:
        sources = [(self._rank, data)] if data["over"] is None else list(enumerate(others))
        parts = {}
        for rank, one in sources:
            for index, number in one["parts"] if one else ():
                bounds = tuple((start, end) for start, end in index)
                shape = [end - start for start, end in bounds]
                parts[bounds] = self._parts.read(rank, number, data["dtype"], shape)
        over = data["over"] and _mesh(data["over"])
        return Kept(tuple(data["shape"]), over, tuple(parts.items()), data["impl"])


def _at(other: Any, place: int) -> Any:
    return other[place] if other and place < len(other) else None


def _mesh(told: Mapping[str, Any]) -> KeptMesh:
    spec = tuple(tuple(one) if isinstance(one, list) else one for one in told["spec"])
    places = tuple((process, number) for process, number in told["places"])
    types = tuple(AxisType[kind] for kind in told["types"])
    return KeptMesh(places, tuple(told["shape"]), tuple(told["names"]), types, spec)
