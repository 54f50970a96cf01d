"""Parameters: what programs for the reference implementation give by name or by position."""

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

TABLE: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("signatures.json").read_text()
)
_LOGS = "logs and accumulators of backward passes, which are not there"
_KERNELS = "for references that kernels of accelerators hold"
_ONE_DEVICE = "sparse arrays are not divided"
OTHERWISE = {
    **dict.fromkeys(
        (
            "custom_derivatives.custom_gradient: remat",
            "custom_derivatives.custom_gradient: with_accums",
            "custom_derivatives.custom_gradient: with_logs",
            "custom_gradient: remat",
            "custom_gradient: with_accums",
            "custom_gradient: with_logs",
            "lax.dce_sink: prevent_mlir_dce",
        ),
        _LOGS,
    ),
    **dict.fromkeys(
        ("empty_ref: pin", "new_ref: pin", "ref.empty_ref: pin", "ref.new_ref: pin"), _KERNELS
    ),
    **dict.fromkeys(
        (
            "experimental.sparse.bcoo_broadcast_in_dim: sharding",
            "experimental.sparse.bcoo_dot_general: out_sharding",
            "experimental.sparse.bcoo_reshape: sharding",
        ),
        _ONE_DEVICE,
    ),
    **dict.fromkeys(
        (
            "ffi.build_ffi_lowering_function: skip_ffi_layout_processing",
            "ffi.ffi_lowering: skip_ffi_layout_processing",
        ),
        "layouts are always written",
    ),
    **dict.fromkeys(
        (
            "interpreters.batching.register_vmappable: axis_size_type",
            "interpreters.batching.register_vmappable: from_elt",
            "interpreters.batching.register_vmappable: make_iota",
            "interpreters.batching.register_vmappable: spec_type",
            "interpreters.batching.register_vmappable: to_elt",
        ),
        "no type but arrays is mapped over: it says so",
    ),
    "core.eval_jaxpr: propagate_source_info": "equations keep their lines",
    "interpreters.batching.bdim_at_front: mesh_axis": "for batch axes that lie on a mesh",
}
"""Parameters that are not taken, and why."""


def _refused(function: Any, wanted: str) -> list[str]:
    """Return the parameters that are not taken as they are to be."""
    parameters = inspect.signature(function).parameters
    kinds = [p.kind for p in parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds and inspect.Parameter.VAR_POSITIONAL in kinds:
        return []
    places = [n for n, p in parameters.items() if p.kind < inspect.Parameter.KEYWORD_ONLY]
    many = inspect.Parameter.VAR_POSITIONAL in kinds
    refused = []
    for place, written in enumerate(wanted.split()):
        name = written.strip("/*")
        kind = parameters[name].kind if name in parameters else None
        by_name = kind in (
            inspect.Parameter.KEYWORD_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        if not written.startswith("/") and not by_name:
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                refused.append(name)
        elif not written.startswith("*") and place >= len(places) and not many:
            refused.append(f"{name} by position")
        elif not written.startswith(("/", "*")) and not many and places[place] != name:
            refused.append(f"{name} as number {place}")
    return refused


@pytest.mark.parametrize("module", TABLE)
def test_parameters_are_taken_by_the_names_and_in_the_places_that_programs_know(module: str):
    here = importlib.import_module(f"jxkernel.{module}".rstrip("."))
    found = set()
    for name, wanted in TABLE[module].items():
        try:
            function = getattr(here, name)
            refused = _refused(function, wanted)
        except (AttributeError, TypeError, ValueError):
            continue  # Names that are refused are the subject of another test.
        found |= {f"{module}.{name}: {parameter}".lstrip(".") for parameter in refused}
    assert found == {
        row for row in OTHERWISE if row.rpartition(": ")[0].rpartition(".")[0] == module
    }
