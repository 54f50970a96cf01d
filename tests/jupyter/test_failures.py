"""What goes wrong in a cell: told on the user's line, with nothing else changed."""

import numpy as np
import pytest

from jxkernel.errors import (
    ConcretizationTypeError,
    JXError,
    LeakError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from tests.jupyter.conftest import Notebook


@pytest.mark.parametrize(
    ("body", "kind", "underlined"),
    [
        ("y = 0\nif x.sum() > 0:\n    y = 1", TracerBoolConversionError, "x.sum() > 0"),
        ("y = 0\nwhile w < 3:\n    w = w + 1", TracerBoolConversionError, "w < 3"),
        ("y = 0\nok = w > 1 and w < 3", TracerBoolConversionError, "w > 1 and w < 3"),
        ("y = 0\nassert w > 1", TracerBoolConversionError, "w > 1"),
        ("y = 0\nn = int(w)", ConcretizationTypeError, "int(w)"),
        ("y = 0\nn = float(x[0])", ConcretizationTypeError, "float(x[0])"),
        ("y = 0\nh = np.sin(x)", TracerArrayConversionError, "np.sin(x)"),
        ("y = 0\nh = np.asarray(x)", TracerArrayConversionError, "np.asarray(x)"),
        ("y = 0\nfor i in range(k):\n    pass", TracerIntegerConversionError, "range(k)"),
        ("y = 0\nv = [1, 2, 3][k]", TracerIntegerConversionError, "[1, 2, 3][k]"),
        ("y = 0\nv = x.tolist()", ConcretizationTypeError, "x.tolist()"),
        ("y = 0\nv = w.item()", ConcretizationTypeError, "w.item()"),
    ],
)
def test_a_tracer_error_underlines_the_expression(
    notebook: Notebook, body: str, kind: type[JXError], underlined: str
) -> None:
    notebook.run("k = 2; y = 'kept'")
    ran = notebook.fails(f"%%jit\n{body}", kind)
    assert isinstance(ran.error, JXError)
    line = body.splitlines()[1]
    assert ran.error.code == line
    assert ran.error.underline is not None
    start, end = ran.error.underline
    assert line[start:end] == underlined
    assert "Cell In[3], line 3" in ran.printed
    assert "What to write instead:" in ran.printed
    assert f"{line}\n" in ran.printed
    assert notebook.names["y"] == "kept"


def test_the_chain_leads_to_the_argument(notebook: Notebook) -> None:
    ran = notebook.fails("%%jit\nh = jnp.sin(x)\nif h.sum():\n    pass", TracerBoolConversionError)
    assert "It depends on the traced argument x" in ran.printed


def test_an_expression_over_several_lines_is_underlined(notebook: Notebook) -> None:
    ran = notebook.fails("%%jit\nif (x.sum()\n        > 0):\n    pass", TracerBoolConversionError)
    assert isinstance(ran.error, JXError)
    assert ran.error.code == "if (x.sum()"
    assert ran.error.underline == (4, 11)


def test_tracebacks_show_the_users_lines_only(notebook: Notebook) -> None:
    notebook.run("def inner(a):\n    if a.sum() > 0:\n        return a\n    return -a")
    ran = notebook.fails("%%jit\ny = inner(x)", TracerBoolConversionError)
    frames = [line for line in ran.printed.splitlines() if line.startswith(("Cell In", "File "))]
    assert frames[0] == "Cell In[3], line 2"
    assert frames[1].startswith("Cell In[2], line 2, in inner(a)")
    assert "run_cell_magic" not in ran.printed
    assert "site-packages" not in ran.printed
    assert "jxkernel/" not in ran.printed


def test_pythons_own_modules_are_left_out_where_code_is_traced(notebook: Notebook) -> None:
    notebook.run(
        "import contextlib, functools, json\n"
        "@contextlib.contextmanager\ndef scope(a):\n    yield a.nothing\n"
        "@functools.singledispatch\ndef chosen(a):\n    return a.nothing"
    )
    for cell in (
        "%%jit\nwith scope(x) as y:\n    pass",
        "%%jit\ny = chosen(x)",
        "@jx.jit\ndef f(a):\n    return json.loads('{') + a\nf(x)",
    ):
        printed = notebook.fails(cell, Exception).printed
        assert "File " not in printed, cell
        assert "Cell In[" in printed
    # Where nothing is traced they are Python's business.
    assert "json/decoder.py" in notebook.fails("json.loads('{')", ValueError).printed


def test_what_fails_in_a_library_has_advice_for_the_call_or_none(notebook: Notebook) -> None:
    notebook.run("import colorsys, json, statistics")
    test = "@jx.jit\ndef f(a):\n    if colorsys.rgb_to_hsv(*a): return a\n    return -a\nf(x[:3])"
    printed = notebook.fails(test, TypeError).printed
    assert "jnp.where(colorsys" not in printed
    assert "a library asks for the value: call it outside" in printed
    printed = notebook.fails("%%jit\nr = json.dumps({'x': x})", TypeError).printed
    assert "Object of type traced array is not JSON serializable" in printed
    printed = notebook.fails("%%jit\nr = statistics.mean(x)", TypeError).printed
    assert "Tracer" not in printed


def test_what_serves_a_function_of_ours_is_left_out(notebook: Notebook) -> None:
    """Neither what Python and NumPy do for it, nor its parts by names of their own."""
    notebook.run("mesh = jx.make_mesh((1,), ('i',))\nspec = jx.P(None, 'i')")
    spread = "jx.device_put(x, jx.sharding.NamedSharding(mesh, spec))"
    for cell in (spread, "x.astype({'w': x})", "%%jit\njnp.concatenate((x, 1.0))"):
        printed = notebook.fails(cell, ValueError).printed
        assert "File " not in printed
        assert "The call: " not in printed


def test_verbose_tracebacks_show_everything(notebook: Notebook) -> None:
    notebook.run("%xmode Verbose")
    ran = notebook.fails("%%jit\ny = x.nothing", AttributeError)
    assert "run_cell_magic" in ran.printed
    assert "jxkernel" in ran.printed


def test_errors_of_plain_cells_are_thinned_too(notebook: Notebook) -> None:
    ran = notebook.fails("jnp.ones(3) + jnp.ones(4)", Exception)
    assert "Cell In[2], line 1" in ran.printed
    assert "jxkernel/" not in ran.printed
    notebook.run("%config JX.tracebacks = 'all'")
    assert "jxkernel/" in notebook.fails("jnp.ones(3) + jnp.ones(4)", Exception).printed


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("y = jnp.sin(x", "'(' was never closed", 2),
        ("y = 1\n  z = 2", "unexpected indent", 3),
        ("return 3", "'return' outside function", 2),
        ("y = 1\nyield y", "'yield' outside function", 3),
        ("x = = 3", "invalid syntax", 2),
    ],
)
def test_syntax_errors_are_on_the_users_line(
    notebook: Notebook, body: str, message: str, line: int
) -> None:
    notebook.run("y = 'kept'")
    ran = notebook.fails(f"%%jit\n{body}", SyntaxError)
    assert message in ran.printed
    assert f"Cell In[3], line {line}" in ran.printed
    assert "run_cell_magic" not in ran.printed
    assert notebook.names["y"] == "kept"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("y = 1\nz = missing + 1", "missing"),
        ("y = 1\nz = z + 1", "z"),
        ("y = 1\nfor i in []:\n    late = i\nz = late", "late"),
        ("def f():\n    return late\nz = f()\nlate = 3", "late"),
    ],
)
def test_a_missing_name_is_a_plain_name_error(notebook: Notebook, body: str, name: str) -> None:
    notebook.run("y = 'kept'")
    ran = notebook.fails(f"%%jit\n{body}", NameError)
    assert f"name '{name}' is not defined" in ran.printed
    assert type(ran.error) is NameError
    assert notebook.names["y"] == "kept"
    assert "z" not in notebook.names


