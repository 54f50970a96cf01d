"""The core: abstract values, primitives and their rules, traces, jaxprs and what checks them.

Everything above speaks in these terms.  It knows dtypes and shardings as data.  It must not know
of any particular primitive, of transforms, of StableHLO or of devices.
"""
