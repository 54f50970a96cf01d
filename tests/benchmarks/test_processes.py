"""What a whole process costs is told of that process alone."""

import sys

from benchmarks.processes import Peer, measure_script


def test_the_peak_of_a_process_is_not_that_of_the_one_that_started_it() -> None:
    held = b"x" * (400 << 20)
    cost = measure_script(Peer("nothing", sys.executable), "'{library}'")
    assert 1 << 20 < cost.memory < len(held) // 2
