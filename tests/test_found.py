"""What was once found wrong, a row each: its example, and what it must give.

``docs/findings.md`` says which test holds which finding; these are the ones that fit in a line.
"""

import functools
import math

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ConcretizationTypeError, TracerArrayConversionError
from jxkernel.scipy import signal, special
from jxkernel.scipy.sparse import linalg
from jxkernel.scipy.stats import gaussian_kde

ONES = np.ones(2, np.float32)

LOST = {
    "math.log": (jx.grad, math.log),
    "float": (jx.grad, lambda x: float(x) * x),
    "complex": (jx.grad, lambda x: abs(complex(x)) * x),
    "math.floor": (jx.grad, lambda x: math.floor(x) * x),
    "item": (jx.grad, lambda x: x.item() * x),
    "np.log": (jx.grad, lambda x: np.log(x) * x),
    "np.log under hessian": (jx.hessian, lambda x: np.log(x) * x),
    "np.float32": (jx.grad, lambda x: np.float32(x) * x),
    "np.stack": (jx.grad, lambda x: jnp.sum(jnp.asarray(np.stack([x, x])))),
    "np.where": (jx.grad, lambda x: np.where(x > 0, x, 0.0) * x),
    "math.sin under jacfwd": (jx.jacfwd, lambda x: math.sin(x) * x),
}


@pytest.mark.parametrize(("transform", "f"), LOST.values(), ids=LOST)
def test_a_derivative_that_python_would_lose_is_refused(transform, f):
    lost = (ConcretizationTypeError, TracerArrayConversionError)
    with pytest.raises(lost, match="derivative would be lost"):
        transform(f)(2.0)


def test_a_condition_may_look_at_a_differentiated_value():
    assert jx.grad(lambda x: x * x if x > 0 else x)(2.0) == 4.0


def _once(f):
    """Return the result of a function without arguments that is compiled."""
    return jx.jit(f)()


TRUE = functools.partial(jnp.ones, 3, bool)

