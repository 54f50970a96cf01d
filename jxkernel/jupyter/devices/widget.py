"""The backend selector: devices, 64-bit dtypes and precision, shown and switched."""

from __future__ import annotations

from typing import Any

import ipywidgets

from jxkernel import events
from jxkernel.jupyter.live import INTERVAL, LiveView, current_session, question
from jxkernel.jupyter.views.html import element, join
from jxkernel.jupyter.views.tables import table_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import BackendPreview, BackendState, BackendSwitch
from jxkernel.observe.backends import MOST_CPU_DEVICES, PRECISIONS
from jxkernel.observe.explain import format_size

__all__ = ["BackendSelector"]

_APPLY = element("b", "Apply")
_SETTINGS = ("device", "cpu_devices", "x64", "precision")


class BackendSelector(LiveView):
    """Shows what computes, and changes it: first what would move, then, at ``apply``, the change.

    What is set elsewhere, by ``%jx backend`` or ``jax.config``, shows here at once; what was chosen
    here and not applied yet stays chosen.

    Args:
      interval: seconds between two redrawings at the least.

    >>> import jxkernel as jx
    >>> selector = jx.widgets.BackendSelector()
    >>> selector.precision.value = "highest"
    >>> print(selector.preview.lines()[0])
    matrix precision: default → highest
    >>> selector.close()
    """

    kinds = (events.SettingChanged, events.CellFinished)

    def __init__(self, *, interval: float = INTERVAL) -> None:
        session = current_session()
        self._switch = BackendSwitch(session.shell.user_ns if session else None)
        self._is_following = False
        self._pending: dict[str, Any] = {}
        self.preview = BackendPreview(())
        wide = ipywidgets.Layout(width="auto")
        self.device = ipywidgets.Dropdown(description="Device", layout=wide)
        self.cpu_devices = ipywidgets.BoundedIntText(
            description="CPU devices", min=1, max=MOST_CPU_DEVICES, layout={"width": "10em"}
        )
        self.x64 = ipywidgets.Checkbox(description="64-bit dtypes", indent=False)
        self.precision = ipywidgets.Dropdown(
            description="Precision", options=PRECISIONS, layout=wide, tooltip="of matrix products"
        )
        self.move = ipywidgets.Checkbox(
            description="Move arrays of variables along", indent=False, layout=wide
        )
        self.apply_button = ipywidgets.Button(description="Apply", disabled=True)
        self.undo_button = ipywidgets.Button(description="Discard", disabled=True)
        self._asked = ipywidgets.HTML()
        self._done = ""
        self._last_told = ("", "")
        super().__init__(
            [
                self.device,
                self.cpu_devices,
                self.x64,
                self.precision,
                self.move,
                self.apply_button,
                self.undo_button,
            ],
            interval,
        )
        self.children = (self._controls, self._asked, *self.children[1:])
        for name in (*_SETTINGS, "move"):
            self.handle(getattr(self, name), lambda value, name=name: self._choose(name, value))
        self.on_click(self.apply_button, self.apply)
        self.on_click(self.undo_button, self.undo)

    def view(self) -> View:
        """Return the settings and the devices."""
        state = self._switch.state()
        rows = [
            (
                one.name,
                one.kind,
                "● default" if one.is_default else "",
                one.arrays,
                format_size(one.array_bytes),
                "" if one.free is None else format_size(one.free),
            )
            for platform in state.platforms
            for one in platform.devices
        ]
        rows += [
            (platform.name, platform.plugin, platform.status, "", "", "")
            for platform in state.platforms
            if platform.status != "running"
        ]
        head = ("Device", "Kind", "", "Arrays", "Their size", "Free")
        title = state.summary + (f" · {state.group}" if state.group else "")
        return table_view(title, head, rows, numeric=(3, 4, 5))

    def update(self, view: View) -> None:
        """Show what is set now, and what is chosen and not applied."""
        self._follow(self._switch.state())
        self._ask()
        super().update(view)

    def apply(self) -> None:
        """Do what is chosen.

        Raises:
          RuntimeError: it needs a restart, or a platform does not start; nothing has changed.
        """
        with self._drawing:
            done = self._switch.apply(self._change())
            self._done = done.text if done.changes else ""
            self._forget()

    def undo(self) -> None:
        """Forget what is chosen and not applied."""
        with self._drawing:
            self._done = ""
            self._forget()

    def _forget(self) -> None:
        self._pending.clear()
        self._is_following = True
        try:
            self.move.value = False
        finally:
            self._is_following = False
        self._draw()

    def _change(self) -> dict[str, Any]:
        return {**self._pending, "move": bool(self.move.value)}

    def _choose(self, name: str, value: Any) -> None:
        if self._is_following:
            return
        self._done = ""
        if name != "move":
            self._pending[name] = value
        self._draw()

    def _follow(self, state: BackendState) -> None:
        """Let the controls show what is set, but for what is chosen and not applied."""
        now = {
            "device": state.device if state.is_chosen else "auto",
            "cpu_devices": state.cpu_devices,
            "x64": state.x64,
            "precision": state.precision,
        }
        options = _devices(state, self._pending.get("cpu_devices", 0))
        offered = [value for _, value in options]
        if self._pending.get("device", "auto") not in offered:
            del self._pending["device"]
        self._pending = {name: v for name, v in self._pending.items() if v != now[name]}
        self._is_following = True
        try:
            if list(self.device.options) != options:
                self.device.options = options
            if state.precision not in self.precision.options:
                self.precision.options = (*PRECISIONS, state.precision)
            for name in _SETTINGS:
                control = getattr(self, name)
                wanted = self._pending.get(name, now[name])
                if control.value != wanted:
                    control.value = wanted
        finally:
            self._is_following = False

    def _ask(self) -> None:
        """Show what the change would do, and offer to do it."""
        self.preview = self._switch.preview(self._change())
        self.undo_button.disabled = not self.preview.changes and not self._done
        self.apply_button.disabled = not self.preview.changes or bool(self.preview.restart)
        self.apply_button.button_style = "" if self.apply_button.disabled else "primary"
        told = self._told()
        if told != self._last_told:
            self._last_told = told
            heading, text = told
            self._asked.value = question(heading, text) if text else ""

    def _told(self) -> tuple[str, str]:
        """What stands above the devices: a heading, and what would be or was done."""
        if self.preview.restart:
            return "This cannot be done in this process:", self.preview.text
        if self.preview.changes:
            return join(["Nothing has changed yet; ", _APPLY, " does this:"]), self.preview.text
        return "Done:", self._done


def _devices(state: BackendState, count: int) -> list[tuple[str, str]]:
    """What the default device may be, in words and as a change names it.

    Args:
      state: what there is.
      count: how many CPU devices there will be; 0 where that is not changed.
    """
    first = "auto" if state.is_chosen else f"auto: {state.device}"
    found = [(first, "auto")]
    for platform in state.platforms:
        names = [one.name for one in platform.devices]
        if platform.name == "cpu" and count:
            names = [f"cpu:{number}" for number in range(count)]
        found += [(name, name) for name in names]
        if platform.status != "running":
            status = platform.status if platform.status == "not started" else "failed"
            found.append((f"{platform.name} ({status})", platform.name))
    if state.device not in [value for _, value in found]:
        found.append((state.device, state.device))
    return found
