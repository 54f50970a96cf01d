"""Programs: the explorer of jaxprs, the stages, the costs."""

from __future__ import annotations

from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.jupyter.programs.answer import all_passes, all_stages, hlo
from jxkernel.jupyter.programs.costs import cost
from jxkernel.jupyter.programs.payload import (
    JaxprPayload,
    LineCostsAnswer,
    ProgramPart,
    StagesPayload,
)
from jxkernel.jupyter.programs.requests import line_costs, program_part
from jxkernel.jupyter.programs.view import jaxpr_view

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "hlo": Subcommand(hlo, "F(ARGS)  the StableHLO module, and what XLA made of it"),
        "stages": Subcommand(
            all_stages, "F(ARGS)  source, jaxpr, StableHLO and HLO, linked by line"
        ),
        "passes": Subcommand(
            all_passes, "[N] F(ARGS)  what each pass of XLA changed, in all or in equation N"
        ),
        "cost": Subcommand(cost, "F(ARGS)  operations, bytes and intensity, in all and by line"),
    },
    requests={
        "program_part": Request(program_part, ProgramPart),
        "line_costs": Request(line_costs, LineCostsAnswer),
    },
    payloads={"jaxpr": JaxprPayload, "stages": StagesPayload},
    views={ClosedJaxpr: jaxpr_view},
)
