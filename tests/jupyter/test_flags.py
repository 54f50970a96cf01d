"""The flags of `%%jit` and its short forms, and what is said about a wrong one."""

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError

from jxkernel.errors import DeletedArrayError, TraceLimitError
from tests.jupyter.conftest import Notebook


def test_static_keeps_a_number_out_of_the_trace(notebook: Notebook) -> None:
    notebook.run("n = 3")
    cell = "%%jit --static n\nfor _ in range(n):\n    x = x * 2"
    notebook.run(cell)
    np.testing.assert_array_equal(notebook.names["x"], np.arange(8.0) * 8)
    notebook.run("n = 1")
    assert "miss: n 3 → 1" in notebook.run(cell).line
    np.testing.assert_array_equal(notebook.names["x"], np.arange(8.0) * 16)


def test_donate_gives_the_memory_away(notebook: Notebook) -> None:
    notebook.run("old = x")
    notebook.run("%%jit --donate x\nx = x + 1")
    np.testing.assert_array_equal(notebook.names["x"], np.arange(8.0) + 1)
    notebook.fails("old + 1", DeletedArrayError)
    ran = notebook.run("%%jit --donate x\ny = x + 1")
    assert "warning: x was donated and is not assigned anew" in ran.shown[0]["text/plain"]


def test_outputs_are_the_only_names_written(notebook: Notebook) -> None:
    notebook.run("%%jit -o z\nh = x + 1\ndef f(a): return a\nz = f(h) * 2")
    np.testing.assert_array_equal(notebook.names["z"], (np.arange(8.0) + 1) * 2)
    assert "h" not in notebook.names
    assert "f" not in notebook.names


def test_max_traces_fails_before_the_trace(notebook: Notebook) -> None:
    cell = "%%jit --max-traces 1\ny = x + 1"
    notebook.run(cell)
    notebook.run(cell)
    notebook.run("y = 'kept'; x = x[:3]")
    ran = notebook.fails(cell, TraceLimitError)
    assert "was traced 2 times; at most 1 allowed" in ran.printed
    assert "2. " in ran.printed
    assert "x: f32[8] → f32[3]" in ran.printed
    assert "pad x along axis 0" in ran.printed
    assert notebook.names["y"] == "kept"


def test_no_run_traces_and_writes_nothing(notebook: Notebook) -> None:
    ran = notebook.run("%%jit --no-run\ny = jnp.sin(x)")
    assert "y" not in notebook.names
    assert ran.line.startswith("jit  1 eqn · traced ")
    assert " · not run · " in ran.line
    assert "y:f32[8] = sin x" in ran.shown[0]["text/plain"]


@pytest.mark.parametrize(
    ("views", "texts"),
    [
        ("jaxpr", ["y:f32[8] = sin x"]),
        ("source", ["T traced", "2 y = jnp.sin(x)"]),
        ("hlo", ["stablehlo.sine"]),
        ("optimized", ["HloModule", "sine"]),
        ("cost", ["bytes accessed"]),
        ("memory", ["arguments", "32 B"]),
        ("timeline", ["trace ", "compile "]),
        ("jaxpr,cost", ["y:f32[8] = sin x", "bytes accessed"]),
    ],
)
def test_show_adds_views(notebook: Notebook, views: str, texts: list[str]) -> None:
    ran = notebook.run(f"%%jit --show {views}\ny = jnp.sin(x)")
    for text in texts:
        assert text in ran.shown[0]["text/plain"]
        assert text.replace("<", "&lt;") in ran.shown[0]["text/html"] or views == "source"


def test_quiet_shows_only_the_result(notebook: Notebook) -> None:
    ran = notebook.run("%%jit --quiet\nx.sum()")
    assert ran.shown == []
    assert float(ran.value) == 28.0


def test_grad_gives_the_gradient_of_the_last_expression(notebook: Notebook) -> None:
    ran = notebook.run("%%jit --grad w\nh = x * w\n(h ** 2).sum()")
    assert float(ran.value) == pytest.approx(4 * 140)
    np.testing.assert_array_equal(notebook.names["h"], np.arange(8.0) * 2)
    by_both = notebook.run("%%grad w,x\n((x * w) ** 2).sum()").value
    assert float(by_both[0]) == pytest.approx(4 * 140)
    np.testing.assert_allclose(by_both[1], 8 * np.arange(8.0))


def test_vmap_maps_the_cell(notebook: Notebook) -> None:
    notebook.run("m = jnp.arange(6.0).reshape(2, 3)")
    ran = notebook.run("%%vmap m:1\ns = m.sum() + w\ns * 2")
    np.testing.assert_array_equal(notebook.names["s"], [5, 7, 9])
    np.testing.assert_array_equal(ran.value, [10, 14, 18])
    gradients = notebook.run("%%jit --vmap m --grad w\n(m * w).sum()").value
    np.testing.assert_array_equal(gradients, [3, 12])


def test_jaxpr_magics(notebook: Notebook) -> None:
    notebook.run("def f(a, b):\n    return jnp.sin(a) + b")
    assert "c:f32[8] = sin a" in notebook.run("%jaxpr f(x, 1.0)").value.text
    assert "a:f32[8]" in notebook.run("%jaxpr jnp.cos(x) * 2").value.text
    assert "= sin x" in notebook.run("%%jaxpr\ny = jnp.sin(x)").shown[0]["text/plain"]
    assert "y" not in notebook.names


