"""Errors in a notebook: short tracebacks that name the cell, and advice for the very line."""
