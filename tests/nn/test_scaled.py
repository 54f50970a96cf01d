"""Products of scaled blocks: against products of the numbers that they stand for."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import nn
from jxkernel.errors import ShapeMismatchError

_random = np.random.default_rng(20260108)
ROWS = (((1,), (1,)), ((), ()))


def waves(seed: int, shape: tuple[int, ...] = (32, 32)) -> Any:
    """Return numbers of many magnitudes, the same on each platform."""
    places = np.arange(np.prod(shape))
    return (np.sin(places * 1.7 + seed) * np.exp2(places % 7 - 3)).reshape(shape).astype("f4")


STORED = (
    ("float8_e4m3fn", "float8_e8m0fnu", 32),
    ("float4_e2m1fn", "float8_e4m3fn", 16),
    ("bfloat16", "bfloat16", 8),
    ("int8", "float32", 64),
)


@pytest.mark.parametrize(("data", "scale", "size"), STORED)
def test_scaled_matmul_multiplies_what_blocks_stand_for(data: str, scale: str, size: int) -> None:
    numbers = np.array([1.0, 2.0, -1.0, 3.0, -4.0])
    x, y = (_random.choice(numbers, (2, n, 64)) for n in (4, 3))
    s, t = (_random.choice([0.5, 1.0, 2.0], (2, n, 64 // size)) for n in (4, 3))
    wanted = np.einsum("bmk,bnk->bmn", x * s.repeat(size, -1), y * t.repeat(size, -1))
    given = (
        jnp.asarray(x, data),
        jnp.asarray(y, data),
        jnp.asarray(s, scale),
        jnp.asarray(t, scale),
    )
    found = nn.scaled_matmul(*given)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wanted)
    each = [z[:, None] for z in given]
    mapped = jx.jit(jx.vmap(lambda *z: nn.scaled_matmul(*z, np.float16)))(*each)
    assert mapped.dtype == np.float16
    np.testing.assert_array_equal(mapped[:, 0], wanted.astype(np.float16))


def test_scaled_matmul_refuses_what_does_not_fit() -> None:
    x, scales = jnp.ones((1, 2, 6)), jnp.ones((1, 2, 3))
    rows = (
        (x[0], x, scales, scales),
        (x, x[..., :3], scales, scales),
        (x, x, scales[..., :2], scales),
    )
    rows += ((x, x, scales[:, :1], scales), (x, x, jnp.ones((1, 2, 4)), jnp.ones((1, 2, 4))))
    for row in rows:
        with pytest.raises(ShapeMismatchError, match="k a multiple of j"):
            nn.scaled_matmul(*row)
    with pytest.raises(TypeError, match="int32: it must be floating"):
        nn.scaled_matmul(x, x, scales, scales, np.int32)


# The first three elements of the first two rows of a product and of both its slopes, as the
# reference implementation of the formats gives them.
RECORDED: dict[str, list[list[float]]] = {
    "mxfp8": [
        [109.3046, 12.21167, -90.89221, -36.6972, 106.0154, 15.01799],
        [7.473618, -7.335503, 3.024658, 0.1576538, 8.748474, -2.331848],
        [-50.28613, 101.4825, 11.9711, -93.76646, -94.28365, 102.4637],
    ],
    "mxfp4": [
        [102, 7, -89, -20, 108, 7],
        [18, -2, 3, 0, 2, -7],
        [-50, 104, 14, -92, -89, 99],
    ],
    "nvfp4": [
        [111.3086, 13.88672, -92.28516, -33.51562, 102.6602, 13.53516],
        [9.401564, -6.507663, 2.155856, -0.357628, 8.792151, -1.641759],
        [-50.43768, 100.4471, 12.10066, -93.22504, -93.93839, 102.1545],
    ],
}


@pytest.mark.parametrize("mode", RECORDED)
def test_narrow_products_and_slopes_are_the_recorded_ones(mode: str) -> None:
    configs = [nn.get_scaled_dot_general_config(mode)] * 3

    @jx.jit
    def at_once(x: Any, y: Any, weights: Any) -> Any:
        def function(x: Any, y: Any) -> Any:
            return nn.scaled_dot_general(x, y, ROWS, configs=configs)

        found, pullback = jx.vjp(function, x, y)
        return found, *pullback(weights)

    for found, wanted in zip(at_once(waves(1), waves(2), waves(3)), RECORDED[mode], strict=True):
        np.testing.assert_allclose(found[:2, :3].ravel(), wanted, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("mode", ["mxfp8", "mxfp4", "nvfp4"])
def test_numbers_of_the_format_are_multiplied_exactly(mode: str) -> None:
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    # Four axes, with 24 contracted places: the last block is filled up.
    x, y = (
        _random.choice([-6.0, 1.0, 2.0, 6.0], shape).astype("f4")
        for shape in ((2, 3, 6, 4), (4, 2, 6, 5))
    )
    x[..., 0] = y[0] = 6
    x[1, 0] = 0
    numbers = (((3, 2), (0, 2)), ((0,), (1,)))
    multiply = jx.jit(lambda x, y: nn.scaled_dot_general(x, y, numbers, jnp.float16, configs))
    found = multiply(x, y)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, np.einsum("bmik,kbin->bmn", x, y))
    bad = x.copy()
    bad[0, 0, 0, 0] = np.inf
    spoilt = multiply(bad, y)
    assert jnp.isnan(spoilt[0, 0]).all()
    np.testing.assert_array_equal(spoilt[:, 1:], found[:, 1:])


def test_a_global_scale_extends_the_range() -> None:
    x = np.full((1, 16), 6e6, np.float32)
    plain, scaled = (nn.get_scaled_dot_general_config("nvfp4", s) for s in (None, jnp.float32(1e4)))
    one = np.eye(1, 16, dtype=np.float32) * 6
    outcome = [
        nn.scaled_dot_general(x, one, ROWS, configs=[c, plain, plain]).item()
        for c in (plain, scaled)
    ]
    # Scales of eight bits reach 448, and have 96 and 104 around 100, of which 96 is even.
    np.testing.assert_allclose(outcome, [448 * 36, 6 * 1e4 * 96 * 6], rtol=1e-6)


def test_without_configs_nothing_is_narrow() -> None:
    found = nn.scaled_dot_general(waves(1), waves(2), ROWS)
    np.testing.assert_allclose(found, waves(1) @ waves(2).T, rtol=1e-5, atol=1e-3)


def test_bad_arguments_of_narrow_products_are_named() -> None:
    with pytest.raises(ValueError, match="mode='fp8'"):
        nn.get_scaled_dot_general_config("fp8")
    with pytest.raises(ValueError, match="no global_scale"):
        nn.get_scaled_dot_general_config("mxfp4", 2.0)
    assert nn.get_scaled_dot_general_config("mxfp8", 2.0).global_scale is None
    config = nn.get_scaled_dot_general_config("mxfp8")
    with pytest.raises(ValueError, match="got 1 configs"):
        nn.scaled_dot_general(waves(1), waves(2), ROWS, configs=[config])
    with pytest.raises(TypeError, match="int32"):
        nn.scaled_dot_general(waves(1), waves(2), ROWS, np.int32)
    with pytest.raises(TypeError):
        nn.scaled_dot_general(waves(1), waves(2, (32, 16)), ROWS, configs=[config] * 3)
