"""Two small libraries that tutorials use: layers as pairs of functions, and optimizers.

They show how such libraries are written; others are more complete.
"""

from jxkernel.example_libraries import optimizers, stax

__all__ = ["optimizers", "stax"]
