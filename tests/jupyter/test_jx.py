"""`%jx`: each subcommand answers, and says what is wrong with a wrong word."""

import pytest
from IPython.core.error import UsageError

from jxkernel.config import config
from jxkernel.jupyter.magics.jx import SUBCOMMANDS
from jxkernel.observe import explain
from tests.jupyter.conftest import Notebook


def text(notebook: Notebook, command: str) -> str:
    return notebook.run(command).value.text


def test_alone_it_lists_every_subcommand(notebook: Notebook) -> None:
    shown = text(notebook, "%jx")
    assert [name for name in SUBCOMMANDS if f"%jx {name}" not in shown] == []
    magic = notebook.shell.find_line_magic("jx")
    assert magic is not None
    assert "`%jx` alone lists the subcommands" in str(magic.__doc__)


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
    assert "nothing has been traced" in text(notebook, "%jx ledger missing")


def test_why_leads_back_to_an_argument(notebook: Notebook) -> None:
    notebook.run("%%jit\nh = jnp.sin(x)\nn = h.shape[0]\nz = h * w")
    why = text(notebook, "%jx why z")
    assert "In[2]: z in the cell: traced, f32[8]" in why
    assert "z = h * w    (line 4)" in why
    assert "depends on the arguments" in why
    assert "static, 8" in text(notebook, "%jx why n")
    assert "not a name" in text(notebook, "%jx why q")


def test_map_marks_the_source(notebook: Notebook) -> None:
    notebook.run("k = np.ones(8, 'f')\ndef f(a):\n    return a + k")
    notebook.run("%%jit\nn = 3\nz = f(x) * n")
    shown = text(notebook, "%jx map")
    assert "   2 n = 3\n     S" in shown
    assert "C k: f32[8], 32 B" in shown
    assert "T traced · S static" in shown


def test_hlo_and_cost_of_a_call(notebook: Notebook) -> None:
    notebook.run("def f(a):\n    return jnp.sin(a) * 2")
    hlo = text(notebook, "%jx hlo f(x)")
    assert "stablehlo.sine" in hlo
    assert "HloModule" in hlo
    assert "bytes accessed" in text(notebook, "%jx cost jnp.sin(x) + 1")


def test_events_and_live_arrays_and_cache(notebook: Notebook) -> None:
    notebook.run("%%jit\ny = x + 1")
    assert "Compiled" in text(notebook, "%jx events 20")
    live = text(notebook, "%jx live")
    assert "f32[8]" in live
    assert "32 B" in live
    assert "cell_2" in text(notebook, "%jx cache")
    text(notebook, "%jx cache clear")
    assert "miss" in notebook.run("%%jit\ny = x + 1").line


def test_x64_switches_dtypes(notebook: Notebook) -> None:
    assert "off" in text(notebook, "%jx x64")
    text(notebook, "%jx x64 on")
    assert notebook.run("jnp.arange(3.0).dtype.name").value == "float64"
    text(notebook, "%jx x64 off")
    assert notebook.run("jnp.arange(3.0).dtype.name").value == "float32"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("%jx ledgr", "%jx: there is no subcommand 'ledgr'; did you mean ledger?"),
        ("%jx zzz", "%jx: there is no subcommand 'zzz'; there are backend, devices"),
        ("%jx backend abacus", "%jx backend: Unknown backend 'abacus'"),
        ("%jx backend cpu:9", "%jx backend: there is no device '9' on cpu, which has 0 to 0"),
        ("%jx why", "%jx why: give a name of a traced cell"),
        ("%jx why z", "%jx why: no cell was traced yet"),
        ("%jx map", "%jx map: no cell was traced yet"),
        ("%jx explain", "%jx explain: name a function"),
        ("%jx hlo", "%jx hlo: give a call such as f(x)"),
        ("%jaxpr", "%jaxpr: give a call such as f(x)"),
        ("%jx events many", "%jx events: 'many' is not a count"),
        ("%jx cache empty", "%jx cache: 'empty' is not 'clear'"),
        ("%jx x64 maybe", "%jx x64: 'maybe' is neither 'on' nor 'off'"),
    ],
)
def test_a_wrong_word_is_told(notebook: Notebook, command: str, message: str) -> None:
    ran = notebook.fails(command, UsageError)
    assert f"UsageError: {message}" in ran.printed