def test_a_failure_half_way_changes_nothing(notebook: Notebook) -> None:
    cell = "%%jit\nx = x + 1\ny = 1\ndel w\nif fail:\n    raise ValueError('half way')\nz = 3"
    notebook.run("fail = ''; w = 2.0; y = 'kept'; before = x")
    notebook.run(cell)
    notebook.run("fail = 'yes'; w = 2.0; y = 'kept'; x = before; z = 'kept'")
    [known] = notebook.session.cells.values()
    count = known.latest.traces if known.latest else 0
    ran = notebook.fails(cell, ValueError)
    assert "half way" in ran.printed
    assert notebook.names["x"] is notebook.names["before"]
    assert notebook.names["y"] == notebook.names["z"] == "kept"
    assert notebook.names["w"] == 2.0
    assert known.latest is not None
    assert known.latest.traces == count
    notebook.run("fail = ''")
    assert notebook.run(cell).line.endswith("hit")


def test_a_failing_definition_in_a_body_cell_takes_everything_back(notebook: Notebook) -> None:
    # The default is evaluated while tracing, and again in the notebook: then nothing is left.
    notebook.run("y = 'kept'; values = iter('a')")
    notebook.fails("%%jit\ny = x + 1\ndef f(a=next(values)):\n    return a", StopIteration)
    assert notebook.names["y"] == "kept"
    assert "f" not in notebook.names


