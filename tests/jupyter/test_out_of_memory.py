"""An allocation that cannot be had says what holds memory, and what gives it back."""

from typing import Any

import pytest

from jxkernel.jupyter.code.needs import names_needed
from jxkernel.jupyter.errors.out_of_memory import _needed, _shortage
from jxkernel.jupyter.memory.requests import make_room
from jxkernel.observe import DeviceMemory, LiveArray, LiveMemory, live
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import running_kernel

LIMIT = """import resource
taken = next(line for line in open('/proc/self/status') if line.startswith('VmSize'))
least = int(taken.split()[1]) * 1024 + 500_000_000
resource.setrlimit(resource.RLIMIT_AS, (least, resource.RLIM_INFINITY))"""
"""The process may take 500 MB more than it has: as on a full device, the next large array fails."""

NEEDS = "print(float(jnp.zeros((200, 1000, 1000))[0, 0, 0] + needed[0, 0]))"
"""A cell that needs 800 MB at once, and another array."""

TOTAL = "print(int(big.sum()), int(params['w'].sum()))"


def test_the_error_names_what_holds_memory_and_nothing_is_lost():
    with running_kernel() as kernel:
        kernel.ok("big = jnp.ones((1000, 1000)); params = {'w': jnp.ones((500, 1000))}")
        failed = kernel.run("jnp.zeros((10**7, 10**7))")
        assert failed.status == "error"
        assert "Memory: 400 TB was asked for, " in failed.traceback, failed.traceback
        assert "The largest are big 4 MB, params 2 MB.\n" in failed.traceback
        assert "It does not fit even without big, params: divide the work" in failed.traceback
        assert "%jx free" not in failed.traceback, "advice that would not help"
        assert kernel.ok(TOTAL).streams == "1000000 500000\n"


def test_what_the_advice_frees_lets_the_cell_run():
    with running_kernel() as kernel:
        kernel.ok("big = jnp.ones((200, 1000, 1000)); needed = jnp.ones((5000, 1000))")
        kernel.ok(LIMIT)
        failed = kernel.run(NEEDS)
        assert "The largest are big 800 MB, needed 20 MB." in failed.traceback, failed.traceback
        assert "%jx free big gives back 800 MB, which this cell does not read" in failed.traceback
        assert failed.displays == [], "without a front end that could act on a click"
        kernel.ok("%jx free big")
        assert kernel.ok(NEEDS).streams == "1.0\n"


def test_what_an_error_keeps_is_named_and_given_back(notebook: Notebook) -> None:
    notebook.run("def keeps():\n    kept = jnp.ones((100, 1000)) * 3\n    return 1 / 0")
    notebook.fails("keeps()", ZeroDivisionError)
    held = "held = jnp.ones(4)\n%jx live"
    assert "f32[100,1000]" in repr(notebook.run(held).value)
    freed = notebook.run("%jx free tracebacks, held").value
    assert repr(freed) == "tracebacks, held deleted: 400 KB"
    assert "f32[100,1000]" not in repr(notebook.run("%jx live").value)
    notebook.run("tracebacks = jnp.ones(2)")
    assert repr(notebook.run("%jx free tracebacks").value) == "tracebacks deleted: 8 B"
    assert "tracebacks" not in notebook.names


def test_room_is_made_for_the_session_that_asked_for_it(notebook: Notebook) -> None:
    notebook.run("big = jnp.ones((100, 1000))")
    session = notebook.session
    with pytest.raises(LookupError, match="the kernel was restarted since: run the cell again"):
        make_room(session, "another", ["big"])
    with pytest.raises(ValueError, match="there is no variable gone"):
        make_room(session, session.token, ["big", "gone"])
    assert make_room(session, session.token, ["big"]) == {"bytes": 400_000}
    assert "big" not in notebook.names


