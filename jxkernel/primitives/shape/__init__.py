"""Primitives that change a shape and no value: broadcasts, reshapes, transposes."""
