"""What tests of lowering share."""

import pytest


@pytest.fixture
def two_cores(monkeypatch):
    """Have XLA's CPU client, and what is judged for it, count two cores."""
    monkeypatch.setenv("NPROC", "2")
