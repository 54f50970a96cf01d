"""Variables move between the notebook and the ranks."""

from types import SimpleNamespace

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.jupyter.cluster.variables import own_names


def test_names_are_pushed_and_pulled(pair, spmd):
    pair.run(
        "import numpy as np, jxkernel.numpy as jnp\n"
        "tree = {'a': jnp.arange(3.0), 'b': np.array([-0.0, np.nan]), 'c': 'text', 'd': ()}\n"
        "count = 3"
    )
    pair.run("%jx cluster push tree count")
    assert spmd("print(count, tree['a'].sum(), tree['c'])").printed == "3 3.0 text\n"
    spmd("tree['a'] = tree['a'] + 1")
    pair.run("%jx cluster pull tree")
    tree = pair.names["tree"]
    assert isinstance(tree["a"], jx.Array)
    assert tree["a"].tolist() == [1.0, 2.0, 3.0]
    assert isinstance(tree["b"], np.ndarray)
    assert np.signbit(tree["b"][0])
    assert (tree["c"], tree["d"]) == ("text", ())


def test_names_are_told_while_a_request_adds_its_own():
    class Requests(set):
        """Those names of IPython's that are looked up as the next request arrives."""

        def __contains__(self, name):
            shell.user_ns[f"_{len(shell.user_ns)}_args"] = ()
            return super().__contains__(name)

    shell = SimpleNamespace(user_ns={"a": 1, "np": np, "b": 2, "In": []})
    shell.user_ns_hidden = Requests({"In"})
    assert own_names(shell) == ["a", "b"]


def test_what_is_divided_is_gathered_on_request(pair, spmd):
    assert "x is divided over the ranks; make it whole with --gather" in (
        pair.attempt("%jx cluster pull x").printed
    )
    pair.run("%jx cluster pull x --gather")
    assert pair.names["x"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_ranks_that_differ_are_asked_for_one(pair):
    assert "differs between ranks (rank 0: int #" in pair.attempt("%jx cluster pull rank").printed
    pair.run("%jx cluster pull rank --rank 1")
    assert pair.names["rank"] == 1


def test_variables_that_differ_are_listed(pair, spmd):
    spmd("same = jnp.zeros(2)\nother = jnp.zeros(3).at[1].set(rank)\nif rank: only = 1")
    shown = pair.run("%jx cluster diff same other only").value.text
    assert "other[1]: 0.0 and 1.0; 1 of 3 differ" in shown
    assert [line.split()[:3] for line in shown.splitlines() if line.startswith("only")] == [
        ["only", "rank", "0"],
        ["only", "rank", "1"],
    ]
    assert "same" not in shown
    assert "the same on all 2 ranks" in pair.run("%jx cluster diff same x").printed


def test_whole_arrays_that_are_not_equal_are_told(pair, spmd):
    spmd(
        "whole = jx.NamedSharding(mesh, jx.P())\nown = jnp.arange(3.0) * (1 + rank)\n"
        "uneven = jx.make_array_from_single_device_arrays((3,), whole, [own])\n"
        "tree = {'a': uneven, 'b': jx.device_put(np.zeros(2), whole)}"
    )
    assert spmd("uneven.is_fully_replicated").shown == [{"text/plain": "True"}]
    shown = pair.run("%jx cluster diff").value.text
    assert "uneven[1]: 1.0 and 2.0; 2 of 3 differ" in shown
    assert "tree['a'][1]: 1.0 and 2.0; 2 of 3 differ" in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%jx cluster push", "%jx cluster push NAMES"),
        ("%jx cluster push absent", "there is no variable 'absent'"),
        ("%jx cluster push local", "local cannot be pickled"),
        ("%jx cluster pull absent", "absent is not defined on ranks 0-1"),
        ("%jx cluster pull own", "own cannot be made here: "),
        ("%jx cluster diff x absent", "absent is not defined on any rank"),
        ("%jx cluster pull", "%jx cluster pull NAMES [--rank N] [--gather]"),
        ("%jx cluster pull x --rank 7", "--rank takes a number from 0 to 1"),
        ("%jx cluster strict", "write %jx cluster strict on, or off"),
    ],
)
def test_names_that_cannot_move_are_told(pair, spmd, line, message):
    pair.run("local = lambda: 0")
    spmd("def own(): return 0")
    assert message in pair.attempt(line).printed
