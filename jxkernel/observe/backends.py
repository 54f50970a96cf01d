"""What computes, and what a change of it would do: preview, ask, apply.

How to call it, from a widget or over a comm::

    switch = BackendSwitch(shell.user_ns)      # one per session; holds no state but the variables
    switch.state().to_data()                   # what to show
    plan = switch.preview({"cpu_devices": 4, "x64": True})
    plan.to_data()                             # show plan.text; ask where plan.asks is true
    switch.apply({"cpu_devices": 4, "x64": True}).to_data()

A change is a ``BackendChange`` or a mapping with its fields; what is left out stays. ``preview``
changes nothing and starts nothing. ``apply`` does all of a change or nothing. Both raise ValueError
for a change that makes no sense, with a sentence for the user. Each setting that changed is told
by an event ``SettingChanged``, by any cause: listen to that to follow. Any thread may call.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

from jxkernel import events, runtime
from jxkernel.api.jit import traced_functions
from jxkernel.config import config
from jxkernel.observe.backend_states import (
    BackendChange,
    BackendPreview,
    BackendState,
    DeviceState,
    Placed,
    PlatformState,
    SettingStep,
)
from jxkernel.observe.explain import function_label
from jxkernel.observe.memory import device_label, device_memory, ways_in
from jxkernel.tree import physical

__all__ = [
    "MOST_CPU_DEVICES",
    "PRECISIONS",
    "BackendSwitch",
    "cell_elsewhere",
]

PRECISIONS = ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32")
"""Precisions of matrix products to offer; ``jax_default_matmul_precision`` takes more."""

MOST_CPU_DEVICES = 64

_DEVICE = "jax_default_device"
_COUNT = "jax_num_cpu_devices"
_X64 = "jax_enable_x64"
_PRECISION = "jax_default_matmul_precision"
_LISTED = 6
_OWN = __name__.partition(".")[0]
_WIDE = frozenset({"float64", "int64", "uint64", "complex128"})


class BackendSwitch:
    """Tells what computes, previews a change of it, and applies one.

    Args:
      namespace: the variables whose arrays may move, those of ``__main__`` where not given.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import BackendSwitch
    >>> switch = BackendSwitch({"x": jx.numpy.ones(3)})
    >>> print(switch.preview({"precision": "highest"}).steps[0])
    SettingStep(what='matrix precision', before='default', after='highest')
    """

    _lock = threading.RLock()
    """One for the process, whose settings they are."""

    def __init__(self, namespace: MutableMapping[str, Any] | None = None) -> None:
        self._given = namespace

    @property
    def _namespace(self) -> MutableMapping[str, Any]:
        return vars(sys.modules["__main__"]) if self._given is None else self._given

    def state(self) -> BackendState:
        """Return what computes now, for the whole process: ``with`` blocks are left out."""
        device = _default_device()
        clients = runtime.backends()
        kinds = {
            device_label(one): one.device_kind
            for c in clients.values()
            for one in c.local_devices()
        }
        told = [
            DeviceState(
                one.device,
                kinds.get(one.device, ""),
                one.device == device_label(device),
                one.arrays,
                one.array_bytes,
                one.in_use,
                one.limit,
                one.free,
            )
            for one in device_memory()
        ]
        plugins = {name: (wheel, status) for name, wheel, status in runtime.plugin_states()}
        running = [
            PlatformState(
                name,
                "running",
                plugins.pop(name, ("", ""))[0],
                tuple(one for one in told if one.name in map(device_label, client.local_devices())),
            )
            for name, client in clients.items()
        ]
        idle = [PlatformState(name, status, wheel, ()) for name, (wheel, status) in plugins.items()]
        return BackendState(
            device_label(device),
            _global(_DEVICE) is not None,
            len(clients["cpu"].local_devices()) if "cpu" in clients else 0,
            bool(_global(_X64)),
            _global(_PRECISION) or "default",
            (*running, *idle),
            _group(),
        )

    def preview(self, change: BackendChange | Mapping[str, Any]) -> BackendPreview:
        """Return what a change would do; nothing is changed, and no platform is started.

        Raises:
          ValueError: there is no such field, device, count or precision.
        """
        return _Plan(BackendChange.of(change), self._namespace).preview()

    def apply(self, change: BackendChange | Mapping[str, Any]) -> BackendPreview:
        """Do a change, all of it or nothing, and return what was done.

        Raises:
          ValueError: there is no such field, device, count or precision.
          RuntimeError: it needs a restart, or a platform does not start; nothing has changed.
        """
        with self._lock:
            wanted = BackendChange.of(change)
            plan = _Plan(wanted, self._namespace)
            done = plan.preview()
            if done.restart:
                raise RuntimeError(" ".join(done.restart))
            if wanted.device not in (None, "auto"):
                runtime.backend(wanted.device.partition(":")[0])  # what may fail comes first
            before = {one: _value(one) for one in (_COUNT, _DEVICE, _X64, _PRECISION)}
            try:
                _set(wanted)
                moved = _moved_variables(self._namespace, plan.affected) if wanted.move else {}
            except BaseException:
                _restore(before)
                raise
            self._namespace.update(moved)
            return done


class _Plan:
    """A change against what there is now."""

    def __init__(self, change: BackendChange, namespace: Mapping[str, Any]) -> None:
        self.change = change
        self.namespace = namespace
        self.default = _default_device()
        self.count = len(runtime.backend("cpu").local_devices())
        if change.cpu_devices is not None and not 1 <= change.cpu_devices <= MOST_CPU_DEVICES:
            raise ValueError(
                f"the number of CPU devices goes from 1 to {MOST_CPU_DEVICES}, "
                f"got {change.cpu_devices}"
            )
        if change.precision is not None:
            config.default_matmul_precision.checked(_precision(change.precision))
        self.new_count = change.cpu_devices or self.count
        self.target, self.starts, self.fails = self._target()
        held = _variables(namespace)
        self.affected = {id(one): (names, one) for names, one in held if self._affects(one)}

    def preview(self) -> BackendPreview:
        steps = tuple(self._steps())
        moves, stays = self._arrays()
        found = BackendPreview(
            steps,
            moves,
            stays if self._places else (),
            self._retraced() if steps else (),
            restart=tuple(self._restarts()),
        )
        return replace(found, notes=tuple(self._notes(found))) if found.changes else found

    @property
    def _renews_cpu(self) -> bool:
        return self.new_count != self.count

    @property
    def _places(self) -> bool:
        """Whether new work goes to other devices."""
        return self._renews_cpu or self.target != device_label(self.default)

    def _affects(self, array: Any) -> bool:
        """Whether an array is left behind by the change."""
        if not _is_current(array) or (self._renews_cpu and array.platform() == "cpu"):
            return True
        where = _where(array)
        if len(array.sharding.device_set) > 1 or where == self.target:
            return False
        return where == device_label(self.default) if self._places else True

    def _target(self) -> tuple[str, bool, str]:
        """The default device to be, whether its platform must be started, and why it cannot be."""
        if self.change.device is None:
            return self._renewed(self.default), False, ""
        if self.change.device == "auto":
            platform = runtime.default_platform()
            return f"{platform}:0", platform not in runtime.backends(), ""
        platform, _, number = self.change.device.partition(":")
        status = {name: status for name, _, status in runtime.plugin_states()}.get(platform)
        if platform != "cpu" and status not in (None, "running"):
            reason = "" if status == "not started" else f"{platform} did not start: {status}"
            return f"{platform}:{number or 0}", True, reason
        try:
            devices = runtime.local_devices(backend=platform)
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        numbers = [one.id for one in devices]
        if platform == "cpu" and self._renews_cpu:
            numbers = list(range(self.new_count))
        if number and (not number.isdigit() or int(number) not in numbers):
            has = f"{numbers[0]} to {numbers[-1]}" if numbers[1:] else f"{numbers[0]} alone"
            raise ValueError(f"there is no device {number!r} on {platform}, which has {has}")
        return f"{devices[0].platform}:{number or numbers[0]}", False, ""

    def _renewed(self, device: Any) -> str:
        if device.platform == "cpu" and self._renews_cpu and device.id >= self.new_count:
            return "cpu:0"
        return device_label(device)

    def _steps(self) -> Iterator[SettingStep]:
        change = self.change
        if self._renews_cpu:
            yield SettingStep("CPU devices", str(self.count), str(self.new_count))
        if self.target != device_label(self.default):
            yield SettingStep("default device", device_label(self.default), self.target)
        elif (change.device == "auto") == (_global(_DEVICE) is not None) and change.device:
            words = ("chosen by you", "chosen by jxkernel")
            before, after = words if change.device == "auto" else words[::-1]
            yield SettingStep(
                "default device", f"{self.target} ({before})", f"{self.target} ({after})"
            )
        if change.x64 is not None and change.x64 != _global(_X64):
            yield SettingStep("64-bit dtypes", *(("off", "on") if change.x64 else ("on", "off")))
        before = _global(_PRECISION) or "default"
        if change.precision not in (None, before):
            yield SettingStep("matrix precision", before, str(change.precision))

    def _arrays(self) -> tuple[tuple[Placed, ...], tuple[Placed, ...]]:
        """What goes along, and what stays where it is."""
        moves, stays = [], []
        for names, array in self.affected.values():
            source = _where(array)
            if self._renews_cpu and array.platform() == "cpu" and _is_current(array):
                source += " (former)"
            placed = Placed(
                names, array.aval.short(weak=True), array.nbytes, source, "", array.committed
            )
            if self.change.move:
                moves.append(replace(placed, target=self.target))
            else:
                stays.append(placed)
        largest = partial(sorted, key=lambda one: -one.bytes)
        return tuple(largest(moves)), tuple(largest(stays))

    def _retraced(self) -> tuple[str, ...]:
        return tuple(
            sorted({function_label(fun) for fun, _ in traced_functions() if not _is_own(fun)})
        )

    def _restarts(self) -> Iterator[str]:
        if self._renews_cpu and _group():
            yield (
                f"this process is {_group()}, whose number of devices is fixed once they have "
                "joined. Restart the kernel, set the number, then join."
            )
        if self.fails:
            yield f"{self.fails} Mend that, then restart the kernel."

    def _notes(self, found: BackendPreview) -> Iterator[str]:
        if self.starts and not self.fails:
            yield f"{self.target} is started, which takes seconds and memory of the device"
        if self._renews_cpu and not found.restart:
            yield "the CPU devices are made anew: what was compiled for them is forgotten"
        former = [one for one in found.stays if self._renews_cpu and one.committed]
        if former:
            yield (
                "arrays that stay on the former devices are kept and can be read; those that were "
                "put there cannot be used together with arrays on the new devices"
            )
        elif any(one.committed for one in found.stays):
            yield "calls on arrays that were put on a device go on running there"
        if any(not one.committed for one in found.stays):
            yield (
                "arrays that were not put on a device (uncommitted) are copied to "
                f"{self.target} by each call that uses them"
            )
        yield from self._dtype_notes(found)
        cell = cell_elsewhere()
        if cell:
            yield f"{cell} is running: the change holds for the rest of it"

    def _dtype_notes(self, found: BackendPreview) -> Iterator[str]:
        settings = {one.what: one.after for one in found.steps}
        if settings.get("64-bit dtypes") == "off":
            wide = [n for n, array in _variables(self.namespace) if array.dtype.name in _WIDE]
            if wide:
                names = ", ".join(one[0] for one in wide[:_LISTED])
                yield f"arrays with 64-bit dtypes stay as they are: {names}"
        if "matrix precision" in settings and self.target.startswith("cpu:"):
            yield "the CPU multiplies float32 in full precision, whatever is set here"


def _set(change: BackendChange) -> None:
    """Set what a change names; the number of devices first, as the device may be a new one."""
    count = len(runtime.backend("cpu").local_devices())
    if change.cpu_devices not in (None, count):
        _update(_COUNT, change.cpu_devices)
    if change.device == "auto":
        _update(_DEVICE, None)
        _default_device()
    elif change.device is not None:
        _update(_DEVICE, _device(change.device))
    if change.x64 is not None:
        _update(_X64, change.x64)
    if change.precision is not None:
        _update(_PRECISION, _precision(change.precision))


def _value(option: str) -> Any:
    """A setting's value; a device by its name, as other devices may stand for it later."""
    value = _global(option)
    return device_label(value) if isinstance(value, runtime.Device) else value


