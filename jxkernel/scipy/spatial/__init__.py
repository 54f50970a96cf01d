"""Rotations in space: ``scipy.spatial.transform``.  Only re-exports."""

from jxkernel.scipy.spatial import transform

__all__ = ["transform"]
