"""Guards: settings that make jaxlib's runtime log or refuse what should not happen.

On the CPU an array's memory is the host's, so reading one is no transfer.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jxkernel._jaxlib import guard_lib
from jxkernel.config import BOOLEAN, State, config, one_of

__all__ = [
    "array_garbage_collection_guard",
    "explicit_device_get",
    "explicit_device_put",
    "thread_guard",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]

_TRANSFERS = one_of(None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
_COLLECTIONS = one_of(None, "allow", "log", "fatal")


class _Guard(State):
    """An option that the runtime obeys: a field of jaxlib's guard state holds its value too.

    >>> import jxkernel as jx
    >>> with jx.transfer_guard_host_to_device("log"):
    ...     jx.transfer_guard_host_to_device.value
    'log'
    """

    __slots__ = ("_field", "_levels")

    def __init__(self, option: str, field: str, kind: Any, levels: Any, help: str) -> None:
        super().__init__(option, None, kind, help)
        self._field = field
        self._levels = levels
        if self.value is not None:
            self._tell(guard_lib.global_state(), self.value)

    def _tell(self, state: Any, value: Any) -> None:
        # Whatever is no level's name is the mark of "not set".
        level = getattr(self._levels, value.upper()) if isinstance(value, str) else None
        setattr(state, self._field, level)

    def set_global(self, value: Any) -> None:
        """Set the value of the process."""
        super().set_global(value)
        self._tell(guard_lib.global_state(), value)

    def set_local(self, value: Any) -> None:
        """Set, or restore, the value of this thread."""
        super().set_local(value)
        self._tell(guard_lib.thread_local_state(), value)

    def swap_local(self, value: Any) -> Any:
        """Set the value of this thread and return what was set before."""
        previous = super().swap_local(value)
        self._tell(guard_lib.thread_local_state(), value)
        return previous


class _AllTransfers(State):
    """The option that sets all of ``parts`` at once.

    >>> import jxkernel as jx
    >>> with jx.transfer_guard("disallow"):
    ...     jx.transfer_guard_device_to_host.value
    'disallow'
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: _Guard) -> None:
        self.parts = parts
        super().__init__(
            "jax_transfer_guard", None, _TRANSFERS, "What to do at a transfer in any direction."
        )
        if self.value is not None:
            self.set_global(self.value)

    def set_global(self, value: Any) -> None:
        """Set the value of the process in all directions; None leaves them as they are."""
        super().set_global(value)
        for part in self.parts if value is not None else ():
            part.set_global(value)

    def set_local(self, value: Any) -> None:
        """Restore what ``swap_local`` returned."""
        for part, previous in zip(self.parts, value, strict=True):
            part.set_local(previous)

    def swap_local(self, value: Any) -> Any:
        """Set the value of this thread in all directions and return what was set before."""
        return tuple([part.swap_local(value) for part in self.parts])


def _transfers(direction: str, words: str) -> _Guard:
    return _Guard(
        f"jax_transfer_guard_{direction}",
        direction,
        _TRANSFERS,
        guard_lib.TransferGuardLevel,
        f"What to do at a transfer {words} that no device_put or device_get asked for.",
    )


transfer_guard_host_to_device = _transfers("host_to_device", "from the host to a device")
transfer_guard_device_to_device = _transfers("device_to_device", "between devices")
transfer_guard_device_to_host = _transfers("device_to_host", "from a device to the host")
transfer_guard = _AllTransfers(
    transfer_guard_host_to_device,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
)
array_garbage_collection_guard = _Guard(
    "jax_array_garbage_collection_guard",
    "garbage_collect_array",
    _COLLECTIONS,
    guard_lib.GarbageCollectionGuardLevel,
    "What to do when an array is freed by the garbage collector, as one in a cycle is.",
)


class _ThreadGuard(State):
    """The option behind ``thread_guard``, of which jaxlib's runtime keeps the thread.

    >>> import jxkernel as jx
    >>> with jx.thread_guard(True):
    ...     jx.thread_guard.value
    True
    """

    __slots__ = ()

    def _tell(self, value: Any) -> None:
        guard_lib.update_thread_guard_global_state(bool(value))

    def set_global(self, value: Any) -> None:
        """Set the value of the process: the thread that sets it is the one that may go on."""
        super().set_global(value)
        self._tell(value)

    def set_local(self, value: Any) -> None:
        """Restore the value of this thread."""
        super().set_local(value)
        self._tell(self.value)

    def swap_local(self, value: Any) -> Any:
        """Set the value of this thread and return what was set before."""
        previous = super().swap_local(value)
        self._tell(value)
        return previous


thread_guard = _ThreadGuard(
    "jax_thread_guard",
    False,
    BOOLEAN,
    "Let programs that run on several processes be called from the thread that set it alone.",
)


@contextmanager
def _marked(field: str) -> Generator[None]:
    state = guard_lib.thread_local_state()
    before = getattr(state, field)
    setattr(state, field, True)
    try:
        yield
    finally:
        setattr(state, field, before)


def explicit_device_put() -> Any:
    """Return a context in which copies to devices count as asked for."""
    return _marked("explicit_device_put")


def explicit_device_get() -> Any:
    """Return a context in which copies to the host count as asked for."""
    return _marked("explicit_device_get")


config.include(
    transfer_guard,
    transfer_guard_host_to_device,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    array_garbage_collection_guard,
    thread_guard,
)