def _restore(before: Mapping[str, Any]) -> None:
    for option, value in before.items():
        is_device = option == _DEVICE and isinstance(value, str) and ":" in value
        _update(option, _device(value) if is_device else value)


def _update(option: str, value: Any) -> None:
    if _global(option) != value:
        config.update(option, value)


def _global(option: str) -> Any:
    """The process's value: what ``with`` blocks of the calling thread say is left out."""
    return config.state(option).get_global()


def _precision(given: str) -> str | None:
    return None if given == "default" else given


def _default_device() -> Any:
    wanted = _global(_DEVICE)
    if wanted is None or isinstance(wanted, str):
        return runtime.local_devices(backend=wanted)[0]
    return wanted


def _device(name: str) -> Any:
    """The device of a name; its platform is started.

    Raises:
      ValueError: the platform has no device of that number.
      RuntimeError: the platform does not start.
    """
    platform, _, number = name.partition(":")
    found = runtime.local_devices(backend=platform)
    if not number:
        return found[0]
    for one in found:
        if str(one.id) == number:
            return one
    raise ValueError(f"there is no device {number!r} on {platform}, which has {len(found)}")


def _where(array: Any) -> str:
    devices = sorted(array.sharding.device_set, key=lambda one: one.id)
    names = [device_label(one) for one in devices]
    return names[0] if len(names) == 1 else f"{len(names)} devices, {names[0]} to {names[-1]}"


