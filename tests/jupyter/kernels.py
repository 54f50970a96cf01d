"""A real kernel in a process of its own, spoken to as a front end does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import KernelManager
from nbformat import NotebookNode, from_dict
from nbformat.v4 import output_from_msg

from tests.jupyter.conftest import ESCAPES

TIMEOUT = 120.0
SETUP = (
    "%load_ext jxkernel\n"
    "import numpy as np, jxkernel as jx, jxkernel.numpy as jnp\n"
    "x = jnp.arange(8.0)\n"
    "w = 2.0"
)


@dataclass
class Reply:
    """What the kernel sent back for one cell."""

    content: dict[str, Any]
    streams: str = ""
    displays: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """`ok` or `error`."""
        return self.content["status"]

    @property
    def traceback(self) -> str:
        """The traceback without colours."""
        return ESCAPES.sub("", "\n".join(self.error.get("traceback", ())))


class Kernel:
    """One running kernel."""

    def __init__(self) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.connect()

    def connect(self) -> None:
        """Opens the channels and waits until the kernel answers."""
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT)

    def send(self, source: str, cell_id: str | None = None, **content: Any) -> str:
        """Sends a cell and returns the number of the request."""
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
            **content,
        }
        metadata = {"cellId": cell_id} if cell_id else {}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def receive(self, request: str) -> Reply:
        """Collects what a request sends, until the kernel is idle again."""
        reply = Reply({})
        idle = False
        while not idle:
            message = self.client.get_iopub_msg(timeout=TIMEOUT)
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            match message["msg_type"]:
                case "display_data" | "update_display_data" if "jxkernel" in content["metadata"]:
                    pass  # progress, which comes where the machine is slow
                case "stream":
                    reply.streams += ESCAPES.sub("", content["text"])
                case "display_data":
                    reply.displays.append(content["data"])
                case "update_display_data":
                    reply.updates.append(content["data"])
                case "execute_result":
                    reply.result = content["data"]
                case "error":
                    reply.error = content
                case "status":
                    idle = content["execution_state"] == "idle"
        while not reply.content:
            message = self.client.get_shell_msg(timeout=TIMEOUT)
            if message["parent_header"].get("msg_id") == request:
                reply.content = message["content"]
        return reply

    def saved(self, request: str) -> tuple[list[str], list[NotebookNode]]:
        """What a request shows as text, in turn, and its outputs as a front end saves them."""
        told: list[str] = []
        outputs: list[NotebookNode] = []
        by_display: dict[str, NotebookNode] = {}
        while True:
            message = self.client.get_iopub_msg(timeout=TIMEOUT)
            content, kind = message["content"], message["msg_type"]
            if message["parent_header"].get("msg_id") != request:
                continue
            if kind == "status" and content["execution_state"] == "idle":
                return told, outputs
            told.append(content.get("data", {}).get("text/plain", ""))
            identity = content.get("transient", {}).get("display_id", "")
            if kind == "update_display_data":
                by_display[identity].data = from_dict(content["data"])
            elif kind == "stream" and outputs and outputs[-1].get("name") == content["name"]:
                outputs[-1].text += content["text"]
            elif kind in ("stream", "display_data", "execute_result", "error"):
                outputs.append(output_from_msg(message))
                by_display[identity] = outputs[-1]

    def subshell(self) -> str:
        """Makes a thread that handles messages beside the running cell, and returns its id."""
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return reply["content"]["subshell_id"]

    def send_beside(self, source: str, subshell: str) -> str:
        """Sends code to a subshell, out of the history, and returns the number of the request."""
        content = {"code": source, "silent": True, "store_history": False, "allow_stdin": False}
        message = self.client.session.msg("execute_request", content)
        message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def receive_comm(self, request: str) -> None:
        """Waits until a comm's message has been handled."""
        while True:
            message = self.client.get_iopub_msg(timeout=TIMEOUT)
            is_idle = message["content"].get("execution_state") == "idle"
            if is_idle and message["parent_header"].get("msg_id") == request:
                return

    def run(self, source: str, cell_id: str | None = None, **content: Any) -> Reply:
        """Runs a cell that may fail."""
        return self.receive(self.send(source, cell_id, **content))

    def ok(self, source: str, cell_id: str | None = None) -> Reply:
        """Runs a cell that must succeed."""
        reply = self.run(source, cell_id)
        assert reply.status == "ok", reply.traceback or reply.streams
        return reply

    def value(self, expression: str) -> str:
        """The repr of an expression."""
        return self.ok(f"print(repr({expression}))").streams.rstrip("\n")

    def stop(self) -> None:
        """Ends the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


@contextmanager
def running_kernel() -> Iterator[Kernel]:
    """A kernel with the extension loaded and the usual imports done."""
    kernel = Kernel()
    try:
        kernel.ok(SETUP)
        yield kernel
    finally:
        kernel.stop()
