"""A real JupyterLab (or Notebook 7) in a real browser, for tests and screenshots.

The server runs in a process of its own with folders of its own; its lab extension is the build
that is committed in this checkout, whatever is installed. What is waited for are conditions of the
application (`window.jupyterapp`), never times.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "build/front"
"""Where tests leave pictures, for people to look at."""

TIMEOUT = 240_000
"""Milliseconds after which what is waited for will not come, on the busiest machine."""

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
APPS = {"lab": "LabApp", "notebook": "JupyterNotebookApp"}
"""Command -> the application that is configured."""


HELP = """
(() => {
  const link = { sockets: [], sent: [], held: null };
  link.cut = () => link.sockets.forEach(one => one.close());
  link.hold = () => { link.held = []; };
  link.release = () => {
    const held = link.held;
    link.held = null;
    held.forEach(deliver => deliver());
  };
  window.link = link;
  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    constructor(...all) {
      super(...all);
      if (this.url.includes('/api/kernels/')) {
        link.sockets.push(this);
      }
    }
    send(data) {
      const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
      link.sent.push(/"msg_type": ?"(\\w+)"/.exec(text)?.[1] ?? 'unknown');
      super.send(data);
    }
    get onmessage() {
      return super.onmessage;
    }
    set onmessage(listen) {
      super.onmessage = event => {
        link.held ? link.held.push(() => listen.call(this, event)) : listen.call(this, event);
      };
    }
  };
  window.session = () => {
    const services = jupyterapp.pluginRegistry._services;
    const token = [...services.keys()].find(one => one.name === 'jxkernel:ISessions');
    const sessions = jupyterapp.pluginRegistry._plugins.get(services.get(token)).service;
    return sessions.of(jupyterapp.shell.currentWidget.sessionContext);
  };
})();
"""
"""Run in the page before all else.

`link` cuts the kernels' sockets, holds back what comes and keeps the types of what is sent;
`session()` is the shown notebook's session as plugins have it.
"""


class Server:
    """A running Jupyter server.

    Args:
      app: `lab` or `notebook`.
      home: a folder for all that it writes.
      extension: whether the lab extension is installed.

    Attributes:
      folder: where its notebooks lie.
      url: its address.
      app: `lab` or `notebook`.
    """

    def __init__(self, app: str, home: Path, *, extension: bool = True) -> None:
        self.app = app
        self.folder = home / "notebooks"
        self.folder.mkdir(parents=True)
        settings = home / "settings/@jupyterlab/apputils-extension"
        settings.mkdir(parents=True)
        quiet = {"fetchNews": "false", "checkForUpdates": False}
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
        extensions = home / "data/labextensions"
        extensions.mkdir(parents=True)
        if extension:
            (extensions / "jxkernel").symlink_to(ROOT / "labextension/dist/jxkernel")
        echo = home / "data/kernels/echo"
        echo.mkdir(parents=True)
        command = [sys.executable, "-m", "tests.front.echo_kernel", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": "Echo", "language": "echo"}
        (echo / "kernel.json").write_text(json.dumps(spec))
        self.log = home / "server.log"
        self.url = ""
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=self.folder, env=_environment(home), stdout=log, stderr=log
            )
        self._runtime = home / "runtime"

    def _command(self) -> list[str]:
        return [
            sys.executable,
            "-m",
            self.app if self.app == "notebook" else "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0",
            "--ServerApp.token=",
            "--ServerApp.password=",
            "--IdentityProvider.token=",
            f"--{APPS[self.app]}.expose_app_in_browser=True",
        ]

    def wait(self) -> None:
        """Waits until it answers."""
        deadline = time.monotonic() + TIMEOUT / 1000
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self.log.read_text()
            for path in self._runtime.glob("jpserver-*.json"):
                if self._answers(path):
                    return
            time.sleep(0.1)
        raise TimeoutError(self.log.read_text())

    def _answers(self, file: Path) -> bool:
        """Whether the server that wrote this file is there: it may still be writing it."""
        try:
            self.url = json.loads(file.read_text())["url"]
            with urllib.request.urlopen(f"{self.url}api/status", timeout=30) as answer:
                return answer.status == 200
        except (json.JSONDecodeError, OSError):
            return False

    def write(
        self, name: str, *cells: str, outputs: Any = (), kernel: str | None = "python3"
    ) -> Path:
        """Writes a notebook of code cells."""
        notebook = nbformat.v4.new_notebook()
        if kernel is not None:
            notebook.metadata["kernelspec"] = {
                "name": kernel,
                "display_name": kernel,
                "language": "python",
            }
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        for cell, shown in zip(notebook.cells, outputs, strict=False):
            cell.outputs = shown
        path = self.folder / name
        nbformat.write(notebook, path)
        return path

    def address(self, name: str) -> str:
        """The page of a notebook."""
        return (
            f"{self.url}lab/tree/{name}?reset"
            if self.app == "lab"
            else f"{self.url}notebooks/{name}"
        )

    def stop(self) -> None:
        """Ends it, and its kernels."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own set-up reaches the server, and nothing of it remains."""
    folders = {
        "HOME": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "XDG_CACHE_HOME": home / "cache",
        "PYTHONPATH": ROOT,
        # In a virtual environment Jupyter would take the lab extension that is installed there.
        "JUPYTER_PREFER_ENV_PATH": 0,
    }
    return {**os.environ, **{name: str(path) for name, path in folders.items()}}


