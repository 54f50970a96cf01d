"""`%jx cluster` and `%%spmd`: cells on two engines."""

import ipaddress

import psutil
import pytest

from jxkernel.errors import RankError
from jxkernel.jupyter.cluster.answer import cluster_of
from jxkernel.jupyter.provenance.view import function_data


def test_ranks_see_all_devices_and_sum_over_them(spmd):
    ran = spmd("print(jx.device_count())\nfloat(jx.jit(lambda x: x.sum())(x))")
    assert ran.printed == "2\n"
    assert ran.shown == [{"text/plain": "6.0"}]


@pytest.mark.parametrize(
    ("source", "printed", "shown"),
    [
        ("print('a')\nprint(rank)", "a\n[rank 0] 0\n[rank 1] 1\n", []),
        ("print('a\\n' * (1 + rank), end='')", "[rank 0] a\n[rank 1] a\n[rank 1] a\n", []),
        ("rank", "[rank 0]\n[rank 1]\n", ["0", "1"]),
        ("rank;", "", []),
        ("display(1)\n2", "", ["1", "2"]),
        ("if rank: print(1)", "[rank 1] 1\n", []),
        ("%time 1 + 1\nNone", None, []),
        ("import asyncio\nawait asyncio.sleep(0)\n3", "", ["3"]),
    ],
)
def test_outputs_stand_once_where_ranks_agree(spmd, source, printed, shown):
    ran = spmd(source)
    assert ran.error is None
    assert [one["text/plain"] for one in ran.shown] == shown
    if printed is not None:
        assert ran.printed == printed


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / rank", "ZeroDivisionError on rank 0: division by zero"),
        ("jnp.zeros(3) + jnp.zeros(2)", "ShapeMismatchError on all ranks: add got shapes (3,)"),
        ("1 +", "SyntaxError on all ranks: invalid syntax"),
        ("raise ValueError('a\\nb')", "ValueError on all ranks: a\nb"),
        ("raise ValueError(rank)", "ValueError on rank 0: 0\nValueError on rank 1: 1"),
    ],
)
def test_errors_are_one_with_the_ranks_that_have_it(spmd, source, message):
    ran = spmd(source)
    assert isinstance(ran.error, RankError)
    assert message in str(ran.error)
    assert "controller.py" not in ran.printed
    assert "running.py" not in ran.printed
    assert message.partition("\n")[0] in ran.printed


@pytest.mark.parametrize(
    ("source", "told", "hidden"),
    [
        ("a = 1\nb = = 2", ["Cell In[", "line 2", "b = = 2", "    ^"], "Traceback"),
        ("exit()", ["ClusterError on all ranks: A cell does not end the engines"], "rank.py"),
        ("input('?')", ["ClusterError on all ranks: A rank cannot ask"], "rank.py"),
        ("%jx comm x.nothing(", ["UsageError on all ranks: %jx comm"], "magic.py"),
        (
            "raise ValueError('first\\nsecond')",
            ["RankError: ValueError on all ranks: first"],
            "all ranks: first\nsecond",
        ),
    ],
)
def test_errors_show_the_users_lines_alone(spmd, source, told, hidden):
    ran = spmd(source)
    assert isinstance(ran.error, RankError)
    assert hidden not in ran.printed
    for words in told:
        assert words in ran.printed


def test_a_warning_stands_once(spmd):
    ran = spmd(
        "import warnings\nwith warnings.catch_warnings(action='always'): warnings.warn('careful')"
    )
    assert "UserWarning: careful" in ran.printed
    assert "[rank" not in ran.printed


def test_timeit_runs_equally_often_and_tells_the_slowest_rank(spmd):
    spmd("import time\nf = jx.jit(lambda x: x.sum())\nf(x)")
    # Ranks meet in the sum, so only what one does after it tells it from the other.
    ran = spmd("%timeit -n 1 -r 3 (f(x), time.sleep(rank * 0.4))")
    assert ran.error is None, ran.printed
    assert "dispatch" in ran.printed
    assert "slowest rank 1 " in ran.printed
    assert "fastest rank 0 " in ran.printed
    assert "[rank" not in ran.printed


