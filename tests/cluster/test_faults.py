"""Two hundred random faults in a row: no hang, no wrong number, no variable lost."""

import random
import threading
import time
from _thread import interrupt_main
from collections import Counter

import pytest

from tests.cluster.conftest import SETUP
from tests.cluster.cutting import CUT, can_be_cut

COUNT = 200
SEED = 19
LONGEST_SECONDS = 60.0

DEFINITIONS = f"""{SETUP}
import os, signal, time
total, largest = jx.jit(lambda x: x.sum()), jx.jit(lambda x: x.max())
for _ in range(2): total(x), largest(x)
"""
BEGIN = "weights, step = jx.device_put(np.arange(3.0), jx.NamedSharding(mesh, jx.P())), 0"

FAULTS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "frozen": "os.kill(os.getpid(), signal.SIGSTOP)",
    "cut off": CUT,
    "aborted": "os.abort()",
    "left": "os._exit(1)",
    "out of memory": "bytearray(1 << 62)",
    "failed": "1 / 0",
    "asked to exit": "raise SystemExit",
    "another program": "jx.jit(lambda x: x.min())(x)",
    "another known program": "largest(x)",
    "another size": "total(jnp.concatenate([x, x]))",
    "one program more": "total(x); largest(x)",
    "late": "time.sleep(random.random())",
    "not there": "raise InterruptedError",
    "interrupted": "open(flag, 'w').close(); time.sleep(60)",
}
HARMLESS = {"late"}
# Each of these takes some ten seconds, most of them for another engine.
WEIGHTS: dict[str, float] = dict.fromkeys(("killed", "frozen", "cut off", "aborted", "left"), 0.4)
if not can_be_cut():
    WEIGHTS["cut off"] = 0.0


def interrupt_at(path):
    """Interrupt the notebook once there is a file; return the thread that does it."""

    def wait():
        deadline = time.monotonic() + LONGEST_SECONDS
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        interrupt_main()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def suffer(pair, fault, victim, path):
    """Run a cell in which one rank has a fault; return how it ended."""
    path.unlink(missing_ok=True)
    source = f"%%spmd\nimport random\nflag = {str(path)!r}\nif rank == {victim}: {FAULTS[fault]}"
    thread = interrupt_at(path) if fault == "interrupted" else None
    ran = pair.attempt(f"{source}\nfound = float(total(x))\nfound")
    if thread is not None:
        thread.join()
    return ran


@pytest.mark.slow
def test_faults_in_a_row_cost_no_number_and_no_variable(pair, spmd, tmp_path):
    draw = random.Random(SEED)
    pair.run("%jx cluster silence 3")
    pair.run("mine = {'a': 41}")
    assert spmd(f"{DEFINITIONS}{BEGIN}").error is None
    seen, longest = Counter(), 0.0
    for step in range(COUNT):
        names = list(FAULTS)
        fault = draw.choices(names, [WEIGHTS.get(name, 1.0) for name in names])[0]
        began = time.monotonic()
        ran = suffer(pair, fault, draw.randrange(2), tmp_path / "flag")
        longest = max(longest, time.monotonic() - began)
        assert longest < LONGEST_SECONDS, fault
        assert (ran.error is None) == (fault in HARMLESS), (fault, ran.printed)
        if ran.shown:
            assert ran.shown[-1]["text/plain"] in ("6.0", ""), (fault, ran.shown)
        pair.run("%jx cluster")
        ran = spmd(DEFINITIONS)
        assert ran.error is None, (fault, ran.printed)
        ran = spmd("weights, step = weights + 1, step + 1\nfloat(total(x)), float(weights.sum())")
        expected = f"(6.0, {3.0 + 3 * (step + 1)})"
        assert ran.shown == [{"text/plain": expected}], (fault, ran.printed)
        assert spmd("step").shown == [{"text/plain": str(step + 1)}], fault
        assert pair.names["mine"] == {"a": 41}
        seen[fault] += 1
    print(f"{dict(seen)}; the longest cell took {longest:.1f} s")  # noqa: T201  shown by -s