def _memory(free: int | None) -> LiveMemory:
    arrays = (
        LiveArray("f32[4]", 6_000_000_000, ("gpu:0",), outputs=(7,)),
        LiveArray("f32[3]", 3_000_000_000, ("gpu:0",), names=("params['w']",)),
        LiveArray("f32[3]", 1_000_000_000, ("gpu:0",), names=("params['b']", "b")),
        LiveArray("f32[2]", 500_000_000, ("gpu:0",), holders=("the traceback of an error",)),
        LiveArray("f32[2]", 300_000_000, ("gpu:0",), holders=("a constant of the program of f",)),
        LiveArray("f32[2]", 5, ("gpu:0",), names=("small",)),
    )
    device = DeviceMemory("gpu:0", 4, 10_800_000_005, in_use=None, limit=None, free=free)
    return LiveMemory(arrays, (device,))


def _notes(asked: int | None, free: int | None, needed: tuple[str, ...] = ()) -> str:
    return " ".join(_shortage(asked, _memory(free), frozenset(needed)).notes)


def test_what_would_help_is_advised_with_what_it_gives():
    assert _notes(8_000_000_000, 1_000_000_000) == (
        "Memory: 8 GB was asked for, 1 GB is free, arrays hold 10.8 GB. "
        "The largest are Out[7] 6 GB, params 4 GB, tracebacks 500 MB, "
        "a constant of the program of f 300 MB. "
        "%jx free Out[7], params, tracebacks gives back 10.5 GB, which this cell does not read; "
        "then run the cell again. %jx live shows all that is held."
    )


@pytest.mark.parametrize(
    ("needed", "offered"),
    [
        (("params",), ["Out[7]", "tracebacks"]),
        (("b",), ["Out[7]", "tracebacks"]),  # params holds the array that b is
        (("_",), ["params", "tracebacks"]),
        (("Out",), ["params", "tracebacks"]),
    ],
)
def test_what_the_cell_reads_is_not_offered(needed: tuple[str, ...], offered: list[str]):
    found = _shortage(6_000_000_000, _memory(3_000_000_000), frozenset(needed))
    assert [one.name for one in found.offered] == offered


def test_what_is_unknown_is_left_out():
    assert _notes(None, None).startswith("Memory: arrays hold 10.8 GB. The largest are Out[7] 6 GB")
    assert _shortage(None, LiveMemory((), ()), frozenset()).notes == ["Memory: arrays hold 0 B."]


NAMES = """
import functools
big, small, other = jnp.ones((100, 100)), jnp.ones(2), jnp.ones(3)
held = {'deep': big}
def reads(): return small.sum()
@jx.jit
def step(v): return reads() + v
def closing():
    inner = other
    return lambda: inner
closed = closing()
def recursive(n): return recursive(n - 1) if n else big
recursive.__wrapped__ = recursive"""


@pytest.mark.parametrize(
    ("cell", "needed"),
    [
        ("big + 1", {"big", "held"}),
        ("held", {"held", "big"}),
        ("big = jnp.zeros(3)\nbig + 1", set()),
        ("y = step(1.0)", {"small"}),
        ("%%jit --static small\ny = 1", {"small"}),
        ("%timeit step(2.0)", {"small"}),
        ("t = %timeit -o big.sum()", {"big", "held"}),
        ("closed()", {"other"}),
        ("recursive(1)", {"big", "held"}),
        ("this is no Python, other", {"other"}),
        ("", set()),
    ],
)
def test_a_cell_needs_what_it_and_its_functions_read(
    notebook: Notebook, cell: str, needed: set[str]
) -> None:
    notebook.run(NAMES)
    names: dict[str, Any] = notebook.shell.user_ns
    arrays = {"big", "small", "other", "held"}
    read = _needed(cell, names)
    found = live(names, holders=False)
    # As for the offer: an array is needed by any of its names.
    reached = {
        name
        for one in found.arrays
        if any(way.partition("[")[0] in read for way in one.names)
        for name in (way.partition("[")[0] for way in one.names)
    }
    assert reached & arrays == needed
    assert names_needed(cell, names)[0] <= read
