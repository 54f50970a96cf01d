"""Options that change what types say, or what is refused by types."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ShardingTypeError
from jxkernel.sharding import PartitionSpec as P
from jxkernel.sharding import auto_axes, no_collectives, reshard

NUMBERS = np.arange(8.0, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def x(eight_devices):
    with jx.set_mesh(jx.make_mesh((2, 1), ("x", "y"))):
        yield reshard(NUMBERS, BOTH)


BOTH = P("x", "y")


def mapped(f, out_specs=BOTH):
    return jx.shard_map(f, in_specs=BOTH, out_specs=out_specs)


# ---------------------------------------------------------------- allow_f16_reductions


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_short_floats_are_refused_where_they_are_not_allowed(dtype):
    short = jnp.ones(3, dtype)
    with jx.allow_f16_reductions(False):
        for refused in (
            lambda: lax.reduce_sum(short, (0,)),
            lambda: jx.jit(lambda x: lax.reduce_sum(x, (0,)))(short),
            lambda: jx.grad(lambda s: (s * short)[0])(short[0]),
        ):
            with pytest.raises(ValueError, match="allow_f16_reductions is off"):
                refused()
        assert jnp.sum(short) == 3  # in 32 bits, as always
        assert lax.reduce_sum(short, ()).shape == (3,)
        assert lax.reduce_sum(jnp.ones(3), (0,)) == 3
    assert lax.reduce_sum(short, (0,)) == 3


# ---------------------------------------------------------------- auto_pcast


def test_values_that_vary_meet_others_only_where_that_is_said(x):
    whole = jnp.ones(2)
    refused = [
        lambda x: x * jnp.ones(2),
        lambda x: lax.concatenate([x, jnp.zeros((2, 2))], 0),
        lambda x: x @ jnp.ones((2, 2)),
        lambda x: lax.scan(lambda c, _: (c + x, None), jnp.zeros((2, 2)), length=2)[0],
    ]
    taken = [
        lambda x: x * 2,
        lambda x: jnp.where(x > 0, x, 0),
        lambda x: x * lax.pcast(jnp.ones(2), ("x", "y"), to="varying"),
        lambda x: jx.grad(lambda x: jnp.sin(x).sum())(x),
    ]
    for f in refused:
        mapped(f)
        with jx.auto_pcast(False), pytest.raises(ValueError, match="to='varying'"):
            mapped(f)(x)
    for f in taken:
        with jx.auto_pcast(False):
            found = mapped(f)(x)
        np.testing.assert_array_equal(found, mapped(f)(x))
    np.testing.assert_array_equal(mapped(lambda x: x * whole)(x), NUMBERS)


# ---------------------------------------------------------------- axes of size 1


def test_types_leave_out_mesh_axes_of_size_one(x):
    seen = []

    def note(x):
        seen.append(str(jx.typeof(x)))
        return x + lax.psum(lax.axis_index("y"), ("x", "y"))

    with jx.remove_size_one_mesh_axis_from_type(True):
        assert str(jx.typeof(x)) == "float32[4@x,2]"
        assert str(jx.typeof(jnp.ones((4, 2), out_sharding=P(None, "y")))) == "float32[4,2]"
        assert str(jx.typeof(reshard(x, P("y")))) == "float32[4,2]"
        short = mapped(note)(x)
    np.testing.assert_array_equal(short, mapped(note)(x))
    assert seen == ["float32[2,2]{V:x}", "float32[2,2]{V:(x,y)}"]
    assert str(jx.typeof(reshard(x, P("y")))) == "float32[4@y,2]"


# ---------------------------------------------------------------- no_collectives


def test_what_sends_data_along_a_forbidden_axis_is_refused(x):
    rows = reshard(NUMBERS, P("x"))
    shares = jnp.einsum("ab,ac->bc", rows, rows, out_sharding=P(unreduced={"x"}))
    for refused in (
        lambda: jnp.sum(x, 0),
        lambda: jx.jit(lambda x: jnp.sum(x, 0))(x),
        lambda: jnp.argmax(x, 0),
        lambda: reshard(x, P()),
        lambda: jx.jit(lambda x: reshard(x, P()))(x),
        lambda: reshard(x, P(None, "x")),
        lambda: reshard(shares, P()),
        lambda: reshard(shares, P("x")),
        lambda: x.at[0].get(out_sharding=P("y")),
        lambda: jnp.einsum("ab,ac->bc", rows, rows, out_sharding=P()),
        lambda: auto_axes(jnp.sum, out_sharding=P())(x),
        lambda: jx.vjp(lambda w: jnp.dot(x, w), jnp.ones((2, 2)))[1](x),
        lambda: mapped(lambda x: lax.psum(x, "x"), out_specs=P(None, "y"))(x),
        lambda: mapped(lambda x: lax.ppermute(x, "x", [(0, 1)]))(x),
        lambda: mapped(lambda x: lax.all_gather(x, "x", tiled=True))(x),
    ):
        with no_collectives({"x"}), pytest.raises(ShardingTypeError, match="no_collectives"):
            refused()
        refused()


def test_what_stays_on_its_device_is_done(x):
    rows = reshard(NUMBERS, P("x"))
    with no_collectives({"x"}):
        np.testing.assert_array_equal(jnp.sum(x, 1), NUMBERS.sum(1))
        shares = jnp.einsum("ab,ac->bc", rows, rows, out_sharding=P(unreduced={"x"}))
        np.testing.assert_array_equal(x.T, NUMBERS.T)
        assert mapped(lambda x: lax.psum(x, "y"), out_specs=P("x"))(x).shape == (4, 2)
        assert np.asarray(mapped(lambda x: x + lax.axis_index("x"))(x))[3, 1] == 8
        with no_collectives({"y"}):  # the innermost block counts
            jnp.sum(x, 0)
    np.testing.assert_array_equal(reshard(shares, P()), NUMBERS.T @ NUMBERS)
    with pytest.raises(ValueError, match="takes a set of names"):
        no_collectives("x")
