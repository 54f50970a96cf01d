"""The part of the page that says what clusters cost."""

import sys

from benchmarks.clusters import Row, batch, page, pair
from benchmarks.collectives import COLLECTIVES
from benchmarks.processes import Peer
from jxkernel.cluster import Service


def test_the_page_has_figures_beside_others_and_beside_limits():
    text = page([Row("a start", 3.0, 2.0, 1.2), Row("a guard", 5e-4, None, 2e-3)])
    assert "| a start | 3 s | 2 s | 1.50 | 1.20 |" in text
    assert "| a guard | 500 µs | – | – | 2 ms |" in text


def test_processes_that_have_formed_a_group_are_timed():
    service = Service(2)
    with pair(Peer("jxkernel", sys.executable), service.address) as ranks:
        assert all(min(batch(ranks, what, 2)) > 0 for what in COLLECTIVES)
        assert min(batch(ranks, "psum of 4 KB", 2, guarded=False)) > 0
    service.stop()
