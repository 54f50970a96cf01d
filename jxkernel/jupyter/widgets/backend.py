"""The backend selector: platform, device and 64-bit dtypes, shown and switched.

Purpose: the widget `BackendSelector`.

Place in the pipeline: in `jupyter.widgets`, over `runtime` and `config`.

Must not know: how the options act.
"""

from __future__ import annotations

from typing import Any

import ipywidgets

from jxkernel import runtime
from jxkernel.config import config
from jxkernel.jupyter.display import View, table_view
from jxkernel.jupyter.widgets.live import INTERVAL, LiveView

__all__ = ["BackendSelector"]


class BackendSelector(LiveView):
    """Shows the platforms and devices, and switches the default device and 64-bit dtypes.

    What is switched elsewhere, by `%jx backend` or `jax.config`, shows here after the next cell.

    Args:
      interval: seconds between two redrawings at the least.

    Example:
      >>> import jxkernel as jx
      >>> selector = jx.widgets.BackendSelector()
      >>> "cpu:0" in repr(selector)
      True
      >>> selector.close()
    """

    def __init__(self, *, interval: float = INTERVAL) -> None:
        wide = ipywidgets.Layout(width="auto")
        self._platform = ipywidgets.Dropdown(description="platform", layout=wide)
        self._device = ipywidgets.Dropdown(description="device", layout=wide)
        self._x64 = ipywidgets.Checkbox(description="64-bit dtypes", indent=False)
        self._is_following = False
        self._platform.observe(self._choose_platform, "value")
        self._device.observe(self._choose_device, "value")
        self._x64.observe(self._choose_x64, "value")
        super().__init__([self._platform, self._device, self._x64], interval)

    def view(self) -> View:
        """Returns the list of devices."""
        current = runtime.default_device()
        rows = [
            (f"{platform}:{device.id}", device.device_kind, "● default" * (device == current))
            for platform in _platforms()
            for device in runtime.local_devices(backend=platform)
        ]
        dtypes = "64-bit dtypes are on" if config.jax_enable_x64 else "64-bit dtypes are off"
        return table_view(f"devices · {dtypes}", ("device", "kind", ""), rows)

    def update(self, view: View) -> None:
        """Shows what is chosen now."""
        current = runtime.default_device()
        self._is_following = True
        try:
            self._platform.options = _platforms()
            self._platform.value = current.platform
            self._offer_devices(current.platform)
            self._device.value = str(current.id)
            self._x64.value = bool(config.jax_enable_x64)
        finally:
            self._is_following = False
        super().update(view)

    def _offer_devices(self, platform: str) -> None:
        self._device.options = [str(one.id) for one in runtime.local_devices(backend=platform)]

    def _choose_platform(self, change: Any) -> None:
        if not self._is_following and change["new"]:
            self._use(runtime.local_devices(backend=change["new"])[0])

    def _choose_device(self, change: Any) -> None:
        if not self._is_following and change["new"]:
            devices = runtime.local_devices(backend=self._platform.value)
            self._use(next(one for one in devices if str(one.id) == change["new"]))

    def _choose_x64(self, change: Any) -> None:
        if not self._is_following:
            config.update("jax_enable_x64", change["new"])
            self.refresh()

    def _use(self, device: Any) -> None:
        config.update("jax_default_device", device)
        self.refresh()


def _platforms() -> list[str]:
    runtime.default_device()
    return list(runtime.backends())
