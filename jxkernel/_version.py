"""The version of jxkernel, in the one place that the package, its caches and its wheel read."""

__version__ = "0.2.0"
