"""Clustering: ``vq`` assigns vectors to the nearest code.

Place in the pipeline: above ``numpy``.
"""

from jxkernel.scipy.cluster import vq

__all__ = ["vq"]
