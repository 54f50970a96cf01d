"""What is switched for the whole process: 64-bit dtypes, aliases."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.process.answer import alias, x64

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "x64": Subcommand(x64, "[on|off]  64-bit dtypes", ("on", "off")),
        "alias": Subcommand(alias, "[NAME [off]]  make `import NAME` (jax) mean jxkernel; end it"),
    },
)
