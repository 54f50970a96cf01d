"""Cells under ``%%jit``: their bodies, their versions, what an edit changed."""
