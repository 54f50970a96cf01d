"""What a cell's code is: its names, its functions, silent mistakes in it."""
