"""Passes over modules while XLA compiles them, written in Python.

What is compiled depends on the passes that are there, so they are part of the keys of compiled
calls (``config.module_passes``), and nothing is taken from disk or stored there while there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import count

from jxkernel._jaxlib import get_pjrt_plugin, xla_transforms
from jxkernel.config import module_passes
from jxkernel.runtime.clients import backends, compiled_as

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]

_numbers = count()


class PipelineStage(Enum):
    """When a pass runs: before XLA has ordered the operations, or after."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Have a function transform each module that is compiled from now on.

    Args:
      callback: takes a module as bytes (a serialized ``HloModuleProto``), and returns another one,
        or None to leave it as it is.  Passes run in the order in which they were registered.
      name: the pass's name.
      stage: when it runs.
      platforms: the platforms, or one; all that are there where not given.
    """
    for platform in _named(platforms):
        if platform == "cpu":
            xla_transforms().register_xla_transform(name, stage.value, callback)
        else:
            register = xla_transforms().register_xla_transform_c_api
            register(get_pjrt_plugin(platform), name, stage.value, callback)
        present = (*module_passes.value, (name, stage, platform, next(_numbers)))
        module_passes.set_global(present)


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Remove a pass; what was compiled with it stays as it is, and is not used any more.

    Args:
      name: its name.
      stage: when it ran.
      platforms: the platforms, or one; all that are there where not given.

    Returns:
      whether there was one.
    """
    cleared = False
    for platform in _named(platforms):
        if platform == "cpu":
            found = xla_transforms().clear_xla_transform(name, stage.value)
        else:
            clear = xla_transforms().clear_xla_transform_c_api
            found = clear(get_pjrt_plugin(platform), name, stage.value)
        gone = (name, stage, platform)
        module_passes.set_global(tuple([key for key in module_passes.value if key[:3] != gone]))
        cleared = cleared or found
    return cleared


def _named(platforms: Sequence[str] | str | None) -> list[str]:
    """Return the platforms, once each; the clients are made first, and their plugins loaded."""
    if platforms is None:
        return list(dict.fromkeys(map(compiled_as, backends())))
    return [platforms] if isinstance(platforms, str) else list(dict.fromkeys(platforms))
