"""Convolutions, and reductions over windows."""