# What a program gives: its elements, in a dtype.
VALUES = {
    "rank 0: astype": (lambda: jnp.full((), -8.0).astype(int), "int32", -8),
    "rank 0: power": (lambda: jnp.full((), -8.0) ** 0.5, "float32", np.nan),
    "rank 0: overflow": (lambda: jnp.full((), 1e30) * 1e30 / 1e30, "float32", np.inf),
    "rank 0: division": (lambda: jnp.full((), 1.0) / 0, "float32", np.inf),
    "rank 0: floor division": (lambda: jnp.full((), 7) // 2, "int32", 3),
    "rank 0: at": (lambda: jnp.full((), 1.0).at[()].set(2), "float32", 2.0),
    "rank 0: None": (lambda: jnp.zeros_like(1.0)[None], "float32", [0.0]),
    "complex to int": (lambda: jnp.full((2,), 2j).astype(int), "int32", [0, 0]),
    "complex to float": (lambda: jnp.full((2,), 2 + 1j).astype(float), "float32", [2.0, 2.0]),
    "complex to bool": (lambda: jnp.full((2,), 2j).astype(bool), "bool", [True, True]),
    "complex to int8": (
        lambda: lax.convert_element_type(jnp.full((2,), 3j + 2), "int8"),
        "int8",
        [2, 2],
    ),
    "bools: +": (lambda: TRUE() + TRUE(), "bool", [True] * 3),
    "bools: lax.add": (lambda: lax.add(TRUE(), TRUE()), "bool", [True] * 3),
    "bools: at add": (lambda: TRUE().at[np.array([0, 0])].add(True), "bool", [True] * 3),
    "bools: dot": (lambda: jnp.dot(TRUE(), TRUE()), "bool", True),
    "bools: einsum": (lambda: jnp.einsum("i,i->", TRUE(), TRUE()), "bool", True),
    "bools: matmul": (lambda: jnp.ones((2, 4), bool) @ jnp.ones(4, bool), "bool", [True, True]),
    "bools: cumsum": (lambda: jnp.cumsum(TRUE()), "int32", [1, 2, 3]),
    "bools: reduce": (lambda: lax.reduce(TRUE(), False, lax.add, (0,)), "bool", True),
    "bools: reduce_window": (
        lambda: lax.reduce_window(TRUE(), False, lax.add, (2,), (1,), "VALID"),
        "bool",
        [True, True],
    ),
    "bools: product": (lambda: jnp.prod(TRUE()), "int32", 1),
    "bools: power": (lambda: TRUE() ** TRUE(), "int32", [1, 1, 1]),
    "bools: diff": (lambda: jnp.diff(jnp.array([True, False, True])), "bool", [True, True]),
    "index below the range": (lambda: jnp.arange(10.0, 20.0)[np.array([-12])], "float32", [10.0]),
    "update below the range": (
        lambda: jnp.arange(3.0).at[np.array([-4])].set(9.0),
        "float32",
        [0.0, 1.0, 2.0],
    ),
    "indices on all sides": (
        lambda: jnp.arange(10.0)[np.array([-12, -1, 11])],
        "float32",
        [0.0, 9.0, 9.0],
    ),
    "setxor1d of what is not unique": (
        lambda: jnp.setxor1d(
            jnp.array([1, 1, 2, 3]), jnp.array([3, 4, 4]), assume_unique=True, size=1
        ),
        "int32",
        [2],
    ),
    "hessian of det": (
        lambda: jx.hessian(jnp.linalg.det)(jnp.eye(4))[0, 0],
        "float32",
        [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    ),
    "stft of single samples": (
        lambda: signal.stft(jnp.arange(3.0), nperseg=1)[2],
        "complex64",
        [[0, 1, 2]],
    ),
    "welch of single samples": (
        lambda: signal.welch(jnp.arange(4.0), nperseg=1)[1],
        "float32",
        [0],
    ),
    "unsigned update": (
        lambda: jnp.zeros(2, "uint32").at[0].set(2**32 - 1),
        "uint32",
        [2**32 - 1, 0],
    ),
    "unsigned fill": (lambda: jnp.full(1, 2**32 - 1, "uint32"), "uint32", [2**32 - 1]),
    "great number": (lambda: lax.convert_element_type(2**100, "float32"), "float32", 2.0**100),
    "vectorize with ()": (
        lambda: jnp.vectorize(jnp.add, signature="(),(n)->(n)")(ONES, jnp.ones((2, 1))),
        "float32",
        [[2.0], [2.0]],
    ),
    "vectorize with None": (
        lambda: jnp.vectorize(lambda x, y: x if y is None else x + y)(ONES, None),
        "float32",
        [1.0, 1.0],
    ),
    "bounds of int16": (
        lambda: lax.fori_loop(0, np.int16(10), lambda i, c: c + i, 0),
        "int32",
        45,
    ),
    "take_along_axis by int8": (
        lambda: jnp.take_along_axis(jnp.arange(300), np.array([-1, 100], np.int8), 0),
        "int32",
        [299, 100],
    ),
    "reduceat of nothing": (
        lambda: jnp.add.reduceat(jnp.arange(4), np.array([], int)),
        "int32",
        [],
    ),
    "ragged_dot of a batch": (
        lambda: jx.vmap(lax.ragged_dot)(
            jnp.ones((1, 3, 2)), jnp.ones((1, 2, 2, 1)), jnp.array([[1, 2]])
        ),
        "float32",
        [[[2.0], [2.0], [2.0]]],
    ),
    "sph_harm_y below 0": (
        lambda: (
            special.sph_harm_y(
                jnp.array([2]), jnp.array([1]), jnp.array([-0.5]), jnp.array([0.0]), n_max=2
            ).real
        ),
        "float32",
        # -sqrt(15 / 8 pi) sin(theta) cos(theta), of the magnitude of the sine.
        [-math.sqrt(15 / 8 / math.pi) * math.sin(0.5) * math.cos(0.5)],
    ),
    "booleans divided by zero, rounded down": (
        lambda: jnp.array([True, False]) // -0.0,
        "float32",
        [-np.inf, np.nan],
    ),
    "a number below the range": (
        lambda: lax.full((1,), np.float32(-1.5), "uint32"),
        "uint32",
        [0],
    ),
    "poch of large numbers, and at a pole": (
        lambda: special.poch(jnp.array([1e10, 1.5]), -1.5) * 1e15,
        "float32",
        [1.0, np.inf],
    ),
    "the slope of poch of large numbers": (
        lambda: jx.grad(special.poch)(1e8, 2.0) / 2e8,
        "float32",
        1.0,
    ),
    "betaln of a negative number beside a large one": (
        lambda: special.betaln(jnp.array([-1.25, -1e-3]), jnp.array([1e10, 1e6])),
        "float32",
        [30.148745423521922, 6.9221488275724926],
    ),
    "a density of equal samples": (lambda: gaussian_kde(ONES).inv_cov, "float32", [[np.inf]]),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("way", [_once, lambda f: f()], ids=["compiled", "eager"])
@pytest.mark.parametrize(("program", "dtype", "expected"), VALUES.values(), ids=VALUES)
def test_a_program_gives_its_value(program, dtype, expected, way):
    found = way(program)
    assert isinstance(found, jx.Array)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.array(expected, dtype), rtol=2e-6, atol=1e-6)


# What is given once, outside of programs.
FACTS = {
    "ellipsis between index arrays": (
        lambda: jnp.ones((3, 4, 5))[:, 0, ..., np.array([0, 1])].shape,
        (2, 3),
    ),
    "joined by c_": (lambda: jnp.c_["0,4,-2", jnp.ones(3), jnp.ones(3)].shape, (2, 1, 3, 1)),
    "masks without elements": (
        lambda: jnp.ones((0, 3))[np.zeros((0,), bool)].shape,
        (0, 3),
    ),
    "out_axes=None of a custom_jvp": (
        lambda: (
            jx.vmap(lambda x: (x, lax.cond(True, jnp.sin, jnp.cos, 0.0)), out_axes=(0, None))(ONES)[
                1
            ].shape
        ),
        (),
    ),
    "remat is traced once": (lambda: _traces_of_remat(), 1),
    "shapes as lists": (
        lambda: (
            hash(jx.core.ShapedArray([2, 3], np.dtype("float32")))
            == hash(jx.core.ShapedArray((2, 3), np.dtype("float32")))
        ),
        True,
    ),
    "eval_shape of keys": (
        lambda: jx.eval_shape(jx.random.split, jx.random.key(0)).shape,
        (2,),
    ),
    "floats of float0": (
        lambda: (jnp.zeros(2, jx.dtypes.float0) == jnp.zeros(2, jx.dtypes.float0)).tolist(),
        [True, True],
    ),
    "operators that multiply": (
        lambda: linalg.cg(_Twice(), jnp.ones(3))[0].tolist(),
        [0.5, 0.5, 0.5],
    ),
    "ufuncs are equal to themselves": (
        lambda: jnp.frompyfunc(max, 2, 1) == jnp.frompyfunc(max, 2, 1),
        True,
    ),
    "x64 inside a derivative": (lambda: _gradient_inside_x64(), [1.0, 1.0]),
    "traced k of eye": (lambda: jx.jit(lambda k: jnp.eye(2, k=k))(1).tolist(), [[0, 1], [0, 0]]),
    "weak zeros of another size": (lambda: jnp.resize(WEAK, 2).weak_type, True),
    "weak numbers at no positions": (lambda: WEAK[[], None].weak_type, True),
    "accumulated weak numbers": (lambda: jnp.maximum.accumulate(WEAK).weak_type, False),
    "the determinant of a weak number": (
        lambda: jnp.linalg.det(jnp.ones((1, 1), bool) + 1).weak_type,
        False,
    ),
    "degrees of a weak number": (lambda: jnp.angle(1j, deg=True).weak_type, True),
    "traced ddof": (lambda: float(jx.jit(lambda k: jnp.std(jnp.arange(3.0), ddof=k))(1)), 1.0),
}


WEAK = jnp.sin(1) + jnp.zeros(0, int)


class _Twice:
    def __matmul__(self, x):
        return 2 * x


def _traces_of_remat():
    traces = []
    f = jx.checkpoint(lambda x: traces.append(x) or x * x)
    assert [float(f(x)) for x in (1.0, 2.0, 3.0)] == [1.0, 4.0, 9.0]
    return len(traces)


def _gradient_inside_x64():
    def f(x):
        with jx.enable_x64(True):
            return jnp.sum(jnp.sin(x))

    return jx.grad(f)(jnp.zeros(2)).tolist()


@pytest.mark.parametrize(("fact", "expected"), FACTS.values(), ids=FACTS)
def test_a_call_gives_what_it_must(fact, expected):
    assert fact() == expected


def _with_a_rule(rule):
    f = jx.custom_batching.custom_vmap(lambda x: x)
    f.def_vmap(rule)
    return f


def _generator(x):
    yield x


MASKED = np.ma.array([1, 2], mask=[False, True])

REFUSED = {
    "branch by a constant": (
        lambda: jx.jit(lambda q: 5 if jnp.ones_like(q) else 3)(2.0),
        "traced",
    ),
    "a seed of 65 bits": (lambda: jx.random.key(2**63), "64 bits"),
    "a generator": (lambda: jx.jit(_generator)(1.0), "yields"),
    "a staticmethod": (lambda: jx.jit(staticmethod(abs)), "staticmethod"),
    "in_axes=False": (lambda: jx.vmap(abs, in_axes=False)(ONES), "in_axes must hold ints"),
    "custom_vmap without a rule": (
        lambda: jx.vmap(jx.custom_batching.custom_vmap(lambda x: x))(ONES),
        "no rule yet",
    ),
    "custom_vmap of another structure": (
        lambda: jx.vmap(_with_a_rule(lambda n, b, x: ((x, x), (True, True))))(ONES),
        "structure",
    ),
    "branches of two dtypes": (
        lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), ONES),
        "one type",
    ),
    "a text as a shape": (lambda: lax.broadcast_shapes("hello"), "whole numbers"),
    "number beyond every dtype": (lambda: jx.eval_shape(lambda q: q, 2**100), "does not fit"),
    "elements that no memory holds": (lambda: jnp.arange(2**40), "no device has memory"),
    "the least of nothing": (lambda: jnp.linalg.norm(jnp.zeros(0), ord=-jnp.inf), "no elements"),
    "the least column of none": (lambda: jnp.linalg.norm(jnp.zeros((2, 0)), ord=-1), "no elements"),
    "the least singular value of none": (
        lambda: jnp.linalg.norm(jnp.zeros((0, 2)), ord=-2),
        "no elements",
    ),
    "booleans counted": (lambda: jnp.arange(3, dtype=bool), "booleans are not counted"),
    "complex numbers counted": (lambda: jnp.arange(3j), "stop of dtype complex64: complex numbers"),
    "a grid up to a complex number": (
        lambda: jnp.mgrid[0:2, 0:3j],
        "complex numbers have no order",
    ),
    "a grid of no slice": (
        lambda: jnp.mgrid[0:2, ...],
        r"mgrid takes slices, such as mgrid\[0:3\]",
    ),
    "an open grid of a number": (lambda: jnp.ogrid[0], "ogrid takes slices"),
    "a directive of no numbers": (lambda: jnp.r_["a", ONES], "directive 'a': it is one to three"),
    "where of a number": (lambda: jnp.where(1), "nonzero of a scalar"),
    "an array as a dtype": (lambda: jnp.zeros(3, jnp.ones(1, int)), "an array is no dtype"),
    "cross products in the plane": (lambda: jnp.cross(ONES, ONES), "3 elements, got 2 and 2"),
    "bits of no dtype": (lambda: jx.dtypes.itemsize_bits(None), "got None"),
    "bits of objects": (lambda: jx.dtypes.itemsize_bits("O"), "got 'O'"),
    "a masked array in a list": (lambda: jnp.array([MASKED]), "have no mask"),
    "masked elements in a list": (lambda: jnp.array(list(MASKED)), "have no mask"),
    "a masked element": (lambda: jnp.sin(MASKED[1]), "have no mask"),
    "masked elements as columns": (lambda: jnp.column_stack(MASKED), "have no mask"),
    "an array of objects": (
        lambda: jx.linearize(lambda x: x, np.array(object)),
        "cannot have the dtype object",
    ),
    "an array of texts, compiled": (lambda: jx.jit(abs)(np.array(["a"])), "dtype='<U1'"),
    "an axis that is none": (
        lambda: lax.psum_scatter(1, (), scatter_dimension=[]),
        "got scatter_dimension=.* takes whole numbers",
    ),
    "several numbers to fill with": (
        lambda: jnp.compress(ONES, ONES, fill_value=np.ones(0)),
        r"fill_value is one number, got shape \(0,\)",
    ),
    "masked elements beside arrays": (lambda: jnp.array([jnp.ones(2), MASKED]), "have no mask"),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_a_call_is_refused_in_words(call, words):
    with pytest.raises(Exception, match=words) as caught:
        call()
    assert "jaxlib" not in str(caught.value)
