"""Ranks that differ are told before a number is computed."""

import pytest

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
