"""Short expressions and what they give: results with dtype and shape, or the class of the error.

The rows are where NumPy's habits and those of array programs part; today's `jax` was asked.
"""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ShapeError

NAMES = {
    "CUBE": jnp.arange(24.0).reshape(2, 3, 4),
    "LINE": jnp.arange(5),
    "jnp": jnp,
    "jx": jx,
    "lax": lax,
    "np": np,
}

RESULTS = {
    # Sequences among several indices are arrays of positions or masks.
    "CUBE[[0, 1], :, None].shape": (2, 3, 1, 4),
    "CUBE[0, :, [1, 2]].shape": (2, 3),
    "CUBE[:, [0, 2], [1, 2]].tolist()": [[1, 10], [13, 22]],
    "CUBE[[[0], [1]], :, [1, 2]].shape": (2, 2, 3),
    "CUBE[[True, False], 0].shape": (1, 4),
    "CUBE[(0, 1), 0].shape": (2, 4),
    "CUBE[((0, 1),)].shape": (2, 3, 4),
    "CUBE[[], 0].shape": (0, 4),
    "CUBE[[jnp.int32(0), 1], 0].shape": (2, 4),
    "jx.jit(lambda x, i: x[[i, 0], 1])(CUBE, 1)[:, 0].tolist()": [16, 4],
    "CUBE.at[[0, 1], 0].set(1.0).sum().item()": 224,
    # Operators and methods.
    "(3 in CUBE, 99 in CUBE)": (True, False),
    "LINE.byteswap()[1].item()": 1 << 24,
    "jnp.array([1 + 2j]).byteswap().byteswap().tolist()": [1 + 2j],
    "jnp.array([True]).byteswap().tolist()": [True],
    "LINE.tobytes() == np.arange(5, dtype=np.int32).tobytes()": True,
    # Creation.
    "jnp.concatenate([jnp.ones(2)], dtype=int).dtype.name": "int32",
    "jnp.stack([jnp.ones(2)], dtype=complex).dtype.name": "complex64",
    "jnp.select([jnp.array([1, 0])], [1]).tolist()": [1, 0],
    "jnp.histogram2d(jnp.arange(3.0), jnp.arange(3.0), bins=2)[0].dtype.name": "int32",
    "jnp.unique_counts(jnp.array([0.5, -1.25, 2.0]), size=2).counts.tolist()": [1, 1],
    "jnp.unique(jnp.array([3, 1, 3]), size=4, return_counts=True)[1].tolist()": [1, 2, 0, 0],
    "jnp.unique(jnp.array([3, 1, 3]), return_counts=True)[1].tolist()": [1, 2],
    "jnp.bincount(jnp.array([3, 0, 3], 'uint8')).tolist()": [1, 0, 0, 2],
    "jnp.bincount(jnp.array([], 'int32'), minlength=2).tolist()": [0, 0],
    "jnp.gradient(jnp.array([3, 0, 200], 'uint8'), jnp.array([3, 0, 200], 'uint8')).round().sum()"
    ".item()": 3.0,
    "jnp.trapezoid(jnp.array([3, 0], 'uint8'), jnp.array([3, 0], 'uint8')).item()": -4.5,
    "jnp.roll(jnp.arange(3), jnp.array(200, 'uint8')).tolist()": [1, 2, 0],
    "jnp.geomspace(jnp.array([1.0, 2.0]), 8.0, 4, axis=-1).shape": (2, 4),
    "jnp.sum(jnp.array([1.0, -1.0]), dtype=bool).tolist()": True,
    "jnp.prod(jnp.array([2, 0]), dtype=bool).tolist()": False,
    "jnp.cumsum(jnp.array([0.0, 2.0, 0.0]), dtype=bool).tolist()": [False, True, True],
    "jnp.cumprod(jnp.array([1, 2, 0]), dtype=bool).tolist()": [True, True, False],
    "type(jnp.broadcast_arrays(1, 2)), type(jnp.atleast_1d(1, 2))": (tuple, tuple),
    "lax.full(2, 1.5).tolist()": [1.5, 1.5],
    "lax.full((2,), 1.0, jnp.int32).dtype.name": "int32",
    "lax.full_like(jnp.ones(2), 1, 'bfloat16').dtype.name": "bfloat16",
    "lax.reshape(1.0, 1).shape": (1,),
    "lax.collapse(jnp.ones(3), 1).shape": (3, 1),
    "lax.broadcast_to_rank(jnp.ones((2, 3)), 1).shape": (2, 3),
    "lax.polynomial(jnp.array([0.5, 2.0]), jnp.array([1.0, 2.0])).tolist()": [2.0, 5.0],
    "lax.fft(jnp.arange(4.0), 'FFT', (4,)).dtype.name": "complex64",
    "lax.cond(True, 2.0, lambda x: x + 1, 3.0, lambda x: x).item()": 3.0,
    "lax.psum(jnp.ones(3), 0).item()": 3.0,
    "len(jx.devices(backend='cpu')) == len(jx.local_devices(0, 'cpu'))": True,
}
ERRORS = {
    "CUBE[[0, 1]]": TypeError,
    "CUBE[[0.5], 0]": TypeError,
    "CUBE[range(2), 0]": TypeError,
    "LINE == [0, 1, 2, 3, 4]": TypeError,
    "LINE != (0, 1)": TypeError,
    "[0, 1] == LINE": TypeError,
    "LINE + [1]": TypeError,
    "format(LINE, '.2f')": TypeError,
    "LINE.byteswap(inplace=True)": NotImplementedError,
    "jnp.zeros(-1)": ShapeError,
    "lax.empty((-1,), 'float32')": ShapeError,
    "CUBE.reshape(-1, -1)": ShapeError,
    "CUBE.reshape(7)": ShapeError,
    "CUBE.transpose(0, 0)": ValueError,
    "CUBE.transpose(0, 1)": ShapeError,
    "jnp.delete(LINE, jnp.array([1.0]))": ValueError,
    "jnp.gradient(jnp.ones((2, 3)), jnp.ones(3))": ValueError,
    "lax.psum(jnp.ones(3), 1)": ValueError,
    "lax.psum(1.0, 1)": ValueError,
    "jnp.linalg.svd(jnp.ones(3))": ShapeError,
    "jx.local_devices(99)": ValueError,
}


def run(expression):
    """Evaluate an expression of this table."""
    return eval(expression, NAMES)


@pytest.mark.parametrize("expression", RESULTS)
def test_expressions_give(expression):
    assert run(expression) == RESULTS[expression]


@pytest.mark.parametrize("expression", ERRORS)
def test_expressions_raise(expression):
    with pytest.raises(ERRORS[expression]):
        run(expression)
    if ERRORS[expression] is ShapeError:
        assert issubclass(ShapeError, TypeError)
        assert issubclass(ShapeError, ValueError)
