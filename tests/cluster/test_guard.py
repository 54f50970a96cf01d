"""Ranks that differ are told before a number is computed."""

import pytest

from jxkernel.errors import DesyncError
from tests.cluster.conftest import SETUP

PROGRAMS = """
def over(sum_of):
    program = lambda x: sum_of(jnp.sin(x), "x")
    return jx.jit(
        jx.shard_map(program, mesh=mesh, in_specs=jx.P("x"), out_specs=jx.P(), check_vma=False)
    )
f, g = over(lax.psum), over(lax.pmax)
"""


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "(f if rank else g)(x)",
            ["different programs, so none was run", "pmax[axes=(x,)]", "psum[axes=(x,)]"],
        ),
        (
            "if rank:\n    f(x); g(x)\nelse:\n    g(x); f(x)",
            ["rank 0: <lambda>, Cell In[", "line 4: g(x); f(x)", "line 2: f(x); g(x)"],
        ),
        ("if rank:\n    f(x)", ["rank 0 has ended without it, after 0 programs", "line 2: f(x)"]),
        ("f(x)\nif rank:\n    g(x)", ["rank 0 has ended without it, after 1 program."]),
        ("jx.jit(lambda x: (x * (1.0 + rank)).sum())(x)", ["mul a 1.0", "mul a 2.0"]),
    ],
)
def test_ranks_that_differ_are_told(spmd, source, told):
    assert spmd(PROGRAMS).error is None
    ran = spmd(source)
    assert "DesyncError" in str(ran.error)
    for words in told:
        assert words in ran.printed
    again = spmd("float(f(x)[0]), float(g(x)[0])")
    assert again.error is None, again.printed
    again = spmd("float(f(x)[1]), float(g(x)[1])")
    assert again.error is None, again.printed


KNOWN = PROGRAMS + "for _ in range(2): f(x), g(x)"


@pytest.mark.parametrize(
    "source",
    [
        "(f if rank else g)(x)",
        "if rank:\n    f(x); g(x)\nelse:\n    g(x); f(x)",
        "if rank:\n    f(x); g(x)\nelse:\n    g(x); f(x)\njx.jit(lambda x: (x * 7).sum())(x)",
    ],
)
def test_known_programs_in_another_order_are_told(spmd, source):
    assert spmd(KNOWN).error is None
    ran = spmd(f"{source}\n'a number'")
    assert "in different orders" in ran.printed
    assert "rank 0: call 1, <lambda> #" in ran.printed
    assert "(Cell In[" in ran.printed
    assert "a number" not in str(ran.shown)
    again = spmd("float(f(x)[1]), float(g(x)[1])")
    assert again.error is None, again.printed


def test_known_programs_in_another_order_end_a_cell_that_goes_on(spmd, tmp_path):
    assert spmd(KNOWN).error is None
    went_on = tmp_path / "went on"
    ran = spmd(
        "import time\nend = time.monotonic() + 60\n(f if rank else g)(x)\nprint('a number')\n"
        f"while time.monotonic() < end: time.sleep(0.01)\nopen({str(went_on)!r}, 'w').close()"
    )
    assert "in different orders" in ran.printed
    assert "line 3: (f if rank else g)(x)" in ran.printed
    assert not ran.printed.startswith("a number")
    assert not went_on.exists()


def test_a_known_program_that_only_one_rank_runs_is_told(spmd):
    assert spmd(KNOWN).error is None
    ran = spmd("if rank:\n    f(x)")
    assert isinstance(ran.error, DesyncError)
    assert "Rank 1 runs a program that rank 0 has ended without." in ran.printed
    assert "line 2: f(x)" in ran.printed
    # The functions hold a mesh of the group before.
    assert spmd(SETUP).error is None
    assert spmd(f"{KNOWN}; float(f(x)[0])").error is None


MANY = """
from jxkernel.config import launch_hook
guard = launch_hook.value
write = guard.notices(("aa", "many", ()), "answer")
most = 0
for number in range(9_000):
    assert write(None) == "answer"
    most = max(most, len(guard._notes))
print(guard.count, most < 4_200, guard.latest.name, guard.latest.frame.line)
f(x)
print(guard.count, guard.latest.name, len({one.moment for one in guard.calls}) > 8_000)
"""


def test_calls_without_end_are_counted_in_bounded_room(spmd):
    assert spmd(KNOWN).error is None
    ran = spmd(MANY)
    assert ran.error is None, ran.printed
    assert ran.printed == "9000 True many 6\n9001 <lambda> True\n"


def test_programs_that_send_nothing_may_differ(spmd):
    spmd("whole = jx.device_put(np.arange(3.0), jx.NamedSharding(mesh, jx.P()))")
    ran = spmd("if rank: print((whole * 2).tolist(), float(whole[1]))")
    assert ran.error is None, ran.printed
    assert ran.printed == "[rank 1] [0.0, 2.0, 4.0] 1.0\n"


def test_a_call_that_failed_on_one_rank_goes_on_later(spmd):
    spmd(PROGRAMS)
    spmd("if rank:\n    f(x)")
    for _ in range(3):
        assert spmd("bool(f(x)[0] == f(x)[0])").shown == [{"text/plain": "True"}]


def test_a_strict_guard_sees_calls_that_were_made_before(pair, spmd):
    spmd(PROGRAMS + "f(x), g(x)")
    assert "every call" in pair.run("%jx cluster strict on").printed
    assert spmd("f(x), g(x); None").error is None
    assert "DesyncError" in str(spmd("(f if rank else g)(x)").error)
    assert "first call of each kind" in pair.run("%jx cluster strict off").printed
    assert spmd("f(x), g(x); None").error is None
