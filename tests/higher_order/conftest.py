"""Double precision, so that two ways to a derivative agree to many digits."""

from collections.abc import Iterator

import pytest

from jxkernel import config


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    with config.enable_x64(True):
        yield
