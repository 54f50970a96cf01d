"""``device_put`` shares data, copies it or gives it away, as it is told."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


def test_may_alias_false_gives_data_of_its_own():
    x = jnp.arange(3.0) + 1
    for copy in (
        jx.device_put(x, may_alias=False),
        jx.device_put(x, jx.devices()[0], may_alias=False),
    ):
        assert copy is not x
        assert copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    copy = jx.device_put(x, jx.devices()[0], may_alias=False)
    jx.jit(lambda q: q * 2, donate_argnums=0)(x)
    assert x.is_deleted()
    assert copy.tolist() == [1.0, 2.0, 3.0]


def test_data_is_given_or_shared():
    with pytest.raises(ValueError, match="given or shared"):
        jx.device_put(jnp.ones(2), may_alias=True, donate=True)


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, -(2**63) - 1])
def test_seeds_have_64_bits_with_a_sign(seed):
    for make in (jx.random.key, jx.random.PRNGKey):
        with pytest.raises(OverflowError, match="64 bits with a sign"):
            make(seed)
