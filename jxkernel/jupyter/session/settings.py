"""The notebook half's settings, as ``%config JX`` lists and sets them."""

from __future__ import annotations

from traitlets import Bool, Enum, Int, List, Unicode
from traitlets.config import Configurable

__all__ = ["JX", "SHOWN"]

SHOWN = ("jaxpr", "source", "stages", "hlo", "optimized", "cost", "memory", "timeline")
"""What ``--show`` takes."""


class JX(Configurable):
    """Settings of the jxkernel extension."""

    record = Bool(True, help="Record traces, compilations and cache misses for the ledger.").tag(
        config=True
    )
    names = Bool(
        True,
        help="Note what the names of a cell or a function hold when it is traced, for marks and "
        "maps. Tracing takes longer while it is on.",
    ).tag(config=True)
    kept_inputs = Int(
        16_000_000,
        help="Keep the last finite inputs of a %%jit cell that updates its own state, for %jx nan, "
        "where they take at most this many bytes; 0 keeps none.",
    ).tag(config=True)
    summary = Bool(True, help="Show the summary line of each %%jit cell.").tag(config=True)
    show = List(Enum(SHOWN), help="What every %%jit cell shows open, as --show does.").tag(
        config=True
    )
    values = Bool(
        True,
        help="Show figures and a small picture of what an array holds below its text, where a cell "
        "ends with it or with a container of arrays.",
    ).tag(config=True)
    settle = Bool(
        False, help="Wait at the end of each cell until its arrays exist, so that times are true."
    ).tag(config=True)
    teach = Bool(
        False,
        help="Tell silent mistakes as lessons: indices out of bounds, random keys used again, "
        "updates dropped, side effects while tracing, NumPy views changed, 64 bits that become "
        "32. Calls are slower while it is on.",
    ).tag(config=True)
    tracebacks = Enum(
        ("user", "all"),
        "user",
        help="Leave jxkernel's and the magics' own frames out of tracebacks ('user') or keep "
        "them ('all'); %xmode Verbose keeps them too.",
    ).tag(config=True)
    backend = Unicode("", help="The platform for %%jit cells that name none; '': the default.").tag(
        config=True
    )
