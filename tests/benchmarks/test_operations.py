"""Each everyday operation gives NumPy's numbers: equal work is compared; no time is asserted."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from benchmarks import metric, operation_table
from benchmarks.library import load
from benchmarks.operation_table import Figures, explained, note, text
from benchmarks.operations import OPERATIONS, SIZES, Operation, setup
from benchmarks.processes import Peer

_ANY_ORDER = ("`partition(x, n // 2)`", "`argpartition(x, 10)`", "`eigh`")
"""NumPy may give the same in another order, or with other signs."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_operation_computes_what_numpy_does(operation: Operation) -> None:
    found: Any = jx.tree.leaves(setup(operation, 100, load("jxkernel")).run())
    assert all(np.isfinite(np.asarray(one)).all() for one in found)
    if operation.host is None:
        with pytest.raises(LookupError, match="no such operation"):
            setup(operation, 100, load("numpy"))
        return
    wanted = np.asarray(setup(operation, 100, load("numpy")).run())
    if operation.name in _ANY_ORDER:
        assert found[0].shape == wanted.shape
    else:
        found = np.asarray(found[0])[: len(wanted)] if wanted.ndim else np.asarray(found[0])
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-4)


def test_figures_are_compared_with_the_best_of_those_that_are_there() -> None:
    figures = Figures({"jxkernel": 2.0, "jax": 8.0, "numpy": 4.0})
    assert figures.ratio("jax", "numpy", "torch") == 0.5
    assert figures.ratio("jax") == 0.25
    assert figures.ratio("torch") is None
    assert figures.best == "numpy"
    assert Figures({}, "no").ratio("jax") is None


def test_table_has_a_row_for_each_operation_and_says_what_failed() -> None:
    found = {
        (operation.name, size): Figures({"jxkernel": 1e-3, "jax": 2e-3, "numpy": 5e-4})
        for operation in OPERATIONS
        for size in SIZES
    }
    found[OPERATIONS[0].name, SIZES[0]] = Figures({"jax": 1.0}, "it failed")
    found[OPERATIONS[2].name, SIZES[2]] = Figures({"jxkernel": 1.0, "jax": 0.5}, same=True)
    lines = text(found, ("jax", "numpy")).splitlines()
    assert "| 2.00 = |" in lines[4]
    assert len(lines) == 2 + len(OPERATIONS)
    assert "it failed" in lines[2]
    assert "| 2.00 | 2.00 | 2.00 | 0.50 | 0.50 | 0.50 | 1 ms | numpy, 500 µs |" in lines[3]
    count = len(OPERATIONS)
    assert f"median 2.00 of the best in {count - 1} rows, {count - 1} above 1.5" in note(
        found, ("jax", "numpy")
    )


def test_libraries_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric, "TOTAL_SECONDS", 0.0)
    asked: list[str] = []

    class Quick:
        def __init__(self, library: str) -> None:
            self.peer = Peer(library, "")

        def ask(self, kind: str, name: str) -> Any:
            if kind == "program":
                return "the same"
            asked.append(self.peer.library)
            if self.peer.library == "numpy":
                raise RuntimeError("numpy has no such operation")
            return 1.0

    workers: Any = [Quick(name) for name in ("jxkernel", "numpy", "jax")]
    figures = operation_table._figures(workers, "sin, 1,000")
    assert figures.seconds == {"jxkernel": 1.0, "jax": 1.0}
    assert figures.same
    assert asked[3:7] == ["jxkernel", "jax"] * 2


def test_each_slow_row_has_a_reason() -> None:
    found = {
        (operation.name, size): Figures({"jxkernel": 1e-3, "jax": 1e-3, "numpy": 1e-3})
        for operation in OPERATIONS
        for size in SIZES
    }
    assert explained(found, ("jax", "numpy")) == ""
    found["`sort`, int32", SIZES[2]] = Figures({"jxkernel": 2e-3, "jax": 2e-3, "numpy": 1e-3})
    found["`sort`", SIZES[2]] = found["`sort`", SIZES[1]] = found["`sort`, int32", SIZES[2]]
    found["`abs`", SIZES[0]] = Figures({"jxkernel": 2e-3, "numpy": 1e-3})
    lines = explained(found, ("jax", "numpy")).splitlines()[2:]
    assert len(lines) == 2
    assert lines[0].startswith("- a call of a jitted function takes")
    assert lines[0].endswith(": `abs`.")
    assert lines[1].endswith("vectorised network: `sort`, `sort`, int32.")
