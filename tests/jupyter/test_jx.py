"""`%jx`: each subcommand answers, and says what is wrong with a wrong word."""

import json
import re
from pathlib import Path

import pytest
from IPython.core.error import UsageError

from jxkernel.config import config
from jxkernel.jupyter.features import SUBCOMMANDS
from jxkernel.observe import explain
from jxkernel.runtime import clear_backends, devices
from tests.jupyter.conftest import Notebook


def text(notebook: Notebook, command: str) -> str:
    return notebook.run(command).value.text


def test_alone_it_lists_every_subcommand(notebook: Notebook) -> None:
    shown = text(notebook, "%jx")
    assert [name for name in SUBCOMMANDS if f"%jx {name}" not in shown] == []
    magic = notebook.shell.find_line_magic("jx")
    assert magic is not None
    assert "``%jx`` alone lists the subcommands" in str(magic.__doc__)


def test_devices_and_backend(notebook: Notebook) -> None:
    assert "cpu:0" in text(notebook, "%jx devices")
    assert "default" in text(notebook, "%jx backend cpu:0")
    assert config.jax_default_device is not None
    config.update("jax_default_device", None)


def test_ledger_and_explain_are_the_plain_functions(notebook: Notebook) -> None:
    notebook.run("@jx.jit\ndef f(a):\n    return jnp.sin(a)\nf(x); f(x[:3])")
    ledger = text(notebook, "%jx ledger f")
    assert "first call of f" in ledger
    assert "a: f32[8] → f32[3]" in ledger
    assert "fix: pad a along axis 0 to a few fixed sizes" in ledger
    told = explain(notebook.names["f"], notebook.session.recorder)
    assert text(notebook, "%jx explain f").strip() == told.strip()
    assert "first call of f" in told


def test_ledger_before_anything_is_built(notebook: Notebook) -> None:
    assert "nothing has been traced" in text(notebook, "%jx ledger")


def test_a_function_that_was_not_built_is_not_said_to_be_the_only_one(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: a + 1)\nf(x)")
    told = "missing: neither traced nor compiled since recording began"
    assert text(notebook, "%jx ledger missing") == told


def test_why_leads_back_to_an_argument(notebook: Notebook) -> None:
    notebook.run("%%jit\nh = jnp.sin(x)\nn = h.shape[0]\nz = h * w")
    why = text(notebook, "%jx why z")
    assert "In[2]: z in the cell: traced, f32[8]" in why
    assert "z = h * w    (line 4)" in why
    assert "depends on the arguments" in why
    assert "static, 8" in text(notebook, "%jx why n")
    assert "not a name" in text(notebook, "%jx why q")


def test_a_map_keeps_the_lines_that_were_traced(notebook: Notebook) -> None:
    notebook.run("%%time\n@jx.jit\ndef f(a):\n    return a.sum() * 2\nf(x)")
    notebook.run("%%time\ny = x + 1")
    assert "   3     return a.sum() * 2" in text(notebook, "%jx map f")


def test_map_marks_the_source(notebook: Notebook) -> None:
    notebook.run("k = np.ones(8, 'f')\ndef f(a):\n    return a + k")
    notebook.run("%%jit\nn = 3\nz = f(x) * n")
    shown = text(notebook, "%jx map")
    assert "   2 n = 3\n     S" in shown
    assert "C k: f32[8], 32 B" in shown
    assert "T traced · S static" in shown


def test_explanation_of_a_cell_has_its_constants_and_side_effects(notebook: Notebook) -> None:
    notebook.run("k = np.ones(8, 'f')\ndef f(a):\n    return a + k")
    cell = "%%jit\nz = f(x)\nprint(z)"
    notebook.run(cell)
    told = text(notebook, "%jx explain cell_3")
    assert "constant baked in: k float32[8], 32 B; pass it as an argument" in told
    assert told.count("happened only while tracing: print(z)") == 1
    notebook.run(cell)
    assert text(notebook, "%jx explain cell_3").count("while tracing: print(z)") == 1


def test_hlo_and_cost_of_a_call(notebook: Notebook) -> None:
    notebook.run("def f(a):\n    return jnp.sin(a) * 2")
    hlo = text(notebook, "%jx hlo f(x)")
    assert "stablehlo.sine" in hlo
    assert "HloModule" in hlo
    notebook.run(
        "def g(a):\n    b = a @ a\n    return lax.scan(lambda c, _: (c @ b, None), b, None, 4)[0]"
    )
    view = notebook.run("%jx cost g(jnp.ones((50, 50)))").value
    first = view.data["operations"]["rows"][0]
    assert first[:3] == ["dot_general × 4", "1 Mflop", "80%"]
    assert first[4].startswith("Cell In[4], line 3: return lax.scan(")
    assert "intensity" in view.text
    assert "XLA counts the body of a loop once" in view.text


