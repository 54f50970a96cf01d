"""Each library's program over the alias gives the numbers that it gives on real ``jax``."""

import pytest

from tests.libraries import running
from tests.libraries.table import LIBRARIES
from tools import libraries

there = pytest.mark.skipif(
    not running.PYTHON.exists(), reason="no build/libraries: `make test` makes it"
)


def _case(name):
    marks = [] if LIBRARIES[name].fast else [pytest.mark.slow]
    return pytest.param(name, marks=marks)


@pytest.mark.sampled(2)
@there
@pytest.mark.parametrize("name", list(map(_case, LIBRARIES)))
def test_programs_give_the_numbers_of_the_reference(name):
    found = running.run(name)
    wanted = running.numbers()[name]
    assert running.agree(found, wanted), (found, wanted)


def test_every_library_has_a_program_and_numbers():
    programs = {path.stem for path in (running.HERE / "programs").glob("*.py")}
    assert programs == set(LIBRARIES) == set(running.numbers())


def test_the_page_is_that_of_the_table():
    assert libraries.PAGE.read_text() == libraries.page(), "`make libraries` writes it"


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ({"x": [1.0, 2.0001]}, {"x": [1.0, 2.0]}, True),
        ({"x": [1.0, 2.1]}, {"x": [1.0, 2.0]}, False),
        ({"y": 1.0}, {"x": 1.0}, False),
        ([float("nan")], [float("nan")], True),
        ([1.0], [1.0, 2.0], False),
        (["a", True], ["a", False], False),
    ],
)
def test_agreement_is_up_to_rounding(found, wanted, same):
    assert running.agree(found, wanted) is same
