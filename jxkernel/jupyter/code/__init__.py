"""What a cell's code is: its names, its functions, silent mistakes in it.

Place: the lowest floor of the notebook half, beside ``views``.  It reads code and runs
none; it must not know of shells or sessions.
"""
