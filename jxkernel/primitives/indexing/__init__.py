"""Primitives that take, write or join parts of arrays: slices, gathers, scatters."""
