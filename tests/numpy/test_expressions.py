"""Short expressions and what they give: results with dtype and shape, or the class of the error.

The rows are where NumPy's habits and those of array programs part; today's `jax` was asked.
"""

from collections.abc import Hashable

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.config import enable_x64
from jxkernel.errors import ConcretizationTypeError, ShapeError

NAMES = {
    "Hashable": Hashable,
    "CUBE": jnp.arange(24.0).reshape(2, 3, 4),
    "HALVES": jnp.arange(5, dtype="float16"),
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
    "(round(jnp.float32(2.6)).item(), round(LINE / 2).dtype.name)": (3, "int32"),
    "(round(LINE / 2, 0).dtype.name, round(jnp.array([3], 'uint8')).dtype.name)": (
        *("float32", "int32"),
    ),
    "[isinstance(x, Hashable) for x in (LINE, jx.random.key(0))]": [False, False],
    "jnp.array([1 + 2j]).view(np.float32).tolist()": [1, 2],
    "jnp.array([1 + 2j, 3 - 1j]).view(np.int16)[1::2].tolist()": [16256, 16384, 16448, -16512],
    "jnp.arange(4.0).view(np.complex64).tolist()": [1j, 2 + 3j],
    "jnp.array([1, 0]).choose([1, 2]).weak_type": False,
    # Changed parts.
    "LINE.at[jnp.array([0, 1, 0])].apply(lambda v: 2 * v + 1).tolist()": [3, 3, 2, 3, 4],
    "CUBE.at[:, jnp.array([1, 1]), 0].apply(jnp.sqrt)[0, 1].tolist()": [
        *(pytest.approx(2**0.5), 5, 6, 7)
    ],
    "LINE.at[3:].apply(jnp.square).tolist()": [0, 1, 2, 9, 16],
    "LINE.at[jnp.array([], int)].apply(jnp.square).tolist()": [0, 1, 2, 3, 4],
    "LINE.at[jnp.array([4, -1, 9])].apply(jnp.square, wrap_negative_indices=False).tolist()": [
        0,
        1,
        2,
        3,
        16,
    ],
    "jx.grad(lambda x: x.at[jnp.array([0, 2])].apply(jnp.square, unique_indices=True).sum())"
    "(jnp.arange(1.0, 4.0)).tolist()": [2, 1, 6],
    "float(jx.grad(lambda u: jnp.ones((2, 3)).at[1, ::2].multiply(u).sum())(3.0))": 2,
    "float(jx.grad(lambda u: jnp.ones((2, 3)).at[:, jnp.array([2])].divide(u).sum())(2.0))": -0.5,
    "jx.grad(lambda x: x.at[::2].apply(jnp.square).sum())(jnp.arange(1.0, 4.0)).tolist()": [
        *(2, 1, 6)
    ],
    "LINE.at[:2].set([7, 8]).tolist()": [7, 8, 2, 3, 4],
    "LINE.at[jnp.array([0, 0])].add((1, 2)).tolist()": [3, 1, 2, 3, 4],
    "LINE.at[1].divide(2).tolist()": [0, 0.5, 2, 3, 4],
    "LINE.at[-1].set(9, wrap_negative_indices=False).tolist()": [0, 1, 2, 3, 4],
    "LINE.at[jnp.array([-1, 1], 'int8')].set(9, wrap_negative_indices=False).tolist()": [
        0,
        9,
        2,
        3,
        4,
    ],
    "LINE.at[-2].add(9, wrap_negative_indices=False, mode='clip').tolist()": [9, 1, 2, 3, 4],
    "LINE.at[[-1, 2],].get(wrap_negative_indices=False, mode='fill', fill_value=8).tolist()": [
        8,
        2,
    ],
    "jx.jit(lambda i: LINE.at[i].get(wrap_negative_indices=False, strategy='auto'))(-1).item()": 0,
    # Arguments by keyword.
    "(jnp.fmax(x1=1, x2=2).item(), jnp.fmin(x1=np.nan, x2=2).item())": (2, 2),
    "jnp.issubdtype(arg1=jnp.bfloat16, arg2=np.floating)": True,
    "lax.broadcast_like(arr=2, like_arr=LINE).tolist()": [2] * 5,
    "lax.broadcast_like(jnp.array([1, 2]), jnp.ones((2, 2))).tolist()": [[1, 2]] * 2,
    "lax.broadcast_like(1, 2.0).dtype": "int32",
    "jnp.ones((2, 2)).flatten(out_sharding=None).shape": (4,),
    "jx.tree_util.is_tree_node(typ=list)": True,
    "jx.checkpoint(fun=jnp.square)(3).item()": 9,
    # Reductions.
    "[f(LINE > 2, promote_integers=False).dtype.name for f in (jnp.sum, jnp.prod)]": ["int32"] * 2,
    "jnp.cov(jnp.array([[1.0, 3.0]]), ddof=0.5).item()": pytest.approx(4 / 3),
    "jnp.cov(jnp.array([[1.0, 3.0]]), ddof=3).item()": -2,
    "jnp.cov(jnp.array([[1.0, 3.0]]), rowvar=False).shape": (2, 2),
    "jnp.diff(LINE, 0, prepend=jnp.zeros(9)).tolist()": [0, 1, 2, 3, 4],
    "jnp.linspace(0, 1, 0, retstep=True)[1].item()": pytest.approx(np.nan, nan_ok=True),
    "[x.tolist() for x in jnp.unique(jnp.array([3, 1, 3]), size=4, return_index=True)]": [
        *([1, 3, 1, 1], [1, 0, 1, 1])
    ],
    "jnp.histogram2d(LINE, LINE, [jnp.array([0.0, 2.5, 4.0]), 2])[0].tolist()": [[2, 1], [0, 2]],
    "jnp.histogram2d(LINE, LINE, [jnp.array([0.0, 5.0]), jnp.array([0.0, 1.0, 4.0])])[0]"
    ".tolist()": [[1, 4]],
    "jnp.put_along_axis(jnp.zeros((2, 3)), jnp.array([[1, 0]]), jnp.array([[4, 5]]), 1, False)"
    ".tolist()": [[5, 4, 0], [5, 4, 0]],
    "jnp.put_along_axis(jnp.zeros((2, 3)), jnp.array([[1], [7]]), 9, 0, False).tolist()": [
        *([0, 0, 0], [9, 9, 9])
    ],
    "(jnp.broadcast_shapes((2, 1), 3), jnp.broadcast_shapes(3))": ((2, 3), (3,)),
    "[line.dtype.name for line in jnp.ogrid[0:3, 0:1:0.5]]": ["float32"] * 2,
    "jnp.fmod(jnp.array([3, -3]), 0).tolist()": [0, 0],
    "jnp.fmod(jnp.array([3, 5], 'uint8'), jnp.array([0, 2], 'uint8')).tolist()": [0, 1],
    "jnp.sinc(jnp.array([1.0, -2.0, 7.0, 1e30])).tolist()": [0, 0, 0, 0],
    "jnp.sinc(jnp.array([2.5, -1.5])).tolist()": pytest.approx([2 / 5 / np.pi, -2 / 3 / np.pi]),
    "jx.grad(jnp.sinc)(3.0).item()": pytest.approx(-1 / 3),
    "jx.grad(jx.grad(jnp.sinc))(3.0).item()": pytest.approx(2 / 9),
    # Contractions and draws.
    "jnp.einsum('ij->i', jnp.array([[True, False], [False, False]])).tolist()": [True, False],
    "jnp.einsum('ij,k->k', jnp.array([[True, False]]), jnp.array([True, False])).tolist()": [
        *(True, False)
    ],
    "jnp.einsum_path('ij,jk,kl', *[jnp.ones((2, 2))] * 3)[0]": [(0, 1), (0, 1)],
    "jnp.einsum('ij->', CUBE[0], optimize=jnp.einsum_path('ij->', CUBE[0])[0]).item()": 66,
    "jx.random.multinomial(jx.random.key(3), 10, jnp.array([0.2, 0.3, 0.5]), dtype=int).tolist()": [
        1,
        3,
        6,
    ],
    # Creation.
    "jnp.concatenate([jnp.ones(2)], dtype=int).dtype.name": "int32",
    "jnp.stack([jnp.ones(2)], dtype=complex).dtype.name": "complex64",
    "jnp.select([jnp.array([1, 0])], [1]).tolist()": [1, 0],
    # Positions may be traced; of two parts at one place the earlier comes first.
    "jx.jit(lambda i: jnp.insert(LINE, i, 9))(jnp.array([-1, 1, 1])).tolist()": [
        *(0, 9, 9, 1, 2, 3, 9, 4)
    ],
    "jx.jit(lambda i: jnp.insert(LINE, i, jnp.array([7, 8, 9])))(jnp.array([5, 0, 5])).tolist()": [
        *(8, 0, 1, 2, 3, 4, 7, 9)
    ],
    "jx.jit(lambda i: jnp.insert(LINE, i, jnp.array([7, 8])))(1).tolist()": [0, 7, 8, 1, 2, 3, 4],
    "jx.jit(lambda i: jnp.insert(jnp.arange(300), i, 9))(jnp.uint8(200))[199:202].tolist()": [
        *(199, 9, 200)
    ],
    "jx.vmap(lambda i: jnp.insert(LINE[:2], i, 9))(jnp.arange(2)).tolist()": [[9, 0, 1], [0, 9, 1]],
    "jnp.insert(CUBE[0], np.array([1]), np.array([[8], [9]]), 0)[1:3, 0].tolist()": [8, 9],
    "jx.jit(lambda: jnp.array_equal(1, 1))().item()": True,
    "jx.jit(lambda: jnp.array_equiv(1, jnp.ones(2)))().item()": True,
    "jnp.polyfit(LINE, LINE, 1, w=LINE * 1j).dtype.name": "complex64",
    "jnp.polyfit(jnp.broadcast_to(1.0, (5,)), HALVES, 1).dtype.name": "float32",
    "lax.pow(0.5, jnp.array([1, 2], 'uint8')).tolist()": [0.5, 0.25],
    "jx.lax.dot(LINE.astype('uint8'), LINE).dtype.name": "int32",
    "lax.dot(LINE > 2, LINE.astype('uint8')).dtype.name": "uint8",
    "lax.dot(HALVES, HALVES.astype('bfloat16')).dtype.name": "bfloat16",
    # Counts and edges are in one dtype, that of values and weights; whole weights yield.
    "[x.dtype.name for x in jnp.histogram(HALVES, 2, weights=LINE)]": ["float16"] * 2,
    "[x.dtype.name for x in jnp.histogram(LINE, 2, weights=HALVES)]": ["float16"] * 2,
    "[x.dtype.name for x in jnp.histogram(HALVES, jnp.array([0.0, 5.0]))]": ["float16"] * 2,
    "jnp.histogramdd(HALVES[:, None], 2, weights=LINE)[0].dtype.name": "float16",
    "jnp.histogramdd(HALVES[:, None], 2, weights=jnp.ones(5))[1][0].dtype.name": "float32",
    "jnp.histogram_bin_edges(HALVES, LINE).dtype.name": "float16",
    "jx.jit(lambda low: jnp.histogram_bin_edges(LINE, 2, (low, low + 4.0)))(0).tolist()": [0, 2, 4],
    "jnp.cov(HALVES, fweights=LINE).dtype.name": "float16",
    "jnp.cov(HALVES, aweights=LINE).dtype.name": "float16",
    "jnp.cov(LINE, aweights=HALVES).dtype.name": "float32",
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
    "jnp.arange(3.0).view(np.complex64)": ValueError,
    "jnp.float32(1).view(np.complex64)": ValueError,
    "jnp.complex64(1).view(np.float32)": ValueError,
    "LINE.at[0].apply(3)": TypeError,
    "jnp.put_along_axis(CUBE, jnp.array([0]), 1, 0, False)": ValueError,
    "jnp.put_along_axis(CUBE[0], jnp.zeros((1, 1), int), jnp.ones((1, 4)), 0, False)": ValueError,
    "jnp.array([1.0]).choose([1, 2])": ValueError,
    "jnp.array([True]).choose([1, 2])": ValueError,
    "jnp.sum(LINE, where=LINE)": ValueError,
    "jnp.mean(LINE, where=1)": ValueError,
    "jnp.nanmean(LINE, where=LINE)": ValueError,
    "jnp.sum(LINE, initial=LINE)": ValueError,
    "jnp.max(LINE, initial=jnp.zeros(1))": ValueError,
    "jnp.cov(CUBE[0], dtype=int)": ValueError,
    "jnp.cov(CUBE[0], fweights=jnp.ones(4))": TypeError,
    "jnp.cov(LINE, aweights=LINE * 1j)": TypeError,
    "jnp.full(2, 1j, float)": TypeError,
    "jnp.full_like(jnp.ones(2), 1j)": TypeError,
    "lax.full_like(jnp.broadcast_to(1, (2,)), 1j)": TypeError,
    "jx.jit(lambda mask: jnp.insert(LINE, mask, 9))(LINE > 2)": ConcretizationTypeError,
    "jnp.cov(CUBE[0], fweights=jnp.arange(3))": RuntimeError,
    "jnp.cov(CUBE[0], aweights=CUBE[0])": RuntimeError,
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


DTYPES_IN_64_BITS = {
    "jx.scipy.stats.gaussian_kde(SINGLE)(DOUBLE)": "float64",
    "jx.scipy.stats.gaussian_kde(WHOLE, weights=DOUBLE)(WHOLE)": "float64",
    "jx.scipy.stats.gaussian_kde(SINGLE)(SINGLE)": "float32",
    "jx.scipy.signal.welch(SINGLE, np.float64(2), nperseg=2)[0]": "float32",
    "jnp.polyint(WHOLE, 2)": "float32",
    "jnp.polyfit(SINGLE, SINGLE, 1, w=DOUBLE)": "float64",
    "jnp.argpartition(WHOLE, 1)": "int32",
    "jnp.linalg.vector_norm(WHOLE)": "float64",
    "jnp.linalg.matrix_rank(jnp.eye(2))": "int64",
    "jnp.linalg.matrix_rank(SINGLE)": "int32",
    "jnp.linalg.lstsq(jnp.eye(3), SINGLE)[2]": "int64",
    "jx.random.binomial(jx.random.key(0), 3, np.float32(0.5))": "float64",
    "jx.random.multivariate_normal(jx.random.key(0), SINGLE, jnp.zeros((3, 3)) + 0.0 * WEAK)": (
        "float64"
    ),
    "jx.random.multivariate_normal(jx.random.key(0), SINGLE, WEAK)": "float32",
}


@pytest.mark.parametrize("expression", DTYPES_IN_64_BITS)
def test_dtypes_in_64_bits(expression: str) -> None:
    with enable_x64(True):
        names = {
            "SINGLE": jnp.array([1.0, 2.0, 4.0], "float32"),
            "DOUBLE": jnp.array([1.0, 2.0, 3.0]),
            "WHOLE": jnp.array([1, 2, 4], "int32"),
            "WEAK": jnp.broadcast_to(0.5, (3, 3)),
        }
        found = eval(expression, {**NAMES, **names})
    assert found.dtype.name == DTYPES_IN_64_BITS[expression]