def test_a_jitted_cell_runs_on_the_cluster(pair, spmd):
    ran = pair.attempt("%%jit --on cluster --show jaxpr\ndoubled = x * 2\ndoubled.sum()")
    assert ran.error is None, ran.printed
    views = [one["text/plain"] for one in ran.shown]
    assert any(view.startswith("jit  ") and "mul" in view for view in views)
    assert views[-1] == "Array(12., dtype=float32)"
    assert "doubled" not in pair.names
    assert spmd("float(doubled.sum())").shown == [{"text/plain": "12.0"}]


SCALED = """@jx.jit
def scaled(a):
    b = a * 2
    return b.sum()
scaled(x)
"""


def test_what_ranks_trace_is_marked_in_the_cell_and_told(pair):
    before = pair.session.marks
    ran = pair.attempt(f"%%spmd\n{SCALED}", cell_id="the cell")
    assert ran.error is None, ran.printed
    assert pair.session.marks == before + 1
    *_, marked = pair.session.marked.values()
    assert marked.function.name == "scaled"
    assert pair.session.identity_of(marked.function.file) == "the cell"
    assert "    b = a * 2" in function_data(marked.function)["source"]
    assert "b in scaled: traced, f32[4@x]" in pair.run("%jx why b").printed
    pair.run("%%spmd\nscaled(x)", cell_id="another")
    assert pair.session.marks == before + 1


def test_views_of_ranks_name_their_cells_and_stand_once_where_they_agree(pair, spmd):
    assert spmd(SCALED).error is None
    number = pair.session.maps[-1][0]
    ledger = spmd("%jx ledger").shown
    assert all(f" {number} " in one["text/plain"] for one in ledger)
    for line, told in (("%jx map", f"(Cell {number}, line "), ("%jx stages scaled(x)", "jaxpr")):
        ran = spmd(line)
        assert len(ran.shown) == 1, line
        assert told in ran.shown[0]["text/plain"]


def test_what_hooks_show_at_the_end_of_a_cell_is_its_output(spmd):
    spmd("show = lambda: print('a figure')\nget_ipython().events.register('post_execute', show)")
    ran = spmd("print('drawn')")
    spmd("get_ipython().events.unregister('post_execute', show)")
    assert ran.printed == "drawn\na figure\n"


def test_variables_last_and_stay_on_their_ranks(pair, spmd):
    spmd("only_there = rank + 1")
    assert spmd("print(only_there)").printed == "[rank 0] 1\n[rank 1] 2\n"
    assert "only_there" not in pair.names


def test_a_cluster_is_shown_with_its_ranks(pair):
    lines = pair.run("%jx cluster").value.text.splitlines()
    assert lines[0].startswith("Cluster of 2, service at 127.0.0.1:")
    assert [line.split()[-1] for line in lines[2:]] == ["ready", "ready"]


def listened_at(process):
    """The addresses at which a process and its children listen."""
    every = [process, *process.children(recursive=True)]
    return [one.laddr for some in every for one in some.net_connections() if one.status == "LISTEN"]


def test_all_that_belongs_to_a_cluster_listens_on_loopback_alone(pair, spmd):
    assert spmd("float(jx.jit(lambda x: x.sum())(x))").error is None
    cluster = cluster_of(pair.session)
    engines = [about["pid"] for about in cluster.about]
    for pid in (*engines, cluster.engines._cluster.controller.pid):
        assert listened_at(psutil.Process(pid))
    found = listened_at(psutil.Process())
    assert int(cluster.address.rpartition(":")[2]) in [one.port for one in found]
    for one in found:
        place = ipaddress.ip_address(one.ip)
        assert (getattr(place, "ipv4_mapped", None) or place).is_loopback, one


def test_how_long_ranks_may_be_silent_is_set(pair):
    limits = cluster_of(pair.session).limits
    before = limits.silence
    told = pair.run("%jx cluster silence 7.5").printed
    assert "does not answer for 7.5 s counts as lost" in told
    assert limits.silence == 7.5
    for words in ("", "0", "inf", "long", "1 2"):
        assert "%jx cluster silence SECONDS" in pair.attempt(f"%jx cluster silence {words}").printed
    limits.silence = before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%jx cluster 3", "2 engines run already; %jx cluster stop ends them"),
        ("%jx cluster two", "'two' is neither a number of engines nor one of show, stop,"),
        ("%%spmd fast\npass", "takes no words in its first line, got 'fast'"),
    ],
)
def test_wrong_words_are_refused(pair, line, message):
    assert message in pair.attempt(line).printed
