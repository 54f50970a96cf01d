"""Parsing of indices: what cannot be an index says why."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import NonConcreteBooleanIndexError


def test_a_traced_mask_is_refused_and_says_where_it_came_from():
    with pytest.raises(NonConcreteBooleanIndexError, match=r"a boolean mask \(bool\[3\]\)"):
        jx.jit(lambda x: x[x > 0])(jnp.ones(3))
