"""Images: arrays of samples resized, scaled and translated.

Place in the pipeline: above ``numpy``; imported at its first use.
"""

from jxkernel.image.resampling import ResizeMethod, resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
