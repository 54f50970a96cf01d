"""The places of nonzero elements, as many as are asked for: those of NumPy, and what is after."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel._jaxlib import version


def _wanted(x, size, fill):
    found = np.nonzero(x)[0][:size]
    return np.append(found, np.full(size - len(found), fill))


@pytest.mark.parametrize("count", [1, 7, 20_003], ids=["one", "few", "several in a turn"])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_places_are_those_of_numpy(count, share):
    x = np.random.default_rng(0).uniform(size=count) < share
    for size in (count // 2, count + 2):
        found = jx.jit(lambda x, size=size: jnp.nonzero(x, size=size, fill_value=-3)[0])(x)
        np.testing.assert_array_equal(found, _wanted(x, size, -3))
    assert jnp.count_nonzero(x) == x.sum()


def test_places_of_no_elements_and_of_wide_integers():
    assert jnp.nonzero(jnp.zeros(0), size=2, fill_value=5)[0].tolist() == [5, 5]
    assert jnp.nonzero(jnp.ones(3), size=0)[0].tolist() == []
    with jx.enable_x64(True):
        found = jx.jit(lambda x: jnp.nonzero(x, size=2)[0])(np.array([0, 0, 4.0]))
        assert found.dtype == np.int64
        assert found.tolist() == [2, 0]


@pytest.mark.parametrize("first", [False, True])
def test_places_have_the_dtype_of_the_switch_whatever_was_found_before(first):
    for wide in (first, not first, first):
        with jx.enable_x64(wide):
            found = jnp.nonzero(np.array([0, 1], np.int8), size=3 + first)[0]
            assert found.dtype == (np.int64 if wide else np.int32)


def test_places_under_transforms():
    x = np.random.default_rng(0).integers(0, 2, (3, 9))
    found = jx.vmap(lambda row: jnp.nonzero(row, size=9, fill_value=9)[0])(x)
    np.testing.assert_array_equal(found, [_wanted(row, 9, 9) for row in x])

    def taken(y):
        return y[jnp.nonzero(y > 0, size=2)[0]].sum()

    assert jx.grad(taken)(jnp.array([-1.0, 2.0, 3.0])).tolist() == [0, 1, 1]


@pytest.mark.skipif(version < (0, 11, 2), reason="needs calls that are one kernel")
def test_places_are_found_by_a_kernel_on_cpu_alone():
    traced = jx.jit(lambda x: jnp.nonzero(x, size=4)[0]).trace(np.ones(9))
    assert "while" in traced.lower().as_text()
    assert "while" not in traced.lower(lowering_platforms=("cuda",)).as_text()
