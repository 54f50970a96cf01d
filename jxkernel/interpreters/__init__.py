"""Rules by the field's older names: what tutorials on new primitives import.

A rule lives on its primitive (``def_jvp`` and the others); these modules set the same slots in
the style of ``ad.primitive_jvps[p] = rule``.  New code declares rules on the primitive.
"""

from jxkernel.interpreters import ad, batching, mlir, partial_eval, pxla, xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
