"""The stages of ahead-of-time compilation, by their public names.

A façade: ``jit(f).trace(x)`` gives a ``Traced``, its ``lower()`` a ``Lowered``, whose ``compile()``
gives a ``Compiled``.
"""

from jxkernel.compile.stages import ArgInfo, Compiled, CompilerOptions, Lowered, Traced, Wrapped

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
