"""Errors in a notebook: short tracebacks that name the cell, and advice for the very line.

Place: beside ``cells``, below the session.  It must not know of sessions.
"""
