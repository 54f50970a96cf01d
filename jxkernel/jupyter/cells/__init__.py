"""Cells under ``%%jit``: their bodies, their versions, what an edit changed.

Place: above ``code``, below the session.  It must not know how a cell is shown.
"""
