"""The result of lowering: a module and how its parameters map to the program's arguments."""

from __future__ import annotations

from typing import Any

from jxkernel import hlo
from jxkernel.records import record

__all__ = ["LoweredProgram"]


@record()
class LoweredProgram:
    """A StableHLO module ready to compile.

    Attributes:
      module: the MLIR module; its public function is ``main``.  None of a program that came as an
        executable.
      name: the program's name.
      kept: indices, into constants followed by arguments, of the values that ``main`` takes.
      platform: the platform whose rules were used.
      callbacks: host functions, in the order of their indices in the module; objects of this
        process, so a module that has some means nothing to another.
      unusable: indices of the donated arguments in whose buffers no result fits.
      takes_token: whether ``main`` takes, last, the token of the ordered program before it.
      gives_token: whether ``main`` gives, last, a token that exists when its effects are over.
      stored: how many values are stored where long chains are cut.
      partitions: what XLA asks of this process while it compiles the module.
      unrolled: whether LLVM is to unroll its loops, unless the user's options say otherwise.
      divided: whether XLA is to divide its loops among cores, unless they say otherwise.
      kernel_loops: whether XLA may make one kernel, for one core, of a loop that the program has.
    """

    module: Any
    name: str
    kept: tuple[int, ...]
    platform: str
    callbacks: tuple[Any, ...] = ()
    unusable: tuple[int, ...] = ()
    takes_token: bool = False
    gives_token: bool = False
    stored: int = 0
    partitions: tuple[Any, ...] = ()
    unrolled: bool = True
    divided: bool = True
    kernel_loops: bool = True

    def text(self, *, locations: bool = False) -> str:
        """Return the module as StableHLO text."""
        return hlo.module_text(self.module, locations=locations)