def test_a_traced_value_kept_in_an_object_is_refused_with_its_holder(notebook: Notebook) -> None:
    notebook.run("class Box:\n    pass")
    ran = notebook.fails("%%jit\nbox = Box()\nbox.value = x + 1", LeakError)
    assert "a Box object with a traced attribute, held by the name box of the cell" in ran.printed
    assert "box" not in notebook.names


def test_a_tracer_kept_by_a_list_outside_names_the_way_back(notebook: Notebook) -> None:
    notebook.run("log = ['start']\n@jx.jit\ndef f(a):\n    log.append(a)\n    return a\ny = f(x)")
    ran = notebook.fails("log[1] + 1", JXError)
    assert "is used after its trace has ended" in ran.printed


def test_a_traced_cell_cannot_import_all_names(notebook: Notebook) -> None:
    ran = notebook.attempt("%%jit\nfrom math import *\ny = x")
    assert "line 2: `import *` cannot stand in a traced cell" in ran.printed
    assert "y" not in notebook.names


def test_the_debugger_sees_the_cell(notebook: Notebook) -> None:
    ran = notebook.fails("%%jit\nlocal = x + 1\nlocal.nothing", AttributeError)
    assert ran.error is not None
    traceback = ran.error.__traceback__
    assert traceback is not None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    assert traceback.tb_frame.f_lineno == 3
    assert "f32[8]" in repr(traceback.tb_frame.f_locals["local"])


def test_trace_time_side_effects_are_warned_about(notebook: Notebook) -> None:
    ran = notebook.run("%%jit\nprint('tracing')\ny = x + 1")
    assert "warning: line 2: print('tracing')" in ran.shown[0]["text/plain"]
    ran = notebook.run("%%jit\nprint('tracing')\ny = x + 1")
    assert "warning" not in ran.shown[0]["text/plain"]
    assert "tracing" not in ran.printed


def test_nothing_is_kept_of_a_failed_wait(notebook: Notebook) -> None:
    notebook.run("y = 'kept'")
    notebook.fails("%%jit --max-traces 0\ny = x + 1", AssertionError)
    assert notebook.names["y"] == "kept"
    np.testing.assert_array_equal(notebook.names["x"], np.arange(8.0))


@pytest.mark.parametrize(
    ("call", "frame"),
    [("np.mean([x, x])", "fromnumeric.py"), ("scipy.linalg.norm(x)", "_misc.py")],
)
def test_a_library_that_needs_a_value_is_told_by_the_line_that_called_it(
    notebook: Notebook, call: str, frame: str
) -> None:
    notebook.run("import scipy.linalg")
    ran = notebook.fails(f"%%jit\ny = x * 2\nz = {call}", TracerArrayConversionError)
    assert f"line 3:\n    z = {call}\n        {'^' * len(call)}" in ran.printed
    assert frame not in ran.printed
    notebook.run("%xmode Verbose")
    ran = notebook.fails(f"%%jit\ny = x * 2\nz = {call}", TracerArrayConversionError)
    notebook.run("%xmode Context")
    assert frame in ran.printed


@pytest.mark.parametrize("colours", ["nocolor", "linux"])
@pytest.mark.parametrize("line", ["%jx cost bad(x)", "z = %jaxpr bad(x)", "%timeit bad(x)"])
def test_a_traceback_shows_line_magics_as_they_were_typed(
    notebook: Notebook, line: str, colours: str
) -> None:
    notebook.run(f"@jx.jit\ndef bad(a):\n    return a if a.sum() > 0 else -a\n%colors {colours}")
    ran = notebook.fails(line, TracerBoolConversionError)
    assert f"----> 1 {line}\n" in ran.printed
    assert "run_line_magic" not in ran.printed
    assert "jnp.where(a.sum() > 0, a, -a)" in ran.printed


def test_advice_under_a_magic_keeps_the_usual_names_of_modules(notebook: Notebook) -> None:
    notebook.run("f = jx.jit(lambda a: a)")
    ran = notebook.attempt("%jaxpr f('a')")
    assert "convert data with jnp.asarray" in ran.printed


def test_a_failed_trace_is_no_reason_of_the_next(notebook: Notebook) -> None:
    notebook.run("@jx.jit\ndef f(a):\n    return a if ready else a.item()\nready = False")
    for _ in range(2):
        notebook.fails("f(x)", ConcretizationTypeError)
    notebook.run("ready = True\nf(x)")
    told = str(notebook.run("%jx explain f").value)
    assert "evicted" not in told
    assert told.count("first call of f") == 3