def test_events_and_live_arrays_and_cache(notebook: Notebook) -> None:
    notebook.run("%%jit\ny = x + 1")
    assert "Compiled" in text(notebook, "%jx events 20")
    live = text(notebook, "%jx live")
    assert "f32[8]" in live
    assert "32 B" in live
    assert "cell_2" in text(notebook, "%jx cache")
    text(notebook, "%jx cache clear")
    assert "miss" in notebook.run("%%jit\ny = x + 1").line


def test_cache_shows_and_clears_what_is_on_disk(notebook: Notebook, tmp_path: Path) -> None:
    config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        assert str(tmp_path) in text(notebook, "%jx cache")
        notebook.run("jx.jit(lambda a: jnp.sin(a) * 3)(x)")
        data = notebook.run("%jx cache").value.data["disk"]
        assert dict(data["rows"])["entries"] == "1"
        assert "of 1 GB" in text(notebook, "%jx cache")
        assert "forgotten" in text(notebook, "%jx cache clear memory")
        assert text(notebook, "%jx cache clear disk") == "1 executables deleted from disk"
        assert list(tmp_path.iterdir()) == []
    finally:
        config.update("jax_compilation_cache_dir", None)
    assert "the cache is off" in text(notebook, "%jx cache")


def test_x64_switches_dtypes(notebook: Notebook) -> None:
    assert "off" in text(notebook, "%jx x64")
    text(notebook, "%jx x64 on")
    assert notebook.run("jnp.arange(3.0).dtype.name").value == "float64"
    text(notebook, "%jx x64 off")
    assert notebook.run("jnp.arange(3.0).dtype.name").value == "float32"


def test_memory_of_a_call_and_of_variables(notebook: Notebook) -> None:
    assert "arguments" in text(notebook, "%jx memory jnp.sin(x) + 1")
    assert "f32[8]" in text(notebook, "%jx memory")


def test_free_deletes_arrays_and_names(notebook: Notebook) -> None:
    notebook.run("big = jnp.ones((100, 100)); same = big")
    assert "big deleted: 40 KB" in text(notebook, "%jx free big")
    assert "big" not in notebook.names
    assert notebook.names["same"].is_deleted()


def test_virtual_devices_come_and_go(notebook: Notebook) -> None:
    before = config.jax_num_cpu_devices
    assert "cpu:3" in text(notebook, "%jx virtual 4")
    notebook.run("y = jnp.sin(jnp.arange(4.0))")
    assert "cpu:1" not in text(notebook, "%jx virtual 1")
    assert float(notebook.run("jnp.cos(jnp.float32(0.0))").value) == 1.0
    assert "cpu:4" in text(notebook, "%jx virtual 5 move")
    assert notebook.names["y"].devices() == {devices()[0]}
    refused = notebook.fails("%jx virtual 5 elsewhere", UsageError)
    assert "from 1 to 64" in refused.printed
    config.update("jax_num_cpu_devices", before)
    clear_backends()


def test_report_is_a_view_and_a_file(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run("%%jit\ny = x + 1")
    page, data = tmp_path / "session.html", tmp_path / "session.json"
    assert "jaxlib" in text(notebook, f"%jx report {page}")
    assert "cell_2" in page.read_text()
    assert "<script" not in page.read_text()
    text(notebook, f"%jx report {data}")
    assert "cell_2" in [row["fun"] for row in json.loads(data.read_text())["ledger"]]


def test_the_tour_runs(notebook: Notebook) -> None:
    assert "%jx ledger" in text(notebook, "%jx tour")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("%jx ledgr", "%jx: there is no subcommand 'ledgr'; did you mean ledger?"),
        ("%jx zzz", "%jx: there is no subcommand 'zzz'; there are hlo, stages"),
        ("%jx backend abacus", "%jx backend: Unknown backend 'abacus'"),
        ("%jx backend cpu:9", "%jx backend: there is no device '9' on cpu, which has 0 alone"),
        ("%jx why", "%jx why: give a name of a traced function or cell"),
        ("%jx why z", "%jx why: nothing was traced yet; call a jitted function"),
        ("%jx map", "%jx map: nothing was traced yet"),
        ("%jx explain", "%jx explain: name a function"),
        ("%jx hlo", "%jx hlo: give a call such as f(x)"),
        ("%jaxpr", "%jaxpr: give a call such as f(x)"),
        ("%jx events many", "%jx events: 'many' is not a count"),
        ("%jx cache empty", "%jx cache: 'empty' is not 'clear', 'clear memory' or 'clear disk'"),
        ("%jx virtual many", "%jx virtual: give a number of CPU devices from 1 to 64"),
        ("%jx free", "%jx free: name the variables"),
        ("%jx free w", "%jx free: w holds no device array"),
        ("%jx report x.txt", "%jx report: x.txt must end in .html or .json"),
        (
            "%jx report /no/such/folder/x.html",
            "%jx report: '/no/such/folder/x.html' cannot be written: No such file",
        ),
        ("%jx x64 maybe", "%jx x64: 'maybe' is neither 'on' nor 'off'"),
        ("%jx live w", "%jx live takes no words, got 'w'"),
        ("%jx leaks f(x)", "%jx leaks takes no words, got 'f(x)'"),
        ("%jx devices cpu", "%jx devices takes no words, got 'cpu'"),
        ("%jx tour 2", "%jx tour takes no words, got '2'"),
        ("%jx explain w", "%jx explain: w is not a function"),
        ("%jaxpr lambda v: v", "%jaxpr: lambda v: v is a function: give its arguments, (lambda"),
    ],
)
def test_a_wrong_word_is_told(notebook: Notebook, command: str, message: str) -> None:
    ran = notebook.fails(command, UsageError)
    assert f"UsageError: {message}" in ran.printed


