"""Cosine transforms, against SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.fft as reference

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.scipy import fft

_random = np.random.default_rng(20260107)
CUBE = _random.normal(size=(3, 4, 5)).astype(np.float32)
LONG = _random.normal(size=(2, 33)).astype(np.float32)
NAMES = ("dct", "idct")
SEVERAL = ("dctn", "idctn")


def assert_same(found: Any, wanted: Any, note: Any = "") -> None:
    """Compare with SciPy's numbers, to some units of the greatest."""
    assert found.shape == wanted.shape, note
    scale = max(np.max(np.abs(wanted), initial=0), 1)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-6 * scale, err_msg=str(note))


@pytest.mark.parametrize("norm", [None, "backward", "ortho"])
@pytest.mark.parametrize("name", NAMES)
def test_cosines_are_those_of_scipy(name: str, norm: str | None) -> None:
    ours, theirs = getattr(fft, name), getattr(reference, name)
    rows = [(None, 0), (1, 0), (2, 1), (3, -1), (8, 1), (None, 2)]

    @jx.jit
    def at_once(x: Any) -> Any:
        mapped = jx.vmap(lambda x: ours(x, axis=0, norm=norm), in_axes=2, out_axes=1)(x)
        return mapped, [ours(x, 2, n, axis, norm) for n, axis in rows]

    mapped, found = at_once(CUBE)
    assert_same(mapped, np.moveaxis(theirs(CUBE, axis=0, norm=norm), 2, 1))
    for row, y in zip(rows, found, strict=True):
        assert_same(y, theirs(CUBE, 2, *row, norm), row)
    assert_same(ours(LONG, norm=norm), theirs(LONG, norm=norm))


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("name", SEVERAL)
def test_cosines_over_axes_are_those_of_scipy(name: str, norm: str | None) -> None:
    ours, theirs = getattr(fft, name), getattr(reference, name)
    rows: tuple[dict[str, Any], ...] = (
        {},
        {"s": (2, 7)},
        {"axes": (0,)},
        {"axes": [-1, 0]},
        {"s": (6, 2), "axes": (2, 0)},
        {"axes": 1},
        {"s": 3},
        {"axes": ()},
    )
    found = jx.jit(lambda x: [ours(x, norm=norm, **row) for row in rows])(CUBE)
    for row, y in zip(rows, found, strict=True):
        assert_same(y, theirs(CUBE, norm=norm, **row), row)


KINDS = ("bool", "int8", "float16", "bfloat16", "complex64", "float8_e4m3fn")


@pytest.mark.parametrize("name", NAMES)
def test_types_become_floating_and_keep_their_parts(name: str) -> None:
    ours, theirs = getattr(fft, name), getattr(reference, name)
    for kind in KINDS:
        x = jnp.array([3, 0, 1, 1, 2], kind)
        x = x + jnp.array([0, 1j, 2j, 0, 5j]) if kind == "complex64" else x
        plain = np.asarray(x).astype("complex64" if kind == "complex64" else "float32")
        found = ours(x)
        assert found.dtype == plain.dtype
        assert_same(found, theirs(plain), kind)
    with jx.enable_x64(True):
        for wide in ("int64", "complex128"):
            found = ours(np.arange(7, dtype=wide))
            assert found.dtype == ("complex128" if wide == "complex128" else "float64")
            wanted = theirs(np.arange(7.0))
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


def test_shapes_without_elements_or_axes() -> None:
    assert fft.dct(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert fft.idctn(np.zeros((0, 3, 2), np.float32), axes=(1, 2)).shape == (0, 3, 2)
    assert fft.dctn(np.float32(2)) == fft.idctn(2) == 2
    assert jnp.isnan(fft.dct(np.array([np.nan, 1.0]))).all()


@pytest.mark.parametrize("name", NAMES + SEVERAL)
def test_derivatives_are_those_of_linear_functions(name: str) -> None:
    ours = getattr(fft, name)
    # An orthogonal transform's transpose is its inverse.
    back = getattr(fft, name.removeprefix("i") if name[0] == "i" else f"i{name}")

    @jx.jit
    def at_once(x: Any, weights: Any) -> Any:
        pushed = jx.jvp(lambda x: ours(x, norm="ortho"), (x,), (weights,))[1]
        slope = jx.grad(lambda x: (ours(x, norm="ortho") * weights).sum())(x)
        return pushed, ours(weights, norm="ortho"), slope, back(weights, norm="ortho")

    pushed, there, slope, inverse = map(np.asarray, at_once(*CUBE[:2]))
    assert_same(pushed, there)
    assert_same(slope, inverse)


@pytest.mark.parametrize("name", NAMES + SEVERAL)
def test_bad_arguments_are_named(name: str) -> None:
    ours = getattr(fft, name)
    for type in (1, 3, 4):
        with pytest.raises(NotImplementedError, match=f"{name} got type={type}"):
            ours(CUBE, type=type)
    for norm in ("forward", "orthogonal"):
        with pytest.raises(ValueError, match=f"{name} got norm='{norm}'"):
            ours(CUBE, norm=norm)
    with pytest.raises(TypeError, match=name):
        ours([1.0, 2.0])
    size = {"s": (0,)} if name in SEVERAL else {"n": 0}
    with pytest.raises(ValueError, match=r"lengths \(0,\)"):
        ours(CUBE, **size)
    with pytest.raises(ValueError, match="axis"):
        ours(CUBE, **({"axes": (3,)} if name in SEVERAL else {"axis": 3}))


def test_lengths_and_axes_go_together() -> None:
    with pytest.raises(ValueError, match=r"2 lengths \(2, 3\) for the axes \(0,\)"):
        fft.dctn(CUBE, s=(2, 3), axes=(0,))
    with pytest.raises(ValueError, match=r"repeat|twice|0, 0"):
        fft.idctn(CUBE, axes=(0, 0))
    with pytest.raises(ValueError, match=r"lengths \(0,\)"):
        fft.dct(np.zeros((2, 0), np.float32))
