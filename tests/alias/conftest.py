"""The alias for the length of a test."""

import pytest

import jxkernel


@pytest.fixture
def alias():
    made = jxkernel.alias("jax")
    yield made
    made.undo()
