"""Callbacks of programs that a cell dispatched: what they raise belongs to that cell."""

from jxkernel.errors import JaxRuntimeError
from tests.jupyter.conftest import Notebook

BUSY = """
import jxkernel as jax, numpy as np
from jxkernel import lax
F32 = jax.ShapeDtypeStruct((), np.float32)
long = jax.jit(lambda x: lax.fori_loop(0, 8, lambda i, y: y @ x, x)[0, 0] * 0)
big = jax.numpy.ones((500, 500))
def fails(v):
    raise LookupError("in the callback")
def dispatched(f):
    for _ in range(50):
        try:
            return f(long(big))
        except jax.errors.JaxRuntimeError:  # too late: the argument was there already
            pass
f = jax.jit(lambda x: jax.pure_callback(fails, F32, x))
"""


def test_a_failure_nobody_waited_for_is_told_in_the_cell_that_dispatched_it(
    notebook: Notebook,
) -> None:
    notebook.run(BUSY)
    looking = "dispatched(jax.jit(lambda x: jax.debug.callback(fails, x)))"
    ran = notebook.fails(looking, JaxRuntimeError)
    assert "LookupError: in the callback" in ran.printed
    assert 'raise LookupError("in the callback")' in ran.printed
    assert "jxkernel/" not in ran.printed
    assert notebook.run("1 + 1").value == 2


def test_a_failure_without_effects_belongs_to_its_cell_as_well(notebook: Notebook) -> None:
    notebook.run(BUSY)
    ran = notebook.fails("y = dispatched(f)", JaxRuntimeError)
    assert "LookupError: in the callback" in ran.printed
    again = notebook.fails("float(y)", JaxRuntimeError)
    assert "float(y)" in again.printed


def test_an_error_that_only_the_runtime_could_raise_shows_what_the_callback_raised(
    notebook: Notebook,
) -> None:
    notebook.run(BUSY)
    notebook.fails("y = dispatched(f)", JaxRuntimeError)
    # NumPy reads an array's memory without asking anyone.
    ran = notebook.attempt("np.asarray(y)")
    assert ran.error is not None
    assert "np.asarray(y)" in ran.printed
    assert "LookupError: in the callback" in ran.printed
    assert "BufferError" not in ran.printed


def test_what_programs_print_comes_out_in_their_cell(notebook: Notebook) -> None:
    notebook.run(BUSY)
    ran = notebook.run("jax.jit(lambda x: jax.debug.print('x = {}', x))(long(big))")
    assert ran.printed == "x = 0.0\n"
