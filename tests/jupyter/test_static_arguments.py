"""Static arguments that C++ refused are shown by the parameter's name and position."""

import pytest

from tests.jupyter.conftest import Notebook

SETUP = """
from functools import partial
step = jx.jit(lambda x, n, *, mode=None: x, static_argnums=1, static_argnames='mode')
one = jx.jit(lambda x, n: x, static_argnums=1)
def f(x, sizes): return x
class Odd:
    def __hash__(self): return 1
    def __eq__(self, other): raise RuntimeError('no order')
class Model:
    @partial(jx.jit, static_argnums=0)
    def apply(self, x): return x
    def __eq__(self, other): return True
model, sizes = Model(), [1]
"""
LIST = "given a list, [1, 2], as the static argument"


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        ("step(x, [1, 2])", (f"{LIST} n (position 1)", "pass a tuple", "unhashable type: 'list'")),
        ("one(x, n=[1, 2])", (f"{LIST} n;",)),
        ("step(x, 3, mode={'a': 1})", ("given a dict, {'a': 1}, as the static argument mode;",)),
        ("step(x, sizes, mode=1)", ("as the static argument n (position 1)",)),
        ("step(*(x, [1]))", ("a list, [1], as the static argument n (position 1)",)),
        ("step(x, **{'n': 1, 'mode': {1}})", ("static argument",)),
        ("step(x, (1, [2]))", ("a tuple, (1, [2]),", "nested lists as tuples too")),
        ("step(x, x)", ("as the static argument n (position 1)", "take it out of static_argnums")),
        ("jx.jit(f, static_argnums=1)(x, [1, 2])", (f"f was {LIST} sizes (position 1)",)),
        ("jx.jit(f, static_argnames=['sizes'])(x, sizes=[1, 2])", (f"f was {LIST} sizes;",)),
        ("model.apply(x)", ("a Model,", "as the static argument self (position 0)")),
        (
            "for _ in range(2): step(x, Odd())",
            ("as the static argument n (position 1)", "a Odd", "RuntimeError: no order"),
        ),
    ],
)
@pytest.mark.parametrize("magic", ["", "%%jit\n"])
def test_a_refused_static_argument_is_named(
    notebook: Notebook, magic: str, call: str, messages: tuple[str, ...]
) -> None:
    notebook.run(SETUP)
    ran = notebook.fails(f"{magic}{call}", ValueError)
    assert [m for m in messages if m not in ran.printed] == []


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        ("jnp.linalg.qr(x, mode=[0])", ("qr was given a list, [0],", "mode;", "pass a tuple")),
        ("jnp.linalg.eigh(x, x[0])", ("argument UPLO (position 1)", ".item() as UPLO")),
        ("jnp.linalg.slogdet(x, method=np.array(1))", ("argument method;", ".item() as method")),
    ],
)
def test_a_refused_argument_of_the_library_is_named(
    notebook: Notebook, call: str, messages: tuple[str, ...]
) -> None:
    notebook.run("import numpy as np")
    ran = notebook.fails(call, ValueError)
    assert [m for m in messages if m not in ran.printed] == []
    assert "static_argnums" not in ran.printed


def test_what_a_user_raises_in_the_words_of_the_refusal_stays(notebook: Notebook) -> None:
    text = "static arguments should be comparable"
    assert text in notebook.fails(f"raise ValueError('{text}')", ValueError).printed
