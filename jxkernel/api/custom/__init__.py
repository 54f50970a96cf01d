"""Functions whose rules the user gives: derivatives, batching, transposes, solutions."""
