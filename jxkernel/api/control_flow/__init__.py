"""Control flow: loops and branches of traced programs, and the carry that loops hand on."""
