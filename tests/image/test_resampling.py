"""Images resized and moved: known values, identities, derivatives, errors."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import image
from tests.primitives.checking import check_derivatives

RAMP = np.arange(4, dtype=np.float32)
METHODS = ["nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]
LARGER = {
    "nearest": [0, 1, 1, 2, 3, 3],
    "linear": [0, 0.5, 7 / 6, 11 / 6, 2.5, 3],
    "cubic": [-0.0657892, 0.41176474, 1.1666665, 1.8333335, 2.5882354, 3.0657897],
    "lanczos3": [-0.06359466, 0.37163812, 1.1933339, 1.8066666, 2.628362, 3.0635946],
    "lanczos5": [-0.10274943, 0.43868417, 1.1795907, 1.8204095, 2.5613158, 3.1027496],
}
SMALLER = {
    "nearest": ([1, 3], [1, 3]),
    "linear": ([5 / 7, 16 / 7], [0.5, 2.5]),
    "cubic": ([0.58677685, 2.413223], [0.41176474, 2.5882354]),
    "lanczos3": ([0.5381272, 2.4618728], [0.37163812, 2.628362]),
}


@pytest.mark.parametrize("method", LARGER)
def test_enlarged_ramp(method: str) -> None:
    found = image.resize(RAMP, (6,), method)
    np.testing.assert_allclose(found, LARGER[method], atol=1e-5)
    traced = jx.jit(lambda x: image.resize(x, (6,), method))(RAMP)
    np.testing.assert_allclose(traced, found, atol=1e-6)


@pytest.mark.parametrize("method", SMALLER)
def test_reduced_ramp(method: str) -> None:
    for antialias, wanted in zip((True, False), SMALLER[method], strict=True):
        found = image.resize(RAMP, (2,), method, antialias=antialias)
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_axes_of_their_size_stay_and_constants_too(method: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_array_equal(image.resize(x, (3, 4), method), x)
    ones = image.resize(np.ones((3, 4, 2), np.float32), (5, 2, 2), method)
    np.testing.assert_allclose(ones, np.ones((5, 2, 2)), atol=1e-5)
    assert image.resize(x, (0, 4), method).shape == (0, 4)


def test_border_samples_repeat_in_the_cubic_of_pytorch() -> None:
    found = image.resize(RAMP**2, (2,), "cubic-pytorch", antialias=False)
    np.testing.assert_allclose(found, [0.21875, 6.78125], atol=1e-5)


def test_dtypes() -> None:
    whole = np.arange(4, dtype=np.uint8)
    assert image.resize(whole, (2,), "nearest").dtype == "uint8"
    assert image.resize(whole, (2,), "linear").dtype == "float32"
    assert image.resize(jnp.ones(4, "bfloat16"), (8,), "cubic").dtype == "bfloat16"
    assert image.resize(np.ones(4, "F"), (8,), "cubic").dtype == "complex64"


def test_moved_images() -> None:
    def moved(scale: float, shift: float, size: int, method: str) -> Any:
        return image.scale_and_translate(
            RAMP, (size,), (0,), jnp.array([scale]), jnp.array([shift]), method
        )

    np.testing.assert_allclose(moved(1, 3, 6, "cubic"), [0, 0, 0, 0, 1, 2], atol=1e-5)
    np.testing.assert_allclose(
        moved(1.5, 0.5, 6, "linear"), [0, 1 / 6, 5 / 6, 1.5, 13 / 6, 17 / 6], atol=1e-5
    )
    np.testing.assert_allclose(moved(0.5, 0.25, 4, "lanczos3"), [0.137587, 2, 0, 0], atol=1e-5)


def test_derivatives_in_image_scale_and_translation() -> None:
    x = np.random.default_rng(0).normal(size=(4, 5))
    with jx.enable_x64(True):
        check_derivatives(
            lambda x, s, t: image.scale_and_translate(x, (4, 7), (1,), s, t, "lanczos3"),
            [x, np.array([1.3]), np.array([0.21])],
            tolerance=1e-4,
        )


REFUSED = [
    (lambda: image.resize(RAMP, (2, 2), "linear"), ValueError, "as many axes"),
    (lambda: image.resize(RAMP, (2,), "round"), ValueError, "unknown resize method 'round'"),
    (lambda: image.resize([1.0], (2,), "linear"), TypeError, "resize takes arrays"),
    (lambda: image.resize(RAMP[:0], (2,), "linear"), ValueError, "an empty axis"),
    (
        lambda: image.scale_and_translate(RAMP, (4,), (0,), RAMP[:1], RAMP[:1], "nearest"),
        ValueError,
        "no method 'nearest'",
    ),
    (
        lambda: image.scale_and_translate(RAMP, (4,), (0,), RAMP, RAMP[:1], "linear"),
        ValueError,
        "a scale for each of 1 axes",
    ),
    (
        lambda: image.scale_and_translate(RAMP, (5,), (), RAMP[:0], RAMP[:0], "linear"),
        ValueError,
        "keeps its size",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_bad_arguments(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_images_of_64_bits_are_resized_in_64_bits():
    with jx.enable_x64(True):
        found = image.resize(np.arange(7.0), (3,), "linear", antialias=False)
    np.testing.assert_allclose(found, (np.arange(3) + 0.5) * (7 / 3) - 0.5, rtol=1e-14)


def test_kernels_have_the_names_that_others_give_them():
    image = jnp.arange(12.0).reshape(3, 4)
    named = [jx.image.resize(image, (5, 6), f"{name}-pytorch") for name in ("cubic", "bicubic")]
    np.testing.assert_array_equal(*named)
