"""Graphs: boxes in layers, none over another, every edge drawn downwards."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from jxkernel.jupyter.programs.graphs import Node, graph_svg


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(r'<rect x="(-?\d+)" y="(\d+)" width="(\d+)" height="36"', svg)
    return [(float(x), float(y), float(width), 36.0) for x, y, width in found]


def test_nodes_are_drawn_in_layers() -> None:
    nodes = [Node("x", "f32[8]", "input"), Node("sin"), Node("add"), Node("y", "", "result")]
    svg = graph_svg(nodes, [(0, 1), (0, 2), (1, 2), (2, 3)], "a graph")
    heights = [y for _, y, _, _ in boxes(svg)]
    assert heights == sorted(heights)
    assert len(set(heights)) == 4
    assert ">x</text>" in svg
    assert ">f32[8]</text>" in svg
    assert 'aria-label="a graph"' in svg
    # One curve for each edge and one more for the bend of the edge that passes a layer.
    assert svg.count("C") == 4 + 1


@given(st.data())
@settings(max_examples=40)
def test_boxes_never_overlap_and_edges_lead_down(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 14))
    nodes = [Node("n" * data.draw(st.integers(1, 40))) for _ in range(count)]
    numbers = st.integers(0, count - 1)
    pairs = data.draw(st.lists(st.tuples(numbers, numbers), max_size=30))
    edges = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    drawn = boxes(graph_svg(nodes, edges, ""))
    assert len(drawn) == count
    for one, other in ((a, b) for i, a in enumerate(drawn) for b in drawn[:i]):
        apart = one[0] >= other[0] + other[2] or other[0] >= one[0] + one[2]
        assert apart or one[1] != other[1]
    for start, stop in edges:
        assert drawn[start][1] < drawn[stop][1]


def test_an_empty_graph_is_an_empty_drawing() -> None:
    assert "<rect" not in graph_svg([], [], "nothing")
