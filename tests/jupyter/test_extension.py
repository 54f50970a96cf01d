"""Loading and unloading: every hook in, and every hook back to the very object it was."""

import gc
import sys
import threading
from typing import Any

import pytest
from IPython.core.magics import execution

import jxkernel
from jxkernel import alias, events
from jxkernel._alias import aliases
from jxkernel.config import compile_runner, progress_display, wait_runner
from jxkernel.core.depth import allow_depth, restore_depth
from jxkernel.jupyter import session_of
from jxkernel.runtime import ArrayImpl
from tests.jupyter.conftest import Notebook

TABLES = ("line", "cell")


def hooks(shell: Any) -> dict[str, Any]:
    """Everything that the extension may touch, by name; values are compared by identity."""
    found: dict[str, Any] = {"Timer": execution.Timer}
    for kind in TABLES:
        for name, magic in shell.magics_manager.magics[kind].items():
            # A bound method is a new object at each look; its parts are not.
            found[f"{kind} magic {name}"] = getattr(magic, "__func__", magic)
            found[f"{kind} magic {name}, owner"] = getattr(magic, "__self__", None)
    collections = {
        "registry": dict(shell.magics_manager.registry),
        "configurables": dict(enumerate(shell.configurables)),
        "completers": dict(enumerate(shell.Completer.custom_matchers)),
        "waits": {name: vars(ArrayImpl).get(name) for name in ("block_until_ready", "__buffer__")},
        "runners": {
            "compile": compile_runner.value,
            "wait": wait_runner.value,
            "progress": progress_display.value,
        },
        "mimebundles": dict(shell.display_formatter.mimebundle_formatter.type_printers),
        "transformers": dict(enumerate(shell.ast_transformers)),
        "InteractiveTB": vars(shell.InteractiveTB).get("structured_traceback"),
        "SyntaxTB": vars(shell.SyntaxTB).get("structured_traceback"),
        "custom errors": shell.custom_exceptions,
    }
    for event, callbacks in shell.events.callbacks.items():
        collections[f"event {event}"] = dict(enumerate(callbacks))
    for name, items in collections.items():
        entries = items.items() if isinstance(items, dict) else [("", items)]
        found |= {f"{name} {key}": value for key, value in entries}
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    names = before.keys() | after.keys()
    missing = object()
    return sorted(
        name for name in names if before.get(name, missing) is not after.get(name, missing)
    )


def resolve_magics(shell: Any) -> None:
    """Imports the magics that newer IPythons import at their first use."""
    for name in ("timeit", "time", "prun"):
        shell.find_line_magic(name)


def test_unloading_restores_every_hook_to_the_very_object(plain_notebook: Notebook) -> None:
    shell = plain_notebook.shell
    resolve_magics(shell)
    before = hooks(shell)
    names = set(shell.user_ns)
    for _ in range(2):
        plain_notebook.run("%load_ext jxkernel")
        assert differences(before, hooks(shell)) != []
        plain_notebook.run("%unload_ext jxkernel")
        assert differences(before, hooks(shell)) == []
    history = {"_", "__", "___", "Out"} | {n for n in shell.user_ns if n.startswith(("_i", "_o"))}
    assert set(shell.user_ns) - names <= history


def test_a_loaded_extension_works_again_after_unloading(plain_notebook: Notebook) -> None:
    for _ in range(2):
        plain_notebook.run("%load_ext jxkernel")
        plain_notebook.run("import jxkernel.numpy as jnp\nx = jnp.arange(3.0)")
        assert "jit  1 eqn" in plain_notebook.run("%%jit\ny = x + 1").line
        plain_notebook.run("%unload_ext jxkernel")
        assert "`%%jit` not found" in plain_notebook.attempt("%%jit\ny = x + 1").printed


def test_unloading_stops_recording_and_lets_go(plain_notebook: Notebook) -> None:
    listening = events.listening()
    plain_notebook.run("%load_ext jxkernel")
    assert events.listening()
    plain_notebook.run("%unload_ext jxkernel")
    gc.collect()
    assert events.listening() == listening
    assert session_of(plain_notebook.shell) is None


def test_unloading_ends_the_threads_that_loading_and_cells_began(
    plain_notebook: Notebook,
) -> None:
    before = set(threading.enumerate())
    plain_notebook.run("%load_ext jxkernel")
    plain_notebook.run("1")
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert names == {"jxkernel-starter"}
    plain_notebook.run("%unload_ext jxkernel")
    assert set(threading.enumerate()) <= before


def test_unloading_ends_the_aliases_that_the_magic_made(plain_notebook: Notebook) -> None:
    with alias("fields"):
        plain_notebook.run("%load_ext jxkernel")
        plain_notebook.run("%jx alias grids\n%jx alias fields\n%jx alias maps\nimport grids, maps")
        plain_notebook.run("%jx alias maps off")
        assert aliases() == ["fields", "grids"]
        plain_notebook.run("%unload_ext jxkernel")
        assert aliases() == ["fields"]
        plain_notebook.fails("import grids", ModuleNotFoundError)


