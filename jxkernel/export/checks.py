"""What a program may hold that leaves its process, and how to insist on the rest."""

import re
from collections.abc import Iterable, Sequence

from jxkernel.compile.stages import Traced
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.lowering import LoweredProgram
from jxkernel.records import record
from jxkernel.sharding import NamedSharding

__all__ = [
    "DisabledSafetyCheck",
    "check_effects",
    "check_portable",
    "check_sums",
    "check_takes_no_references",
]

_CUSTOM_CALL = re.compile(r"stablehlo\.custom_call @([\w.$]+)")

_KEPT_PREFIXES = ("lapack_", "cusolver_", "cublas_", "cusparse_", "hipsolver_", "hipblas_", "mhlo.")
_KEPT = frozenset(
    {
        *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "shape_assertion"),
        *("ApproxTopK", "PartialReduce", "TopK", "annotate_device_placement"),
        *("Eigh", "Qr", "LuDecomposition", "ProductOfElementaryHouseholderReflectors"),
    }
)
"""Targets that XLA and jaxlib keep from version to version."""


@record()
class DisabledSafetyCheck:
    """Something that is not checked of an exported program: ``platform()`` or ``custom_call(t)``.

    Attributes:
      name: ``platform``, or ``custom_call:`` and the target.
    """

    name: str

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """Return what lets a program run on platforms that it was not lowered for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """Return what lets a program hold a custom call that nobody promised to keep."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the target of the custom call that it allows, or None."""
        kind, _, target = self.name.partition(":")
        return target if kind == "custom_call" else None


def check_takes_no_references(traced: Traced) -> None:
    """Check that a program is complete without what references hold.

    Raises:
      ValueError: it takes their values.
    """
    if traced.outside is not None:
        raise ValueError(
            f"{traced.fun_name} cannot be exported: it takes references or closes over some, which "
            "stay in this process. Export a function of their values that returns the new ones"
        )


def check_sums(name: str, closed: ClosedJaxpr, shardings: Iterable[NamedSharding | None]) -> None:
    """Check that no argument or result is a sum over devices that is put off.

    Raises:
      ValueError: one is, and what the types of an exported program say would lose it.
    """
    types = [aval.explicit_sharding for aval in (*closed.in_avals, *closed.out_avals)]
    if any(lies is not None and lies.spec.puts_off for lies in (*types, *shardings)):
        raise ValueError(
            f"{name} cannot be exported: the sharding of an argument or result is unreduced or "
            "reduced. Make the sum inside: jxkernel.sharding.reshard(x, P(...))"
        )


def check_effects(name: str, closed: ClosedJaxpr) -> None:
    """Check that a program does nothing besides computing its results.

    Raises:
      ValueError: it does.
    """
    if closed.effects:
        raise _calls_back(name)


def _calls_back(name: str) -> ValueError:
    return ValueError(
        f"{name} cannot be exported: it calls back into this Python process (a callback, or "
        "debug.print). Export the function without it."
    )


def check_portable(lowered: LoweredProgram, disabled: Sequence[DisabledSafetyCheck]) -> None:
    """Check that a module needs nothing of its process.

    Raises:
      ValueError: it calls back into Python, or a custom call that nobody promised to keep.
    """
    if lowered.callbacks:
        raise _calls_back(lowered.name)
    text = lowered.module.operation.get_asm(large_elements_limit=16)
    allowed = {check.is_custom_call() for check in disabled}
    for target in sorted(set(_CUSTOM_CALL.findall(text))):
        if not (target in _KEPT or target in allowed or target.startswith(_KEPT_PREFIXES)):
            raise ValueError(
                f"{lowered.name} cannot be exported: it makes the custom call {target!r}, which "
                "the reader need not have. To insist, give disabled_checks="
                f"[export.DisabledSafetyCheck.custom_call({target!r})]."
            )
