"""Convolutions, and reductions over windows.

Place: above ``contraction``, beside ``linalg``.  It must not know of networks: ``nn`` does.
"""
