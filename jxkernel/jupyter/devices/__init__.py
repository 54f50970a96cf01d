"""Devices: what computes, how much memory it has, and how to choose it."""

from __future__ import annotations

from jxkernel.jupyter.devices import requests
from jxkernel.jupyter.devices.answer import backend, devices, virtual
from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.observe import BackendPreview, BackendState

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "backend": Subcommand(
            backend, "[NAME[:N]]  platforms and devices; choose the default device"
        ),
        "devices": Subcommand(devices, "the devices, with their memory"),
        "virtual": Subcommand(virtual, "N  give this process N CPU devices"),
    },
    requests={
        "backend": Request(requests.backend, requests.BackendAnswer),
        "preview": Request(requests.preview, requests.PreviewAnswer),
        "apply": Request(requests.apply, requests.PreviewAnswer),
    },
    extended={
        requests.BackendAnswer: BackendState,
        requests.PreviewAnswer: BackendPreview,
    },
)
