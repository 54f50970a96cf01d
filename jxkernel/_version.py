"""The version of jxkernel, in the one place that the package, its caches and its wheel read.

Place in the pipeline: below every layer; it imports nothing.
"""

__version__ = "0.2.0"
