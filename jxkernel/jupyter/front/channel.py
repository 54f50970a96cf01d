"""The channel to the lab extension: one comm, on which any number of front ends listen.

But for one word when it is loaded, nothing is sent, and no thread runs, until a front end says
``sync``: a terminal, a notebook that runs headless and a front end without the extension pay
nothing. A front end may come back after a reload or a lost connection, a second one may join; each
syncs. Events wait in a bounded queue and go out a batch at a time; where they come faster than that
the oldest are dropped, and counted: those that a front end was sent, those left out of the history
and those dropped since then are all that there were.

The comm is never announced by ``comm_open``: a front end without the extension would complain of it
and close it for all. Ours know it by its name; should another close it, it is taken up again.

Messages come in the main thread between cells, or, depending on the versions of ipykernel and
JupyterLab, in a thread of their own in the midst of one.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import asdict, fields
from typing import Any

import comm

from jxkernel import runtime
from jxkernel._version import __version__
from jxkernel.config import config
from jxkernel.events import ListenerHandle
from jxkernel.jupyter.front.arguments import wrong_arguments
from jxkernel.jupyter.front.protocol import (
    TARGET,
    VERSION,
    Batch,
    Device,
    History,
    Loaded,
    Reply,
    Status,
    Unloaded,
    Work,
    Working,
)
from jxkernel.jupyter.session.interrupts import STAGE_VERBS, stage_under_way
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import capped
from jxkernel.observe import Record

__all__ = ["UNSENT", "Answer", "Channel", "Handler", "Outbox", "wire_event"]

Answer = Callable[..., Any]
"""Answers a request: called with its arguments by name, returns what JSON can say."""

Handler = Callable[[Any, Any, Any], Any]
"""Handles a message of a kernel: called with its stream, its sender and the message."""

UNSENT = frozenset({"signature"})
"""Fields of events that stay in the kernel: large, and told in words by others."""

_QUEUE = 4_000
_BATCH = 250
_HISTORY = 1_000
_INTERVAL = 0.25
_NOTICED_NS = 500_000_000
_TEXT = 2_000


class Outbox:
    """A bounded queue between threads that counts what it drops.

    Args:
      capacity: how many items wait at most; beyond that the oldest is dropped.

    Attributes:
      dropped: how many were dropped.
    """

    def __init__(self, capacity: int) -> None:
        self._items: deque[Any] = deque(maxlen=capacity)
        self._lock = threading.Lock()
        self.dropped = 0

    def put(self, item: Any) -> None:
        """Add an item."""
        with self._lock:
            self.dropped += len(self._items) == self._items.maxlen
            self._items.append(item)

    def take(self, limit: int) -> list[Any]:
        """Take the oldest items out."""
        with self._lock:
            return [self._items.popleft() for _ in range(min(limit, len(self._items)))]

    def clear(self) -> None:
        """Empty it; nothing counts as dropped any more."""
        with self._lock:
            self._items.clear()
            self.dropped = 0

    def __len__(self) -> int:
        return len(self._items)


def _asked_thread(data: Any, asked: str | None) -> str | None:
    """Return the thread of the kernel that a message asks for, None for the main one."""
    return asked


class Channel:
    """The kernel's side of the comm.

    Args:
      session: what it tells of.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._identity = ""
        self._comm: Any = None
        self._outbox = Outbox(_QUEUE)
        self._answers: dict[str, Answer] = {}
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._handle: ListenerHandle | None = None
        self._told: Status | None = None
        self._was_working = False
        self._is_open = False

    def open(self) -> None:
        """Open the comm and say so; in a kernel only, and not in an engine of a cluster."""
        kernel = getattr(self._session.shell, "kernel", None)
        # An engine has no front end of its own: the notebook's would take it for its kernel.
        if kernel is None or type(kernel).__module__.startswith("ipyparallel"):
            return
        self._is_open = True
        self._identity = f"{TARGET}-{uuid.uuid4().hex}"
        self._take_up()
        self._send(Loaded())

    def close(self) -> None:
        """Close the comm and end the thread."""
        if not self._is_open:
            return
        self._is_open = False
        thread = self._thread
        self._ended.set()
        self._wake.set()
        self._deafen()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._send(Unloaded())
        # As if a front end had closed it: a front end that never knew the comm would complain of
        # the message that the comm sends when we close it.
        message = {"content": {"comm_id": self._identity, "data": {}}}
        manager: Any = comm.get_comm_manager()
        manager.comm_close(None, "", message)

    def answer(self, name: str, function: Answer) -> None:
        """Let front ends ask for something.

        Args:
          name: what they ask for.
          function: called with the arguments of the request by name, if they are of the types that
            it says; what it raises is the reply's error. It may be called in any thread, in the
            midst of a cell.
        """
        self._answers[name] = function

    def refusing(self, opened: Handler) -> Handler:
        """Return the kernel's handler of ``comm_open``, made to leave this channel's comm alone.

        A comm that was opened under its name would take its place, and close it when it is refused.
        """

        def handle(stream: Any, ident: Any, message: Any) -> Any:
            if self._is_open and message["content"].get("comm_id") == self._identity:
                return None
            return opened(stream, ident, message)

        return handle

    @property
    def is_heard(self) -> bool:
        """Whether a front end has joined."""
        return self._thread is not None

    def before_cell(self, info: Any) -> None:
        """Called by IPython before a cell runs: what is under way is looked at while it does."""
        self._wake.set()

    def after_cell(self, result: Any) -> None:
        """Called by IPython after a cell ran: the status may have changed."""
        self._wake.set()

    def _take_up(self, closed: Any = None) -> None:
        """Register the comm under its name; again when a front end has closed it."""
        if not self._is_open:
            return
        self._comm = comm.create_comm(target_name=TARGET, comm_id=self._identity, primary=False)
        # ipykernel 7.4 hands a message to the thread in which the comm spoke last, which is none
        # that answers in the midst of a cell.
        self._comm._reply_subshell_for = _asked_thread
        comm.get_comm_manager().register_comm(self._comm)
        self._comm.on_msg(self._receive)
        self._comm.on_close(self._take_up)

    def _receive(self, message: Any) -> None:
        data = message["content"]["data"]
        if not isinstance(data, dict):
            return
        # One that is newer hears of it from what it is sent: every message bears its version.
        if data.get("type") == "sync":
            self._sync()
        elif data.get("type") == "request":
            self._reply(data)
            self._wake.set()  # what was asked for may have changed the status

    def _reply(self, data: dict[str, Any]) -> None:
        reply = self._answered(data)
        try:
            self._send(reply)
        except (TypeError, ValueError) as error:
            words = f"the answer cannot be sent: {error}"
            self._send(Reply(id=reply.id, error=capped(words, _TEXT)))

    def _answered(self, data: dict[str, Any]) -> Reply:
        identity, name = str(data.get("id", "")), str(data.get("name", ""))
        if data.get("version") != VERSION:
            words = f"this kernel's jxkernel is of another version: install {__version__} for both"
            return Reply(id=identity, error=words)
        answer = self._answers.get(name)
        if answer is None:
            return Reply(id=identity, error=f"this kernel's jxkernel knows no request {name!r}")
        arguments = data.get("arguments", {})
        wrong = wrong_arguments(name, answer, arguments)
        if wrong:
            return Reply(id=identity, error=capped(wrong, _TEXT))
        try:
            return Reply(id=identity, value=answer(**arguments))
        except Exception as error:  # told to who asked; the kernel goes on
            return Reply(id=identity, error=capped(f"{type(error).__name__}: {error}", _TEXT))

    def _sync(self) -> None:
        """Tell one that joins how things are, and begin to tell all of what happens."""
        self._start()
        recorder = self._session.recorder
        with self._lock:  # or a batch sent meanwhile would be lost under the history
            self._told = self._status()
            self._send(self._told)
            self._send(Working(work=_work()))
            self._outbox.clear()
            records = recorder.records()
            left_out = max(len(records) - _HISTORY, 0) + recorder.dropped
            told = tuple(map(wire_event, records[-_HISTORY:]))
            self._send(History(events=told, left_out=left_out, dropped=0))

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None or not self._is_open:
                return
            self._handle = self._session.recorder.follow(self._recorded)
            # In this context, or ipykernel 7.0 does not find the message that it answers.
            self._thread = threading.Thread(
                target=copy_context().run, args=(self._run,), name="jxkernel-front", daemon=True
            )
            self._thread.start()

    def _deafen(self) -> None:
        """End following the recorder; the next sync begins again."""
        with self._lock:
            if self._handle is not None:
                self._handle.close()
            self._handle = self._thread = None

    def _recorded(self, record: Record) -> None:
        self._outbox.put(record)
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        """Send what there is, a few times a second; sleep while no cell runs."""
        while True:
            self._wake.wait(_INTERVAL if self._session.is_running else None)
            self._wake.clear()
            if self._ended.wait(_INTERVAL):
                return
            try:
                with self._lock:
                    if self._is_open:
                        self._tell()
            except Exception as error:  # a socket that is gone; what is told of must not fail
                self._deafen()
                sys.stderr.write(f"jxkernel: the front end is no longer told: {error}\n")
                return

    def _tell(self) -> None:
        records = self._outbox.take(_BATCH)
        if records:
            told = tuple(map(wire_event, records))
            self._send(Batch(events=told, dropped=self._outbox.dropped))
        if len(self._outbox):
            self._wake.set()
        work = _work()
        if work is not None or self._was_working:
            self._was_working = work is not None
            self._send(Working(work=work))
        if not self._session.is_running:
            status = self._status()
            if status != self._told:
                self._told = status
                self._send(status)

    def _send(self, message: Any) -> None:
        self._comm.send(asdict(message))

    def _status(self) -> Status:
        running = runtime.backends()
        # Looking must not start a platform.
        current = runtime.default_device() if running else None
        return Status(
            package=__version__,
            platform=runtime.platform_of(current) if current else "",
            device=_name(current) if current else "",
            devices=tuple(
                Device(name=_name(one), kind=str(one.device_kind))
                for platform in running
                for one in runtime.local_devices(backend=platform)
            ),
            x64=bool(config.jax_enable_x64),
            recording=self._session.recorder.recording,
            precision=config.jax_default_matmul_precision or "default",
            teaching=self._session.settings.teach,
            marked=self._session.marks,
        )


def _name(device: Any) -> str:
    return f"{runtime.platform_of(device)}:{device.id}"


def _work() -> Work | None:
    """The stage that has been under way for long enough to be told."""
    stage = stage_under_way()
    if stage is None:
        return None
    elapsed = time.perf_counter_ns() - stage.start_ns
    if elapsed < _NOTICED_NS:
        return None
    return Work(
        stage=STAGE_VERBS[stage.kind],
        fun=str(stage.fields.get("fun", "")),
        eqns=len(stage.growing.get("eqns", ())),
        elapsed_ns=elapsed,
    )


def wire_event(record: Record) -> dict[str, Any]:
    """Return a recorded event as JSON knows it, with its kind, cell and time."""
    event = record.event
    told = {
        one.name: _plain(getattr(event, one.name))
        for one in fields(event)
        if one.name not in UNSENT
    }
    kind = type(event).__name__
    return {
        "kind": kind,
        **told,
        "cell": record.cell,
        "when": record.when,
        "self_ns": record.self_ns,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return capped(value, _TEXT)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value
