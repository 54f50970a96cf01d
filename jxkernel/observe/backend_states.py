"""Changes of the backend as records: what is asked for, what there is, what would come of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from jxkernel.observe.explain import format_size

__all__ = [
    "BackendChange",
    "BackendPreview",
    "BackendState",
    "DeviceState",
    "Placed",
    "PlatformState",
    "SettingStep",
]

_KINDS = {"device": str, "cpu_devices": int, "x64": bool, "precision": str, "move": bool}
_LISTED = 6


@dataclass(frozen=True, slots=True)
class BackendChange:
    """What to switch; what is None stays as it is.

    Attributes:
      device: the default device, ``cpu:1``, or of a platform the first one, ``gpu``; ``auto``
        leaves the choice to jxkernel.
      cpu_devices: how many CPU devices the process has, 1 to 64.
      x64: whether 64-bit dtypes stay 64-bit.
      precision: of matrix products that name none: one of ``backends.PRECISIONS``, or another
        value of ``jax_default_matmul_precision``.
      move: whether arrays that variables hold go along, to the default device as it is then: those
        on the default device as it was, and on devices that are no more. Those that were put on
        other devices stay. Where nothing else changes, all that lie on one other device go.
    """

    device: str | None = None
    cpu_devices: int | None = None
    x64: bool | None = None
    precision: str | None = None
    move: bool = False

    @classmethod
    def of(cls, given: BackendChange | Mapping[str, Any]) -> Self:
        """Return a change from its fields, as a front end sends them.

        Raises:
          ValueError: there is no such field, or a value is of the wrong type.
        """
        values = asdict(given) if isinstance(given, BackendChange) else dict(given)
        for name, value in values.items():
            if name not in _KINDS:
                known = ", ".join(one.name for one in fields(cls))
                raise ValueError(f"a change of the backend has no {name!r}: it has {known}")
            if value is not None and type(value) is not _KINDS[name]:
                raise ValueError(f"{name} takes {_KINDS[name].__name__}, got {value!r:.60}")
        return cls(**{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device.

    Attributes:
      name: ``cpu:0``.
      kind: what it calls itself.
      is_default: whether work goes there that nothing places.
      arrays: how many arrays have a part on it.
      array_bytes: the size of those parts.
      in_use: what the device itself says is in use, or None.
      limit: what it may use, or None.
      free: what is left, or None where unknown.
    """

    name: str
    kind: str
    is_default: bool
    arrays: int
    array_bytes: int
    in_use: int | None
    limit: int | None
    free: int | None


@dataclass(frozen=True, slots=True)
class PlatformState:
    """A platform: what runs it, and how it is.

    Attributes:
      name: ``cpu``, ``cuda``, ...
      status: ``running``, ``not started``, or the reason why it did not start.
      plugin: the wheel that brings it; empty for the CPU.
      devices: its devices in this process, while it is running.
    """

    name: str
    status: str
    plugin: str
    devices: tuple[DeviceState, ...]


@dataclass(frozen=True, slots=True)
class BackendState:
    """What computes now.

    Attributes:
      device: the default device, ``cpu:0``.
      is_chosen: whether it was chosen; else jxkernel took the first one.
      cpu_devices: how many CPU devices there are; 0 while the CPU's client has not been made.
      x64: whether 64-bit dtypes stay 64-bit.
      precision: of matrix products that name none; ``default`` where none is set.
      platforms: the platforms, those that run first.
      group: of processes that run one program, ``number of count at address``; empty when alone.
    """

    device: str
    is_chosen: bool
    cpu_devices: int
    x64: bool
    precision: str
    platforms: tuple[PlatformState, ...]
    group: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """One line: ``cpu:0 · 4 CPU devices · 32-bit · precision default``."""
        count = f"{self.cpu_devices} CPU device{'' if self.cpu_devices == 1 else 's'}"
        bits = "64-bit dtypes on" if self.x64 else "64-bit dtypes off"
        return " · ".join([self.device, count, bits, f"precision {self.precision}"])


@dataclass(frozen=True, slots=True)
class SettingStep:
    """One setting that a change changes, in words: what, from, to."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Placed:
    """An array that variables hold, and where it lies.

    Attributes:
      names: the variables and the ways from them, ``params['w']``.
      type: its type, ``f32[8]``.
      bytes: its size.
      source: where it lies now.
      target: where it goes; empty for one that stays.
      committed: whether it was put there; one that was not follows the work that uses it.
    """

    names: tuple[str, ...]
    type: str
    bytes: int
    source: str
    target: str = ""
    committed: bool = False


@dataclass(frozen=True, slots=True)
class BackendPreview:
    """What a change does.

    Attributes:
      steps: the settings that change.
      moves: the arrays that go along.
      stays: the arrays that would go along if the change said ``move``.
      retraced: names of the jitted functions that are traced and compiled again when called.
      notes: sentences about what else comes of it.
      restart: sentences that say why it cannot be done in this process; empty where it can.
    """

    steps: tuple[SettingStep, ...]
    moves: tuple[Placed, ...] = ()
    stays: tuple[Placed, ...] = ()
    retraced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything changes at all."""
        return bool(self.steps or self.moves)

    @property
    def asks(self) -> bool:
        """Whether there is something that the user should agree to."""
        return self.changes and bool(self.moves or self.stays or self.retraced or self.notes)

    @property
    def text(self) -> str:
        """All of it in words, a line each."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return all of it in words."""
        if not self.changes:
            return ["nothing changes"]
        found = [f"{one.what}: {one.before} → {one.after}" for one in self.steps]
        found += [f"RESTART NEEDED: {reason}" for reason in self.restart]
        found += [f"moves: {line}" for line in _listed(self.moves)]
        found += [f"stays: {line}" for line in _listed(self.stays)]
        if self.retraced:
            more = len(self.retraced) - _LISTED
            names = ", ".join(self.retraced[:_LISTED]) + (f" and {more} more" if more > 0 else "")
            found.append(f"traced and compiled again when called: {names}")
        return [*found, *self.notes]

    def to_data(self) -> dict[str, Any]:
        """Return the fields as JSON data, with ``changes``, ``asks`` and ``text``."""
        return {**asdict(self), "changes": self.changes, "asks": self.asks, "text": self.text}

    def __str__(self) -> str:
        return self.text


def _listed(arrays: Sequence[Placed]) -> Iterator[str]:
    for one in arrays[:_LISTED]:
        names = ", ".join(one.names[:3]) + (" …" if len(one.names) > 3 else "")
        where = f"{one.source} → {one.target}" if one.target else f"on {one.source}"
        yield f"{names}  {one.type}  {format_size(one.bytes)}  {where}"
    rest = arrays[_LISTED:]
    if rest:
        yield f"{len(rest):,} more, {format_size(sum(one.bytes for one in rest))}"
