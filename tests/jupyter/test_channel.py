"""The comm's kernel side, spoken to as the lab extension does."""

import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from jxkernel.jupyter.front.channel import Outbox
from jxkernel.jupyter.front.protocol import TARGET, VERSION, Request, Sync
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import TIMEOUT, Kernel, running_kernel


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        yield kernel


class Front:
    """A front end that has joined the kernel's comm."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        [self.id] = comms(kernel)

    def say(self, message: Any) -> None:
        """Sends a message on the comm."""
        data = message if isinstance(message, dict) else asdict(message)
        session = self.kernel.client.session
        content = {"comm_id": self.id, "data": data}
        self.kernel.client.shell_channel.send(session.msg("comm_msg", content))

    def hear(self, kind: str) -> dict[str, Any]:
        """The next message of a kind."""
        while True:
            message = self.kernel.client.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "comm_msg" and message["content"]["comm_id"] == self.id:
                data = message["content"]["data"]
                if data["type"] == kind:
                    return data


def comms(kernel: Kernel) -> list[str]:
    """The comms of the target that the kernel knows of."""
    request = kernel.client.comm_info(TARGET)
    while True:
        reply = kernel.client.get_shell_msg(timeout=TIMEOUT)
        if reply["parent_header"].get("msg_id") == request:
            return list(reply["content"]["comms"])


def test_sync_tells_status_and_history_and_then_events_follow(kernel: Kernel) -> None:
    kernel.ok("f = jx.jit(lambda x: x * 2)\nf(x)")
    front = Front(kernel)
    front.say(Sync())
    status = front.hear("status")
    assert status["version"] == VERSION
    assert status["device"] == "cpu:0"
    assert status["devices"][0]["name"] == "cpu:0"
    assert status["x64"] is False
    kinds = [event["kind"] for event in front.hear("history")["events"]]
    assert {"CellStarted", "Traced", "Compiled", "CellFinished"} <= set(kinds)

    kernel.send("g = jx.jit(lambda x: x * 3)\ng(x)")
    told: list[dict[str, Any]] = []
    while not any(event["kind"] == "CellFinished" for event in told):
        batch = front.hear("batch")
        told += batch["events"]
    [miss] = [event for event in told if event["kind"] == "CacheMiss" and event["cache"] == "trace"]
    assert miss["reasons"][0]["kind"] == "first_call"
    assert "signature" not in miss
    assert batch["dropped"] == 0


def test_status_is_told_when_code_changes_it(kernel: Kernel) -> None:
    front = Front(kernel)
    front.say(Sync())
    front.hear("history")
    kernel.send("jx.config.update('jax_enable_x64', True)")
    assert front.hear("status")["x64"] is True
    kernel.send("jx.config.update('jax_enable_x64', False)")
    assert front.hear("status")["x64"] is False


def test_status_is_told_when_a_front_end_changes_it(kernel: Kernel) -> None:
    front = Front(kernel)
    front.say(Sync())
    front.hear("history")
    for count in (2, 1):
        change = {"cpu_devices": count, "x64": count == 2}
        front.say(Request(id=str(count), name="apply", arguments={"change": change}))
        assert front.hear("reply")["value"]["changes"]
        status = front.hear("status")
        assert (len(status["devices"]), status["x64"]) == (count, count == 2)


def test_a_request_that_nobody_answers_is_told_so(kernel: Kernel) -> None:
    front = Front(kernel)
    front.say(Request(id="7", name="the weather"))
    reply = front.hear("reply")
    assert (reply["id"], reply["value"]) == ("7", None)
    assert "'the weather'" in reply["error"]


def test_an_answer_is_sent_to_who_asked_and_its_failure_in_words(kernel: Kernel) -> None:
    kernel.ok(
        "from jxkernel.jupyter.extension import channel_of\n"
        "channel_of(get_ipython()).answer('half', lambda of: of // 2 if of else 1 / 0)"
    )
    front = Front(kernel)
    front.say(Request(id="8", name="half", arguments={"of": 8}))
    assert front.hear("reply")["value"] == 4
    front.say(Request(id="9", name="half", arguments={"of": 0}))
    assert front.hear("reply")["error"].startswith("ZeroDivisionError")


def test_a_newer_front_end_is_told_this_version_and_its_requests_are_refused(
    kernel: Kernel,
) -> None:
    front = Front(kernel)
    front.say({"type": "sync", "version": VERSION + 1})
    assert front.hear("status")["version"] == VERSION
    front.say({**asdict(Request(id="10", name="half")), "version": VERSION + 1})
    assert "another version" in front.hear("reply")["error"]


@pytest.mark.parametrize(
    "message",
    [
        {"type": "nonsense", "version": VERSION},
        {"type": ["sync"], "version": "new"},
        {},
        {"type": "request"},
        {"type": "request", "version": VERSION, "name": {"a": 1}, "arguments": [1]},
    ],
)
def test_nonsense_is_answered_or_left_alone(kernel: Kernel, message: dict[str, Any]) -> None:
    front = Front(kernel)
    front.say(message)
    front.say(Request(id="11", name="nothing"))
    while front.hear("reply")["id"] != "11":
        pass


def test_an_answer_that_cannot_be_sent_is_an_error_in_words(kernel: Kernel) -> None:
    kernel.ok(
        "from jxkernel.jupyter.extension import channel_of\n"
        "channel_of(get_ipython()).answer('thing', lambda: {'what': object()})"
    )
    front = Front(kernel)
    front.say(Request(id="12", name="thing"))
    reply = front.hear("reply")
    assert (reply["id"], reply["value"]) == ("12", None)
    assert "cannot be sent" in reply["error"]


def test_a_front_end_that_closes_the_comm_takes_it_from_no_other(kernel: Kernel) -> None:
    front = Front(kernel)
    session = kernel.client.session
    content = {"comm_id": front.id, "data": {}}
    kernel.client.shell_channel.send(session.msg("comm_close", content))
    assert comms(kernel) == [front.id]
    front.say(Sync())
    assert front.hear("status")["version"] == VERSION


@pytest.mark.parametrize("target", [TARGET, "nobody's"])
def test_a_comm_opened_under_the_channels_name_does_not_take_its_place(
    kernel: Kernel, target: str
) -> None:
    front = Front(kernel)
    session = kernel.client.session
    content = {"comm_id": front.id, "target_name": target, "data": {}}
    kernel.client.shell_channel.send(session.msg("comm_open", content))
    assert comms(kernel) == [front.id]
    front.say(Sync())
    assert front.hear("status")["version"] == VERSION


WRONG = [
    ("clear_caches", {"disk": "/"}, "clear_caches takes true or false as disk, got '/'"),
    ("clear_caches", {"disk": 1}, "clear_caches takes true or false as disk, got 1"),
    ("clear_caches", {"folder": "/"}, "clear_caches takes no 'folder'; it takes disk"),
    ("caches", {"of": 1}, "caches takes no 'of'; it takes nothing"),
    ("builds", {"token": None}, "builds takes a text as token, got None"),
    ("program_part", {"token": "x", "start": True}, "a whole number as start, got True"),
    ("compare", {"token": "x"}, "compare needs other"),
    ("free", {"names": "x"}, "free takes a list of texts as names, got 'x'"),
    ("free", {"names": [1]}, "free takes a list of texts as names, got [1]"),
    ("explain", {"cell": "a", "number": "b"}, "a whole number or null as number, got 'b'"),
    ("preview", {"change": [1]}, "preview takes an object as change, got [1]"),
    ("preview", [1], "preview takes its arguments by name, got [1]"),
]


@pytest.mark.parametrize(("name", "arguments", "words"), WRONG)
def test_arguments_of_other_types_are_refused_by_name(
    kernel: Kernel, name: str, arguments: Any, words: str
) -> None:
    front = Front(kernel)
    front.say(Request(id="13", name=name, arguments=arguments))
    reply = front.hear("reply")
    assert (reply["id"], reply["value"]) == ("13", None)
    assert words in reply["error"]


def test_what_was_sent_left_out_and_dropped_is_all_that_happened(kernel: Kernel) -> None:
    kernel.ok(
        "from jxkernel import events\n"
        "from jxkernel.jupyter import session_of\n"
        "recorder = session_of(get_ipython()).recorder\n"
        "def happen(count):\n"
        "    for line in range(count):\n"
        "        events.emit(events.TraceTimeEffect, fun='f', effect='', file='', line=line)"
    )
    front = Front(kernel)
    front.say(Sync())
    history = front.hear("history")
    before = len(history["events"]) + history["left_out"]
    assert history["dropped"] == 0
    kernel.send("happen(20_000)")
    told = 0
    while told + front_dropped(batch := front.hear("batch")) < 20_000:
        told += len(batch["events"])
    assert batch["dropped"] > 0

    front.say(Sync())
    history = front.hear("history")
    assert history["dropped"] == 0
    assert len(history["events"]) == 1_000
    assert history["left_out"] >= before + 20_000 - 1_000


def front_dropped(batch: dict[str, Any]) -> int:
    """How many a batch says were dropped, with those that it brings."""
    return batch["dropped"] + len(batch["events"])


def test_loading_and_unloading_say_nothing_that_other_front_ends_complain_of(
    kernel: Kernel,
) -> None:
    said = []
    for line in ("%unload_ext jxkernel", "%load_ext jxkernel"):
        request = kernel.send(line)
        while True:
            message = kernel.client.get_iopub_msg(timeout=TIMEOUT)
            if message["parent_header"].get("msg_id") != request:
                continue
            said += [(message["msg_type"], message["content"].get("data", {}).get("type"))]
            if message["content"].get("execution_state") == "idle":
                break
    told = [(kind, what) for kind, what in said if kind not in ("status", "execute_input")]
    assert told == [("comm_msg", "unloaded"), ("comm_msg", "loaded")]


def test_unloading_closes_the_comm_and_loading_opens_another(kernel: Kernel) -> None:
    before = comms(kernel)
    kernel.ok("%unload_ext jxkernel")
    assert comms(kernel) == []
    kernel.ok("%load_ext jxkernel")
    assert len(comms(kernel)) == 1
    assert comms(kernel) != before


def test_no_thread_runs_and_nothing_opens_in_a_terminal(notebook: Notebook) -> None:
    notebook.run("y = jx.jit(lambda x: x + 1)(x)")
    assert "jxkernel-front" not in {thread.name for thread in threading.enumerate()}


def test_unloading_ends_the_thread_that_a_front_end_began(kernel: Kernel) -> None:
    front = Front(kernel)
    front.say(Sync())
    front.hear("history")
    names = "{one.name for one in __import__('threading').enumerate()}"
    assert "jxkernel-front" in kernel.value(names)
    kernel.ok("%unload_ext jxkernel")
    assert "jxkernel-" not in kernel.value(names)
    kernel.ok("%load_ext jxkernel")


def test_a_full_outbox_drops_the_oldest_and_counts_them() -> None:
    outbox = Outbox(3)
    for number in range(5):
        outbox.put(number)
    assert outbox.dropped == 2
    assert outbox.take(2) == [2, 3]
    assert outbox.take(2) == [4]
    assert len(outbox) == 0