def _is_own(fun: Any) -> bool:
    """Whether a function is this package's: not an object, such as a cell, that it made."""
    return isinstance(fun, FunctionType) and (fun.__module__ or "").partition(".")[0] == _OWN


def _is_current(array: Any) -> bool:
    """Whether an array lies on devices that the process has now."""
    return runtime.is_current(next(iter(array.sharding.device_set)))


def _variables(namespace: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """The living arrays that variables hold, each once, with all its names."""
    found: dict[int, tuple[list[str], Any]] = {}
    for name, array in ways_in(namespace):
        if not array.is_deleted():
            found.setdefault(id(array), ([], array))[0].append(name)
    return [(tuple(names), array) for names, array in found.values()]


def _moved_variables(
    namespace: Mapping[str, Any], affected: Mapping[int, tuple[tuple[str, ...], Any]]
) -> dict[str, Any]:
    """New values of the variables that hold one of some arrays."""
    target = _default_device()
    put = {identity: runtime.moved_to(array, target) for identity, (_, array) in affected.items()}
    move = partial(_moved, put=put)
    return {
        name: physical.map(move, value)
        for name, value in list(namespace.items())
        if any(id(array) in put for _, array in ways_in({name: value}))
    }


def _moved(leaf: Any, put: Mapping[int, Any]) -> Any:
    return put.get(id(leaf), leaf)


def _group() -> str:
    group = runtime.joined()
    return f"number {group.rank} of {group.size} at {group.address}" if group else ""


def cell_elsewhere() -> str:
    """Return the label of the cell that runs now in another thread; empty where none does."""
    open_cells = {one.number: one for one in events.open_spans() if one.kind is events.CellFinished}
    spans = {one.number: one for one in events.open_spans()}
    own = events.current_span()
    while own in spans:
        open_cells.pop(own, None)
        own = spans[own].parent
    return next((str(one.fields.get("cell")) for one in open_cells.values()), "")
