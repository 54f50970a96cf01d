"""Programs that write parts of the checkout, each run as ``python -m tools.NAME``.

The lab extension's protocol and build stamp, the recorded public surface and the page of public
names.  The Makefile says when each runs.
"""
