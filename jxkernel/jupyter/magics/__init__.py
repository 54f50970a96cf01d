"""Magics: what a user types in a cell, each a thin skin over plain functions.

Purpose: parse lines, call what does the work, show views.

Place in the pipeline: the top of `jxkernel.jupyter`; `jupyter.extension` registers these.

Must not know: how the extension is loaded or unloaded.
"""

from jxkernel.jupyter.magics.jit import JitMagics
from jxkernel.jupyter.magics.jx import JxMagics
from jxkernel.jupyter.magics.timing import TimingMagics

__all__ = ["JitMagics", "JxMagics", "TimingMagics"]