def test_device_and_backend(notebook: Notebook) -> None:
    assert " · cpu:0 · " in notebook.run("%%jit --backend cpu --device 0\ny = x + 1").line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%%jit --statc x", "%%jit: unknown argument '--statc'; did you mean --static?"),
        ("%%jit --nothing-near", "%%jit: unknown argument '--nothing-near'; there are --static"),
        ("%%jit --static q", "--static: the cell reads no 'q'; it reads x, jnp"),
        ("%%jit --static a-b", "argument --static: 'a-b' is not a name"),
        ("%%jit --donate jnp", "--donate: the cell traces no 'jnp'; it traces x"),
        ("%%jit -o yy", "-o: the cell assigns no 'yy'; it assigns y. Did you mean y?"),
        ("%%jit --device 7", "--device: there is no device 7 on cpu: it has only device 0"),
        ("%%jit --device two", "argument --device: 'two' is not a count"),
        ("%%jit --backend abacus", "--backend: Unknown backend 'abacus'"),
        ("%%jit --show jaxprs", "argument --show: 'jaxprs' is none of jaxpr, source"),
        (
            "%%jit --grad x",
            "--grad: the cell must end in the expression to differentiate, such as y",
        ),
        ("%%jit --vmap x:a", "argument --vmap: 'x:a' is not NAME:AXIS"),
        ("%%jit --max-traces", "%%jit --max-traces lacks a value: %%jit --max-traces N. Fail when"),
        ("%%jit -o", "%%jit -o lacks a value: %%jit -o Z,W. The only names to write back."),
        ("%%jit --static 'x", "No closing quotation: --static 'x"),
        ("%%grad", "%%grad lacks a value: %%grad W,B. Names to differentiate by."),
        ("%%vmap", "%%vmap lacks a value: %%vmap X:0,Y:0. Axes to map over, by name."),
    ],
)
def test_a_wrong_flag_is_named_and_nothing_runs(
    notebook: Notebook, line: str, message: str
) -> None:
    ran = notebook.fails(f"{line}\ny = jnp.sin(x)", UsageError)
    assert f"UsageError: {message}" in ran.printed
    assert "Traceback" not in ran.printed
    assert "y" not in notebook.names


def test_defaults_come_from_the_settings(notebook: Notebook) -> None:
    notebook.run("%config JX.show = ['jaxpr']")
    assert "= sin x" in notebook.run("%%jit\ny = jnp.sin(x)").shown[0]["text/plain"]
    notebook.run("%config JX.summary = False")
    assert notebook.run("%%jit\ny = jnp.sin(x)").shown == []


def test_help_reads_well(notebook: Notebook) -> None:
    magic = notebook.shell.find_cell_magic("jit")
    assert magic is not None
    assert magic.__doc__.startswith("::\n\n  %jit [--static N,M]")
    assert "Trace this cell, compile it with XLA and run it." in magic.__doc__


@pytest.mark.parametrize(
    ("line", "body", "found"),
    [
        ("%%jit --st", "", ["--static"]),
        ("%%grad w --m", "", ["--max-traces"]),
        ("%%jit --show jaxpr,opt", "", ["optimized"]),
        ("%%jit --show=hl", "", ["hlo"]),
        ("%%jit --backend ", "", ["cpu", "gpu", "tpu"]),
        ("%%jit --device ", "", ["0"]),
        ("%%jit --donate x", "", ["x"]),
        ("%%jit --static x,ti", "", ["times"]),
        ("%%jit --static ", "y = f(x) * times", ["f", "x", "times"]),
        ("%%jit --donate ", "y = f(x) * times", ["x", "times"]),
        ("%%jit -o hi", "hidden = x\nhint = 2", ["hidden", "hint"]),
        ("%%jit -o hidden,", "hidden = x\nhint = 2", ["hidden", "hint"]),
        ("%%grad ", "(x * times).sum()", ["x", "times"]),
        ("%%vmap x:", "x * 2", ["0"]),
        ("%%vmap x:0,", "x * times", ["x", "times"]),
        ("%jx led", "", ["ledger"]),
        ("%jx why ti", "", ["times"]),
        ("%jx quiz first-s", "", ["first-steps"]),
        ("%jx teach o", "", ["off", "on"]),
    ],
)
def test_flags_and_names_complete_with_tab(
    notebook: Notebook, line: str, body: str, found: list[str]
) -> None:
    notebook.run("times = 3\ndef f(a): return a")
    with provisionalcompleter():
        completions = list(notebook.shell.Completer.completions(f"{line}\n{body}", len(line)))
    assert sorted(one.text for one in completions) == sorted(found)


@pytest.mark.parametrize("flag", ["--static n", "--donate n", "--grad n", "--vmap n:0"])
def test_a_flag_for_a_name_that_is_not_defined_says_so(notebook: Notebook, flag: str) -> None:
    ran = notebook.fails(f"%%jit {flag}\n(x * n).sum()", UsageError)
    assert (
        f"{flag.split()[0]}: the name 'n' is not defined; assign it in a cell before" in ran.printed
    )
