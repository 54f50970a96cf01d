"""LAPACK's routines come from SciPy, whose own linear algebra is left to who imports it."""

import subprocess
import sys

import pytest

BEFORE = """
import sys
import numpy as np
{first}
import jxkernel.numpy as jnp

x = jnp.array([[4.0, 1.0], [1.0, 3.0]])
np.testing.assert_allclose(jnp.linalg.solve(x, jnp.array([1.0, 2.0])), [1 / 11, 7 / 11], rtol=1e-5)
"""

AFTER = """
assert ("scipy.linalg" in sys.modules) == {loaded}
assert ("scipy.linalg.cython_lapack" in sys.modules) == {loaded}
import scipy.linalg.cython_lapack
import scipy.linalg.cython_blas as blas
assert "dgemm" in blas.__pyx_capi__
assert scipy.linalg.cython_lapack is sys.modules["scipy.linalg.cython_lapack"]
assert scipy.linalg.solve([[2.0]], [1.0]) == 0.5
np.testing.assert_allclose(scipy.linalg.eigh(np.asarray(x))[0], jnp.linalg.eigh(x)[0], rtol=1e-5)
"""


@pytest.mark.parametrize("first", ["", "import scipy.linalg"])
def test_scipys_linear_algebra_is_loaded_by_who_imports_it(first: str) -> None:
    source = BEFORE.format(first=first) + AFTER.format(loaded=bool(first))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_scipy_of_another_layout_is_imported_as_usual() -> None:
    first = "from jxkernel.runtime import lapack\nlapack._ROUTINES = ('elsewhere',)"
    source = BEFORE.format(first=first) + AFTER.format(loaded=True)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert not done.returncode, done.stderr
