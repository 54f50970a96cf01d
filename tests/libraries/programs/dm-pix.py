"""Change images."""

import dm_pix as pix
import jax
import jax.numpy as jnp


def program():
    image = jax.random.uniform(jax.random.key(0), (8, 8, 3))
    return {
        "flip": jnp.sum(pix.flip_left_right(image)[:, 0]),
        "bright": pix.adjust_brightness(image, 0.2)[0, 0],
        "hue": pix.adjust_hue(image, 0.1)[0, 0],
        "blur": pix.gaussian_blur(image, 1.0, 3)[2, 2],
        "crop": pix.random_crop(jax.random.key(1), image, (4, 4, 3))[0, 0],
        "psnr": pix.psnr(image, image * 0.9),
        "ssim": pix.ssim(image, image * 0.9, filter_size=5),
    }
