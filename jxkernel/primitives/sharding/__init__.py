"""How results are sharded: a rule for each primitive, and the constraints that users give."""
