"""Names that annotations of other packages read."""

from jxkernel.runtime import clients as xb

__all__ = ["DeviceList", "xb"]


class DeviceList:
    """A list of devices that is sent to another process: none is."""
