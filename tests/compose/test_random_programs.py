"""Composition is tested, not assumed: random programs under every transform and their nestings.

A few examples run in every test run; the long hunt is ``slow``.  A case that fails prints as the
program itself; it becomes a named test in ``test_regressions``.
"""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from jxkernel import config
from tests.compose import nesting, programs, properties
from tests.compose.writing import Program

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
FEW = settings(max_examples=3, suppress_health_check=QUIET)
MANY = settings(max_examples=300, suppress_health_check=QUIET, derandomize=False)

Property = Callable[[Program], None]


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    with config.enable_x64(True):
        yield


def each(holds: tuple[Property, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("holds", holds, ids=lambda p: p.__name__)


@pytest.mark.sampled(3)
@each(properties.ANY_ORDER)
@FEW
@given(program=programs.programs(most=3))
def test_programs(holds: Property, program: Program) -> None:
    holds(program)


@each(properties.FORWARD_ONLY)
@FEW
@given(program=programs.programs(most=3, nested=nesting.FORWARD_ONLY))
def test_programs_that_have_forward_derivatives(holds: Property, program: Program) -> None:
    holds(program)


@each(properties.REVERSE_ONLY)
@FEW
@given(program=programs.programs(most=3, nested=nesting.REVERSE_ONLY))
def test_programs_that_have_reverse_derivatives(holds: Property, program: Program) -> None:
    holds(program)


@pytest.mark.slow
@each(properties.ANY_ORDER)
@MANY
@given(program=programs.programs(most=5))
def test_many_programs(holds: Property, program: Program) -> None:
    holds(program)


@pytest.mark.slow
@each(properties.FORWARD_ONLY)
@MANY
@given(program=programs.programs(most=5, nested=nesting.FORWARD_ONLY))
def test_many_programs_that_have_forward_derivatives(holds: Property, program: Program) -> None:
    holds(program)


@pytest.mark.slow
@each(properties.REVERSE_ONLY)
@MANY
@given(program=programs.programs(most=5, nested=nesting.REVERSE_ONLY))
def test_many_programs_that_have_reverse_derivatives(holds: Property, program: Program) -> None:
    holds(program)
