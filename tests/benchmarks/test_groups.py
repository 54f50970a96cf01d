"""The page on groups of processes, and the models on it."""

import pytest

from benchmarks.groups import HEADING, LARGER, POWERS, Cost, fitted, least, measure, page


def made(size):
    """A group whose costs follow models exactly."""
    return Cost(
        size=size,
        forming=0.1 + 0.02 * size,
        guard=1e-3 + 1e-5 * size**2,
        barrier=1e-4 * size,
        gather=0.05 + 0.001 * size,
    )


def test_models_are_found_again():
    costs = [made(size) for size in (2, 4, 8, 16)]
    for figure in POWERS:
        assert fitted(costs, figure)(1000) == pytest.approx(getattr(made(1000), figure))


def test_a_model_never_falls_with_more_processes():
    costs = [Cost(2, 1.0, 1.0, 0.4, 1.0), Cost(4, 0.5, 1.0, 0.3, 1.0)]
    assert fitted(costs, "forming")(100) > fitted(costs, "forming")(10) > 0


def test_the_page_has_what_was_measured_and_what_was_modelled():
    text = page([made(2), made(4)])
    assert text.startswith(HEADING)
    assert "| 4 | 180 ms | 1.16 ms |" in text
    for size in LARGER:
        assert f"| {size:,} (modelled) |" in text
    assert "- guard: 1 ms + 10 µs * n²" in text


def test_the_least_of_each_figure_is_told():
    groups = [Cost(2, 3.0, 1.0, 5.0, 2.0), Cost(2, 1.0, 2.0, 4.0, 2.0)]
    assert least(groups) == Cost(2, 1.0, 1.0, 4.0, 2.0)


def test_a_real_group_is_measured():
    cost = measure(2)
    assert cost.size == 2
    assert min(cost.forming, cost.guard, cost.barrier, cost.gather) > 0
