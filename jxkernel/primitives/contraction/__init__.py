"""Products that sum over axes: ``dot_general`` and its ragged kin."""
