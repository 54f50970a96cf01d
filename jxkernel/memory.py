"""Kinds of memory: those of a device, and the host's.  A façade: it re-exports."""

from jxkernel.sharding.space import Space

__all__ = ["Space"]