@contextmanager
def running_server(app: str, home: Path, **options: Any) -> Iterator[Server]:
    """A server, stopped at the end of the block."""
    server = Server(app, home, **options)
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@contextmanager
def running_browser() -> Iterator[Any]:
    """A headless Chromium, as playwright drives it."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not where only tests run

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


NOT_OURS = {"Cannot read properties of undefined (reading 'schema')"}
"""What Notebook 7.6 raises as it loads its settings, without our extension too."""

READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const context = panel?.sessionContext;
  return !!context && panel.context.isReady && context.isReady
    && context.session?.kernel?.connectionStatus === 'connected'
    && context.session.kernel.status === 'idle';
}"""


class Notebook:
    """A notebook that is open in a page.

    Args:
      browser: the browser.
      server: where it is.
      name: its file.
      dark: whether the page prefers a dark scheme, and JupyterLab has its dark theme.
      kernel: whether to wait for its kernel.

    Attributes:
      page: the page, as playwright drives it.
      errors: what was raised in the page and caught by nobody.
      complaints: what was written to its console as an error.
      requests: the addresses that were asked for.
    """

    def __init__(
        self, browser: Any, server: Server, name: str, *, dark: bool = False, kernel: bool = True
    ) -> None:
        self.server = server
        self.name = name
        self.errors: list[str] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._context = browser.new_context(
            viewport={"width": 1400, "height": 1000}, color_scheme="dark" if dark else "light"
        )
        self.page = self._context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.page.on("request", lambda one: self.requests.append(one.url))
        self.page.on("pageerror", self._raised)
        self.page.on("console", self._written)
        self.page.add_init_script(HELP)
        self.open(kernel=kernel)
        if dark:
            use_theme(self, "JupyterLab Dark")

    def _raised(self, error: Any) -> None:
        if str(error) not in NOT_OURS:
            self.errors.append(f"{error}\n{getattr(error, 'stack', '')}")

    def _written(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, *, kernel: bool = True) -> None:
        """Opens the page, or opens it again."""
        self.page.goto(self.server.address(self.name))
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        if kernel:
            self.page.wait_for_function(READY)

    def command(self, name: str, **arguments: Any) -> None:
        """Runs a command; awaiting it hangs in some versions."""
        self.page.evaluate(
            "([c, a]) => { void jupyterapp.commands.execute(c, a) }", [name, arguments]
        )

    def run(self, index: int) -> None:
        """Runs a cell by its place, and waits until it has ended."""
        self.start(index)
        self.page.wait_for_function(
            """i => {
              const { model } = jupyterapp.shell.currentWidget.content.widgets[i];
              return model.executionCount !== null && model.executionState !== 'running';
            }""",
            arg=index,
        )
        self.page.wait_for_function(READY)

    def run_all(self) -> None:
        """Runs every cell, one after the other."""
        count = self.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.length")
        for index in range(count):
            self.run(index)

    def start(self, index: int) -> None:
        """Sends a cell to the kernel and does not wait for it."""
        self.select(index)
        # A kernel that was restarted may give it the number that it has.
        self.page.evaluate(
            "i => jupyterapp.shell.currentWidget.content.widgets[i].model.clearExecution()", index
        )
        self.command("notebook:run-cell")

    def select(self, index: int) -> None:
        """Makes a cell the active one."""
        self.page.evaluate(
            "i => { jupyterapp.shell.currentWidget.content.activeCellIndex = i }", index
        )

    def cell(self, index: int) -> Any:
        """The element of a cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def write(self, index: int, source: str) -> None:
        """Changes the text of a cell."""
        self.page.evaluate(
            "([i, s]) => jupyterapp.shell.currentWidget.content.widgets[i]"
            ".model.sharedModel.setSource(s)",
            [index, source],
        )

    def restart(self) -> None:
        """Restarts the kernel without a question."""
        self.page.evaluate(
            "() => { void jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart() }"
        )
        self.page.wait_for_function(READY)

    def status(self, text: str) -> None:
        """Waits until the status item says something; nothing, for an empty text."""
        self.page.wait_for_function(
            """text => {
              const said = document.querySelector('.jp-jxk-Status')?.textContent ?? '';
              return text ? said.includes(text) : said === '';
            }""",
            arg=text,
        )

    def save(self) -> None:
        """Saves it."""
        self.command("docmanager:save")
        self.page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")

    @property
    def strangers(self) -> list[str]:
        """What was asked of other hosts than the server."""
        own = (self.server.url, "data:", "blob:", self.server.url.replace("http", "ws"))
        return [url for url in self.requests if not url.startswith(own)]

    def close(self) -> None:
        """Closes the page, unless a test has, and shuts its kernel down."""
        if self.page.is_closed():
            return
        self.page.evaluate(
            "() => { void jupyterapp.shell.currentWidget?.sessionContext?.shutdown() }"
        )
        self._context.close()


def use_theme(notebook: Notebook, theme: str) -> None:
    """Changes the theme, and waits until it is there. The server keeps it."""
    notebook.command("apputils:change-theme", theme=theme)
    notebook.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
