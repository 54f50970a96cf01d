"""Collectives: primitives that exchange values over named axes.

Place: above ``reduction``, beside ``contraction``.  It must not know who bound an axis:
``vmap``, or a mesh.
"""
