"""Arrays and trees of arrays as a notebook shows them, in a real kernel."""

from collections.abc import Iterator

import pytest

from tests.jupyter.kernels import Kernel, running_kernel

HTML, TEXT = "text/html", "text/plain"


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as started:
        yield started


def test_an_array_is_shown_with_figures_and_its_text_is_reprs(kernel: Kernel) -> None:
    shown = kernel.ok("x = jnp.arange(64.0).reshape(8, 8).at[1, 2].set(jnp.nan)\nx").result
    assert shown[TEXT] == kernel.ok("print(repr(x))").streams.rstrip()
    html = shown[HTML]
    assert "f32[8,8] · 256 B · min 0, mean 31.84, max 63 · 1 NaN" in html
    assert "<svg" in html
    assert "Array([[ 0.,  1., nan" not in html  # the text stands as it is
    assert "Array([[" in html
    assert "<script" not in html
    assert len(html) < 20_000


@pytest.mark.parametrize(
    "small",
    [
        "jnp.float32(3)",
        "jnp.arange(3)",
        "3",
        "[1, 2]",
        "{'a': 'b'}",
        "(jnp.ones(3), {'n': jnp.arange(5)})",
    ],
)
def test_what_text_says_all_of_stays_text(kernel: Kernel, small: str) -> None:
    assert list(kernel.ok(small).result) == [TEXT]


def test_a_tree_is_folded_as_it_is_nested(kernel: Kernel) -> None:
    made = "params = {'w': jnp.ones((4, 5)), 'b': [jnp.arange(3), None, 'text <b>']}\nparams"
    html = kernel.ok(made).result[HTML]
    assert "dict of 2" in html
    assert "list of 3" in html or "list of 2" in html
    assert "[&#x27;w&#x27;] f32[4,5] · 80 B · min 1, mean 1, max 1" in html
    assert "text &lt;b&gt;" in html
    assert "[0] f32[] · 4 B · 2.5<" in kernel.ok("jnp.float32(2.5), jnp.ones(20)").result[HTML]


def test_a_value_with_a_form_of_its_own_keeps_it(kernel: Kernel) -> None:
    kernel.ok(
        "class Own(dict):\n    def _repr_html_(self):\n        return '<b>own</b>'\n"
        "own = Own(x=jnp.ones(20))"
    )
    assert kernel.ok("own").result[HTML] == "<b>own</b>"


def test_odd_containers_break_nothing(kernel: Kernel) -> None:
    kernel.ok("cycle = [jnp.ones(20)]; cycle.append(cycle)")
    assert HTML in kernel.ok("cycle").result
    kernel.ok(
        "class Silent:\n    def __repr__(self):\n        raise ValueError('no text')\n"
        "mixed = {1: jnp.ones(20), 'a': Silent()}"
    )
    assert kernel.run("mixed").error["ename"] == "ValueError"  # as without the extension
    told = kernel.ok("%jx value [jnp.ones(20), Silent()]")
    shown = told.result or told.displays[0]
    assert "<Silent without a text: ValueError>" in shown[TEXT]


def test_a_sharded_array_is_drawn_over_its_devices(kernel: Kernel) -> None:
    kernel.ok("%jx virtual 4")
    kernel.ok(
        "mesh = jx.make_mesh((4,), ('x',))\n"
        "rows = jx.device_put(jnp.ones((8, 4)), jx.NamedSharding(mesh, jx.P('x')))"
    )
    html = kernel.ok("rows").result[HTML]
    assert "4 pieces of 2x4" in html
    assert "CPU 3" in html


def test_the_magic_tells_a_tree_in_lines_and_asks_for_an_expression(kernel: Kernel) -> None:
    told = kernel.ok("%jx value {'w': jnp.zeros((2, 3)), 'n': 4}")
    shown = told.result or told.displays[0]
    lines = shown[TEXT].splitlines()
    assert "['n']  4" in lines
    assert "['w']  f32[2,3] · 24 B · min 0, mean 0, max 0" in lines
    missing = kernel.run("%jx value")
    assert "give an array or a tree of arrays" in missing.streams


def test_a_setting_leaves_the_text_alone(kernel: Kernel) -> None:
    kernel.ok("%config JX.values = False")
    assert list(kernel.ok("jnp.ones(20)").result) == [TEXT]
    assert list(kernel.ok("[jnp.ones(20)]").result) == [TEXT]
    kernel.ok("%config JX.values = True")
