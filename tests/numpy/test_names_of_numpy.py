"""Names of NumPy: each is here, or the error says what to write instead."""

import json
import traceback
from pathlib import Path

import numpy as np
import pytest

import jxkernel
import jxkernel.numpy as jnp
from jxkernel import _refusals

BESIDE = json.loads(Path(jxkernel.__file__).with_name("beside_numpy.json").read_text())

GIVEN_UP = {"in1d", "row_stack", "trapz"}
"""What older releases of NumPy have, and newer ones name otherwise."""


def test_each_name_of_numpy_is_here_or_refused_with_what_to_write():
    missing = {name for name in np.__all__ if not hasattr(jnp, name)} - GIVEN_UP
    assert {name for name in missing if _refusals.reason("numpy", name) is None} == set()


def test_what_is_refused_is_not_here_and_named_once():
    refused = [name for names in BESIDE.values() for name in names]
    assert [name for name in refused if hasattr(jnp, name)] == []
    assert len(refused) == len(set(refused))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("longlong", "C's types, which differ between machines: write the size"),
        ("nditer", "not visited one by one"),
        ("random", "`jxkernel.random`"),
    ],
)
def test_the_error_says_it(name, said):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. .*{said}"):
        getattr(jnp, name)


@pytest.mark.parametrize("name", ["ma", "short", "isnat", "info"])
def test_python_suggests_no_name_behind_a_reason(name):
    """``max`` is not what ``ma`` is, though it is spelt alike."""
    with pytest.raises(AttributeError) as raised:
        getattr(jnp, name)
    assert "Did you mean" not in "".join(traceback.format_exception_only(raised.value))
    with pytest.raises(AttributeError) as raised:
        jnp.arcsine  # noqa: B018 - it is not there
    assert "Did you mean: 'arcsin'" in "".join(traceback.format_exception_only(raised.value))