def test_unloading_gives_the_recursion_limit_back_until_the_next_trace(
    plain_notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore_depth()
    before = sys.getrecursionlimit()
    plain_notebook.run("%load_ext jxkernel\nimport jxkernel as jx\nx = jx.jit(lambda x: x + 1)(1)")
    assert sys.getrecursionlimit() == 10_000
    plain_notebook.run("%unload_ext jxkernel")
    assert sys.getrecursionlimit() == before < 10_000
    plain_notebook.run("x = jx.jit(lambda x: x + 2)(1)")
    assert sys.getrecursionlimit() == 10_000


def test_unloading_leaves_a_recursion_limit_alone_that_was_set_since(
    plain_notebook: Notebook,
) -> None:
    allow_depth()
    plain_notebook.run("%load_ext jxkernel\nimport sys\nsys.setrecursionlimit(12_345)")
    try:
        plain_notebook.run("%unload_ext jxkernel")
        assert sys.getrecursionlimit() == 12_345
    finally:
        sys.setrecursionlimit(10_000)


def test_loading_twice_is_loading_once(plain_notebook: Notebook) -> None:
    plain_notebook.run("%load_ext jxkernel")
    session = plain_notebook.session
    jxkernel.load_ipython_extension(plain_notebook.shell)
    assert plain_notebook.session is session
    plain_notebook.run("%reload_ext jxkernel")
    assert plain_notebook.session is not session


def test_a_failed_load_leaves_nothing(
    plain_notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = plain_notebook.shell
    resolve_magics(shell)
    before = hooks(shell)
    monkeypatch.setattr(shell, "Completer", None)
    with pytest.raises(AttributeError):
        jxkernel.load_ipython_extension(shell)
    monkeypatch.undo()
    assert differences(before, hooks(shell)) == []
    assert session_of(shell) is None


def test_an_older_shell_is_refused_in_a_sentence(
    plain_notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("IPython.version_info", (7, 34, 0, ""))
    with pytest.raises(ImportError, match=r"needs IPython 8\.12 or newer, and this is 7\.34"):
        jxkernel.load_ipython_extension(plain_notebook.shell)
    monkeypatch.undo()
    jxkernel.load_ipython_extension(plain_notebook.shell)
    jxkernel.unload_ipython_extension(plain_notebook.shell)


def test_settings_are_listed_and_checked(notebook: Notebook) -> None:
    assert "JX" in notebook.run("%config").printed
    assert "JX.settle" in notebook.run("%config JX").printed
    notebook.attempt("%config JX.tracebacks = 'some'")
    assert notebook.session.settings.tracebacks == "user"
    notebook.run("%config JX.record = False")
    assert not notebook.session.recorder.recording
    notebook.run("%config JX.record = True")
    assert notebook.session.recorder.recording


def test_magics_are_listed_with_help(notebook: Notebook) -> None:
    listed = notebook.run("%lsmagic").value
    text = str(listed)
    for name in ("%jx", "%jaxpr", "%%jit", "%%grad", "%%vmap", "%%jaxpr"):
        assert name in text
    for name in ("jit", "jx", "timeit", "time", "prun"):
        magic = notebook.shell.find_magic(name) or notebook.shell.find_cell_magic(name)
        assert magic is not None
        assert magic.__doc__


def test_each_event_knows_its_cell(notebook: Notebook) -> None:
    notebook.run("y = jnp.sin(x)")
    notebook.run("%%jit\ny = jnp.cos(x)")
    totals = notebook.session.recorder.totals_by_cell()
    assert totals["In[3]"].traces == 1
    started = notebook.session.recorder.records(events.CellFinished, cell="In[2]")
    assert len(started) == 1


def test_a_jaxpr_as_a_result_is_shown_as_a_view(notebook: Notebook) -> None:
    notebook.run("closed = jx.make_jaxpr(jnp.sin)(x)")
    formatter = notebook.shell.display_formatter
    assert formatter is not None
    bundle, _ = formatter.format(notebook.names["closed"])
    assert bundle["text/plain"] == "{ lambda ; a:f32[8]. let b:f32[8] = sin a in (b,) }"
    assert "<details" in bundle["text/html"]
    assert bundle["application/vnd.jxkernel.jaxpr+json"]["count"] == 1


def test_settling_waits_at_the_end_of_a_cell(notebook: Notebook) -> None:
    notebook.run("%config JX.settle = True")
    notebook.run("y = (jnp.ones((400, 400)) @ jnp.ones((400, 400))).sum()")
    assert notebook.names["y"].is_ready()
