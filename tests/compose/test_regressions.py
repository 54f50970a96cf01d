"""Bugs that random programs, or compositions tried by hand, have found: each once, by name."""

import jxkernel as jx


def test_gradients_are_arrays_even_where_the_cotangent_passes_through_untouched() -> None:
    assert isinstance(jx.grad(lambda x: x)(2.0), jx.Array)
