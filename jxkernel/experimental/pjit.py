"""``jit`` by an older name, which says what to write today."""

from jxkernel._lazy import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, older={"jxkernel._older": "pjit"})
