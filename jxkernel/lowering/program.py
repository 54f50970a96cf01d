"""The result of lowering: a module and how its parameters map to the program's arguments."""

from typing import Any

from jxkernel import hlo
from jxkernel.records import record

__all__ = ["LoweredProgram"]


@record()
class LoweredProgram:
    """A StableHLO module ready to compile.

    Attributes:
      module: the MLIR module; its public function is ``main``.
      name: the program's name.
      kept: indices, into constants followed by arguments, of the values that ``main`` takes.
      platform: the platform whose rules were used.
      callbacks: host functions, in the order of their indices in the module.
    """

    module: Any
    name: str
    kept: tuple[int, ...]
    platform: str
    callbacks: tuple[Any, ...] = ()

    def text(self, *, locations: bool = False) -> str:
        """Return the module as StableHLO text."""
        return hlo.module_text(self.module, locations=locations)
