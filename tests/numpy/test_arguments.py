"""Arguments that NumPy's functions of the same names do not have, or have only by place."""

import numpy as np
import pytest
import scipy.special

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.scipy import special

POINTS = np.array([-1.5, 0.0, 2.0], np.float32)


@pytest.mark.parametrize("batch_size", [1, 3, 16, 20, 50])
@pytest.mark.parametrize("axis", [0, -1])
def test_lexsort_gives_the_same_in_batches_of_any_size(batch_size, axis):
    keys = np.random.default_rng(0).integers(0, 3, (20, 6, 5))
    places = jnp.lexsort(jnp.asarray(keys), axis, batch_size=batch_size)
    np.testing.assert_array_equal(places, np.lexsort(keys, axis))


def test_lexsort_sorts_by_sixteen_keys_at_a_time():
    jaxpr = jx.make_jaxpr(jnp.lexsort)(jnp.zeros((40, 3)))
    assert [e.primitive.name for e in jaxpr.eqns].count("sort") == 3


def test_lexsort_needs_a_batch_of_at_least_one_key():
    with pytest.raises(ValueError, match="at least one key, got batch_size=0"):
        jnp.lexsort((jnp.ones(2),), batch_size=0)


def test_negative_positions_may_be_out_of_bounds():
    taken = jnp.take_along_axis(POINTS, np.array([-1, 1]), wrap_negative_indices=False)
    np.testing.assert_array_equal(taken, [np.nan, 0.0])
    unwrapped = jnp.take_along_axis(
        POINTS, np.array([-1, 1]), mode="clip", wrap_negative_indices=False
    )
    np.testing.assert_array_equal(unwrapped, POINTS[[0, 1]])


def test_products_of_low_precision_are_taken_in_a_wider_dtype():
    x = jnp.array([100, -100], jnp.int8)
    assert lax.mul(x, x, out_dtype=jnp.int32).tolist() == [10_000, 10_000]
    assert lax.mul(x, 3, out_dtype=jnp.float32).dtype == jnp.float32


@pytest.mark.parametrize("function", [jnp.isposinf, jnp.isneginf, jnp.modf])
def test_arrays_are_not_written_to(function):
    assert np.shape(function(POINTS, None))[-1] == 3
    with pytest.raises(NotImplementedError, match=rf"{function.__name__}\(out=...\)"):
        function(POINTS, out=jnp.zeros(3))


@pytest.mark.parametrize(
    "function",
    [jx.nn.relu, jx.nn.softplus, jx.nn.silu, special.erf, special.digamma, jnp.trunc, jnp.isreal],
)
def test_the_operand_may_be_given_by_name(function):
    np.testing.assert_array_equal(function(x=POINTS), function(POINTS))
    np.testing.assert_array_equal(jx.jit(lambda v: function(x=v))(POINTS), function(POINTS))


LISTS = {
    "ndtr": (special.ndtr, scipy.special.ndtr, [[0.5, -1.0]]),
    "log_ndtr": (special.log_ndtr, scipy.special.log_ndtr, [[0.5, -1.0]]),
    "spence": (special.spence, scipy.special.spence, [[0.5, 2, 3]]),
    "hyp1f1": (special.hyp1f1, scipy.special.hyp1f1, [[0.5, 2], 1.5, [1, 0.25]]),
    "hyp2f1": (special.hyp2f1, scipy.special.hyp2f1, [0.5, [1, 2], 1.5, [0.5, -0.25]]),
    "ihfft": (jnp.fft.ihfft, np.fft.ihfft, [[[1.0, 2, 4], [0, 1, 0]]]),
    "array_equal": (jnp.array_equal, np.array_equal, [[1, 2], [1, 2.5]]),
    "array_equiv": (jnp.array_equiv, np.array_equiv, [[1, 1], 1]),
    "iscomplexobj": (jnp.iscomplexobj, np.iscomplexobj, [[1, 1j]]),
    "isrealobj": (jnp.isrealobj, np.isrealobj, [[1, 1j]]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers_are_taken_by_a_few_functions(name):
    function, reference, args = LISTS[name]
    np.testing.assert_allclose(function(*args), reference(*args), rtol=1e-5)


def test_what_fills_positions_may_be_traced() -> None:
    found = jx.jit(lambda fill: jnp.nonzero(jnp.array([0, 3, 0]), size=3, fill_value=fill))(7)
    assert found[0].tolist() == [1, 7, 7]
