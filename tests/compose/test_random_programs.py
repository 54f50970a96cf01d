"""Composition is tested, not assumed: random programs under every transform and their nestings.

A few examples run in every test run; the long hunt is ``slow``.  A case that fails prints as the
program itself; it becomes a named test in ``test_regressions``.
"""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from jxkernel import config
from tests.compose.programs import Program, programs
from tests.compose.properties import PROPERTIES

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    with config.enable_x64(True):
        yield


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda p: p.__name__)
@settings(max_examples=6, suppress_health_check=QUIET)
@given(program=programs(most=3))
def test_small_programs(holds: Callable[[Program], None], program: Program) -> None:
    holds(program)


@pytest.mark.slow
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda p: p.__name__)
@settings(max_examples=400, suppress_health_check=QUIET, derandomize=False)
@given(program=programs(most=5))
def test_many_programs(holds: Callable[[Program], None], program: Program) -> None:
    holds(program)