def test_alias_makes_a_name_mean_jxkernel_until_it_ends(notebook: Notebook) -> None:
    assert "`import jax` gives jxkernel" in text(notebook, "%jx alias jax")
    code = "import jax\nfrom jax import numpy as other\nshown = float(jax.grad(other.sin)(0.0))"
    notebook.run(code)
    assert notebook.names["shown"] == 1.0
    assert "no other name" in text(notebook, "%jx alias jax off")
    notebook.fails("import jax", ModuleNotFoundError)
    loaded = notebook.fails("%jx alias json", UsageError)
    assert "'json' is loaded already" in loaded.printed
    assert "'on' is not 'off'" in notebook.fails("%jx alias jax on", UsageError).printed


def test_diff_compares_two_calls_or_the_latest_two_traces(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: jnp.sin(a) * 2)")
    calls = text(notebook, "%jx diff f(x), f(x[:3])")
    assert calls.startswith("f(x) → f(x[:3]): 3 changed, 1 the same")
    latest = notebook.run("%jx diff f").value
    assert latest.text.startswith("f(f32[8]) → f(f32[3]): 3 changed")
    assert latest.data["rows"][0]["sign"] == "~"
    notebook.run("%%jit\ny = jnp.sin(x)", "cell")
    notebook.run("%%jit\ny = jnp.cos(x)", "cell")
    assert "+ y:f32[8] = cos a" in text(notebook, "%jx diff")
    refused = notebook.fails("%jx diff w", UsageError)
    assert "w is no jitted function" in refused.printed
    assert "give two calls" in notebook.fails("%jx diff f(x)", UsageError).printed


def test_passes_of_xla_are_told_by_step_and_by_equation(notebook: Notebook) -> None:
    notebook.run("def f(a):\n    return jnp.sin(a) / 2")
    view = notebook.run("%jx passes f(x)").value
    assert view.text.splitlines()[0] == "XLA's passes over f(x)"
    assert re.search(r"^1  algsimp · simplification · −\d+ \+\d+$", view.text, re.MULTILINE)
    assert re.search(r"^ +2  \w+:f32\[8\] = div .* steps? 1\b", view.text, re.MULTILINE)
    assert "<code>" in view.html
    one = notebook.run("%jx passes 2 f(x)").value
    given, ends = one.text.split("in the end")
    assert " divide(" in given.partition("algsimp")[0]
    assert " divide(" not in ends
    assert 'class="row m gone"' in one.html
    assert 'class="row m new"' in one.html
    for words, message in (("7 f(x)", "no equation 7: f has 2"), ("", "give a call")):
        assert message in notebook.attempt(f"%jx passes {words}").printed


def test_stages_stand_side_by_side(notebook: Notebook) -> None:
    notebook.run("def f(a):\n    return jnp.sin(a) * 2")
    view = notebook.run("%jx stages f(x)").value
    assert "stablehlo.sine" in view.text
    assert view.data["stablehlo"][2]["line"] == 2
    assert "Optimized HLO" in view.html
    shown = notebook.run("%%jit --show stages\ny = f(x)").shown[0]
    section = shown["application/vnd.jxkernel.jit+json"]["sections"][0]
    assert section["title"] == "Stages"
    assert any("sine" in one["text"] for one in section["stablehlo"])
    links = set(re.findall(r'href="#(\w+)"', shown["text/html"]))
    assert [link for link in links if f'id="{link}"' not in shown["text/html"]] == []
