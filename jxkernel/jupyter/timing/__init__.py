"""``%timeit`` and ``%time`` of asynchronous calls."""
